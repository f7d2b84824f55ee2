package controller

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

func TestNothingIsDecidedOnAVersionOlderThanOurOwnLastWrite(t *testing.T) {
	at := func(version string) *kueue.Workload {
		return &kueue.Workload{ObjectMeta: metav1.ObjectMeta{UID: "uid", ResourceVersion: version}}
	}
	var w written
	if w.newerThan(at("9")) {
		t.Error("nothing was written yet")
	}
	w.note(at("10"))
	if !w.newerThan(at("9")) {
		t.Error("the cache is behind and believed")
	}
	if w.newerThan(at("10")) || w.newerThan(at("9")) {
		t.Error("once the cache has caught up it is believed for good")
	}
	w.note(at("12"))
	if w.newerThan(at("not a number")) {
		t.Error("versions that cannot be compared hold the workload up for ever")
	}
}
