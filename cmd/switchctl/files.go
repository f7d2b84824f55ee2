package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"
)

// manifestFiles is -f of a command, as kubectl has it: files, directories, URLs, or "-".
type manifestFiles struct {
	resource.FilenameOptions
}

func newManifestFiles(cmd *cobra.Command, what string) *manifestFiles {
	f := &manifestFiles{}
	cmd.Flags().StringSliceVarP(&f.Filenames, "filename", "f", nil, what+": files, directories, URLs, or - for the standard input")
	cmd.Flags().BoolVarP(&f.Recursive, "recursive", "R", false, "Use directories within the given ones too")
	_ = cmd.MarkFlagRequired("filename")
	return f
}

// document is one manifest, and where it stands.
type document struct {
	*unstructured.Unstructured
	source string
}

// title names a document for messages.
func (d document) title() string {
	name := d.GetName()
	if name == "" {
		name = d.GetGenerateName() + "*"
	}
	return fmt.Sprintf("%s: %s %s", d.source, d.GetKind(), name)
}

// read reads all documents. No cluster is asked about them.
func (f *manifestFiles) read() ([]document, error) {
	infos, err := resource.NewLocalBuilder().Unstructured().FilenameParam(false, &f.FilenameOptions).Flatten().Do().Infos()
	if err != nil {
		return nil, usagef("read the manifests, each of which must be YAML or JSON with an apiVersion and a kind: %w", err)
	}
	var list []document
	for _, info := range infos {
		obj, ok := info.Object.(*unstructured.Unstructured)
		if !ok {
			return nil, usagef("%s: not a manifest", info.Source)
		}
		list = append(list, document{obj, info.Source})
	}
	if len(list) == 0 {
		return nil, usagef("there is no manifest in %v", f.Filenames)
	}
	return list, nil
}
