// Package controller is the multikueue check on the hub (contract: multikueue.md): the reconciler, which carries one
// Workload through dispatch.Step; the controllers of MultiKueueClusters and of AdmissionChecks; and the sweep for orphans.
//
// No reconcile of this package calls a worker. The reconciler reads what the fleet has last seen, asks dispatch what
// follows, and either writes the hub's Workload once or hands actions to the fleet; answers and changes come back as
// requests for the Workload.
package controller
