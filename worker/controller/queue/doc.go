// Package queue is the controllers of ClusterQueues, LocalQueues, Cohorts, ResourceFlavors and AdmissionChecks. The first three
// write the status that the view counts; all but that of Cohorts keep the finalizer of what is in use, and that of AdmissionChecks
// indexes the ClusterQueues that name them. None of them watches its own objects but the last: the view says which ones changed.
package queue
