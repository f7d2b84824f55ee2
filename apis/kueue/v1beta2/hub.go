package v1beta2

// Hub marks the version that the others convert to and from.
func (*ClusterQueue) Hub() {}

// Hub marks the version that the others convert to and from.
func (*Cohort) Hub() {}

// Hub marks the version that the others convert to and from.
func (*LocalQueue) Hub() {}

// Hub marks the version that the others convert to and from.
func (*MultiKueueCluster) Hub() {}

// Hub marks the version that the others convert to and from.
func (*Workload) Hub() {}
