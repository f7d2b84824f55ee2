// Package manifest reads the manifests that a user passes with -f, and prints objects as manifests.
package manifest

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"

	"switchyard.dev/cmd/switchctl/exit"
)

// Files is -f of a command, as kubectl has it: files, directories, URLs, or "-".
type Files struct {
	resource.FilenameOptions
}

// NewFiles adds -f and -R to a command; -f is required.
func NewFiles(cmd *cobra.Command, what string) *Files {
	f := &Files{}
	cmd.Flags().StringSliceVarP(&f.Filenames, "filename", "f", nil, what+": files, directories, URLs, or - for the standard input")
	cmd.Flags().BoolVarP(&f.Recursive, "recursive", "R", false, "Use directories within the given ones too")
	_ = cmd.MarkFlagRequired("filename")
	return f
}

// Document is one manifest, and where it stands.
type Document struct {
	*unstructured.Unstructured
	source string
}

// Title names a document for messages.
func (d Document) Title() string {
	name := d.GetName()
	if name == "" {
		name = d.GetGenerateName() + "*"
	}
	return fmt.Sprintf("%s: %s %s", d.source, d.GetKind(), name)
}

// Read reads all documents. No cluster is asked about them.
func (f *Files) Read() ([]Document, error) {
	infos, err := resource.NewLocalBuilder().Unstructured().FilenameParam(false, &f.FilenameOptions).Flatten().Do().Infos()
	if err != nil {
		return nil, exit.Usagef("read the manifests, each of which must be YAML or JSON with an apiVersion and a kind: %w", err)
	}
	var list []Document
	for _, info := range infos {
		obj, ok := info.Object.(*unstructured.Unstructured)
		if !ok {
			return nil, exit.Usagef("%s: not a manifest", info.Source)
		}
		list = append(list, Document{obj, info.Source})
	}
	if len(list) == 0 {
		return nil, exit.Usagef("there is no manifest in %v", f.Filenames)
	}
	return list, nil
}
