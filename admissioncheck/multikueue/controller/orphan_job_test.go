package controller

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestTheJobOfAnOrphanIsWhatTheHubMadeAndNotWhatWasMadeForIt(t *testing.T) {
	seen := func(name, owner string) jobOnWorker {
		j := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if owner != "" {
			j.OwnerReferences = []metav1.OwnerReference{{Name: owner, Controller: ptr.To(true)}}
		}
		return jobOnWorker{object: j}
	}
	for name, c := range map[string]struct {
		seen []jobOnWorker
		want string
	}{
		"nothing is seen":                        {nil, ""},
		"the job alone":                          {[]jobOnWorker{seen("train", "")}, "train"},
		"what was made for it comes first":       {[]jobOnWorker{seen("train-x7", "train"), seen("train", "")}, "train"},
		"somebody gave the job an owner as well": {[]jobOnWorker{seen("train", "another")}, "train"},
	} {
		got := ""
		if made, ok := findHubJob(c.seen); ok {
			got = made.object.GetName()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
