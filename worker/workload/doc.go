// Package workload applies the pure rules of [switchyard.dev/worker/admission/lifecycle] to API objects: what a Workload's
// status means, and the few events that change it. It reads and changes objects in memory only; write the result with
// [switchyard.dev/worker/kube.ApplyAdmission].
//
// Pass a deep copy of a cached object to the functions that change one. Conditions and fields that the lifecycle does not
// know stay as they are.
package workload
