# Targets of the chart and the images; the Makefile above includes them.

CHART := charts/switchyard

##@ Installing

# What the chart carries of config/: copies, because a packaged chart holds only what lies in it.
.PHONY: chart-files
chart-files: ## Copy the generated CRDs, webhooks, roles and configurations from config/ into the chart.
	@rm -rf $(CHART)/files/crds $(CHART)/files/webhook $(CHART)/files/rbac $(CHART)/files/component $(CHART)/files/policy $(CHART)/files/visibility
	@mkdir -p $(CHART)/files/crds $(CHART)/files/webhook $(CHART)/files/rbac $(CHART)/files/component $(CHART)/files/policy $(CHART)/files/visibility
	@cp config/crd/bases/*.yaml $(CHART)/files/crds/
	@cp config/webhook/manifests.yaml $(CHART)/files/webhook/
	@cp config/pods/manifests.yaml $(CHART)/files/webhook/pods.yaml
	@cp config/rbac/hub_role.yaml config/rbac/worker_role.yaml config/rbac/user_roles.yaml $(CHART)/files/rbac/
	@cp config/policy/*.yaml $(CHART)/files/policy/
	@cp config/visibility-apf/priority_and_fairness.yaml $(CHART)/files/visibility/
	@cp config/component/hub.yaml config/component/worker.yaml $(CHART)/files/component/

.PHONY: images
images: ## Build the images of hub and worker into bin/images, from nothing: IMAGE_REGISTRY= IMAGE_TAG= PLATFORMS=
	@echo "building images (each platform's first time takes some minutes)"
	@go -C charts run ./images/build -source .. -out $(abspath $(BIN))/images $(if $(IMAGE_REGISTRY),-registry $(IMAGE_REGISTRY)) \
		$(if $(IMAGE_TAG),-tag $(IMAGE_TAG)) $(if $(PLATFORMS),-platforms $(PLATFORMS))

.PHONY: test-charts
test-charts: controlplane build ## Chart, overlays and images: lint, golden manifests, strict decoding, and installed on real API servers.
	@echo "chart, overlays and images"
	go -C charts test -timeout $(TEST_TIME) ./...

test: test-charts
