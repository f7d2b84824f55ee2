package mirror

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestAStatusIsShownWithoutWhatIsNotFitToBeShown(t *testing.T) {
	job := &batchv1.Job{}
	job.Status.CompletedIndexes = strings.Repeat("1,3-5,", 10000)
	job.Status.Conditions = []batchv1.JobCondition{{Reason: "R", Message: "a\x1b[31m\nb" + strings.Repeat("x", 100000)}}
	shown, small := ofJob(job).sanitizeStatus(job)
	got := shown.(*batchv1.Job).Status
	if message := got.Conditions[0].Message; !small || !strings.HasPrefix(message, "a bx") || len(message) > 32768 {
		t.Errorf("small %v, the message is %.40q of %d bytes", small, message, len(message))
	}
	if got.CompletedIndexes != job.Status.CompletedIndexes || !strings.Contains(job.Status.Conditions[0].Message, "\x1b") {
		t.Error("something else was changed, or the original was")
	}
	other := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{map[string]any{"message": "a\nb"}}}}}
	shown, small = ofJob(other).sanitizeStatus(other)
	list, _, _ := unstructured.NestedSlice(shown.(*unstructured.Unstructured).Object, "status", "conditions")
	if !small || list[0].(map[string]any)["message"] != "a b" {
		t.Errorf("small %v, %v", small, list)
	}
}

func TestAStatusThatIsFitToBeShownIsTheObjectsOwn(t *testing.T) {
	job := &batchv1.Job{}
	job.Status.Conditions = []batchv1.JobCondition{{Message: "Reached expected number of succeeded pods"}}
	if shown, small := ofJob(job).sanitizeStatus(job); shown != job || !small {
		t.Error("it was copied, or is too large")
	}
}

func TestAStatusThatIsTooLargeIsNotCopied(t *testing.T) {
	job := &batchv1.Job{}
	job.Status.CompletedIndexes = strings.Repeat("1", MaxStatus+1)
	if _, small := ofJob(job).sanitizeStatus(job); small {
		t.Error("it is copied")
	}
}
