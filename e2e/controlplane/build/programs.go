package main

import "fmt"

// set is what is built together and has a directory of its own in the cache.
type set struct {
	// dir is where, below the cache.
	dir string
	// module is the directory of the Go module that pins the versions.
	module    string
	programs  []program
	manifests []manifest
	// lasts is how long a build from nothing takes.
	lasts string
}

// controlPlane is what every cluster needs.
var controlPlane = set{dir: "controlplane", module: ".", programs: programs, manifests: manifests, lasts: "about 8 minutes on 2 cores"}

// program is one binary: what it is called in bin/, the package that is its main, and the module
// whose version it shall report; "" if nobody asks for it.
type program struct {
	name, pkg, module string
}

const kubernetes = "k8s.io/kubernetes"

// programs in the order they are built: the small ones first, so that a wrong module graph shows early.
var programs = []program{
	{"etcd", "go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/server/v3"},
	{"kwok", "sigs.k8s.io/kwok/cmd/kwok", "sigs.k8s.io/kwok"},
	{"jobset-controller", "sigs.k8s.io/jobset", "sigs.k8s.io/jobset"},
	{"kube-apiserver", kubernetes + "/cmd/kube-apiserver", kubernetes},
	{"kube-controller-manager", kubernetes + "/cmd/kube-controller-manager", kubernetes},
	{"kube-scheduler", kubernetes + "/cmd/kube-scheduler", kubernetes},
	{"kubectl", kubernetes + "/cmd/kubectl", kubernetes},
}

// manifest is a file of a module that the cluster library applies, and its name in manifests/. A path with a pattern
// stands for all files that match it; the target is their directory then.
type manifest struct {
	module, path, target string
}

var manifests = []manifest{
	{"sigs.k8s.io/jobset", "config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml", "jobset/crd.yaml"},
	{"sigs.k8s.io/jobset", "config/components/webhook/manifests.yaml", "jobset/webhooks.yaml"},
}

// ldflags make a program report the version it was built from; releases do the same.
func (p program) ldflags(version string) string {
	const strip = "-s -w"
	switch p.module {
	case kubernetes:
		var major, minor, patch int
		if _, err := fmt.Sscanf(version, "v%d.%d.%d", &major, &minor, &patch); err != nil {
			return strip
		}
		flags := strip
		for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
			flags += fmt.Sprintf(" -X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=%[3]d -X %[1]s.gitMinor=%[4]d -X %[1]s.gitTreeState=archive",
				pkg, version, major, minor)
		}
		return flags
	case "sigs.k8s.io/jobset":
		return strip + " -X sigs.k8s.io/jobset/pkg/version.GitVersion=" + version
	default: // the others carry their version in their sources, or nobody asks for it
		return strip
	}
}
