#!/usr/bin/env bash
# The end-to-end tests on kind clusters: "make e2e-kind". Arguments go to the test binary (-ginkgo.focus=...).
#
# The container engine is, in this order: Docker, with the node image KIND_NODE_IMAGE or else kind's own where that can be
# pulled; the one of kindenv (KINDENV, or shared/kind/kindenv beside the repository), which needs root and no registry.
# Where there is none it says so and fails. With E2E_KIND=optional it says so and succeeds, and also where fewer seconds are
# left than it takes, if E2E_KIND_SECONDS says how many are left; once the tests run, their failure is a failure.
set -euo pipefail
cd "$(dirname "$0")/../.."
OUT=$PWD/bin/e2e-kind

# Seconds on two cores with little else to do: the tests; building without a Go cache (with one it is a minute or two); and,
# where kindenv has not done it yet, building its node image.
TESTS=720 BUILDING=480 SETUP=0 SETUP_ONCE=600
# What kindenv may take on a machine that is busy.
SETUP_LIMIT=1800
NOT_TESTED='installation by chart in restricted namespaces, containers and logs of Jobs and JobSets, preemption, a killed
  hub, a worker that is cut off, an upgrade under load, denied calls, uninstallation'

say() { printf 'e2e-kind: %s\n' "$*"; }

# omit ends the run without tests: that is all right if they are optional.
omit() {
	say "$1"
	say "NOT RUN, so not tested on real kubelets: $NOT_TESTED"
	[[ ${E2E_KIND-} == optional ]] && exit 0
	exit 1
}

# enough ends the run if fewer seconds are left than are needed.
enough() {
	[[ -n ${E2E_KIND_SECONDS-} ]] || return 0
	local left=$((E2E_KIND_SECONDS - SECONDS))
	((left >= $1)) || omit "$left s are left in the budget, and $2 takes about $1 s"
	say "$left s are left in the budget; $2 takes about $1 s"
}

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

# engine sets RUN, the command that runs others beside an engine, and SETUP; it fails if there is none.
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
		[[ $("$kindenv" status) != *'not cached'* ]] || SETUP=$SETUP_ONCE
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
	go -C charts build -o "$OUT/image" ./images/build
	image() { "$OUT/image" -platforms "$platform" -out "$OUT" "$@"; }
	image -source .
	image -source . -tag e2e -packages ./e2e/kind/job
	image -source e2e/controlplane -tag e2e -packages sigs.k8s.io/jobset
	go test -c -o "$OUT/kind.test" ./e2e/kind
}

engine || omit "neither a Docker engine with a kind node image nor kindenv (as root, on Linux) is here: no kind clusters can be made"
enough $((SETUP + BUILDING + TESTS)) "all of it"
timeout --kill-after=60 $SETUP_LIMIT "${RUN[@]}" true || omit "the container engine cannot be set up: \"${RUN[*]} true\" fails, see above"
prepare
say "prepared in $SECONDS s"
enough $TESTS "the rest"
export SWITCHYARD_E2E_KIND=$OUT
SWITCHYARD_JOBSET=$(go list -m -f '{{.Dir}}' sigs.k8s.io/jobset)
export SWITCHYARD_JOBSET
cd e2e/kind
"${RUN[@]}" "$OUT/kind.test" -test.timeout=50m -ginkgo.no-color -ginkgo.timeout=45m "$@"
say "passed in $SECONDS s"
