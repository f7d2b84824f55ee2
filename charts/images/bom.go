package images

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

// billOfMaterials lists, as CycloneDX JSON, the modules that the linker says are in the binary, with the toolchain and the
// settings of the build.
func billOfMaterials(s Spec, binary string) ([]byte, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("what %s is built from: %w", binary, err)
	}
	var out bytes.Buffer
	if err := cyclonedx.NewBOMEncoder(&out, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bomOf(s, info)); err != nil {
		return nil, fmt.Errorf("bill of materials of %s: %w", s.Package, err)
	}
	return out.Bytes(), nil
}

// bomOf is the bill of a build. It has neither a serial number nor the time of the build: both would differ each time.
func bomOf(s Spec, info *debug.BuildInfo) *cyclonedx.BOM {
	program := cyclonedx.Component{
		BOMRef: "pkg:oci/" + s.program() + "@" + s.Tag, Type: cyclonedx.ComponentTypeApplication,
		Name: s.program(), Version: s.Tag, Properties: settingsOf(info),
	}
	components := []cyclonedx.Component{module(info.Main.Path, version(s, info.Main.Version), "")}
	for _, dependency := range info.Deps {
		used := dependency
		if dependency.Replace != nil {
			used = dependency.Replace
		}
		components = append(components, module(used.Path, used.Version, used.Sum))
	}
	components = append(components, module("std", strings.TrimPrefix(info.GoVersion, "go"), ""))
	var needed []string
	for _, c := range components {
		needed = append(needed, c.BOMRef)
	}
	slices.Sort(needed)
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Timestamp: s.Created.UTC().Format("2006-01-02T15:04:05Z"), Component: &program}
	bom.Components = &components
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: program.BOMRef, Dependencies: &needed}}
	return bom
}

// version of our own module: the image's, where the toolchain knows none.
func version(s Spec, known string) string {
	if known == "" || known == "(devel)" {
		return s.Tag
	}
	return known
}

func module(path, version, sum string) cyclonedx.Component {
	purl := "pkg:golang/" + path + "@" + version
	c := cyclonedx.Component{BOMRef: purl, Type: cyclonedx.ComponentTypeLibrary, Name: path, Version: version, PackageURL: purl}
	if sum != "" { // go.sum's hash of a tree of files, which is none of CycloneDX's own kinds
		c.Properties = &[]cyclonedx.Property{{Name: "go:sum", Value: sum}}
	}
	return c
}

func settingsOf(info *debug.BuildInfo) *[]cyclonedx.Property {
	properties := []cyclonedx.Property{{Name: "go:version", Value: info.GoVersion}}
	for _, setting := range info.Settings {
		properties = append(properties, cyclonedx.Property{Name: "go:" + setting.Key, Value: setting.Value})
	}
	return &properties
}
