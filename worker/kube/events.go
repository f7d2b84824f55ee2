package kube

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
)

// Event is one thing to tell the user about an object, kept until the write it speaks of has succeeded.
type Event struct {
	// Warning makes it a Warning instead of a Normal event.
	Warning bool
	// Reason is one of the contract's reasons (contract: kueue-api.md 1.14).
	Reason string
	// Action is what was done; empty if the reason says it.
	Action string
	// Note is the text for people, at most 1 KiB.
	Note string
}

// MaxEventNote is the longest note of an event, in bytes.
const MaxEventNote = 1024

// RecordEvents sends the events about one object, in order. Call it only after the write that made them true.
func RecordEvents(recorder events.EventRecorder, about runtime.Object, list ...Event) {
	for _, e := range list {
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		recorder.Eventf(about, nil, kind, e.Reason, cmp.Or(e.Action, e.Reason), "%s", Truncate(e.Note, MaxEventNote))
	}
}

// MaxConditionMessage is the longest message a condition or admission check state may carry, in bytes (contract:
// kueue-api.md 1.2).
const MaxConditionMessage = 32 * 1024

// truncationMark stands for what was cut off.
const truncationMark = " ..."

// Truncate cuts a text to at most limit bytes, at a rune boundary, marking the cut with " ..." (contract: messages.md 0).
func Truncate(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	cut := max(limit-len(truncationMark), 0)
	for cut > 0 && text[cut]&0xC0 == 0x80 {
		cut--
	}
	return text[:cut] + truncationMark
}
