package workload_test

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/workload"
)

func slice(name string, age time.Duration, replaces string) *kueue.Workload {
	wl := &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(time.Unix(1e9, 0).Add(-age)),
			Annotations: map[string]string{kueue.ElasticJobAnnotation: "true", kueue.WorkloadSliceNameAnnotation: "first"},
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "batch/v1", Kind: "Job", Name: "job", UID: "job-uid", Controller: ptr.To(true)},
			},
		},
		Spec: kueue.WorkloadSpec{PodSets: []kueue.PodSet{{Name: "main", Count: 3}}},
	}
	if replaces != "" {
		wl.Annotations[kueue.WorkloadSliceReplacementForAnnotation] = replaces
	}
	return wl
}

func TestWhichSliceReplacesAnother(t *testing.T) {
	for name, c := range map[string]struct {
		change func(wl, older *kueue.Workload)
		want   bool
	}{
		"the next slice of a job":            {func(_, _ *kueue.Workload) {}, true},
		"with other counts":                  {func(wl, _ *kueue.Workload) { wl.Spec.PodSets[0].Count = 9 }, true},
		"made in the same second":            {func(wl, older *kueue.Workload) { wl.CreationTimestamp = older.CreationTimestamp; wl.UID = "z" }, true},
		"that claims nothing":                {func(wl, _ *kueue.Workload) { delete(wl.Annotations, kueue.WorkloadSliceReplacementForAnnotation) }, false},
		"that is not elastic":                {func(wl, _ *kueue.Workload) { delete(wl.Annotations, kueue.ElasticJobAnnotation) }, false},
		"of one that is not elastic":         {func(_, older *kueue.Workload) { delete(older.Annotations, kueue.ElasticJobAnnotation) }, false},
		"of another namespace":               {func(_, older *kueue.Workload) { older.Namespace = "other" }, false},
		"that names another namespace":       {claim("other/first"), false},
		"that names no namespace":            {claim("first"), false},
		"that names itself":                  {claim("team/next"), false},
		"that names another slice":           {claim("team/second"), false},
		"of another job":                     {func(wl, _ *kueue.Workload) { wl.OwnerReferences[0].UID = "other" }, false},
		"of no job":                          {func(wl, _ *kueue.Workload) { wl.OwnerReferences = nil }, false},
		"of a job, while the other has none": {func(_, older *kueue.Workload) { older.OwnerReferences = nil }, false},
		"of another chain":                   {func(wl, _ *kueue.Workload) { wl.Annotations[kueue.WorkloadSliceNameAnnotation] = "other" }, false},
		"that is older": {func(wl, older *kueue.Workload) {
			wl.CreationTimestamp, older.CreationTimestamp = older.CreationTimestamp, wl.CreationTimestamp
		}, false},
		"with other pod sets":           {func(wl, _ *kueue.Workload) { wl.Spec.PodSets[0].Name = "other" }, false},
		"with a pod set more":           {func(wl, _ *kueue.Workload) { wl.Spec.PodSets = append(wl.Spec.PodSets, kueue.PodSet{Name: "more"}) }, false},
		"a hub's copy that no job has":  {copied("hub", "hub"), true},
		"a copy of another hub":         {copied("hub", "other"), false},
		"a copy of one that is no copy": {copied("hub", ""), false},
	} {
		t.Run(name, func(t *testing.T) {
			older, wl := slice("first", time.Hour, ""), slice("next", time.Minute, "team/first")
			c.change(wl, older)
			if got := workload.ReplacesSlice(wl, older); got != c.want {
				t.Errorf("replaces it: %t", got)
			}
		})
	}
}

func claim(name string) func(wl, older *kueue.Workload) {
	return func(wl, _ *kueue.Workload) { wl.Annotations[kueue.WorkloadSliceReplacementForAnnotation] = name }
}

func copied(origin, older string) func(wl, older *kueue.Workload) {
	return func(wl, first *kueue.Workload) {
		wl.OwnerReferences = nil
		wl.Labels = map[string]string{kueue.MultiKueueOriginLabel: origin}
		first.Labels = map[string]string{kueue.MultiKueueOriginLabel: older}
	}
}

func TestSlicesBeforeEndWhereTheChainIsBroken(t *testing.T) {
	chain := func(firstReplaces string) []*kueue.Workload {
		return []*kueue.Workload{slice("first", time.Hour, firstReplaces), slice("second", time.Hour, "team/first"), slice("third", time.Hour, "team/second")}
	}
	for name, c := range map[string]struct {
		among []*kueue.Workload
		want  string
	}{
		"the whole chain":            {chain(""), "second first "},
		"one is gone":                {slices.Delete(chain(""), 1, 2), ""},
		"it claims to be a circle":   {chain("team/third"), "second first "},
		"a part of it is one":        {chain("team/second"), "second first "},
		"of the last one it is none": {chain("")[2:], ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			for _, wl := range workload.SlicesBefore(c.among[len(c.among)-1], c.among) {
				got += wl.Name + " "
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestTheFirstSliceNamesTheChain(t *testing.T) {
	wl := slice("first", 0, "")
	delete(wl.Annotations, kueue.WorkloadSliceNameAnnotation)
	if got := workload.SliceName(wl); got != "first" {
		t.Errorf("its chain is %q", got)
	}
	if got := workload.SliceName(slice("next", 0, "team/first")); got != "first" {
		t.Errorf("the chain of the next is %q", got)
	}
}
