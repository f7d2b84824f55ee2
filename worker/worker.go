// Package worker is the composition root of the engine that admits work against quota in one cluster. It chooses the parts
// that the settings ask for and puts them together; it decides nothing about workloads.
//
// A hub is this engine with one more admission check, so nothing here or below knows of hubs.
package worker

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"switchyard.dev/apis/config/features"
	kueuev1beta1 "switchyard.dev/apis/kueue/v1beta1"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/job/all"
	"switchyard.dev/worker/manager"
	"switchyard.dev/worker/workload"
)

// Scheme knows the public API, both its versions, our own, and every compiled-in kind of job.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	add := []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, kueue.AddToScheme, kueuev1beta1.AddToScheme, switchyard.AddToScheme}
	for _, kind := range all.Kinds() {
		add = append(add, kind.AddToScheme)
	}
	for _, f := range add {
		if err := f(scheme); err != nil {
			return nil, fmt.Errorf("register API types: %w", err)
		}
	}
	return scheme, nil
}

// Parts composes the engine. An error says what is wrong with the settings.
func Parts(s manager.Settings) ([]manager.Part, error) { return PartsWith(s) }

// PartsWith is Parts for a program that does more than a worker: each of prepare completes an admission before it is written
// (see act.Config). Whoever asks for that dispatches jobs to other clusters, and says when one that is evicted has stopped there.
func PartsWith(s manager.Settings, prepare ...func(wl *kueue.Workload, now time.Time)) ([]manager.Part, error) {
	kinds, err := Kinds(s)
	if err != nil {
		return nil, err
	}
	engine, err := newEngine(s, kinds)
	if err != nil {
		return nil, err
	}
	engine.preparations, engine.dispatches = preparationsOf(s, prepare), dispatchesOf(s, prepare)
	integrations, err := engine.integrations()
	if err != nil {
		return nil, err
	}
	return append(engine.parts(), integrations...), nil
}

// preparationsOf are what completes an admission: what the program asks for and, where pods are waited for, that they have not
// been ready.
func preparationsOf(s manager.Settings, asked []func(*kueue.Workload, time.Time)) []func(*kueue.Workload, time.Time) {
	if !waitsForPodsReady(s) {
		return asked
	}
	return append(slices.Clone(asked), workload.SetPodsNotReady)
}

// dispatchesOf reports whether the program hands jobs to other clusters. Where the gate is off nobody is there to say that one has
// stopped over there, and nobody may wait for it.
func dispatchesOf(s manager.Settings, prepare []func(wl *kueue.Workload, now time.Time)) bool {
	return len(prepare) > 0 && s.Gates.Enabled(features.MultiKueue)
}
