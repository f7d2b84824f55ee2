// Command finish completes, in place, the manifests that controller-gen has
// written: it adds the conversion webhook to the CRDs of the kinds that have one
// (contract: kueue-api.md 1.1), drops the descriptions of pod templates, which
// would make the Workload CRD too big for a Helm release, and keeps the webhooks
// of jobs away from the namespaces of the system (contract: kueue-api.md 8.5).
//
// It is a step of "make generate" and has no other use. Its argument is the
// directory config.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: finish DIRECTORY")
		os.Exit(2)
	}
	if err := finish(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func finish(directory string) error {
	files, err := filepath.Glob(filepath.Join(directory, "crd", "bases", "*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := finishCRD(file); err != nil {
			return err
		}
	}
	for _, of := range []string{"webhook", "pods"} {
		if err := finishWebhooks(filepath.Join(directory, of, "manifests.yaml")); err != nil {
			return err
		}
	}
	return nil
}

// write writes objects as one file of manifests, without the status and the
// creation time, which a manifest has no business to set.
func write(file string, objects ...any) error {
	var manifests bytes.Buffer
	for _, object := range objects {
		data, err := yaml.Marshal(object)
		if err != nil {
			return fmt.Errorf("writing %s: %w", file, err)
		}
		fields := map[string]any{}
		if err := yaml.Unmarshal(data, &fields); err != nil {
			return fmt.Errorf("writing %s: %w", file, err)
		}
		delete(fields, "status")
		if metadata, ok := fields["metadata"].(map[string]any); ok {
			delete(metadata, "creationTimestamp")
		}
		if data, err = yaml.Marshal(fields); err != nil {
			return fmt.Errorf("writing %s: %w", file, err)
		}
		manifests.WriteString("---\n")
		manifests.Write(data)
	}
	return os.WriteFile(file, manifests.Bytes(), 0o644)
}
