// Package serving knows what Deployments, StatefulSets and LeaderWorkerSets have in common: they run until they are deleted, and
// nothing in them forbids pods. So the webhook marks their pod templates, and each pod waits by a scheduling gate until it, or the
// group that it belongs to, is admitted (contract: job-kinds.md 11 to 14).
//
// A [Kind] declares one of them. What becomes of the pods is decided elsewhere, by the annotations and labels that are put on
// them here.
package serving
