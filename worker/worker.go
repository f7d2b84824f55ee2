// Package worker is the composition root of the engine that admits work against quota in one cluster. It chooses the parts
// that the settings ask for and puts them together; it decides nothing about workloads.
//
// A hub is this engine with one more admission check. So nothing here or below knows of hubs: a [Composition] says what a
// program does otherwise than a worker.
package worker

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	kueuev1beta1 "switchyard.dev/apis/kueue/v1beta1"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/manager"
)

// Scheme knows the public API, both its versions, our own, and every compiled-in kind of job.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	add := []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, kueue.AddToScheme, kueuev1beta1.AddToScheme, switchyard.AddToScheme}
	for _, kind := range frameworks() {
		add = append(add, kind.AddToScheme)
	}
	for _, f := range add {
		if err := f(scheme); err != nil {
			return nil, fmt.Errorf("register API types: %w", err)
		}
	}
	return scheme, nil
}

// Program is the executable of this name. It serves the kinds of kueue.x-k8s.io.
func Program(name string, compose func(manager.Settings) (*Composition, error)) manager.Program {
	return manager.Program{
		Name: name, Scheme: Scheme, API: kueue.GroupVersion,
		Compose: func(s manager.Settings) ([]manager.Part, prometheus.Gatherer, error) {
			c, err := compose(s)
			if err != nil {
				return nil, nil, err
			}
			return c.Build()
		},
	}
}
