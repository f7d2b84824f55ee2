package images

import (
	"archive/tar"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// Write writes the image as an OCI image layout into the tar file, and the bills of materials beside it as
// <file without .tar>-<os>-<arch>.cdx.json. It returns the digest of the image for all platforms.
func Write(b Built, file string) (v1.Hash, error) {
	digest, err := b.Index.Digest()
	if err != nil {
		return v1.Hash{}, fmt.Errorf("digest of %s: %w", b.Spec.reference(), err)
	}
	dir, err := os.MkdirTemp("", "layout-")
	if err != nil {
		return v1.Hash{}, fmt.Errorf("directory for a layout: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // of the temporary directory's own, harmless
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return v1.Hash{}, fmt.Errorf("image layout: %w", err)
	}
	if err := path.AppendIndex(b.Index, layout.WithAnnotations(names(b.Spec))); err != nil {
		return v1.Hash{}, fmt.Errorf("image layout of %s: %w", b.Spec.reference(), err)
	}
	if err := pack(b.Spec, dir, file); err != nil {
		return v1.Hash{}, fmt.Errorf("write %s: %w", file, err)
	}
	return digest, writeBills(b, file)
}

// names are how containerd, and other programs that follow the specification of layouts, name what they load.
func names(s Spec) map[string]string {
	return map[string]string{
		"io.containerd.image.name": s.reference(), "org.opencontainers.image.ref.name": s.Tag,
	}
}

func writeBills(b Built, file string) error {
	for i, bill := range b.Bills {
		p := b.Spec.Platforms[i]
		name := fmt.Sprintf("%s-%s-%s.cdx.json", file[:len(file)-len(filepath.Ext(file))], p.OS, p.Arch)
		if err := os.WriteFile(name, bill, 0o644); err != nil {
			return fmt.Errorf("write a bill of materials: %w", err)
		}
	}
	return nil
}

// pack archives the directory in the order of names, as of the image's own time.
func pack(s Spec, dir, file string) (err error) {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() {
		if closing := out.Close(); err == nil {
			err = closing
		}
	}()
	w := tar.NewWriter(out)
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return packFile(w, s, path, filepath.ToSlash(name))
	})
	if err != nil {
		return err
	}
	return w.Close()
}

func packFile(w *tar.Writer, s Spec, path, name string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	header := tar.Header{Name: name, Mode: 0o644, Typeflag: tar.TypeReg, Size: info.Size(), ModTime: s.Created, Format: tar.FormatPAX}
	if info.IsDir() {
		header.Name, header.Mode, header.Typeflag, header.Size = name+"/", 0o755, tar.TypeDir, 0
		return w.WriteHeader(&header)
	}
	if err := w.WriteHeader(&header); err != nil {
		return err
	}
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	_, err = io.Copy(w, in)
	return err
}
