package statefulset

import (
	"reflect"
	"testing"
	"time"

	"switchyard.dev/worker/kube"
)

func TestStep(t *testing.T) {
	now := time.Unix(1000, 0)
	waits := Facts{Now: now, Managed: true, Replicas: 3, Exists: true, Active: true}
	runs := waits
	runs.Reserved, runs.PodsUse, runs.PodsExist = true, true, true
	down := waits
	down.Replicas, down.Reserved = 0, true
	for name, c := range map[string]struct {
		facts  Facts
		change func(*Facts)
		want   Plan
	}{
		"a set in step is left alone":                      {waits, nil, Plan{Reason: InStep}},
		"a set that runs as well":                          {runs, nil, Plan{Reason: InStep}},
		"leftovers go first":                               {Facts{Leftovers: true}, nil, Plan{Do: DoLetGo, Reason: NoPodsLeft}},
		"one that is not ours":                             {waits, func(f *Facts) { f.Managed = false }, Plan{Reason: Unmanaged}},
		"a hub makes the Workload of its copy":             {waits, func(f *Facts) { f.Copy, f.Exists = true, false }, Plan{Reason: MadeByHub}},
		"nothing is decided on what was overtaken":         {waits, func(f *Facts) { f.CacheBehind, f.Outdated = true, true }, Plan{Reason: CatchingUp, RequeueAt: now.Add(kube.MaxCacheLag)}},
		"one without a Workload":                           {waits, func(f *Facts) { f.Exists = false }, Plan{Do: DoCreate, Reason: NoWorkload}},
		"unless it asks for nothing":                       {waits, func(f *Facts) { f.Exists, f.Replicas = false, 0 }, Plan{Reason: ScaledToZero}},
		"or its class is missing":                          {waits, func(f *Facts) { f.Exists, f.ClassMissing = false, true }, Plan{Reason: ClassMissing}},
		"a Workload waits for a class that it should have": {waits, func(f *Facts) { f.ClassMissing, f.OnHold = true, true }, Plan{Reason: ClassMissing}},
		"but gives up its quota without it":                {down, func(f *Facts) { f.ClassMissing = true }, Plan{Do: DoHold, Reason: ScaledToZero}},
		"a Workload on its way out is waited for":          {waits, func(f *Facts) { f.Deleting = true }, Plan{Reason: AwaitingDeletion}},
		"one that is outdated":                             {waits, func(f *Facts) { f.Outdated = true }, Plan{Do: DoUpdate, Reason: Outdated}},
		"it asks for the right pods before it may queue": {
			waits, func(f *Facts) { f.Outdated, f.OnHold = true, true }, Plan{Do: DoUpdate, Reason: Outdated},
		},
		"then it may":                                     {waits, func(f *Facts) { f.OnHold = true }, Plan{Do: DoResume, Reason: ScaledUp}},
		"quota goes with the last pod":                    {down, nil, Plan{Do: DoHold, Reason: ScaledToZero}},
		"and not before":                                  {down, func(f *Facts) { f.PodsExist = true }, Plan{Reason: ScalingDown}},
		"what has no quota is held as well":               {down, func(f *Facts) { f.Reserved = false }, Plan{Do: DoHold, Reason: ScaledToZero}},
		"what is on hold stays":                           {down, func(f *Facts) { f.Reserved, f.OnHold = false, true }, Plan{Reason: ScaledToZero}},
		"and follows the set":                             {down, func(f *Facts) { f.Reserved, f.OnHold, f.Outdated = false, true, true }, Plan{Do: DoUpdate, Reason: Outdated}},
		"what is not active waits anyway":                 {down, func(f *Facts) { f.Reserved, f.Active = false, false }, Plan{Reason: ScaledToZero}},
		"but holds no quota":                              {down, func(f *Facts) { f.Active = false }, Plan{Do: DoHold, Reason: ScaledToZero}},
		"what has ended stays":                            {runs, func(f *Facts) { f.Finished = true }, Plan{Reason: Ended}},
		"until the set asks for something else":           {waits, func(f *Facts) { f.Finished, f.Refused = true, true }, Plan{Do: DoDelete, Reason: Ended}},
		"and none of the old pods runs":                   {runs, func(f *Facts) { f.Finished, f.Refused = true, true }, Plan{Reason: Ended}},
		"or until it is scaled to zero":                   {down, func(f *Facts) { f.Finished = true }, Plan{Do: DoDelete, Reason: Ended}},
		"whatever waits to run":                           {waits, func(f *Facts) { f.Finished, f.Refused, f.PodsExist = true, true, true }, Plan{Do: DoDelete, Reason: Ended}},
		"but for a set of no pods of which some are left": {down, func(f *Facts) { f.Finished, f.PodsExist = true, true }, Plan{Reason: Ended}},
	} {
		t.Run(name, func(t *testing.T) {
			f := c.facts
			if c.change != nil {
				c.change(&f)
			}
			if got := Step(f); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// TestStepKeepsItsLaws walks all combinations of facts.
func TestStepKeepsItsLaws(t *testing.T) {
	var bools []int
	of := reflect.TypeFor[Facts]()
	for i := range of.NumField() {
		if of.Field(i).Type.Kind() == reflect.Bool {
			bools = append(bools, i)
		}
	}
	for bits := range 1 << len(bools) {
		f := Facts{Now: time.Unix(1000, 0)}
		for n, i := range bools {
			reflect.ValueOf(&f).Elem().Field(i).SetBool(bits>>n&1 == 1)
		}
		for _, f.Replicas = range []int32{0, 3} {
			checkLaws(t, f, Step(f))
		}
	}
}

func checkLaws(t *testing.T, f Facts, p Plan) {
	t.Helper()
	broken := func(law string) { t.Errorf("%s: %+v gives %+v", law, f, p) }
	if p.Reason == "" {
		broken("a decision has a reason")
	}
	if (!f.Managed || f.Copy) && p.Do != DoNothing && p.Do != DoLetGo {
		broken("what is not ours is left alone")
	}
	if p.Do == DoHold && (f.PodsExist || f.Replicas > 0 || f.Finished || f.OnHold) {
		broken("quota is taken from nothing that runs or is to run")
	}
	if p.Do == DoResume && (f.Outdated || f.ClassMissing || f.Replicas == 0) {
		broken("what queues asks for the set's pods")
	}
	if p.Do == DoDelete && (!f.Finished || f.PodsUse) {
		broken("only what has ended is deleted")
	}
	if p.Do == DoCreate && (f.Exists || f.Replicas == 0) {
		broken("only a Workload that is missing is made")
	}
	if p.Do != DoNothing && f.CacheBehind && !f.Leftovers {
		broken("nothing is done on what was overtaken")
	}
}
