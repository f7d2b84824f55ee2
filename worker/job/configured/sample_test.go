package configured_test

import (
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/job/configured"
)

// readSample reads the JobKind of a file of config/samples/jobkinds.
func readSample(tb testing.TB, file string) *switchyard.JobKind {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("../../../config/samples/jobkinds", file))
	if err != nil {
		tb.Fatal(err)
	}
	declared := &switchyard.JobKind{}
	if err := yaml.UnmarshalStrict(data, declared); err != nil {
		tb.Fatal(err)
	}
	return declared
}

// compileSample compiles it.
func compileSample(tb testing.TB, file string) *configured.Program {
	tb.Helper()
	program, errs := configured.Compile(&readSample(tb, file).Spec)
	if len(errs) > 0 {
		tb.Fatal(errs.ToAggregate())
	}
	return program
}
