#!/usr/bin/env bash
# Writes everything that is generated from markers in Go files: deep copies, CRDs, webhooks and roles. "make generate"
# runs it; apis/DESIGN.md says what each step is for.
set -euo pipefail
cd "$(dirname "$0")/.."

gen() { go tool -modfile=.tools/go.mod controller-gen "$@"; }

gen object paths='./apis/...'
gen crd:generateEmbeddedObjectMeta=true 'paths={./apis/kueue/...,./apis/switchyard/...}' output:crd:artifacts:config=config/crd/bases
gen webhook 'paths={./config,./worker/webhook}' output:webhook:artifacts:config=config/webhook
gen webhook 'paths={./config/pods}' output:webhook:artifacts:config=config/pods
go run ./config/finish config

# A hub is a worker with one more gate, and so is its role. The checks of a single cluster are both programs'.
gen rbac:roleName=switchyard-worker,fileName=worker_role.yaml 'paths={./worker/...,./admissioncheck/runner/...,./admissioncheck/resourcequota/...}' output:rbac:artifacts:config=config/rbac
gen rbac:roleName=switchyard-hub,fileName=hub_role.yaml 'paths={./worker/...,./admissioncheck/...,./hub/...}' output:rbac:artifacts:config=config/rbac
