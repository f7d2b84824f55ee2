package sim

// Laws are the names of all invariants; nothing else can be violated.
func Laws() []string {
	return []string{
		lawOnce, lawLose, lawFence, lawCordon, lawDrain, lawSibling, lawFit, lawSent, lawAgain, lawReady,
		"a copy has the Workload's priority",
		"a finished run is a fact",
		"a foreign object is never touched",
		"a job runs once",
		"a lost cluster is never given up before its grace",
		"after faults heal every workload finishes or waits with a true reason",
		"at a fixed point Step returns the same state and no actions",
		"clusterName and nominatedClusterNames are mutually exclusive",
		"clusterName is immutable once set",
		"epochs never fall",
		"Finished is absorbing",
		"losers are retracted before the job is created",
		"no action targets a disconnected cluster",
		"no cluster is nominated before its round",
		"no epoch has jobs on two clusters",
		"no job is created while a reachable cluster may hold an older epoch's job",
		"no remote object outlives its owner",
		"no work is destroyed because it could not be seen",
		"nothing is retried while the hub is cut off",
		"only a run that has ended is recorded as finished",
		"only what the config lists is offered to",
		"the hub shows what the worker shows",
		"what the hub evicts stops",
		"when setting clusterName it must be one of the nominatedClusterNames",
		"whoever does not admit in time is hedged against",
	}
}
