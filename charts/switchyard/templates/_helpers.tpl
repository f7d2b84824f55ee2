{{/* Names are fixed: CRDs, webhook configurations and the leader's lease allow one installation a cluster anyway. */}}
{{- define "switchyard.name" -}}switchyard{{- end }}

{{- define "switchyard.selector" -}}
app.kubernetes.io/name: switchyard
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "switchyard.labels" -}}
{{ include "switchyard.selector" . }}
app.kubernetes.io/component: {{ .Values.role }}
app.kubernetes.io/part-of: switchyard
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/* The program's Configuration: the role's own, what the user merges over it, and what only the chart can know. */}}
{{- define "switchyard.configuration" -}}
{{- $base := .Files.Get (printf "files/component/%s.yaml" .Values.role) | fromYaml -}}
{{- $c := mergeOverwrite $base (deepCopy .Values.config) -}}
{{- $_ := set $c "namespace" .Release.Namespace -}}
{{- $_ := set $c "leaderElection" (merge (dict "leaderElect" .Values.leaderElection.enabled) (omit (default dict $c.leaderElection) "leaderElect")) -}}
{{- if .Values.certManager.enabled -}}
{{- $_ := set $c "internalCertManagement" (merge (dict "enable" false) (omit (default dict $c.internalCertManagement) "enable")) -}}
{{- end -}}
{{- if not .Values.visibility.enabled -}}
{{- $_ := set $c "featureGates" (mergeOverwrite (default dict $c.featureGates) (dict "VisibilityOnDemand" false)) -}}
{{- end -}}
{{- if and (eq .Values.role "hub") (not .Values.access.enabled) -}}
{{- $_ := set $c "multiKueue" (mergeOverwrite (default dict $c.multiKueue) (dict "access" (dict "enable" false))) -}}
{{- end -}}
{{- with .Values.featureGates -}}
{{- $_ := set $c "featureGates" (mergeOverwrite (default dict $c.featureGates) .) -}}
{{- end -}}
{{- toYaml $c -}}
{{- end }}

{{/* "true" on a hub by which people look after their jobs on workers. */}}
{{- define "switchyard.servesAccess" -}}
{{- if and (eq .Values.role "hub") .Values.access.enabled -}}true{{- end -}}
{{- end }}

{{/* "true" if the program has an API of its own, for pending workloads or for access. */}}
{{- define "switchyard.servesAPI" -}}
{{- if or .Values.visibility.enabled (include "switchyard.servesAccess" .) -}}true{{- end -}}
{{- end }}

{{/* The facts of the Configuration on which other objects depend, as a dict in YAML. */}}
{{- define "switchyard.facts" -}}
{{- $c := include "switchyard.configuration" . | fromYaml -}}
webhookPort: {{ dig "webhook" "port" 9443 $c }}
metricsPort: {{ dig "metrics" "bindAddress" ":8443" $c | splitList ":" | last }}
healthPort: {{ dig "health" "healthProbeBindAddress" ":8081" $c | splitList ":" | last }}
readiness: /{{ dig "health" "readinessEndpointName" "" $c | trimPrefix "/" | default "readyz" }}
liveness: /{{ dig "health" "livenessEndpointName" "" $c | trimPrefix "/" | default "healthz" }}
certDir: {{ dig "webhook" "certDir" "" $c | default "/tmp/k8s-webhook-server/serving-certs" }}
webhookService: {{ dig "internalCertManagement" "webhookServiceName" "kueue-webhook-service" $c }}
webhookSecret: {{ dig "internalCertManagement" "webhookSecretName" "kueue-webhook-server-cert" $c }}
visibilityPort: {{ dig "visibilityServer" "bindPort" 8082 $c }}
managed: {{ dig "internalCertManagement" "enable" true $c }}
{{- end }}

{{- define "switchyard.image" -}}
{{- $repository := .Values.image.repository | default (printf "switchyard.dev/%s" .Values.role) -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" $repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end }}

{{/* cert-manager's annotation on what gets the authority; empty without it. */}}
{{- define "switchyard.injection" -}}
{{- if .Values.certManager.enabled -}}
cert-manager.io/inject-ca-from: {{ .Release.Namespace }}/{{ include "switchyard.name" . }}-webhooks
{{- end -}}
{{- end }}

{{/* The API groups of the kinds of job that only the Configuration names, as an array in YAML: those that a hub dispatches, and
     those whose own controllers run here. A name is Kind.version.group; what is none the program refuses. */}}
{{- define "switchyard.externalGroups" -}}
{{- $c := include "switchyard.configuration" . | fromYaml -}}
{{- $names := dig "integrations" "externalFrameworks" list $c | default list -}}
{{- range dig "multiKueue" "externalFrameworks" list $c | default list -}}
{{- $names = append $names (.name | default "") -}}
{{- end -}}
{{- $groups := list -}}
{{- range $names -}}
{{- $parts := regexSplit "\\." . 3 -}}
{{- if eq (len $parts) 3 -}}
{{- $groups = append $groups (last $parts) -}}
{{- end -}}
{{- end -}}
{{- $groups | uniq | sortAlpha | toYaml -}}
{{- end }}

{{/* The webhook of those kinds: of their jobs that a hub has made here, none of an epoch that is over is taken. Which of a group's
     resources are jobs only their CRDs know; the label leaves no others. */}}
{{- define "switchyard.externalWebhook" -}}
name: vexternaljob.kb.io
admissionReviewVersions: [v1]
clientConfig:
  service:
    path: /validate-external-job
namespaceSelector:
  matchExpressions:
  - key: kubernetes.io/metadata.name
    operator: NotIn
    values: []
objectSelector:
  matchExpressions:
  - key: kueue.x-k8s.io/multikueue-origin
    operator: Exists
rules:
- apiGroups: {{ include "switchyard.externalGroups" . | fromYamlArray | toJson }}
  apiVersions: ["*"]
  operations: [CREATE, UPDATE]
  resources: ["*"]
  scope: Namespaced
sideEffects: None
{{- end }}

{{/* What a hub needs of the kinds that it dispatches by their name alone, as an array of RBAC rules in YAML. Plurals are regular ones;
     a kind with another needs a role of its user's own. */}}
{{- define "switchyard.externalRules" -}}
{{- $c := include "switchyard.configuration" . | fromYaml -}}
{{- $rules := list -}}
{{- range dig "multiKueue" "externalFrameworks" list $c | default list -}}
{{- $parts := regexSplit "\\." (.name | default "") 3 -}}
{{- if eq (len $parts) 3 -}}
{{- $singular := first $parts | lower -}}
{{- $plural := printf "%ss" $singular -}}
{{- if hasSuffix "s" $singular -}}
{{- $plural = printf "%ses" $singular -}}
{{- else if hasSuffix "y" $singular -}}
{{- $plural = printf "%sies" (trimSuffix "y" $singular) -}}
{{- end -}}
{{- $group := list (last $parts) -}}
{{- $rules = append $rules (dict "apiGroups" $group "resources" (list $plural) "verbs" (list "get" "list" "watch")) -}}
{{- $rules = append $rules (dict "apiGroups" $group "resources" (list (printf "%s/status" $plural)) "verbs" (list "patch")) -}}
{{- end -}}
{{- end -}}
{{- $rules | toYaml -}}
{{- end }}

{{/* The webhooks of pods, Deployments and StatefulSets for which the Configuration asks, by the kind of their configuration, as a dict of
     arrays in YAML. Every integration that has pods wait needs that of pods. */}}
{{- define "switchyard.podWebhooks" -}}
{{- $c := include "switchyard.configuration" . | fromYaml -}}
{{- $names := dig "integrations" "frameworks" list $c | default list -}}
{{- $asked := list -}}
{{- range list "pod" "deployment" "statefulset" "leaderworkerset.x-k8s.io/leaderworkerset" -}}
{{- if has . $names -}}
{{- $asked = concat $asked (list "pods" (printf "%ss" .)) -}}
{{- end -}}
{{- end -}}
{{- $hooks := dict -}}
{{- range splitList "\n---\n" (.Files.Get "files/webhook/pods.yaml" | trimPrefix "---\n") -}}
{{- $configuration := fromYaml . -}}
{{- $of := list -}}
{{- range $configuration.webhooks -}}
{{- if has (first (first .rules).resources) $asked -}}
{{- $of = append $of . -}}
{{- end -}}
{{- end -}}
{{- $_ := set $hooks $configuration.kind $of -}}
{{- end -}}
{{- $hooks | toYaml -}}
{{- end }}
