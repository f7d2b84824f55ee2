#!/usr/bin/env bash
# The end-to-end tests on kind clusters: "make e2e-kind". Arguments go to the test binary (-ginkgo.focus=...).
#
# The container engine is, in this order: Docker, with the node image KIND_NODE_IMAGE or else kind's own where that can be
# pulled; the one of kindenv (KINDENV, or shared/kind/kindenv beside the repository), which needs root and no registry.
# Where there is none it says so and fails; with E2E_KIND=optional it says so and succeeds.
set -euo pipefail
cd "$(dirname "$0")/../.."
OUT=$PWD/bin/e2e-kind

say() { printf 'e2e-kind: %s\n' "$*"; }

# default_image is the node image that belongs to the version of kind in go.mod.
default_image() {
	sed -n 's/^const Image = "\(.*\)"$/\1/p' "$(go list -m -f '{{.Dir}}' sigs.k8s.io/kind)/pkg/apis/config/defaults/image.go"
}

has_docker() { command -v docker >/dev/null && timeout 20 docker info >/dev/null 2>&1; }

has_image() { docker image inspect "$1" >/dev/null 2>&1 || timeout 300 docker pull -q "$1" >/dev/null 2>&1; }

find_kindenv() {
	local found=${KINDENV:-../shared/kind/kindenv}
	[[ -x $found && $EUID == 0 && $(uname -s) == Linux ]] && readlink -f "$found"
}

# engine sets RUN, the command that runs others beside an engine; it fails if there is none.
engine() {
	local image kindenv
	if has_docker; then
		image=${KIND_NODE_IMAGE:-$(default_image)}
		if has_image "$image"; then
			say "using Docker with node image $image"
			export KIND_NODE_IMAGE=$image
			RUN=()
			return
		fi
	fi
	if kindenv=$(find_kindenv); then
		say "using $kindenv, because there is no Docker engine that has, or can pull, a node image"
		RUN=("$kindenv" exec --)
		return
	fi
	return 1
}

# Everything is built before the engine runs: there may be no network beside it.
prepare() {
	local platform
	platform=linux/$(go env GOARCH)
	mkdir -p "$OUT"
	say "building programs, images and tests (some minutes the first time)"
	go build -o "$OUT/" ./cmd/switchctl
	go -C charts build -o "$OUT/helm" helm.sh/helm/v4/cmd/helm
	image() { go -C charts run ./images/build -platforms "$platform" "$@"; }
	image -source .. -out "$OUT"
	image -source .. -out "$OUT/next" -tag next
	image -source .. -out "$OUT" -tag e2e -packages ./e2e/kind/job
	image -source ../e2e/controlplane -out "$OUT" -tag e2e -packages sigs.k8s.io/jobset
	go test -c -o "$OUT/kind.test" ./e2e/kind
}

if ! engine; then
	say "neither a Docker engine with a kind node image nor kindenv (as root, on Linux) is here: no kind clusters can be made"
	[[ ${E2E_KIND-} == optional ]] && say "skipped" && exit 0
	exit 1
fi
prepare
say "prepared in $SECONDS s"
export SWITCHYARD_E2E_KIND=$OUT
SWITCHYARD_JOBSET=$(go list -m -f '{{.Dir}}' sigs.k8s.io/jobset)
export SWITCHYARD_JOBSET
cd e2e/kind
"${RUN[@]}" "$OUT/kind.test" -test.timeout=30m -ginkgo.no-color -ginkgo.timeout=25m "$@"
say "passed in $SECONDS s"
