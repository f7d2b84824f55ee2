package access

import (
	"maps"
	"slices"
	"strings"
)

// resourceVersions are the versions of a list by cluster. To callers they are one opaque text.
type resourceVersions map[string]string

// anyVersion is the key of a version that names no cluster: that of an object, or "0".
const anyVersion = ""

// String is "cluster=version" for each cluster, separated by commas; "0" for none.
func (v resourceVersions) String() string {
	if len(v) == 0 {
		return "0"
	}
	var parts []string
	for _, cluster := range slices.Sorted(maps.Keys(v)) {
		parts = append(parts, cluster+"="+v[cluster])
	}
	return strings.Join(parts, ",")
}

// parseVersions reads what String wrote, or a version of one object.
func parseVersions(text string) resourceVersions {
	v := resourceVersions{}
	for part := range strings.SplitSeq(text, ",") {
		cluster, version, named := strings.Cut(part, "=")
		switch {
		case named:
			v[cluster] = version
		case part != "":
			v[anyVersion] = part
		}
	}
	return v
}

// of is the version to read a cluster at; empty if none is known.
func (v resourceVersions) of(cluster string) string {
	if version, ok := v[cluster]; ok {
		return version
	}
	if v[anyVersion] == "0" {
		return "0"
	}
	return ""
}
