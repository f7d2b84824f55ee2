// Package profile reaches worker clusters that are known by a ClusterProfile of the cluster inventory: it finds the profile,
// asks the configured access provider for a connection, and applies the rules for credentials.
package profile

import (
	_ "sigs.k8s.io/cluster-inventory-api/apis/v1alpha1"
	_ "sigs.k8s.io/cluster-inventory-api/pkg/access"
)
