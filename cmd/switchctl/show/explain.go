package show

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/workload"
)

// Question is a workload, and what the hub knows that may say why it waits.
type Question struct {
	Workload *kueue.Workload
	// LocalQueue and ClusterQueue are the workload's, nil where there is none.
	LocalQueue   *kueue.LocalQueue
	ClusterQueue *kueue.ClusterQueue
	// Clusters are all that are registered, Configs and Checks what leads to them.
	Clusters []kueue.MultiKueueCluster
	Configs  []kueue.MultiKueueConfig
	Checks   []kueue.AdmissionCheck
}

// Explain says where a workload is, and why it is not further: on the hub flavor by flavor, then cluster by cluster.
func Explain(q Question, now time.Time) string {
	t := &textBuilder{}
	wl := q.Workload
	kind, name := jobName(wl)
	t.writeLine("Workload %s/%s of %s", wl.Namespace, wl.Name, orNone(strings.TrimSuffix(kind+"/"+name, "/")))
	t.writeLine("%s", firstLine(wl, now))
	for _, line := range otherReasons(wl, now) {
		t.writeLine("%s", line)
	}
	if WorkloadStatus(wl) == Finished {
		return t.String()
	}
	t.writeLine("")
	t.writeLine("On the hub")
	q.explainHub(t.indented(), now)
	others, dispatched := q.explainChecks()
	if len(others) > 0 {
		t.writeLine("")
		t.writeLine("Other admission checks")
		for _, c := range others {
			t.indented().writeLine("%s: %s, %s", c.Name, c.State, orNone(c.Message))
		}
	}
	if dispatched != nil {
		t.writeLine("")
		t.writeLine("On the worker clusters (admission check %s: %s)", dispatched.Name, dispatched.State)
		q.explainClusters(t.indented(), dispatched)
	}
	return t.String()
}

// firstLine is the state in a line.
func firstLine(wl *kueue.Workload, now time.Time) string {
	since := func(condition string) string {
		if c := meta.FindStatusCondition(wl.Status.Conditions, condition); c != nil {
			return " for " + age(now, c.LastTransitionTime)
		}
		return ""
	}
	switch WorkloadStatus(wl) {
	case Finished:
		c := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadFinished)
		return fmt.Sprintf("FINISHED %s ago, %s: %s", age(now, c.LastTransitionTime), c.Reason, c.Message)
	case Admitted:
		if on := boundCluster(wl); on != "" {
			return fmt.Sprintf("ADMITTED%s: it is on cluster %q", since(kueue.WorkloadAdmitted), on)
		}
		return "ADMITTED" + since(kueue.WorkloadAdmitted)
	case QuotaReserved:
		if on := boundCluster(wl); on != "" {
			return fmt.Sprintf("QUOTARESERVED%s: it goes to cluster %q", since(kueue.WorkloadQuotaReserved), on)
		}
		return "QUOTARESERVED" + since(kueue.WorkloadQuotaReserved) + ": it waits for its admission checks"
	case Pending:
		if wl.Spec.Active != nil && !*wl.Spec.Active {
			return "PENDING: it is stopped, and waits for \"resume workload " + wl.Name + "\""
		}
	}
	return "PENDING for " + age(now, wl.CreationTimestamp) + ": it waits for quota on the hub"
}

// waitAdvice is for how long pods may start before that is worth a word.
const waitAdvice = time.Minute

// otherReasons is what else there is to say of a workload at its head: why it is still there although it was deleted, and
// that its pods do not come up.
func otherReasons(wl *kueue.Workload, now time.Time) []string {
	var lines []string
	if !wl.DeletionTimestamp.IsZero() {
		lines = append(lines, "it was deleted "+age(now, *wl.DeletionTimestamp)+" ago, and goes when no cluster can be running its job any more")
	}
	ready := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadPodsReady)
	if WorkloadStatus(wl) == Admitted && ready != nil && ready.Status == metav1.ConditionFalse && now.Sub(ready.LastTransitionTime.Time) > waitAdvice {
		kind, name := jobName(wl)
		lines = append(lines, fmt.Sprintf("its pods are not ready for %s, %s: %s; see \"events %s/%s\"",
			age(now, ready.LastTransitionTime), ready.Reason, ready.Message, kind, name))
	}
	return lines
}

// explainHub explains the part of the hub's own queue.
func (q Question) explainHub(t *textBuilder, now time.Time) {
	wl := q.Workload
	t.writeLine("LocalQueue %s, %s", wl.Spec.QueueName, q.localState())
	t.writeLine("ClusterQueue %s", q.clusterState())
	if gone := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadEvicted); gone != nil && gone.Status == metav1.ConditionTrue {
		t.writeLine("evicted %s ago, %s: %s", age(now, gone.LastTransitionTime), gone.Reason, gone.Message)
	}
	if wl.Status.RequeueState != nil && wl.Status.RequeueState.RequeueAt != nil {
		t.writeLine("not before %s", wl.Status.RequeueState.RequeueAt.UTC().Format(time.RFC3339))
	}
	if wl.Status.Admission != nil {
		for _, p := range wl.Status.Admission.PodSetAssignments {
			t.writeLine("pod set %s has quota: %s", p.Name, assignedFlavors(p))
		}
		return
	}
	c := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadQuotaReserved)
	if c == nil {
		t.writeLine("the scheduler has not looked at it yet")
		return
	}
	t.writeLine("no quota, %s: %s", c.Reason, c.Message)
	q.explainFlavors(t, ParseFlavorResults(c.Message))
}

// localState says of the LocalQueue what the user can do something about.
func (q Question) localState() string {
	switch l := q.LocalQueue; {
	case l == nil:
		return "which does not exist: create it (create localqueue), or submit to another"
	case l.Spec.StopPolicy.Stops():
		return fmt.Sprintf("which is stopped (%s): resume localqueue %s", l.Spec.StopPolicy, l.Name)
	default:
		return fmt.Sprintf("with %d pending workloads", l.Status.PendingWorkloads)
	}
}

// clusterState says of the ClusterQueue what the user can do something about, or how much waits there.
func (q Question) clusterState() string {
	c := q.ClusterQueue
	if c == nil && q.LocalQueue != nil {
		return fmt.Sprintf("%s, which does not exist: create it (create clusterqueue, or queue setup)", q.LocalQueue.Spec.ClusterQueue)
	}
	if c == nil {
		return orNone("")
	}
	if c.Spec.StopPolicy.Stops() {
		return fmt.Sprintf("%s, which is stopped (%s): resume clusterqueue %s", c.Name, c.Spec.StopPolicy, c.Name)
	}
	if active := meta.FindStatusCondition(c.Status.Conditions, kueue.ClusterQueueActive); active != nil && active.Status != metav1.ConditionTrue {
		return fmt.Sprintf("%s, which is not active, %s: %s", c.Name, active.Reason, active.Message)
	}
	return fmt.Sprintf("%s, with %d pending workloads and %d that hold quota", c.Name, c.Status.PendingWorkloads, c.Status.ReservingWorkloads)
}

// explainFlavors is what every flavor has of what the workload asks for.
func (q Question) explainFlavors(t *textBuilder, verdicts []FlavorResult) {
	if q.ClusterQueue == nil {
		return
	}
	asked := requests(q.Workload)
	rows := [][]string{{"FLAVOR", "RESOURCE", "ASKED", "QUOTA", "USED", "VERDICT"}}
	for _, g := range q.ClusterQueue.Spec.ResourceGroups {
		for _, f := range g.Flavors {
			whole := isAbout(verdicts, string(f.Name), "")
			for _, r := range f.Resources {
				want, ok := asked[r.Name]
				if !ok {
					continue
				}
				used := reservedTotal(q.ClusterQueue, f.Name, r.Name)
				rows = append(rows, []string{string(f.Name), string(r.Name), want.String(), r.NominalQuota.String(), used.String(),
					cmp.Or(isAbout(verdicts, string(f.Name), string(r.Name)), whole)})
				whole = ""
			}
		}
	}
	if len(rows) > 1 {
		t.writeLine("")
		t.writeColumns(rows)
	}
}

// requests are what all pods of a workload ask for together, as far as its pod templates or its status say.
func requests(wl *kueue.Workload) corev1.ResourceList {
	total := corev1.ResourceList{}
	add := func(name corev1.ResourceName, q resource.Quantity) {
		sum := total[name]
		sum.Add(q)
		total[name] = sum
	}
	if len(wl.Status.ResourceRequests) > 0 {
		for _, r := range wl.Status.ResourceRequests {
			for name, q := range r.Resources {
				add(name, q)
			}
		}
		return total
	}
	for _, p := range wl.Spec.PodSets {
		for _, c := range p.Template.Spec.Containers {
			for name, q := range c.Resources.Requests {
				q = q.DeepCopy()
				q.Mul(int64(p.Count))
				add(name, q)
			}
		}
	}
	return total
}

// reservedTotal is what workloads hold of a flavor's resource in a ClusterQueue.
func reservedTotal(queue *kueue.ClusterQueue, flavor kueue.ResourceFlavorReference, name corev1.ResourceName) *resource.Quantity {
	for _, f := range queue.Status.FlavorsReservation {
		for i := range f.Resources {
			if f.Name == flavor && f.Resources[i].Name == name {
				return &f.Resources[i].Total
			}
		}
	}
	return resource.NewQuantity(0, resource.DecimalSI)
}

// assignedFlavors is what a pod set got: "nvidia.com/gpu 8 (h100), cpu 16 (h100)".
func assignedFlavors(p kueue.PodSetAssignment) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(p.Flavors)) {
		usage := p.ResourceUsage[name]
		parts = append(parts, fmt.Sprintf("%s %s (%s)", name, usage.String(), p.Flavors[name]))
	}
	return strings.Join(parts, ", ")
}

// explainChecks are the workload's checks that have begun, as they do once it has quota; the one that dispatches apart, nil if there is none.
func (q Question) explainChecks() (others []kueue.AdmissionCheckState, dispatched *kueue.AdmissionCheckState) {
	for i := range q.Workload.Status.AdmissionChecks {
		state := &q.Workload.Status.AdmissionChecks[i]
		if state.State == kueue.CheckStatePending && state.Message == "" && !workload.HasQuota(q.Workload) {
			continue
		}
		is := slices.ContainsFunc(q.Checks, func(c kueue.AdmissionCheck) bool {
			return c.Name == string(state.Name) && c.Spec.ControllerName == kueue.MultiKueueControllerName
		})
		if is && dispatched == nil {
			dispatched = state
			continue
		}
		others = append(others, *state)
	}
	return others, dispatched
}

// explainClusters explains the dispatch, cluster by cluster.
func (q Question) explainClusters(t *textBuilder, check *kueue.AdmissionCheckState) {
	var names []string
	for i := range q.Clusters {
		names = append(names, q.Clusters[i].Name)
	}
	for _, c := range q.Configs {
		names = append(names, c.Spec.Clusters...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	waits, verdicts := ParseClusterResults(check.Message, names)
	t.writeLine("%s", orNone(waits))
	rows := [][]string{{"CLUSTER", "CONNECTED", "STANDING", "SAYS"}}
	for _, name := range names {
		rows = append(rows, q.explainCluster(name, verdicts))
	}
	if len(rows) > 1 {
		t.writeLine("")
		t.writeColumns(rows)
	}
	if check.State == kueue.CheckStatePending && len(verdicts) == 0 {
		t.writeLine("")
		t.writeLine("what each cluster says is written some seconds after the offer; look again")
	}
}

// explainCluster is the row about one cluster. What the hub has written of it goes before what can be told from the outside.
func (q Question) explainCluster(name string, verdicts []PlacementResult) []string {
	says := ""
	if at := slices.IndexFunc(verdicts, func(v PlacementResult) bool { return v.Of == name }); at >= 0 {
		says = verdicts[at].Says
	}
	switch {
	case says != "":
	case boundCluster(q.Workload) == name:
		says = "has the workload"
	case boundCluster(q.Workload) != "":
		says = "another cluster was chosen"
	case slices.Contains(q.Workload.Status.NominatedClusterNames, name):
		says = "the workload is offered to it"
	case len(ListConfigs(q.Configs, name)) == 0:
		says = "no MultiKueueConfig lists it"
	default:
		says = "not asked yet"
	}
	at := slices.IndexFunc(q.Clusters, func(c kueue.MultiKueueCluster) bool { return c.Name == name })
	if at < 0 {
		return []string{name, "-", "-", "is not registered: cluster register " + name}
	}
	connected, _, why := connection(&q.Clusters[at])
	if connected != "True" {
		says += " (" + why + ")"
	}
	return []string{name, connected, AnnotationText(&q.Clusters[at]), says}
}
