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
{{- with .Values.featureGates -}}
{{- $_ := set $c "featureGates" (mergeOverwrite (default dict $c.featureGates) .) -}}
{{- end -}}
{{- toYaml $c -}}
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
