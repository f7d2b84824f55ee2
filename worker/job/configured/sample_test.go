package configured_test

import (
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/job/configured"
)

// readSample reads the JobKind of a file of config/samples/kinds.
func readSample(t testing.TB, file string) *switchyard.JobKind {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../../config/samples/kinds", file))
	if err != nil {
		t.Fatal(err)
	}
	declared := &switchyard.JobKind{}
	if err := yaml.UnmarshalStrict(data, declared); err != nil {
		t.Fatal(err)
	}
	return declared
}

// compileSample compiles it.
func compileSample(t testing.TB, file string) *configured.Program {
	t.Helper()
	program, errs := configured.Compile(&readSample(t, file).Spec)
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	return program
}
