package view

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/cycle"
	api "switchyard.dev/worker/workload"
)

// fakeServer is an API server in a few lines: the objects, and the events that the informers have not delivered yet. Events of
// one kind keep their order; those of different kinds do not.
type fakeServer struct {
	*rand.Rand
	version int
	objects map[string]client.Object
	pending map[string][]serverEvent
	// delivered is the informer's store of workloads.
	delivered map[string]client.Object
	writes    []*serverWrite
}

type serverEvent struct {
	object  client.Object
	deleted bool
}

func newFakeServer(seed uint64) *fakeServer {
	return &fakeServer{
		Rand: rand.New(rand.NewPCG(seed, 1)), objects: map[string]client.Object{}, pending: map[string][]serverEvent{},
		delivered: map[string]client.Object{},
	}
}

func kindOf(o client.Object) string { return fmt.Sprintf("%T", o) }

func idOf(o client.Object) string { return kindOf(o) + " " + o.GetNamespace() + "/" + o.GetName() }

// store creates or replaces an object and returns it with its new version.
func (s *fakeServer) store(o client.Object) client.Object {
	s.version++
	o.SetResourceVersion(fmt.Sprint(s.version))
	if old, exists := s.objects[idOf(o)]; exists {
		o.SetUID(old.GetUID())
	} else {
		o.SetUID(types.UID(fmt.Sprint("uid-", s.version)))
	}
	s.objects[idOf(o)] = o
	s.pending[kindOf(o)] = append(s.pending[kindOf(o)], serverEvent{object: o})
	return o
}

func (s *fakeServer) remove(o client.Object) {
	if old, exists := s.objects[idOf(o)]; exists {
		delete(s.objects, idOf(o))
		s.pending[kindOf(o)] = append(s.pending[kindOf(o)], serverEvent{object: old, deleted: true})
	}
}

// deliverEvent hands the view one event of a random kind; false when there is none.
func (s *fakeServer) deliverEvent(v *View) bool {
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
	if e.deleted {
		delete(s.delivered, idOf(e.object))
		deleteObject(v, e.object)
		return true
	}
	if _, ok := e.object.(*kueue.Workload); ok {
		s.delivered[idOf(e.object)] = e.object
	}
	setObjects(v, e.object)
	return true
}

// mutate changes a random object at random.
func (s *fakeServer) mutate() {
	pick := func(names ...string) string { return names[s.IntN(len(names))] }
	one := func(of client.Object) {
		if s.IntN(5) == 0 {
			s.remove(of)
			return
		}
		s.store(of)
	}
	switch s.IntN(14) {
	case 0:
		one(s.randomQueue(pick("cq1", "cq2")))
	case 1:
		lq := testLocalQueue(pick("lq", "lq2"), pick("cq1", "cq2"))
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
	case 6:
		one(limitRange(pick("0", "1", "9")))
	case 7:
		one(&nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "vm"}, Overhead: &nodev1.Overhead{PodFixed: corev1.ResourceList{"gpu": resource.MustParse(pick("0", "1"))}}})
	default:
		s.mutateWorkload(fmt.Sprintf("w%d", s.IntN(6)))
	}
}

func (s *fakeServer) randomQueue(name string) *kueue.ClusterQueue {
	cq := testQueue(name, fmt.Sprint(1+s.IntN(6)), []string{"red", "blue"}[:1+s.IntN(2)]...)
	cq.Spec.CohortName = kueue.CohortReference([]string{"", "a", "b"}[s.IntN(3)])
	cq.Spec.QueueingStrategy = []kueue.QueueingStrategy{kueue.StrictFIFO, kueue.BestEffortFIFO}[s.IntN(2)]
	cq.Spec.Preemption = s.randomPreemption()
	switch s.IntN(4) {
	case 0:
		cq.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
	case 1:
		cq = withChecks(cq, checkRule("c"), checkRule("mk", "red"))
	}
	return cq
}

func (s *fakeServer) randomPreemption() *kueue.ClusterQueuePreemption {
	within := []kueue.PreemptionPolicy{"", kueue.PreemptionPolicyLowerPriority, kueue.PreemptionPolicyLowerOrNewerEqualPriority}
	reclaim := []kueue.PreemptionPolicy{kueue.PreemptionPolicyNever, kueue.PreemptionPolicyLowerPriority, kueue.PreemptionPolicyAny}
	return &kueue.ClusterQueuePreemption{WithinClusterQueue: within[s.IntN(3)], ReclaimWithinCohort: reclaim[s.IntN(3)]}
}

func limitRange(most string) *corev1.LimitRange {
	return &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lr"}, Spec: corev1.LimitRangeSpec{
		Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer, Max: corev1.ResourceList{"gpu": resource.MustParse(most)}}},
	}}
}

// mutateWorkload is what users, jobs and the lifecycle do; only the scheduler reserves.
func (s *fakeServer) mutateWorkload(name string) {
	known, exists := s.objects[idOf(testWorkload(name, 1, 0))].(*kueue.Workload)
	if !exists {
		wl := testWorkload(name, int32(1+s.IntN(4)), 0)
		wl.Spec.QueueName = kueue.LocalQueueName([]string{"lq", "lq2"}[s.IntN(2)])
		wl.Spec.Priority = ptr.To(int32(s.IntN(3)))
		if s.IntN(4) == 0 {
			wl.Spec.PodSets[0].Template.Spec.RuntimeClassName = ptr.To("vm")
		}
		s.store(wl)
		return
	}
	wl := known.DeepCopy()
	switch s.IntN(7) {
	case 0:
		s.remove(wl)
		return
	case 6:
		wl.Status.ReclaimablePods = []kueue.ReclaimablePod{{Name: "main", Count: 1}}
	case 1:
		wl.Spec.Active = ptr.To(s.IntN(3) > 0)
	case 2: // Released.
		if wl.Status.Admission == nil {
			return
		}
		wl.Status.Admission = nil
		setCondition(&wl.Status.Conditions, kueue.WorkloadQuotaReserved, false, "PendingEvaluation", baseTime)
	case 3:
		if wl.Status.Admission != nil {
			setCondition(&wl.Status.Conditions, kueue.WorkloadAdmitted, true, "Admitted", baseTime)
		}
	case 4:
		if s.IntN(3) == 0 {
			setCondition(&wl.Status.Conditions, kueue.WorkloadFinished, true, "Succeeded", baseTime)
		}
	case 5:
		if wl.Status.Admission == nil && s.IntN(2) == 0 {
			wl.Spec.Priority = ptr.To(int32(s.IntN(3)))
		}
	}
	s.store(wl)
}

// serverWrite is an admission or an eviction on its way to the server.
type serverWrite struct {
	object *kueue.Workload
	change func(*kueue.Workload)
	// answer is what the server stored; nil before it had a look, and if it refused.
	answer    *kueue.Workload
	processed bool
	refused   bool
}

// isUnchanged is the live read of a writer that is refused after a try whose answer was lost: that try may have taken effect.
func (s *fakeServer) isUnchanged(wl *kueue.Workload) bool {
	stored, exists := s.objects[idOf(wl)]
	return exists && stored.GetResourceVersion() == wl.ResourceVersion
}

// schedule runs a cycle, which may be a short one, and sends its writes; it reports whether the cycle asks for another.
func (s *fakeServer) schedule(v *View, step int) bool {
	opts := cycle.Options{MaxAdmissions: s.IntN(4)} // 0 has no limit.
	batch := v.RunCycle(timeAt(step), func(snap *admission.Snapshot) admission.Plan { return cycle.Run(snap, timeAt(step), opts) })
	for _, d := range batch.Admit {
		s.writes = append(s.writes, &serverWrite{object: d.Object, change: func(wl *kueue.Workload) {
			wl.Status.Admission = BuildAdmission(d.Queue, d.Assignment)
			setCondition(&wl.Status.Conditions, kueue.WorkloadQuotaReserved, true, "QuotaReserved", baseTime)
			setCondition(&wl.Status.Conditions, kueue.WorkloadEvicted, false, "QuotaReserved", baseTime)
		}})
	}
	for _, p := range batch.Preempt {
		s.storeWaitReason(p.WorkloadDecision)
		for _, e := range p.Evictions {
			s.writes = append(s.writes, &serverWrite{object: e.Object, change: func(wl *kueue.Workload) {
				setCondition(&wl.Status.Conditions, kueue.WorkloadEvicted, true, "Preempted", baseTime)
			}})
		}
	}
	for _, d := range batch.Wait {
		s.storeWaitReason(d)
	}
	return batch.More
}

// storeWaitReason writes why a workload waits, unless that is over.
func (s *fakeServer) storeWaitReason(d WorkloadDecision) {
	stored, exists := s.objects[idOf(d.Object)].(*kueue.Workload)
	if !exists || stored.UID != d.Object.UID || api.HasQuota(stored) || pendingReason(stored) == d.Reason {
		return
	}
	wl := stored.DeepCopy()
	setCondition(&wl.Status.Conditions, kueue.WorkloadQuotaReserved, false, string(d.Reason), baseTime)
	s.store(wl)
}

// advanceWrite lets a random write take its next step: the server looks at it, then it is answered or the answer is lost and
// the same write tried again. It reports false when there is none.
func (s *fakeServer) advanceWrite(v *View, step int) bool {
	if len(s.writes) == 0 {
		return false
	}
	i := s.IntN(len(s.writes))
	w := s.writes[i]
	switch {
	case !w.processed:
		w.processed, w.refused = true, s.IntN(8) == 0
		if !w.refused {
			w.answer = s.applyWrite(w)
		}
		return true
	case s.IntN(3) == 0:
		w.processed, w.answer, w.refused = false, nil, false
		return true
	}
	s.writes = slices.Delete(s.writes, i, i+1)
	switch {
	case w.refused && s.isUnchanged(w.object):
		v.RecordRefusal(w.object, timeAt(step))
	case w.answer == nil:
		v.RecordConflict(w.object)
	default:
		v.RecordWrite(w.answer)
	}
	return true
}

// applyWrite stores a write if the workload is the version that the decision saw.
func (s *fakeServer) applyWrite(w *serverWrite) *kueue.Workload {
	stored, exists := s.objects[idOf(w.object)].(*kueue.Workload)
	if !exists || stored.ResourceVersion != w.object.ResourceVersion {
		return nil
	}
	answer := w.object.DeepCopy()
	w.change(answer)
	s.store(answer)
	return answer
}

// restart replaces the leader: what it had sent takes effect before the next one reads everything, or never.
func (s *fakeServer) restart() *View {
	for _, w := range s.writes {
		if !w.processed && s.IntN(2) == 0 {
			s.applyWrite(w)
		}
	}
	s.writes, s.pending = nil, map[string][]serverEvent{}
	clear(s.delivered)
	for id, o := range s.objects {
		if _, ok := o.(*kueue.Workload); ok {
			s.delivered[id] = o
		}
	}
	return s.buildView()
}

// releaseEvicted is the jobs' part: those that were evicted stop and give back their quota. It reports whether there were any.
func (s *fakeServer) releaseEvicted() bool {
	found := false
	for _, id := range slices.Sorted(maps.Keys(s.objects)) {
		known, ok := s.objects[id].(*kueue.Workload)
		if !ok || known.Status.Admission == nil || !api.IsEvicted(known) || api.IsFinished(known) {
			continue
		}
		wl := known.DeepCopy()
		wl.Status.Admission = nil
		setCondition(&wl.Status.Conditions, kueue.WorkloadQuotaReserved, false, "PendingEvaluation", baseTime)
		setCondition(&wl.Status.Conditions, kueue.WorkloadAdmitted, false, "NoReservation", baseTime)
		s.store(wl)
		found = true
	}
	return found
}

// runUntilSettled lets everything come to rest, at times so late that every backoff is over. False when it never does.
func (s *fakeServer) runUntilSettled(v *View) bool {
	for round := range 200 {
		for s.advanceWrite(v, 0) || s.deliverEvent(v) {
		}
		more := s.schedule(v, 1000*(round+1))
		if !more && len(s.writes) == 0 && !s.releaseEvicted() && !s.deliverEvent(v) {
			return true
		}
	}
	return false
}

// resync hands the view a workload again as the informer's store has it, which may be long out of date.
func (s *fakeServer) resync(v *View) {
	for _, id := range slices.Sorted(maps.Keys(s.delivered)) {
		if s.IntN(3) == 0 {
			setObjects(v, s.delivered[id])
		}
	}
}

// buildView is a view made at once from what the server has, in random order.
func (s *fakeServer) buildView() *View {
	v := New(Options{})
	var all []client.Object
	for _, o := range s.objects {
		all = append(all, o)
	}
	s.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, o := range all {
		setObjects(v, o)
	}
	return v
}

// viewState is all that can be asked of a view, apart from which workloads are inadmissible: that depends on the past.
type viewState struct {
	Queues       map[string]ClusterQueueStatus
	LocalQueues  map[string]LocalQueueStatus
	Pending      map[string]admission.Workload
	Reservations map[string]admission.Reservation
	QueueOrder   map[string][]string
	Known        int
	ByLocal      int
	ByQueue      int
	Assumed      []string
}

func captureState(v *View) viewState {
	p := viewState{
		Queues: map[string]ClusterQueueStatus{}, LocalQueues: map[string]LocalQueueStatus{}, QueueOrder: map[string][]string{},
		Pending: map[string]admission.Workload{}, Reservations: map[string]admission.Reservation{}, Known: len(v.workloads),
	}
	for _, name := range v.ClusterQueueNames() {
		s, _ := v.ClusterQueueStatus(name)
		s.QueueStatus.Active, s.Inadmissible = s.QueueStatus.Active+s.Inadmissible, 0
		p.Queues[name] = s
		for _, w := range v.snap.ListPending(name) {
			p.QueueOrder[name] = append(p.QueueOrder[name], w.Name)
		}
	}
	for _, name := range v.LocalQueueNames() {
		p.LocalQueues[name.String()], _ = v.LocalQueueStatus(name)
	}
	for key, w := range v.workloads {
		if waiting, ok := v.snap.Pending(key); ok {
			p.Pending[key.Name] = waiting
		}
		if holding, ok := v.snap.Reservation(key); ok {
			p.Reservations[key.Name] = holding
		}
		if w.assumed != nil {
			p.Assumed = append(p.Assumed, key.Name)
		}
	}
	for _, of := range v.workloadsByLocalQueue {
		p.ByLocal += len(of)
	}
	for _, of := range v.localQueuesByClusterQueue {
		p.ByQueue += len(of)
	}
	return p
}

// runRandomStep is one step of a random history in which everything can happen.
func (s *fakeServer) runRandomStep(v *View, step int) *View {
	switch s.IntN(16) {
	case 0, 1:
		s.schedule(v, step)
	case 2, 3, 4, 5:
		s.mutate()
	case 6, 7, 8:
		s.advanceWrite(v, step)
	case 9:
		s.resync(v)
	case 10:
		s.releaseEvicted()
	case 11:
		if s.IntN(10) == 0 {
			return s.restart()
		}
	default:
		s.deliverEvent(v)
	}
	return v
}

// checkIncrementalView lets a view live through a random history and compares it with one that only knows the end.
func checkIncrementalView(t *testing.T, seed uint64) {
	t.Helper()
	s := newFakeServer(seed)
	v := New(Options{})
	for step := range 250 {
		v = s.runRandomStep(v, step)
		s.checkReservationsKept(t, v, seed)
	}
	for s.advanceWrite(v, 250) || s.deliverEvent(v) {
	}
	clear(v.deferredEvictions) // Nobody asks for them any more.
	for _, w := range v.workloads {
		if w.evicting != nil && w.evicting.baseVersion == "" {
			v.cancelEviction(w)
		}
	}
	backoffs := cmpopts.IgnoreFields(admission.Workload{}, "NotBefore")
	if diff := cmp.Diff(captureState(s.buildView()), captureState(v), backoffs); diff != "" {
		t.Errorf("seed %d: what was built from scratch (-) and what was kept up to date (+) differ:\n%s", seed, diff)
	}
}

// checkReservationsKept is the other side of the law of assumptions: whatever the API says is reserved, the view holds, however
// late its news. Only what a workload itself gave up may be held for longer.
func (s *fakeServer) checkReservationsKept(t *testing.T, v *View, seed uint64) {
	t.Helper()
	for _, o := range s.objects {
		wl, ok := o.(*kueue.Workload)
		if !ok || !api.HasQuota(wl) || api.IsFinished(wl) {
			continue
		}
		held, holds := v.snap.Reservation(keyOf(wl.Namespace, wl.Name))
		if !holds || !reservedUsage(wl).IsWithin(held.Usage) {
			t.Fatalf("seed %d: the API says that %s holds %v, the view %v", seed, wl.Name, reservedUsage(wl), held.Usage)
		}
	}
}

// seedCount is how many seeds are tried.
func seedCount() uint64 {
	if testing.Short() {
		return 60
	}
	return 400
}

func TestTheIncrementalViewEqualsOneBuiltFromScratch(t *testing.T) {
	for seed := range seedCount() {
		checkIncrementalView(t, seed)
	}
}

func FuzzTheIncrementalViewEqualsOneBuiltFromScratch(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(checkIncrementalView)
}

// TestQuotaIsNeverGivenTwice is the law of assumptions: however late, doubled or lost the news are, and whichever replica
// leads, the API never holds reservations for more than there is.
func TestQuotaIsNeverGivenTwice(t *testing.T) {
	for seed := range seedCount() {
		s := newFakeServer(seed)
		v := New(Options{})
		cq := testQueue("cq", "4", "red")
		cq.Spec.Preemption = &kueue.ClusterQueuePreemption{WithinClusterQueue: kueue.PreemptionPolicyLowerPriority}
		for _, o := range []client.Object{testNamespace(nil), testFlavor("red"), cq, testLocalQueue("lq", "cq"), testLocalQueue("lq2", "cq")} {
			s.store(o)
		}
		for s.deliverEvent(v) {
		}
		for step := range 250 {
			switch s.IntN(9) {
			case 0:
				s.schedule(v, step)
			case 1, 2:
				s.deliverEvent(v)
			case 3, 4:
				s.advanceWrite(v, step)
			case 5:
				s.resync(v)
			case 6:
				if s.IntN(4) == 0 {
					v = s.restart()
				}
				s.releaseEvicted()
			default:
				s.mutateWorkload(fmt.Sprintf("w%d", s.IntN(8)))
			}
			s.checkReservationsKept(t, v, seed)
			if got := s.reservedTotal(); got > 4 {
				t.Fatalf("seed %d, step %d: the API holds reservations for %d gpus, the queue has 4", seed, step, got)
			}
		}
	}
}

// TestWhenAllIsQuiet is liveness and truth: nothing that fits is left waiting, what is used is what is reserved, and each
// pending workload's last reason is what a scheduler that starts afresh would say.
func TestWhenAllIsQuiet(t *testing.T) {
	for seed := range seedCount() {
		s := newFakeServer(seed)
		v := New(Options{})
		for step := range 250 {
			v = s.runRandomStep(v, step)
		}
		if !s.runUntilSettled(v) {
			t.Errorf("seed %d: it never comes to rest", seed)
			continue
		}
		fresh, told := s.buildView(), map[types.UID]admission.Reason{}
		if batch := runCycle(fresh, timeAt(1_000_000)); len(batch.Admit)+len(batch.Preempt) != 0 {
			t.Errorf("seed %d: %+v and %+v were left waiting", seed, batch.Admit, batch.Preempt)
		} else {
			for _, d := range batch.Wait {
				told[d.Object.UID] = d.Reason
			}
		}
		for _, w := range v.workloads {
			is, want := pendingReason(w.obj), told[w.obj.UID]
			if w.entry.pending != nil && is != want && (want != "" || is != admission.PendingEvaluation) {
				t.Errorf("seed %d: %s was told %q last, and %q is true", seed, w.obj.Name, is, want)
			}
		}
	}
}

// reservedTotal adds up the gpus of every workload that the API says holds quota.
func (s *fakeServer) reservedTotal() amount.Amount {
	sum := amount.Amount(0)
	for _, o := range s.objects {
		if wl, ok := o.(*kueue.Workload); ok && api.HasQuota(wl) && !api.IsFinished(wl) {
			for _, use := range reservedUsage(wl) {
				sum = sum.Add(use.Amount)
			}
		}
	}
	return sum
}
