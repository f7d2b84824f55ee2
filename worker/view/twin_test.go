package view

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/cycle"
)

// server is an API server in a few lines: the objects, and the events that the informers have not delivered yet. Events of
// one kind keep their order; those of different kinds do not.
type server struct {
	*rand.Rand
	version int
	objects map[string]client.Object
	pending map[string][]event
	// delivered is the informer's store of workloads.
	delivered map[string]client.Object
	writes    []*write
}

type event struct {
	object client.Object
	gone   bool
}

func newServer(seed uint64) *server {
	return &server{
		Rand: rand.New(rand.NewPCG(seed, 1)), objects: map[string]client.Object{}, pending: map[string][]event{},
		delivered: map[string]client.Object{},
	}
}

func kindOf(o client.Object) string { return fmt.Sprintf("%T", o) }

func idOf(o client.Object) string { return kindOf(o) + " " + o.GetNamespace() + "/" + o.GetName() }

// put creates or replaces an object and returns it with its new version.
func (s *server) put(o client.Object) client.Object {
	s.version++
	o.SetResourceVersion(fmt.Sprint(s.version))
	if old, exists := s.objects[idOf(o)]; exists {
		o.SetUID(old.GetUID())
	} else {
		o.SetUID(types.UID(fmt.Sprint("uid-", s.version)))
	}
	s.objects[idOf(o)] = o
	s.pending[kindOf(o)] = append(s.pending[kindOf(o)], event{object: o})
	return o
}

func (s *server) remove(o client.Object) {
	if old, exists := s.objects[idOf(o)]; exists {
		delete(s.objects, idOf(o))
		s.pending[kindOf(o)] = append(s.pending[kindOf(o)], event{object: old, gone: true})
	}
}

// deliver hands the view one event of a random kind; false when there is none.
func (s *server) deliver(v *View) bool {
	var kinds []string
	for kind, events := range s.pending {
		if len(events) > 0 {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) == 0 {
		return false
	}
	slices.Sort(kinds)
	kind := kinds[s.IntN(len(kinds))]
	e := s.pending[kind][0]
	s.pending[kind] = s.pending[kind][1:]
	if e.gone {
		delete(s.delivered, idOf(e.object))
		unfeed(v, e.object)
		return true
	}
	if _, ok := e.object.(*kueue.Workload); ok {
		s.delivered[idOf(e.object)] = e.object
	}
	feedAll(v, e.object)
	return true
}

// mutate changes a random object at random.
func (s *server) mutate() {
	pick := func(names ...string) string { return names[s.IntN(len(names))] }
	one := func(of client.Object) {
		if s.IntN(5) == 0 {
			s.remove(of)
			return
		}
		s.put(of)
	}
	switch s.IntN(12) {
	case 0:
		one(s.randomQueue(pick("cq1", "cq2")))
	case 1:
		lq := testLocal(pick("lq", "lq2"), pick("cq1", "cq2"))
		lq.Spec.StopPolicy = kueue.StopPolicy(pick("", "None", "Hold"))
		one(lq)
	case 2:
		one(&kueue.Cohort{ObjectMeta: metav1.ObjectMeta{Name: pick("a", "b")}, Spec: kueue.CohortSpec{ParentName: kueue.CohortReference(pick("", "a", "b"))}})
	case 3:
		f := testFlavor(pick("red", "blue"))
		f.Spec.NodeLabels = map[string]string{"color": pick("x", "y")}
		one(f)
	case 4:
		one(testCheck(pick("c", "mk"), pick("example.com/c", kueue.MultiKueueControllerName), s.IntN(2) == 0))
	case 5:
		one(testNamespace(map[string]string{"team": pick("a", "b")}))
	default:
		s.mutateWorkload(fmt.Sprintf("w%d", s.IntN(6)))
	}
}

func (s *server) randomQueue(name string) *kueue.ClusterQueue {
	cq := testQueue(name, fmt.Sprint(1+s.IntN(6)), []string{"red", "blue"}[:1+s.IntN(2)]...)
	cq.Spec.CohortName = kueue.CohortReference([]string{"", "a", "b"}[s.IntN(3)])
	cq.Spec.QueueingStrategy = []kueue.QueueingStrategy{kueue.StrictFIFO, kueue.BestEffortFIFO}[s.IntN(2)]
	switch s.IntN(4) {
	case 0:
		cq.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
	case 1:
		cq = withChecks(cq, rule("c"), rule("mk", "red"))
	}
	return cq
}

// mutateWorkload is what users, jobs and the lifecycle do; only the scheduler reserves.
func (s *server) mutateWorkload(name string) {
	known, exists := s.objects[idOf(testWorkload(name, 1, 0))].(*kueue.Workload)
	if !exists {
		wl := testWorkload(name, int32(1+s.IntN(4)), 0)
		wl.Spec.QueueName = kueue.LocalQueueName([]string{"lq", "lq2"}[s.IntN(2)])
		wl.Spec.Priority = ptr.To(int32(s.IntN(3)))
		s.put(wl)
		return
	}
	wl := known.DeepCopy()
	switch s.IntN(6) {
	case 0:
		s.remove(wl)
		return
	case 1:
		wl.Spec.Active = ptr.To(s.IntN(3) > 0)
	case 2: // Released.
		wl.Status.Admission = nil
		setCondition(&wl.Status.Conditions, kueue.WorkloadQuotaReserved, false, "PendingEvaluation", epoch)
	case 3:
		if wl.Status.Admission != nil {
			setCondition(&wl.Status.Conditions, kueue.WorkloadAdmitted, true, "Admitted", epoch)
		}
	case 4:
		if s.IntN(3) == 0 {
			setCondition(&wl.Status.Conditions, kueue.WorkloadFinished, true, "Succeeded", epoch)
		}
	case 5:
		if wl.Status.Admission == nil && s.IntN(2) == 0 {
			wl.Spec.Priority = ptr.To(int32(s.IntN(3)))
		}
	}
	s.put(wl)
}

// write is an admission on its way to the server.
type write struct {
	decided Decided
	// answer is what the server stored; nil before it had a look, and if it refused.
	answer *kueue.Workload
	looked bool
}

// schedule runs a cycle, which may be a short one, and sends its writes; it reports whether the cycle asks for another.
func (s *server) schedule(v *View, step int) bool {
	opts := cycle.Options{MaxAdmissions: s.IntN(4)} // 0 has no limit.
	batch := v.Cycle(at(step), func(snap *admission.Snapshot) admission.Plan { return cycle.Run(snap, at(step), opts) })
	for _, d := range batch.Admit {
		s.writes = append(s.writes, &write{decided: d})
	}
	return batch.More
}

// progress lets a random write take its next step: the server looks at it, then it is answered or the answer is lost and
// the same write tried again. It reports false when there is none.
func (s *server) progress(v *View) bool {
	if len(s.writes) == 0 {
		return false
	}
	i := s.IntN(len(s.writes))
	w := s.writes[i]
	switch {
	case !w.looked:
		w.looked, w.answer = true, s.admit(w.decided)
		return true
	case s.IntN(3) == 0:
		w.looked, w.answer = false, nil
		return true
	}
	s.writes = slices.Delete(s.writes, i, i+1)
	if w.answer == nil {
		v.Conflicted(w.decided.Seen)
		return true
	}
	v.Written(w.answer)
	return true
}

// admit stores an admission if the workload is the version that the decision saw.
func (s *server) admit(d Decided) *kueue.Workload {
	stored, exists := s.objects[idOf(d.Seen)].(*kueue.Workload)
	if !exists || stored.ResourceVersion != d.Seen.ResourceVersion {
		return nil
	}
	answer := d.Seen.DeepCopy()
	answer.Status.Admission = AdmissionOf(d.Queue, d.Assignment)
	setCondition(&answer.Status.Conditions, kueue.WorkloadQuotaReserved, true, "QuotaReserved", epoch)
	s.put(answer)
	return answer
}

// resync hands the view a workload again as the informer's store has it, which may be long out of date.
func (s *server) resync(v *View) {
	for _, id := range slices.Sorted(maps.Keys(s.delivered)) {
		if s.IntN(3) == 0 {
			feedAll(v, s.delivered[id])
		}
	}
}

// scratch is a view made at once from what the server has, in random order.
func (s *server) scratch() *View {
	v := New(Options{})
	var all []client.Object
	for _, o := range s.objects {
		all = append(all, o)
	}
	s.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, o := range all {
		feedAll(v, o)
	}
	return v
}

// picture is all that can be asked of a view, apart from who is parked, which depends on the past.
type picture struct {
	Queues  map[string]ClusterQueueStanding
	Locals  map[string]LocalQueueStanding
	Waiting map[string]admission.Workload
	Holding map[string]admission.Reservation
	Lines   map[string][]string
	Known   int
	ByLocal int
	ByQueue int
	Assumed []string
}

func pictureOf(v *View) picture {
	p := picture{
		Queues: map[string]ClusterQueueStanding{}, Locals: map[string]LocalQueueStanding{}, Lines: map[string][]string{},
		Waiting: map[string]admission.Workload{}, Holding: map[string]admission.Reservation{}, Known: len(v.workloads),
	}
	for _, name := range v.ClusterQueueNames() {
		s, _ := v.ClusterQueue(name)
		s.QueueStatus.Active, s.Inadmissible = s.QueueStatus.Active+s.Inadmissible, 0
		p.Queues[name] = s
		for _, w := range v.snap.Waiting(name) {
			p.Lines[name] = append(p.Lines[name], w.Name)
		}
	}
	for _, name := range v.LocalQueueNames() {
		p.Locals[name.String()], _ = v.LocalQueue(name)
	}
	for key, w := range v.workloads {
		if waiting, ok := v.snap.Pending(key); ok {
			p.Waiting[key.Name] = waiting
		}
		if holding, ok := v.snap.Holding(key); ok {
			p.Holding[key.Name] = holding
		}
		if w.assumed != nil {
			p.Assumed = append(p.Assumed, key.Name)
		}
	}
	for _, of := range v.byLocal {
		p.ByLocal += len(of)
	}
	for _, of := range v.byQueue {
		p.ByQueue += len(of)
	}
	return p
}

// checkTwin lets a view live through a random history and compares it with one that only knows the end.
func checkTwin(t *testing.T, seed uint64) {
	t.Helper()
	s := newServer(seed)
	v := New(Options{})
	for step := range 200 {
		switch s.IntN(8) {
		case 0:
			s.schedule(v, step)
		case 1, 2, 3:
			s.mutate()
		case 4, 5:
			s.progress(v)
		case 6:
			s.resync(v)
		default:
			s.deliver(v)
		}
	}
	for s.progress(v) || s.deliver(v) {
	}
	if diff := cmp.Diff(pictureOf(s.scratch()), pictureOf(v)); diff != "" {
		t.Errorf("seed %d: what was built from scratch (-) and what was kept up to date (+) differ:\n%s", seed, diff)
	}
}

func TestTheIncrementalViewEqualsOneBuiltFromScratch(t *testing.T) {
	for seed := range uint64(400) {
		checkTwin(t, seed)
	}
}

func FuzzTheIncrementalViewEqualsOneBuiltFromScratch(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(checkTwin)
}

// TestQuotaIsNeverGivenTwice is the law of assumptions: however late, doubled or lost the news are, the API never holds
// reservations for more than there is.
func TestQuotaIsNeverGivenTwice(t *testing.T) {
	for seed := range uint64(400) {
		s := newServer(seed)
		v := New(Options{})
		for _, o := range []client.Object{testNamespace(nil), testFlavor("red"), testQueue("cq", "4", "red"), testLocal("lq", "cq"), testLocal("lq2", "cq")} {
			s.put(o)
		}
		for s.deliver(v) {
		}
		for step := range 200 {
			switch s.IntN(7) {
			case 0:
				s.schedule(v, step)
			case 1, 2:
				s.deliver(v)
			case 3:
				s.progress(v)
			case 4:
				s.resync(v)
			default:
				s.mutateWorkload(fmt.Sprintf("w%d", s.IntN(8)))
			}
			if got := s.reserved(); got > 4 {
				t.Fatalf("seed %d, step %d: the API holds reservations for %d gpus, the queue has 4", seed, step, got)
			}
		}
	}
}

// TestNothingThatFitsIsLeftWaiting is liveness: when all is quiet, a scheduler that starts afresh finds nothing to admit.
func TestNothingThatFitsIsLeftWaiting(t *testing.T) {
	for seed := range uint64(400) {
		s := newServer(seed)
		v := New(Options{})
		for step := range 200 {
			switch s.IntN(6) {
			case 0:
				s.schedule(v, step)
			case 1, 2:
				s.mutate()
			case 3:
				s.progress(v)
			default:
				s.deliver(v)
			}
		}
		for quiet := false; !quiet; {
			for s.progress(v) || s.deliver(v) {
			}
			more := s.schedule(v, 200)
			quiet = len(s.writes) == 0 && !more
		}
		if fresh := runCycle(s.scratch(), at(200)); len(fresh.Admit) != 0 {
			t.Errorf("seed %d: %s was left waiting", seed, fresh.Admit[0].Workload)
		}
	}
}

// reserved adds up the gpus of every workload that the API says holds quota.
func (s *server) reserved() int64 {
	sum := int64(0)
	for _, o := range s.objects {
		wl, ok := o.(*kueue.Workload)
		if !ok || wl.Status.Admission == nil {
			continue
		}
		for _, c := range wl.Status.Conditions {
			if c.Type == kueue.WorkloadFinished && c.Status == metav1.ConditionTrue {
				ok = false
			}
		}
		if ok {
			q := wl.Status.Admission.PodSetAssignments[0].ResourceUsage["gpu"]
			sum += q.Value()
		}
	}
	return sum
}
