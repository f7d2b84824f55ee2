package legacy

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// Recorder returns a recorder whose warnings have the coarse reason, for the scheduling loop: its warnings say why a
// Workload waits (contract: kueue-api.md 1.14, row 3).
func Recorder(inner events.EventRecorder) events.EventRecorder { return &recorder{inner} }

type recorder struct{ events.EventRecorder }

func (r *recorder) Eventf(regarding, related runtime.Object, eventtype, reason, action, note string, args ...any) {
	if eventtype == corev1.EventTypeWarning {
		reason = string(Reason(kueue.Reason(reason), fmt.Sprintf(note, args...)))
	}
	r.EventRecorder.Eventf(regarding, related, eventtype, reason, action, note, args...)
}
