package jobtest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

// mirror holds the laws of kinds that can run on another cluster.
func (s suite[T]) mirror(t *testing.T) {
	t.Helper()
	for name, law := range map[string]func(suite[T]){
		"only a job handed to the dispatcher is managed by it":    suite[T].managed,
		"a remote copy is what the user wrote, stamped":           suite[T].remoteCopy,
		"a remote copy does not depend on how far the job is":     suite[T].remoteCopyOfRunning,
		"a remote copy asks for the pods of its Workload":         suite[T].remoteCopyMatches,
		"copying a status again changes nothing":                  suite[T].copyTwice,
		"copying a status changes nothing but the status":         suite[T].copyOnlyStatus,
		"a suspended job does not lose or gain a foreign outcome": suite[T].copyOutcome,
		"how a job ended is never taken back":                     suite[T].copyOntoFinished,
	} {
		t.Run(name, func(t *testing.T) { law(s.in(t)) })
	}
}

const origin = "hub-1"

// handed is the job on the hub, handed to the dispatcher.
func (s suite[T]) handed() T {
	j := s.Job()
	s.kind.ManagedBy.Set(j, kueue.MultiKueueControllerName)
	return j
}

func (s suite[T]) options(t *testing.T) job.RemoteOptions {
	t.Helper()
	wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Name: "the-workload"}}
	wl.Spec.PodSets = s.sets(t, s.Job())
	return job.RemoteOptions{Origin: origin, Workload: wl, Annotations: map[string]string{"jobtest/epoch": "7"}}
}

func (s suite[T]) managed() {
	t := s.t
	if ok, reason := s.erased.IsManagedByMultiKueue(s.handed()); !ok || reason != "" {
		t.Errorf("handed job: %v, %q", ok, reason)
	}
	for _, other := range []string{"", s.kind.ManagedBy.Default, "example.com/other"} {
		j := s.Job()
		if other != "" {
			s.kind.ManagedBy.Set(j, other)
		}
		ok, reason := s.erased.IsManagedByMultiKueue(j)
		if ok || !strings.Contains(reason, s.kind.ManagedBy.Path) || !strings.Contains(reason, `not "`+other+`"`) {
			t.Errorf("job managed by %q: %v, %q", other, ok, reason)
		}
	}
}

func (s suite[T]) remoteCopy() {
	t := s.t
	local := s.handed()
	local.SetOwnerReferences([]metav1.OwnerReference{{Name: "owner", UID: "o"}})
	local.SetFinalizers([]string{"example.com/keep"})
	untouched := local.DeepCopyObject()
	remote := s.erased.RemoteCopy(local, s.options(t))
	if diff := cmp.Diff(untouched, runtime.Object(local)); diff != "" {
		t.Errorf("the local job was changed (-want +got):\n%s", diff)
	}
	if remote.GetName() != local.GetName() || remote.GetNamespace() != local.GetNamespace() {
		t.Errorf("remote copy is %s/%s", remote.GetNamespace(), remote.GetName())
	}
	if remote.GetLabels()[kueue.MultiKueueOriginLabel] != origin || job.PrebuiltWorkloadName(remote) != "the-workload" ||
		remote.GetAnnotations()["jobtest/epoch"] != "7" || remote.GetLabels()[kueue.PrebuiltWorkloadNameKey] != "" {
		t.Errorf("stamps are wrong: labels %v, annotations %v", remote.GetLabels(), remote.GetAnnotations())
	}
	if remote.GetUID() != "" || remote.GetResourceVersion() != "" || len(remote.GetOwnerReferences()) > 0 ||
		len(remote.GetFinalizers()) > 0 || len(remote.GetManagedFields()) > 0 || remote.GetGeneration() != 0 {
		t.Errorf("identity of the local job was copied: %+v", remote)
	}
	if ok, _ := s.erased.IsManagedByMultiKueue(remote); ok {
		t.Error("the remote copy is handed to the dispatcher again")
	}
	for key, value := range local.GetLabels() {
		if remote.GetLabels()[key] != value {
			t.Errorf("label %s is %q, want %q", key, remote.GetLabels()[key], value)
		}
	}
	o := s.options(t)
	o.WorkloadNameInLabel = true
	if labelled := s.erased.RemoteCopy(local, o); labelled.GetLabels()[kueue.PrebuiltWorkloadNameKey] != "the-workload" ||
		labelled.GetAnnotations()[kueue.PrebuiltWorkloadNameKey] != "" {
		t.Error("the workload's name is not in the label")
	}
}

func (s suite[T]) remoteCopyOfRunning() {
	t := s.t
	fresh := s.erased.RemoteCopy(s.handed(), s.options(t))
	running, _ := s.running(t)
	s.kind.ManagedBy.Set(running, kueue.MultiKueueControllerName)
	if diff := cmp.Diff(fresh, s.erased.RemoteCopy(running, s.options(t))); diff != "" {
		t.Errorf("copy of a running job differs (-fresh +running):\n%s", diff)
	}
}

func (s suite[T]) remoteCopyMatches() {
	t := s.t
	o := s.options(t)
	remote, ok := s.erased.RemoteCopy(s.handed(), o).(T)
	if !ok {
		t.Fatal("the remote copy is of another type")
	}
	if !s.kind.Suspended(remote) {
		t.Error("the remote copy would run before it is admitted")
	}
	if got := s.sets(t, remote); !job.SamePodSets(o.Workload.Spec.PodSets, got) {
		t.Errorf("pod sets differ (-want +got):\n%s", cmp.Diff(o.Workload.Spec.PodSets, got))
	}
}

// resumed is the local job once it may run, elsewhere.
func (s suite[T]) resumed() T {
	j := s.handed()
	s.kind.SetSuspend(j, false)
	return j
}

func (s suite[T]) copyTwice() {
	t := s.t
	local := s.resumed()
	remote, _ := s.running(t)
	if changed, deferred := s.erased.CopyStatus(local, remote); !changed || deferred {
		t.Errorf("first copy: changed %v, deferred %v", changed, deferred)
	}
	if changed, deferred := s.erased.CopyStatus(local, remote); changed || deferred {
		t.Errorf("second copy: changed %v, deferred %v", changed, deferred)
	}
	if diff := cmp.Diff(s.kind.Progress(remote), s.kind.Progress(local)); diff != "" {
		t.Errorf("progress differs (-remote +local):\n%s", diff)
	}
}

func (s suite[T]) copyOnlyStatus() {
	t := s.t
	local := s.resumed()
	remote, _ := s.running(t)
	untouched := remote.DeepCopyObject()
	s.erased.CopyStatus(local, remote)
	if diff := cmp.Diff(untouched, runtime.Object(remote)); diff != "" {
		t.Errorf("the remote job was changed (-want +got):\n%s", diff)
	}
	want, got := fieldsOf(t, s.resumed()), fieldsOf(t, local)
	delete(want, "status")
	delete(got, "status")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("more than the status was changed (-want +got):\n%s", diff)
	}
}

func (s suite[T]) copyOutcome() {
	t := s.t
	local := s.handed()
	remote, _ := s.running(t)
	s.erased.CopyStatus(local, remote)
	if p := s.kind.Progress(local); p.Finished != nil {
		t.Errorf("a running remote job has finished the local one: %+v", p)
	}
	if s.Succeeded == nil {
		return
	}
	s.Succeeded(remote)
	if changed, deferred := s.erased.CopyStatus(local, remote); !changed || deferred {
		t.Errorf("copy of a finished job: changed %v, deferred %v", changed, deferred)
	}
	if p := s.kind.Progress(local); p.Finished == nil || !p.Finished.Success {
		t.Errorf("the outcome was not copied: %+v", p)
	}
}

func (s suite[T]) copyOntoFinished() {
	t := s.t
	if s.Failed == nil {
		return
	}
	local := s.resumed()
	remote, _ := s.running(t)
	s.Failed(remote)
	s.erased.CopyStatus(local, remote)
	again, _ := s.running(t)
	if changed, _ := s.erased.CopyStatus(local, again); changed {
		t.Error("a finished job's status was changed")
	}
	if p := s.kind.Progress(local); p.Finished == nil || p.Finished.Success {
		t.Errorf("the outcome was taken back: %+v", p)
	}
}

func fieldsOf(t *testing.T, obj client.Object) map[string]any {
	t.Helper()
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
