package images

import (
	"fmt"
	"strings"
	"time"
)

// Spec says what goes into an image.
type Spec struct {
	// Name and Tag are the reference under which the image is loaded, such as switchyard.dev/hub and 0.1.0.
	Name, Tag string
	// Dir is a directory of the program's module, Package the program in it, such as ./cmd/hub.
	Dir, Package string
	// Platforms of the image.
	Platforms []Platform
	// Created is when the image says it was made: the time of the source, not of the build.
	Created time.Time
	// Source and Revision say where the source is and which one it was; empty, nothing is said.
	Source, Revision string
}

// Platform is what a program runs on.
type Platform struct{ OS, Arch string }

// String is the platform as container engines write it.
func (p Platform) String() string { return p.OS + "/" + p.Arch }

// ParsePlatforms reads a comma-separated list such as "linux/amd64,linux/arm64".
func ParsePlatforms(list string) ([]Platform, error) {
	var platforms []Platform
	for item := range strings.SplitSeq(list, ",") {
		system, arch, found := strings.Cut(item, "/")
		if !found || system == "" || arch == "" || strings.Contains(arch, "/") {
			return nil, fmt.Errorf("platform %q is not OS/ARCHITECTURE", item)
		}
		platforms = append(platforms, Platform{OS: system, Arch: arch})
	}
	return platforms, nil
}

// program is the name of the program in the image.
func (s Spec) program() string { return s.Package[strings.LastIndex(s.Package, "/")+1:] }

// reference is what a manifest says to get the image.
func (s Spec) reference() string { return s.Name + ":" + s.Tag }
