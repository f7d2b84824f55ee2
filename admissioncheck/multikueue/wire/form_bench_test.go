package wire_test

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"switchyard.dev/worker/jsonweight"
)

// ordinaryJob is a Job as a worker's API server tells of one that runs.
func ordinaryJob() *batchv1.Job {
	now := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	fields := `{"f:metadata":{"f:labels":{".":{},"f:kueue.x-k8s.io/queue-name":{}}},"f:spec":{"f:backoffLimit":{},"f:completions":{},` +
		`"f:parallelism":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"main\"}":{".":{},"f:image":{},"f:resources":{}}}}}}}`
	managed := metav1.ManagedFieldsEntry{
		Manager: "hub", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "batch/v1", Time: &now, FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(fields),
	}
	job := &batchv1.Job{
		TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: "training-0001", UID: "7e4e3c1a-0000-4000-8000-000000000001", ResourceVersion: "123456", CreationTimestamp: now,
			Labels:      map[string]string{"kueue.x-k8s.io/queue-name": "team", "kueue.x-k8s.io/multikueue-origin": "multikueue"},
			Annotations: map[string]string{"batch.kubernetes.io/job-tracking": ""}, ManagedFields: []metav1.ManagedFieldsEntry{managed, managed},
		},
		Spec: batchv1.JobSpec{Parallelism: new(int32(4)), Completions: new(int32(4)), BackoffLimit: new(int32(3)), Suspend: new(false)},
		Status: batchv1.JobStatus{
			StartTime: &now, Active: 4, Ready: new(int32(4)),
			Conditions: []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: corev1.ConditionFalse, Reason: "JobResumed", LastTransitionTime: now}},
		},
	}
	job.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, NodeSelector: map[string]string{"kind": "gpu"}, Containers: []corev1.Container{{
		Name: "main", Image: "registry.example.com/training:v1", Args: []string{"--epochs=10", "--out=/data"},
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			"cpu": resource.MustParse("8"), "memory": resource.MustParse("64Gi"), "nvidia.com/gpu": resource.MustParse("1"),
		}},
		Env: []corev1.EnvVar{{Name: "RANK", Value: "0"}, {Name: "WORLD", Value: "4"}},
	}}}
	return job
}

// BenchmarkFormOfAJob is what the hub pays for one event of a Job in each form that API servers offer, and for weighing it.
func BenchmarkFormOfAJob(b *testing.B) {
	weights := jsonweight.Measure(batchv1.JobList{})
	for _, mediaType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), mediaType)
		text, err := runtime.Encode(info.Serializer, ordinaryJob())
		if err != nil {
			b.Fatal(err)
		}
		decoder := scheme.Codecs.UniversalDeserializer()
		b.Run(fmt.Sprintf("decode/%s/%dB", mediaType, len(text)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := decoder.Decode(text, nil, &batchv1.Job{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		if mediaType != runtime.ContentTypeJSON {
			continue
		}
		b.Run("weigh", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s := jsonweight.Scanner{Weights: weights}
				if !s.Feed(text) || s.Weight() == 0 {
					b.Fatal("cannot be weighed")
				}
			}
		})
	}
}
