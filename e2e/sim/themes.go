package sim

// The part of random scripts that is about policies, placement and the people who run the clusters.

// policy chooses what is done about clusters out of reach, and where that cannot be kept.
func (g *generator) policy() {
	switch g.rand.IntN(5) {
	case 0, 1:
		g.strict = "run-once"
	case 2:
		g.strict = "never-lose"
	default:
		return
	}
	line := "policy " + g.strict + " grace=" + g.pick("10s", "1m", "15m")
	if g.rand.IntN(6) == 0 {
		g.later = line // what has begun by then was promised nothing
	} else {
		g.add("%s", line)
	}
	for _, c := range g.names {
		switch g.rand.IntN(6) {
		case 0:
			g.add("stock %s", c)
		case 1:
			g.add("skew %s 5s", c)
		case 2, 3:
			g.add("skew %s -5s", c)
		case 4:
			if g.rand.IntN(3) == 0 {
				g.add("sluggish %s 2m", c)
			}
		}
	}
}

// traits makes the clusters differ.
func (g *generator) traits() {
	if g.rand.IntN(5) == 0 {
		g.add("orchestrate")
		for i, c := range g.names {
			if g.rand.IntN(4) > 0 {
				g.add("squat %s %d", c, g.sizes[i])
			}
		}
	}
	for _, c := range g.names {
		if g.strict == "" && g.rand.IntN(2) == 0 {
			g.add("stock %s", c)
		}
		switch g.rand.IntN(20) {
		case 0:
			g.add("bare %s", c)
		case 1:
			g.add("taint %s", c)
		case 2:
			g.add("weight %s %s", c, g.pick("0", "90"))
		case 3:
			g.add("squat %s 2", c)
		}
	}
}

// kill is the termination grace of a job.
func (g *generator) kill() string {
	if g.strict == "" {
		return "0s"
	}
	return g.pick("0s", "30s", "2m")
}

// operate is what people do with clusters.
func (g *generator) operate() {
	switch c := g.cluster(); g.rand.IntN(12) {
	case 9: // somebody has forgotten to take a word back
		g.add("declare %s", c)
		g.add("blink %s", c)
		g.add("dispatch %s", g.job())
		g.add("back %s", c)
	case 10, 11:
		g.evacuate(c)
	case 8: // somebody drains the cluster where a workload runs, as far as the scheduler of things goes
		g.add("round")
		if g.rand.IntN(2) == 0 {
			g.endUnseen(c)
		}
		g.add("drain %s", c)
		g.add("turn %s", c)
		for _, job := range g.jobs {
			g.add("dispatch %s", job)
			g.add("dispatch %s", job)
			g.add("deliver hub")
		}
		g.add("round")
		g.add("round")
	case 0, 1:
		g.add("cordon %s", c)
	case 2, 3:
		g.add("uncordon %s", c)
		g.add("undrain %s", c)
	case 4:
		g.add("drain %s", c)
		g.add("clock %s", g.pick("1s", "5m"))
		g.add("turn %s", c)
	case 5:
		g.add("gone %s", c)
		g.add("probe %s", c)
		g.add("clock %s", g.pick("1s", "1m"))
	default:
		g.add("back %s", c)
		g.add("probe %s", c)
	}
}

// endUnseen lets what runs on a cluster come to its end while the hub's watch is lost, and be gone by the time that it looks.
func (g *generator) endUnseen(c string) {
	g.add("until-quiet")
	g.add("clock %s", g.pick("10s", "2m"))
	g.add("drop %s", c)
	for _, job := range g.jobs {
		g.add("work %s %s", c, job)
	}
	g.add("clock 31s")
	for _, job := range g.jobs {
		g.add("work %s %s", c, job)
		g.add("work %s %s", c, job)
	}
}

// isolate lets a bound cluster drop out of sight, its lease run out while its program may be down, and the hub's patience
// end on the second, while everybody else goes on.
func (g *generator) isolate() {
	c, job := g.cluster(), g.job()
	if g.rand.IntN(2) == 0 {
		g.add("round")
	}
	if g.rand.IntN(8) == 0 {
		g.outlive(c)
		return
	}
	if g.rand.IntN(2) == 0 {
		g.add("clock %s", g.pick("1s", "9s"))
		g.add("renew %s unanswered", c)
	}
	g.add("partition %s", c)
	switch g.rand.IntN(4) {
	case 0:
		g.add("crash hub")
		g.add("clock %s", g.pick("1s", "30s"))
		g.add("restart hub")
	case 1:
		g.add("clock 10s")
	}
	for _, other := range g.names {
		g.add("probe %s", other)
	}
	if g.rand.IntN(3) > 0 {
		g.add("tick %s", g.pick("35s", "40s", "49s"))
		g.add("down %s for=%s", c, g.pick("1s", "30s"))
	}
	g.add("tick %s", g.pick("10s", "20s", "1m"))
	g.add("dispatch %s", job)
	g.add("tick %s", g.pick("1m", "2m", "3m"))
	g.add("tick %s", g.pick("1s", "1m", "16m"))
	if g.rand.IntN(2) == 0 {
		g.add("reconnect %s", c)
		g.add("round")
	}
}
