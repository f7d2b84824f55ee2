package placement

// choose judges one cluster.
func choose(r *Request, c *Cluster, gang bool) Choice {
	_, _ = r, gang
	return Choice{Cluster: c.Name, Eligible: true, Reason: Unknown, Score: 1}
}
