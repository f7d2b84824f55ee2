package images

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Built is an image in memory.
type Built struct {
	// Spec it was built from.
	Spec Spec
	// Index has one image for each platform.
	Index v1.ImageIndex
	// Bills of materials, CycloneDX JSON, in the order of the platforms. Each is in its image too.
	Bills [][]byte
}

// Build compiles the program for every platform and makes the image. Nothing but the Go toolchain and its module cache is
// used.
func Build(ctx context.Context, s Spec) (Built, error) {
	dir, err := os.MkdirTemp("", "images-")
	if err != nil {
		return Built{}, fmt.Errorf("directory for programs: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // of the temporary directory's own, harmless
	built := Built{Spec: s, Index: mutate.IndexMediaType(empty.Index, types.OCIImageIndex)}
	for _, p := range s.Platforms {
		binary, err := compile(ctx, s, p, dir)
		if err != nil {
			return Built{}, err
		}
		bill, err := billOfMaterials(s, binary)
		if err != nil {
			return Built{}, err
		}
		image, err := imageOf(s, p, binary, bill)
		if err != nil {
			return Built{}, fmt.Errorf("image of %s for %s: %w", s.Package, p, err)
		}
		built.Bills = append(built.Bills, bill)
		built.Index = mutate.AppendManifests(built.Index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.OS, Architecture: p.Arch}},
		})
	}
	return built, nil
}

// imageOf puts what changes rarely into a layer of its own.
func imageOf(s Spec, p Platform, binary string, bill []byte) (v1.Image, error) {
	program, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, part := range []struct {
		comment string
		files   []entry
	}{
		{"certificate authorities and a user", base()},
		{"program and bill of materials", []entry{
			{path: s.program(), mode: 0o755, data: program}, {path: bomPath, mode: 0o644, data: bill},
		}},
	} {
		packed, err := layer(part.files, s.Created)
		if err != nil {
			return nil, err
		}
		image, err = mutate.Append(image, mutate.Addendum{
			Layer: packed, MediaType: types.OCILayer,
			History: v1.History{Created: v1.Time{Time: s.Created.UTC()}, CreatedBy: "charts/images", Comment: part.comment},
		})
		if err != nil {
			return nil, err
		}
	}
	return configured(image, s, p)
}

func configured(image v1.Image, s Spec, p Platform) (v1.Image, error) {
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.Created, file.OS, file.Architecture = v1.Time{Time: s.Created.UTC()}, p.OS, p.Arch
	user := strconv.Itoa(User)
	file.Config = v1.Config{
		User: user + ":" + user, Entrypoint: []string{"/" + s.program()}, WorkingDir: "/",
		Env: []string{"SSL_CERT_FILE=/" + authoritiesPath}, Labels: labels(s),
	}
	return mutate.ConfigFile(image, file)
}

// labels are the annotations of the OCI image specification that container engines show.
func labels(s Spec) map[string]string {
	all := map[string]string{
		"org.opencontainers.image.title": s.program(), "org.opencontainers.image.version": s.Tag,
		"org.opencontainers.image.created":  s.Created.UTC().Format(time.RFC3339),
		"org.opencontainers.image.licenses": "Apache-2.0",
	}
	if s.Source != "" {
		all["org.opencontainers.image.source"] = s.Source
	}
	if s.Revision != "" {
		all["org.opencontainers.image.revision"] = s.Revision
	}
	return all
}
