package installation

import (
	"maps"

	"switchyard.dev/e2e/clusters"
)

// configurationOf is the configuration of a program outside its cluster, on loopback: certificates from a directory,
// plain metrics, and a lease short enough for a killed program's successor not to wait long.
func configurationOf(c *clusters.Cluster, metrics, health, visibility clusters.Port) map[string]any {
	return map[string]any{
		"apiVersion":             "config.kueue.x-k8s.io/v1beta2",
		"kind":                   "Configuration",
		"namespace":              Namespace,
		"webhook":                map[string]any{"host": "127.0.0.1", "port": c.Webhooks.Port, "certDir": c.Webhooks.CertDir},
		"metrics":                map[string]any{"bindAddress": metrics.Addr()},
		"health":                 map[string]any{"healthProbeBindAddress": health.Addr()},
		"visibilityServer":       map[string]any{"bindAddress": "127.0.0.1", "bindPort": visibility.Number},
		"internalCertManagement": map[string]any{"enable": false},
		"leaderElection": map[string]any{
			"leaderElect": true, "leaseDuration": "8s", "renewDeadline": "6s", "retryPeriod": "1s",
		},
		"integrations": map[string]any{"frameworks": []any{"batch/job", "jobset.x-k8s.io/jobset"}},
	}
}

// merge lays over a map another, map by map; other values are replaced.
func merge(base, over map[string]any) map[string]any {
	result := maps.Clone(base)
	for key, value := range over {
		below, isMap := result[key].(map[string]any)
		above, overIsMap := value.(map[string]any)
		if isMap && overIsMap {
			result[key] = merge(below, above)
			continue
		}
		result[key] = value
	}
	return result
}
