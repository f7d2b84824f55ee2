// Package resourcequota is the admission check "the namespace's ResourceQuotas have room": a Workload with quota in a
// ClusterQueue starts only when the pods that it is going to make would be let in by every ResourceQuota of its namespace
// too. Package room decides, this package reads what the decision needs, admissioncheck/runner does the rest.
package resourcequota
