package script

// The part of random scripts in which things go that others go by: Workloads, jobs, configs, leaders.

// deleteOrRemake has a user delete a Workload, or make its job anew, whose cluster may have been lost a moment ago, and lets
// time pass in which the next one may run.
func (g *generator) deleteOrRemake() {
	job, c := g.pickJob(), g.pickCluster()
	if g.rand.IntN(2) == 0 {
		g.addf("round")
	}
	if g.rand.IntN(2) == 0 {
		g.addf("partition %s", c)
		g.addf("probe %s", c)
	}
	if g.rand.IntN(3) == 0 { // it may end unseen
		g.addf("clock %s", g.pick("10s", "2m"))
		for _, other := range g.names {
			g.addf("work %s %s", other, job)
		}
	}
	verb := g.pick("discard", "discard", "discard", "remake", "delete")
	g.addf("%s %s", verb, job)
	if verb == "delete" { // and submits another of its name
		g.addf("until-quiet")
		g.addf("submit %s gpu=1 run=30m", job)
		g.addf("until-quiet")
	}
	for range 1 + g.rand.IntN(4) {
		g.addf("deliver hub")
		g.addDispatch()
		g.addf("dispatch %s", job)
		g.addf("work %s %s", g.pickCluster(), job)
		g.addf("core %s", job)
	}
	g.addf("clock %s", g.pick("1s", "1m", "16m"))
	g.addf("round")
	if g.rand.IntN(4) == 0 {
		g.restartHub()
		g.addf("round")
	}
	if g.rand.IntN(2) == 0 {
		g.addf("reconnect %s", c)
	}
	g.addf("round")
}

// changeConfig takes the check or the config away, or clusters out of it, while something runs, lets something happen to it, and may bring
// them back.
func (g *generator) changeConfig() {
	job := g.pickJob()
	if g.rand.IntN(2) == 0 {
		g.addf("round")
	}
	switch g.rand.IntN(6) {
	case 0, 1:
		g.addf("config %s", g.pick("gone", "gone", "back"))
	case 2:
		g.addf("check %s", g.pick("gone", "back"))
	case 3:
		g.addf("unask %s", job)
	case 4:
		g.addf("unlist %s", g.pickCluster())
	default:
		line := "reorder"
		for _, at := range g.rand.Perm(len(g.names)) {
			if g.rand.IntN(4) > 0 {
				line += " " + g.names[at]
			}
		}
		g.addf("%s", line)
	}
	for range 1 + g.rand.IntN(3) {
		switch g.rand.IntN(5) {
		case 0:
			g.addf("evict %s %s", g.pick("hub", g.pickCluster()), job)
		case 1:
			c := g.pickCluster()
			g.addf("partition %s", c)
			g.addf("probe %s", c)
		default:
			g.addf("clock %s", g.pick("1s", "2m", "16m"))
		}
		g.addf("round")
	}
	if g.rand.IntN(3) > 0 {
		g.addf("config back")
		g.addf("check back")
		g.addf("ask %s", job)
		g.addf("list %s", g.pickCluster())
	}
}

// takeOverLeadership lets another program lead whose cache is behind, and that acts before it has caught up.
func (g *generator) takeOverLeadership() {
	job, unseen := g.pickJob(), g.rand.IntN(2) == 0
	if unseen {
		g.addf("until-quiet")
	}
	g.addf("crash hub")
	if unseen { // it runs, ends and may be gone
		g.addf("clock %s", g.pick("10s", "2m"))
		for _, c := range g.names {
			g.addf("work %s %s", c, job)
		}
		g.addf("clock 31s")
		for range 3 {
			for _, c := range g.names {
				g.addf("work %s %s", c, job)
			}
		}
	}
	g.addf("restart hub old=%d", 1+g.rand.IntN(12))
	for _, c := range g.names {
		g.addf("probe %s", c)
		g.addf("deliver %s jobs", c)
		g.addf("deliver %s copies", c)
	}
	for range 2 + g.rand.IntN(4) {
		g.addf("dispatch %s", job)
		g.addf("%s", g.pick("deliver hub", "sweep "+g.pickCluster(), "work "+g.pickCluster()+" "+job, "core "+job))
	}
}

// requestGates lets copies signal that they would have to preempt, and be shown one after the other, while the hub opens gates.
func (g *generator) requestGates() {
	job := g.pickJob()
	g.addf("core %s", job)
	for range 2 {
		g.addf("deliver hub")
		g.addf("dispatch %s", job)
	}
	for _, c := range g.names {
		g.addf("work %s %s", c, job)
	}
	for _, at := range g.rand.Perm(len(g.names)) {
		for range 3 {
			g.addf("deliver %s copies", g.names[at])
		}
		g.addf("dispatch %s", job)
	}
}

// drainCluster drains one cluster while no other takes anything, for some steps.
func (g *generator) drainCluster(c string) {
	g.addf("round")
	for _, other := range g.names {
		if other != c && g.rand.IntN(4) > 0 {
			g.addf("cordon %s", other)
		}
	}
	g.addf("drain %s", c)
	for range 3 {
		g.addf("round")
		g.addf("clock 10s")
		g.addf("turn %s", c)
	}
	for _, other := range g.names {
		g.addf("uncordon %s", other)
	}
	if g.rand.IntN(2) == 0 {
		g.addf("round")
	}
	g.addf("undrain %s", c)
}

// expireLease has a cluster lost right after a renewal that was not answered, and its program down when the lease runs out:
// then the job runs for as long as it may.
func (g *generator) expireLease(c string) {
	g.addf("until-quiet")
	g.addf("clock 9s")
	g.addf("renew %s unanswered", c)
	g.addf("partition %s", c)
	for _, other := range g.names {
		g.addf("probe %s", other)
	}
	g.addf("tick 44s")
	g.addf("down %s for=30s", c)
	g.addf("tick 25s")
	g.addf("tick 15s")
}
