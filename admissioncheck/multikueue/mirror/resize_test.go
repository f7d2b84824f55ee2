package mirror

import (
	"context"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// elasticOf is the hub's elastic job, of so many pods, and its copy, which is stripped as in a cache.
func elasticOf(pods int32) (Original, *kueue.Workload) {
	o := original()
	o.Workload.Annotations = map[string]string{kueue.ElasticJobAnnotation: "true"}
	o.Workload.Spec.PodSets[0].Count = pods
	o.Job.(*batchv1.Job).Spec.Parallelism = &pods
	remote := o.WorkloadCopy(2)
	StripWorkload(remote)
	return o, remote
}

func TestACopyThatIsOnlyLargerCanFollow(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(Original, *kueue.Workload)
		want   bool
	}{
		{"the hub's has shrunk", func(o Original, _ *kueue.Workload) { o.Workload.Spec.PodSets[0].Count = 2 }, true},
		{"so has its priority", func(o Original, _ *kueue.Workload) {
			o.Workload.Spec.PodSets[0].Count, o.Workload.Spec.Priority = 2, ptr.To[int32](7)
		}, true},
		{"it is the same", func(Original, *kueue.Workload) {}, false},
		{"the hub's has grown", func(o Original, _ *kueue.Workload) { o.Workload.Spec.PodSets[0].Count = 9 }, false},
		{"something else differs as well", func(o Original, _ *kueue.Workload) {
			o.Workload.Spec.PodSets[0].Count, o.Workload.Spec.QueueName = 2, "other"
		}, false},
		{"it is not elastic", func(o Original, _ *kueue.Workload) {
			o.Workload.Spec.PodSets[0].Count, o.Workload.Annotations = 2, nil
		}, false},
		{"the copy is not", func(o Original, remote *kueue.Workload) {
			o.Workload.Spec.PodSets[0].Count = 2
			delete(remote.Annotations, kueue.ElasticJobAnnotation)
		}, false},
		{"another pod set", func(o Original, _ *kueue.Workload) {
			o.Workload.Spec.PodSets = append(o.Workload.Spec.PodSets, o.Workload.Spec.PodSets[0])
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, remote := elasticOf(4)
			c.change(o, remote)
			if got := o.ObserveWorkload(remote).OnlyLarger; got != c.want {
				t.Errorf("only larger %t, want %t", got, c.want)
			}
		})
	}
}

func TestAnElasticJobAndItsCopyBecomeSmaller(t *testing.T) {
	o, seen := elasticOf(4)
	copied := o.WorkloadCopy(2)
	remote := jobOnWorker(2, func(j *batchv1.Job) { j.Spec.Parallelism = ptr.To[int32](4) })
	cl := worker(t, copied, remote)
	o.Workload.Spec.PodSets[0].Count = 2
	if !o.ObserveJob(remote).SizeBehind {
		t.Error("a job of four pods is not behind a Workload of two")
	}
	if err := o.ResizeJob(context.Background(), cl, 2, false); err != nil {
		t.Fatal(err)
	}
	seen.ResourceVersion = copied.ResourceVersion
	if err := o.UpdateOffer(context.Background(), cl, seen); err != nil {
		t.Fatal(err)
	}
	for _, obj := range []client.Object{copied, remote} {
		if err := cl.Get(context.Background(), client.ObjectKeyFromObject(obj), obj); err != nil {
			t.Fatal(err)
		}
	}
	if *remote.Spec.Parallelism != 2 || o.ObserveJob(remote).SizeBehind {
		t.Errorf("the job has %d pods", *remote.Spec.Parallelism)
	}
	if c := o.ObserveWorkload(copied); !c.SpecMatches || copied.Spec.PodSets[0].Count != 2 {
		t.Errorf("the copy is %+v", copied.Spec.PodSets)
	}
}

func TestAJobIsResizedInItsOwnEpochOnly(t *testing.T) {
	o, _ := elasticOf(4)
	remote := jobOnWorker(2, func(j *batchv1.Job) { j.Spec.Parallelism = ptr.To[int32](9) })
	cl := worker(t, remote)
	if err := o.ResizeJob(context.Background(), cl, 3, false); err != nil {
		t.Fatal(err)
	}
	if err := cl.Get(context.Background(), client.ObjectKeyFromObject(remote), remote); err != nil || *remote.Spec.Parallelism != 9 {
		t.Errorf("%v; the job of another epoch has %d pods", err, *remote.Spec.Parallelism)
	}
	o.Workload.Annotations = nil
	if err := o.ResizeJob(context.Background(), cl, 2, false); err != nil || o.ObserveJob(remote).SizeBehind {
		t.Errorf("%v; a job that is not elastic is behind", err)
	}
	if err := cl.Get(context.Background(), client.ObjectKeyFromObject(remote), remote); err != nil || *remote.Spec.Parallelism != 9 {
		t.Errorf("%v; a job that is not elastic has %d pods", err, *remote.Spec.Parallelism)
	}
}
