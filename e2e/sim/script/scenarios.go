package script

// The part of random scripts that is about policies, placement and the administrators of the clusters.

// addPolicy chooses what is done about clusters out of reach, and where that cannot be kept.
func (g *generator) addPolicy() {
	switch g.rand.IntN(5) {
	case 0, 1:
		g.strictPolicy = "run-once"
	case 2:
		g.strictPolicy = "never-lose"
	default:
		return
	}
	line := "policy " + g.strictPolicy + " grace=" + g.pick("10s", "1m", "15m")
	if g.rand.IntN(6) == 0 {
		g.delayedCommand = line // what has begun by then was promised nothing
	} else {
		g.addf("%s", line)
	}
	for _, c := range g.names {
		switch g.rand.IntN(6) {
		case 0:
			g.addf("stock %s", c)
		case 1:
			g.addf("skew %s 5s", c)
		case 2, 3:
			g.addf("skew %s -5s", c)
		case 4:
			if g.rand.IntN(3) == 0 {
				g.addf("sluggish %s 2m", c)
			}
		}
	}
}

// addTraits makes the clusters differ.
func (g *generator) addTraits() {
	if g.rand.IntN(5) == 0 {
		g.addf("orchestrate")
		for i, c := range g.names {
			if g.rand.IntN(4) > 0 {
				g.addf("squat %s %d", c, g.sizes[i])
			}
		}
	}
	for _, c := range g.names {
		if g.strictPolicy == "" && g.rand.IntN(2) == 0 {
			g.addf("stock %s", c)
		}
		switch g.rand.IntN(20) {
		case 0:
			g.addf("bare %s", c)
		case 1:
			g.addf("taint %s", c)
		case 2:
			g.addf("weight %s %s", c, g.pick("0", "90"))
		case 3:
			g.addf("squat %s 2", c)
		}
	}
}

// pickKillGrace is the termination grace of a job.
func (g *generator) pickKillGrace() string {
	if g.strictPolicy == "" {
		return "0s"
	}
	return g.pick("0s", "30s", "2m")
}

// addOperatorAction is what people do with clusters.
func (g *generator) addOperatorAction() {
	switch c := g.pickCluster(); g.rand.IntN(12) {
	case 9: // somebody has forgotten to take a word back
		g.addf("declare %s", c)
		g.addf("blink %s", c)
		g.addf("dispatch %s", g.pickJob())
		g.addf("back %s", c)
	case 10, 11:
		g.drainCluster(c)
	case 8: // somebody drains the cluster where a workload runs, as far as the scheduler of things goes
		g.addf("round")
		if g.rand.IntN(2) == 0 {
			g.endUnobserved(c)
		}
		g.addf("drain %s", c)
		g.addf("turn %s", c)
		for _, job := range g.jobs {
			g.addf("dispatch %s", job)
			g.addf("dispatch %s", job)
			g.addf("deliver hub")
		}
		g.addf("round")
		g.addf("round")
	case 0, 1:
		g.addf("cordon %s", c)
	case 2, 3:
		g.addf("uncordon %s", c)
		g.addf("undrain %s", c)
	case 4:
		g.addf("drain %s", c)
		g.addf("clock %s", g.pick("1s", "5m"))
		g.addf("turn %s", c)
	case 5:
		g.addf("gone %s", c)
		g.addf("probe %s", c)
		g.addf("clock %s", g.pick("1s", "1m"))
	default:
		g.addf("back %s", c)
		g.addf("probe %s", c)
	}
}

// endUnobserved lets what runs on a cluster come to its end while the hub's watch is lost, and be gone by the time that it looks.
func (g *generator) endUnobserved(c string) {
	g.addf("until-quiet")
	g.addf("clock %s", g.pick("10s", "2m"))
	g.addf("drop %s", c)
	for _, job := range g.jobs {
		g.addf("work %s %s", c, job)
	}
	g.addf("clock 31s")
	for _, job := range g.jobs {
		g.addf("work %s %s", c, job)
		g.addf("work %s %s", c, job)
	}
}

// isolateCluster lets a bound cluster drop out of sight, its lease run out while its program may be down, and the hub's
// patience end on the second, while all others go on.
func (g *generator) isolateCluster() {
	c, job := g.pickCluster(), g.pickJob()
	if g.rand.IntN(2) == 0 {
		g.addf("round")
	}
	if g.rand.IntN(8) == 0 {
		g.expireLease(c)
		return
	}
	if g.rand.IntN(2) == 0 {
		g.addf("clock %s", g.pick("1s", "9s"))
		g.addf("renew %s unanswered", c)
	}
	g.addf("partition %s", c)
	switch g.rand.IntN(4) {
	case 0:
		g.addf("crash hub")
		g.addf("clock %s", g.pick("1s", "30s"))
		g.addf("restart hub")
	case 1:
		g.addf("clock 10s")
	}
	for _, other := range g.names {
		g.addf("probe %s", other)
	}
	if g.rand.IntN(3) > 0 {
		g.addf("tick %s", g.pick("35s", "40s", "49s"))
		g.addf("down %s for=%s", c, g.pick("1s", "30s"))
	}
	g.addf("tick %s", g.pick("10s", "20s", "1m"))
	g.addf("dispatch %s", job)
	g.addf("tick %s", g.pick("1m", "2m", "3m"))
	g.addf("tick %s", g.pick("1s", "1m", "16m"))
	if g.rand.IntN(2) == 0 {
		g.addf("reconnect %s", c)
		g.addf("round")
	}
}
