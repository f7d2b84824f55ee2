package images_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"debug/elf"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"switchyard.dev/charts/images"
)

// tiny is an image of a program of two lines, in a module in the directory.
func tiny(t *testing.T, dir string) (images.Built, string) {
	t.Helper()
	for name, text := range map[string]string{
		"go.mod":           "module example.com/tiny\n\ngo 1.26.0\n",
		"cmd/tiny/main.go": "package main\n\nfunc main() { println(\"tiny\") }\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	built, err := images.Build(context.Background(), images.Spec{
		Name: "example.com/tiny", Tag: "v1", Dir: dir, Package: "./cmd/tiny", Created: time.Unix(1_700_000_000, 0),
		Platforms: []images.Platform{{OS: "linux", Arch: "amd64"}, {OS: "linux", Arch: "arm64"}}, Revision: "abc",
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "tiny.tar")
	digest, err := images.Write(built, file)
	if err != nil {
		t.Fatal(err)
	}
	if want, err := built.Index.Digest(); err != nil || digest != want {
		t.Fatalf("written is %s, built %s, %v", digest, want, err)
	}
	return built, file
}

func TestTheSameSourceGivesTheSameFileWhereverItIsBuilt(t *testing.T) {
	_, first := tiny(t, t.TempDir())
	_, second := tiny(t, filepath.Join(t.TempDir(), "elsewhere"))
	if sum(t, first) != sum(t, second) {
		t.Error("two builds differ")
	}
}

func sum(t *testing.T, file string) [sha256.Size]byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(data)
}

func TestAnImageHasAStaticProgramForEachPlatformAndRunsAsNobody(t *testing.T) {
	built, file := tiny(t, t.TempDir())
	if err := validate.Index(loaded(t, file)); err != nil {
		t.Fatal(err)
	}
	for arch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		image := imageFor(t, built.Index, arch)
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if c := config.Config; c.User != "65532:65532" || !slices.Equal(c.Entrypoint, []string{"/tiny"}) || config.Architecture != arch {
			t.Errorf("%s: it is %+v for %s", arch, c, config.Architecture)
		}
		files := filesOf(t, image)
		program, err := elf.NewFile(bytes.NewReader(files["tiny"]))
		if err != nil {
			t.Fatal(err)
		}
		if program.Machine != machine {
			t.Errorf("%s: the program is for %s", arch, program.Machine)
		}
		if libraries, err := program.ImportedLibraries(); err == nil && len(libraries) > 0 || program.Section(".interp") != nil {
			t.Errorf("%s: the program needs %v", arch, libraries)
		}
		if !x509.NewCertPool().AppendCertsFromPEM(files["etc/ssl/certs/ca-certificates.crt"]) {
			t.Error("there are no authorities")
		}
		if n := authorities(t, files["etc/ssl/certs/ca-certificates.crt"]); n < 100 {
			t.Errorf("only %d authorities", n)
		}
	}
}

func TestWhatLoadsTheFileFindsTheNameInIt(t *testing.T) {
	_, file := tiny(t, t.TempDir())
	manifest, err := loadedLayout(t, file).IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("%v, %v", manifest, err)
	}
	if name := manifest.Manifests[0].Annotations["io.containerd.image.name"]; name != "example.com/tiny:v1" {
		t.Errorf("containerd would call it %q", name)
	}
}

func TestABillOfMaterialsIsInTheImageAndBesideIt(t *testing.T) {
	built, file := tiny(t, t.TempDir())
	beside, err := os.ReadFile(strings.TrimSuffix(file, ".tar") + "-linux-arm64.cdx.json")
	if err != nil {
		t.Fatal(err)
	}
	inside := filesOf(t, imageFor(t, built.Index, "arm64"))["usr/share/sbom/bom.cdx.json"]
	if !bytes.Equal(beside, inside) {
		t.Error("the two differ")
	}
	bom := &cyclonedx.BOM{}
	if err := json.Unmarshal(inside, bom); err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, c := range *bom.Components {
		names[c.Name] = c.Version
	}
	if names["example.com/tiny"] == "" || !strings.HasPrefix(names["std"], "1.") {
		t.Errorf("it lists %v", names)
	}
	settings := map[string]string{}
	for _, p := range *bom.Metadata.Component.Properties {
		settings[p.Name] = p.Value
	}
	if settings["go:CGO_ENABLED"] != "0" || settings["go:-trimpath"] != "true" || settings["go:GOARCH"] != "arm64" {
		t.Errorf("it was built with %v", settings)
	}
}

func TestPlatformsAreReadStrictly(t *testing.T) {
	got, err := images.ParsePlatforms("linux/amd64,linux/arm64")
	if err != nil || len(got) != 2 || got[1].String() != "linux/arm64" {
		t.Errorf("%v, %v", got, err)
	}
	for _, wrong := range []string{"", "linux", "linux/", "/arm64", "linux/arm/v7", "linux/amd64,"} {
		if _, err := images.ParsePlatforms(wrong); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}

// loadedLayout unpacks the file and reads it as a layout.
func loadedLayout(t *testing.T, file string) v1.ImageIndex {
	t.Helper()
	dir := t.TempDir()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range untar(t, bytes.NewReader(data)) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

// loaded is the image in the file.
func loaded(t *testing.T, file string) v1.ImageIndex {
	t.Helper()
	all := loadedLayout(t, file)
	manifest, err := all.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	index, err := all.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

func imageFor(t *testing.T, index v1.ImageIndex, arch string) v1.Image {
	t.Helper()
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range manifest.Manifests {
		if d.Platform.Architecture == arch {
			image, err := index.Image(d.Digest)
			if err != nil {
				t.Fatal(err)
			}
			return image
		}
	}
	t.Fatalf("there is none for %s", arch)
	return nil
}

func filesOf(t *testing.T, image v1.Image) map[string][]byte {
	t.Helper()
	flat := mutate.Extract(image)
	defer flat.Close()
	return untar(t, flat)
}

func untar(t *testing.T, in io.Reader) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for r := tar.NewReader(in); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		if files[header.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

func authorities(t *testing.T, text []byte) int {
	t.Helper()
	for n := 0; ; n++ {
		block, rest := pem.Decode(text)
		if block == nil {
			return n
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			t.Error(err)
		}
		text = rest
	}
}
