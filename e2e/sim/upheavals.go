package sim

// The part of random scripts in which things go that others go by: Workloads, jobs, configs, leaders.

// part lets somebody delete a Workload, or make its job anew, whose cluster may have been lost a moment ago, and lets time pass in
// which the next one may run.
func (g *generator) part() {
	job, c := g.job(), g.cluster()
	if g.rand.IntN(2) == 0 {
		g.add("round")
	}
	if g.rand.IntN(2) == 0 {
		g.add("partition %s", c)
		g.add("probe %s", c)
	}
	if g.rand.IntN(3) == 0 { // it may end unseen
		g.add("clock %s", g.pick("10s", "2m"))
		for _, other := range g.names {
			g.add("work %s %s", other, job)
		}
	}
	verb := g.pick("discard", "discard", "discard", "remake", "delete")
	g.add("%s %s", verb, job)
	if verb == "delete" { // and submits another of its name
		g.add("until-quiet")
		g.add("submit %s gpu=1 run=30m", job)
		g.add("until-quiet")
	}
	for range 1 + g.rand.IntN(4) {
		g.add("deliver hub")
		g.dispatch()
		g.add("dispatch %s", job)
		g.add("work %s %s", g.cluster(), job)
		g.add("core %s", job)
	}
	g.add("clock %s", g.pick("1s", "1m", "16m"))
	g.add("round")
	if g.rand.IntN(4) == 0 {
		g.reboot()
		g.add("round")
	}
	if g.rand.IntN(2) == 0 {
		g.add("reconnect %s", c)
	}
	g.add("round")
}

// drift takes the check or the config away, or clusters out of it, while something runs, lets something happen to it, and may bring
// them back.
func (g *generator) drift() {
	job := g.job()
	if g.rand.IntN(2) == 0 {
		g.add("round")
	}
	switch g.rand.IntN(6) {
	case 0, 1:
		g.add("config %s", g.pick("gone", "gone", "back"))
	case 2:
		g.add("check %s", g.pick("gone", "back"))
	case 3:
		g.add("unask %s", job)
	case 4:
		g.add("unlist %s", g.cluster())
	default:
		line := "reorder"
		for _, at := range g.rand.Perm(len(g.names)) {
			if g.rand.IntN(4) > 0 {
				line += " " + g.names[at]
			}
		}
		g.add("%s", line)
	}
	for range 1 + g.rand.IntN(3) {
		switch g.rand.IntN(5) {
		case 0:
			g.add("evict %s %s", g.pick("hub", g.cluster()), job)
		case 1:
			c := g.cluster()
			g.add("partition %s", c)
			g.add("probe %s", c)
		default:
			g.add("clock %s", g.pick("1s", "2m", "16m"))
		}
		g.add("round")
	}
	if g.rand.IntN(3) > 0 {
		g.add("config back")
		g.add("check back")
		g.add("ask %s", job)
		g.add("list %s", g.cluster())
	}
}

// takeOver lets another program lead whose cache is behind, and that acts before it has caught up.
func (g *generator) takeOver() {
	job, unseen := g.job(), g.rand.IntN(2) == 0
	if unseen {
		g.add("until-quiet")
	}
	g.add("crash hub")
	if unseen { // it runs, ends and may be gone
		g.add("clock %s", g.pick("10s", "2m"))
		for _, c := range g.names {
			g.add("work %s %s", c, job)
		}
		g.add("clock 31s")
		for range 3 {
			for _, c := range g.names {
				g.add("work %s %s", c, job)
			}
		}
	}
	g.add("restart hub old=%d", 1+g.rand.IntN(12))
	for _, c := range g.names {
		g.add("probe %s", c)
		g.add("deliver %s jobs", c)
		g.add("deliver %s copies", c)
	}
	for range 2 + g.rand.IntN(4) {
		g.add("dispatch %s", job)
		g.add("%s", g.pick("deliver hub", "sweep "+g.cluster(), "work "+g.cluster()+" "+job, "core "+job))
	}
}

// compete lets copies signal that they would have to preempt, and be shown one after the other, while the hub opens gates.
func (g *generator) compete() {
	job := g.job()
	g.add("core %s", job)
	for range 2 {
		g.add("deliver hub")
		g.add("dispatch %s", job)
	}
	for _, c := range g.names {
		g.add("work %s %s", c, job)
	}
	for _, at := range g.rand.Perm(len(g.names)) {
		for range 3 {
			g.add("deliver %s copies", g.names[at])
		}
		g.add("dispatch %s", job)
	}
}

// evacuate drains one cluster while nobody else takes anything, for some turns.
func (g *generator) evacuate(c string) {
	g.add("round")
	for _, other := range g.names {
		if other != c && g.rand.IntN(4) > 0 {
			g.add("cordon %s", other)
		}
	}
	g.add("drain %s", c)
	for range 3 {
		g.add("round")
		g.add("clock 10s")
		g.add("turn %s", c)
	}
	for _, other := range g.names {
		g.add("uncordon %s", other)
	}
	if g.rand.IntN(2) == 0 {
		g.add("round")
	}
	g.add("undrain %s", c)
}

// outlive lets a cluster be lost right after a renewal that nobody answered, and its program be down when the lease runs out: then the
// job runs for as long as it may.
func (g *generator) outlive(c string) {
	g.add("until-quiet")
	g.add("clock 9s")
	g.add("renew %s unanswered", c)
	g.add("partition %s", c)
	for _, other := range g.names {
		g.add("probe %s", other)
	}
	g.add("tick 44s")
	g.add("down %s for=30s", c)
	g.add("tick 25s")
	g.add("tick 15s")
}
