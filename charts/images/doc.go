// Package images makes container images of Go programs out of nothing: no registry, no base image, no container engine. An
// image has the static program, the public certificate authorities, a user without rights and a list of what it is made of,
// for each platform; all of them are one OCI image layout in a tar file, which containerd, kind, docker and skopeo load. The
// same source gives the same digest, wherever and whenever it is built.
package images
