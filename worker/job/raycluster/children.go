package raycluster

import (
	"strings"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

const (
	// Labels that KubeRay puts on what it makes for a job: the job's name and its kind.
	parentNameLabel, parentKindLabel = "ray.io/originated-from-cr-name", "ray.io/originated-from-crd"
	// maxNameLength is that of a Job's name that KubeRay makes up.
	maxNameLength = 63
)

// ChildLabels are those of all that KubeRay makes for the job of the kind.
func ChildLabels(kind string, owner client.Object) map[string]string {
	return map[string]string{parentNameLabel: owner.GetName(), parentKindLabel: kind}
}

// AsksAtMost tells whether a RayCluster asks for no more than the pod sets, of which the head and the worker groups come first. The pods of
// an elastic one may be more: those that are gated have been admitted by themselves before they run.
func AsksAtMost(rc *rayv1.RayCluster, paid []kueue.PodSet) bool {
	asked, err := podSets(rc)
	if err != nil || len(asked) > len(paid) {
		return false
	}
	for i := range asked {
		scaled := IsElastic(rc) && job.IsElasticallyGated(&asked[i].Template)
		if asked[i].Name != paid[i].Name || asked[i].Count > paid[i].Count && !scaled ||
			!job.RequestsAtMost(&asked[i].Template.Spec, &paid[i].Template.Spec) {
			return false
		}
	}
	return true
}

// ElasticChild declares a kind that is scaled as the live RayCluster of that name says, of which the autoscaler changes the worker groups; "" if it
// has none yet (contract: job-kinds.md 6 and 7).
func ElasticChild[T client.Object](elastic *job.Elastic[T], spec func(T) *rayv1.RayClusterSpec, name func(T) string) *job.Elastic[T] {
	elastic.ScaledBy = func(owner T) client.Object {
		of := spec(owner)
		if of == nil || !ptr.Deref(of.EnableInTreeAutoscaling, false) || name(owner) == "" {
			return nil
		}
		return &rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Namespace: owner.GetNamespace(), Name: name(owner)}}
	}
	elastic.Sizes = func(child client.Object) map[kueue.PodSetReference]int64 {
		sizes := map[kueue.PodSetReference]int64{}
		if rc, ok := child.(*rayv1.RayCluster); ok {
			for i := range rc.Spec.WorkerGroupSpecs {
				g := &rc.Spec.WorkerGroupSpecs[i]
				sizes[job.PodSetName(g.GroupName)] += workers(g)
			}
		}
		return sizes
	}
	return elastic
}

// IsJobOfOne tells whether a batch Job runs one pod at a time, which needs no more than the pod.
func IsJobOfOne(j *batchv1.Job, pod *corev1.PodSpec) bool {
	return job.BatchJobPods(&j.Spec) <= 1 && job.RequestsAtMost(&j.Spec.Template.Spec, pod)
}

// children is the Job that cleans Redis up after a RayCluster with GCS fault tolerance, which waits for its end before it is gone.
func children() *job.Children[*rayv1.RayCluster] {
	return &job.Children[*rayv1.RayCluster]{
		NewLists: func() []client.ObjectList { return []client.ObjectList{&batchv1.JobList{}} },
		Covers:   isCleanup,
		CleansUp: isCleanup,
	}
}

// isCleanup holds for the Job that KubeRay makes when the RayCluster is being deleted and its head is gone.
func isCleanup(rc *rayv1.RayCluster, child client.Object) bool {
	j, ok := child.(*batchv1.Job)
	if !ok || rc.DeletionTimestamp.IsZero() || !IsFaultTolerant(&rc.Spec, rc.Annotations) || j.Name != cleanupName(rc.Name) {
		return false
	}
	pod := rc.Spec.HeadGroupSpec.Template.Spec.DeepCopy()
	pod.Resources = nil
	pod.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: cleanupRequests()}}}
	return IsJobOfOne(j, pod)
}

// cleanupName is the name of that Job. KubeRay cuts long names in front.
func cleanupName(cluster string) string {
	name := cluster + "-redis-cleanup"
	name = name[max(len(name)-maxNameLength, 0):]
	if strings.HasPrefix(name, "-") || strings.HasPrefix(name, ".") {
		return "r" + name[1:]
	}
	return name
}
