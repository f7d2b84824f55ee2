// Package workload is the controller that leads one Workload through its life: it observes the queues around it, asks the
// pure lifecycle what follows, writes the status once or acts once, and tells why.
//
// It writes everything in the admission part of the status except a reservation, which comes from the scheduling cycle,
// and the states of admission checks, which come from their controllers. The job's reconciler stops an evicted job and
// releases its quota; a Workload without owner is released here.
package workload
