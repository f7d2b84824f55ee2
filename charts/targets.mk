# Targets of the chart and the images; the Makefile above includes them.

CHART := charts/switchyard

##@ Installing

# What the chart carries of config/: copies, because a packaged chart holds only what lies in it.
.PHONY: chart-files
chart-files: ## Copy the generated CRDs, webhooks, roles and configurations from config/ into the chart.
	@rm -rf $(CHART)/files/crds $(CHART)/files/webhook $(CHART)/files/rbac $(CHART)/files/component
	@mkdir -p $(CHART)/files/crds $(CHART)/files/webhook $(CHART)/files/rbac $(CHART)/files/component
	@cp config/crd/bases/*.yaml $(CHART)/files/crds/
	@cp config/webhook/manifests.yaml $(CHART)/files/webhook/
	@cp config/rbac/hub_role.yaml config/rbac/worker_role.yaml config/rbac/user_roles.yaml $(CHART)/files/rbac/
	@cp config/component/hub.yaml config/component/worker.yaml $(CHART)/files/component/
