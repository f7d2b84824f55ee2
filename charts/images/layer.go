package images

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"path"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// User is the number of the user and of the group that programs run as: "nonroot" of many images without a shell.
const User = 65532

const (
	authoritiesPath = "etc/ssl/certs/ca-certificates.crt"
	bomPath         = "usr/share/sbom/bom.cdx.json"
)

// entry is one file of a layer.
type entry struct {
	path string
	mode int64
	data []byte
}

// base are the files that every image has.
func base() []entry {
	return []entry{
		{path: "etc/passwd", mode: 0o644, data: fmt.Appendf(nil, "nonroot:x:%d:%d:nonroot:/:/sbin/nologin\n", User, User)},
		{path: "etc/group", mode: 0o644, data: fmt.Appendf(nil, "nonroot:x:%d:\n", User)},
		{path: authoritiesPath, mode: 0o644, data: authorities()},
	}
}

// authorities are those of the public web. One that is trusted for old certificates only is left out: a file of
// certificates cannot say that.
func authorities() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			out.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return out.Bytes()
}

// layer packs files with their directories, all of root's, in order and of one time.
func layer(entries []entry, created time.Time) (v1.Layer, error) {
	data, err := archive(entries, created)
	if err != nil {
		return nil, err
	}
	opener := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	return tarball.LayerFromOpener(opener, tarball.WithMediaType(types.OCILayer))
}

func archive(entries []entry, created time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	header := func(h tar.Header) error {
		h.ModTime, h.Format = created, tar.FormatPAX
		return w.WriteHeader(&h)
	}
	for _, dir := range directories(entries) {
		if err := header(tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755}); err != nil {
			return nil, fmt.Errorf("pack %s: %w", dir, err)
		}
	}
	for _, e := range entries {
		if err := header(tar.Header{Typeflag: tar.TypeReg, Name: e.path, Mode: e.mode, Size: int64(len(e.data))}); err != nil {
			return nil, fmt.Errorf("pack %s: %w", e.path, err)
		}
		if _, err := w.Write(e.data); err != nil {
			return nil, fmt.Errorf("pack %s: %w", e.path, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("pack a layer: %w", err)
	}
	return out.Bytes(), nil
}

// directories above the entries, the upper ones first.
func directories(entries []entry) []string {
	var dirs []string
	for _, e := range entries {
		for dir := path.Dir(e.path); dir != "."; dir = path.Dir(dir) {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}
