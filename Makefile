# The only door. Everything a target needs is set up by the target itself and kept in $(SWITCHYARD_CACHE), outside the
# tree's tracked files; the first run builds it, later runs find it.

SHELL := /usr/bin/env bash -o pipefail
.DEFAULT_GOAL := help

export SWITCHYARD_CACHE ?= $(HOME)/.cache/switchyard
# The simulation draws its fresh seeds from the commit, and prints them.
export SWITCHYARD_COMMIT := $(or $(SWITCHYARD_COMMIT),$(shell git rev-parse HEAD 2>/dev/null))
GOTOOL    := go tool -modfile=.tools/go.mod
BIN       := bin
TEST_TIME ?= 40m
# Processes of the integration tests, each with a hub and two workers of its own. One needs about 2.7 GB, and 24 of the 128 inotify
# instances that Linux gives a user (fs.inotify.max_user_instances).
PROCS     ?= 2
# Tests in e2e/pods and e2e/jobkinds that need the operator of a kind of job.
OPERATORS_TESTS := ^Test(LeaderWorkerSet|PipelineRun)
# The packages in which goroutines share memory; the rest is pure or thin and gains nothing from the race detector.
RACY      := ./worker/view/... ./worker/visibility/... ./worker/scheduler/... ./worker/listener/... ./admissioncheck/multikueue/fleet/...
UNIT      := $$(go list ./... | grep -v -E '/e2e/(integration|clusters|jobkinds|kinds|pods)($$|/)')

##@ Everyday

.PHONY: help
help: ## Show the targets.
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: build controlplane $(if $(findstring --kinds,$(DEMO)),operators) ## Watch Jobs submitted to a hub queue run on two GPU worker clusters, all on this machine: DEMO=--kinds for jobs of all kinds
	@$(BIN)/sandbox $(DEMO)

.PHONY: build
build: ## Build the programs into bin/.
	@echo "building the programs"
	@go build -o $(BIN)/ ./cmd/...

##@ Tests

.PHONY: test
test: test-unit test-integration ## Run everything that needs no container engine.

.PHONY: test-unit
test-unit: ## Unit, property and simulation tests, with the race detector where goroutines share memory.
	@echo "unit, property and simulation tests"
	go test -timeout $(TEST_TIME) $(UNIT)
	go -C e2e/controlplane test ./build
	@echo "the same under the race detector where it pays"
	go test -race -short -timeout $(TEST_TIME) $(RACY)

.PHONY: test-integration
test-integration: controlplane build ## Integration tests: one hub, two workers, real API servers, in parallel processes: PROCS=2
	@echo "integration tests on real API servers"
	go test -timeout $(TEST_TIME) -skip '$(OPERATORS_TESTS)' ./e2e/clusters/... ./e2e/jobkinds/... ./e2e/pods/...
	$(GOTOOL) ginkgo run --procs=$(PROCS) --timeout=$(TEST_TIME) --no-color -v=$(or $(VERBOSE),false) ./e2e/integration

# Not part of "test": the operators take as long to build as the control plane.
.PHONY: test-operators
test-operators: controlplane operators build $(SWITCHYARD_CACHE)/tools/golangci-lint ## Jobs of all kinds run by their own operators, through a hub (builds the operators, once).
	@echo "kinds of jobs with their own operators on real API servers"
	go test -count=1 -timeout $(TEST_TIME) -parallel 12 ./e2e/kinds
	go test -count=1 -timeout $(TEST_TIME) -run '$(OPERATORS_TESTS)' ./e2e/pods ./e2e/jobkinds
	@cd e2e/controlplane/operators && $(SWITCHYARD_CACHE)/tools/golangci-lint run --config ../../../.golangci.yml ./...

.PHONY: e2e-kind
e2e-kind: ## Chart, images and programs on kind clusters with real kubelets: KIND_NODE_IMAGE= KINDENV=
	@bash e2e/kind/run.sh

.PHONY: sim
sim: ## The dispatcher in many more random schedules, with faults, in memory: SEEDS=20000, and FROM= a seed to begin with (drawn from the commit)
	go test ./e2e/sim -count=1 -v -timeout 6h -run '^TestEveryInvariantHoldsIn$(if $(FROM),Random,Fresh)Runs$$' \
		-args $(if $(FROM),-sim.seed=$(FROM) -sim.seeds,-sim.fresh)=$(or $(SEEDS),20000)

.PHONY: mutants
mutants: ## Break the guards of dispatcher, placement and fence one by one: the simulation must notice each.
	go test ./e2e/sim -count=1 -v -timeout 1h -run '^TestEveryMutantIsCaught$$'

.PHONY: soak
soak: controlplane build ## Five jobs a second on real API servers, with random faults: SOAK=10m RATE=5 SEED=1
	go test -count=1 -v -timeout 3h -run '^TestIntegration$$' ./e2e/integration/... -args -ginkgo.no-color -ginkgo.focus='A soak' -soak=$(or $(SOAK),10m) -soak.rate=$(or $(RATE),5) \
		-soak.seed=$(or $(SEED),1)

.PHONY: bench
bench: controlplane build ## Benchmarks: the core's, hostile workers, then dispatch and admission on real API servers, at a part of the full load.
	@echo "the core"
	go test -run '^$$' -bench . -benchmem -benchtime $(or $(BENCHTIME),0.5s) ./worker/admission/... ./worker/view/... ./admissioncheck/multikueue/dispatch/...
	@echo "dispatch on real API servers"
	go test -count=1 -timeout $(TEST_TIME) -v -run '^TestDispatchBench$$' ./e2e/bench -args -bench-jobs=$(or $(JOBS),100)
	@$(MAKE) --no-print-directory bench-memory RUNS=hostile
	@$(MAKE) --no-print-directory bench-dispatch
	@$(MAKE) --no-print-directory bench-admission

# SCALE=1 is the whole: 1,000 Jobs on 3 workers and 500 on 2, with each dispatcher. HUB and WORKER measure other programs
# too, on a stage of their own; e2e/bench/DESIGN.md has the other variables.
.PHONY: bench-dispatch
bench-dispatch: controlplane build ## Many Jobs on real API servers: STAGES=3x1000,2x500 SCALE=0.1 DISPATCHERS=AllAtOnce,BestFit HUB= WORKER= FOLLOWERS=100
	@echo "many Jobs on real API servers"
	go test -count=1 -timeout 2h -v -run '^TestDispatchLoadBench$$' ./e2e/bench -args -bench-dispatch=$(or $(STAGES),2x500) \
		-bench-scale=$(or $(SCALE),0.1) -bench-dispatcher=$(if $(DISPATCHERS),$(DISPATCHERS),AllAtOnce,BestFit) \
		-bench-hub='$(value HUB)' -bench-worker='$(value WORKER)' -bench-followers=$(or $(FOLLOWERS),0)

.PHONY: bench-kinds
bench-kinds: controlplane operators build ## Jobs of several kinds on real API servers, beside Jobs: the variables of bench-dispatch
	@echo "dispatch of several kinds on real API servers"
	go test -count=1 -timeout 2h -v -run '^TestDispatchLoadBench$$' ./e2e/bench -args -bench-dispatch=$(or $(STAGES),2x500) \
		-bench-scale=$(or $(SCALE),0.1) -bench-dispatcher=$(or $(DISPATCHERS),BestFit) -bench-traffic=once,mix

.PHONY: bench-memory
bench-memory: build ## The hub on API servers in memory: alone, workers far away, sick and hostile workers, restart with 50,000 workloads.
	@echo "the hub on API servers in memory"
	go test -count=1 -timeout 2h -v -run '^TestMemory' ./e2e/bench -args -bench-memory=$(if $(RUNS),$(RUNS),alone,latency,sick,hostile,restart) \
		-bench-dispatcher=$(or $(DISPATCHERS),BestFit)

# A fifth of both loads takes some minutes; LOADS=baseline SCALE=1 is the whole baseline. CONTROLLER measures another
# controller too, in the same run: a command line with $$KUBECONFIG, $$CERT_DIR and $$WEBHOOK_PORT, and CRDS, the
# directory of its CRDs and webhook configurations (ours by default).
.PHONY: bench-admission
bench-admission: controlplane build $(if $(findstring mix,$(LOADS)),operators) ## Admission under contention on a real API server: LOADS=baseline,large,mix SCALE=0.2 FLOOR=yes BARE=yes CONTROLLER= CRDS=
	@echo "admission on a real API server"
	go test -count=1 -timeout 2h -v -run '^TestAdmissionBench$$' ./e2e/bench -args -bench-loads=$(if $(LOADS),$(LOADS),baseline,large) \
		-bench-scale=$(or $(SCALE),0.2) -bench-controller='$(value CONTROLLER)' -bench-crds='$(abspath $(CRDS))' \
		$(if $(FLOOR),-bench-floor) $(if $(BARE),-bench-bare)

.PHONY: bench-pods
bench-pods: controlplane build ## Pods in groups of a hundred on a real API server: PODS=10000 QUOTA=2000
	@echo "pods on a real API server"
	go test -count=1 -timeout 2h -v -run '^TestPodsLoadBench$$' ./e2e/pods -args -pods-load=$(or $(PODS),1000) -pods-load-quota=$(or $(QUOTA),2000)

##@ Keeping it right

.PHONY: generate
generate: ## Generate deepcopy, CRDs, webhooks and RBAC, and the chart's copies of them.
	@bash config/generate.sh
	@$(MAKE) --no-print-directory chart-files

.PHONY: verify
verify: ## Check that generated files, formatting, go.mod and the modules are as they should be.
	@bash .ci/verify

.PHONY: lint
lint: $(SWITCHYARD_CACHE)/tools/golangci-lint ## Run the linters.
	@echo "linting"
	@$(SWITCHYARD_CACHE)/tools/golangci-lint run ./...
	@cd charts && $(SWITCHYARD_CACHE)/tools/golangci-lint run --config ../.golangci.yml ./...
	@cd e2e/controlplane && $(SWITCHYARD_CACHE)/tools/golangci-lint run --config ../../.golangci.yml ./...

.PHONY: fmt
fmt: $(SWITCHYARD_CACHE)/tools/golangci-lint ## Format the code.
	@$(SWITCHYARD_CACHE)/tools/golangci-lint fmt ./...

##@ What the others need

# Built rather than run through "go tool", whose first start would link a 200 MB program silently.
$(SWITCHYARD_CACHE)/tools/golangci-lint: .tools/go.mod
	@echo "building golangci-lint (a few minutes, once)"
	@mkdir -p $(@D) && go build -modfile=.tools/go.mod -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

.PHONY: controlplane
controlplane: ## Build kube-apiserver, etcd and friends from their Go modules (about 8 minutes, once).
	@go -C e2e/controlplane run ./build

.PHONY: operators
operators: ## Build operators of kinds of jobs from their Go modules (once; some minutes): OPERATORS="kuberay lws"
	@go -C e2e/controlplane run ./build $(or $(OPERATORS),operators)

-include charts/targets.mk
