package script

import "math/rand/v2"

// The part of random scripts that is about what stays on the workers. Its draws are its own, so that the other scripts do not depend on them.

// retention draws how long what has finished stays; nil in a script in which it goes at once.
type retention struct{ *generator }

// newRetention has one script in three keep what has finished.
func (g *generator) newRetention(seed uint64) {
	own := &generator{rand: rand.New(rand.NewPCG(seed, 0x2e7a12ed))}
	if own.rand.IntN(3) == 0 {
		g.retention = &retention{own}
	}
}

// addSetup says for how long.
func (r *retention) addSetup(g *generator) {
	if r != nil {
		g.addf("retain %s", r.pick("30s", "10m", "10m", "10m", "5h"))
	}
}

// addFault may have something happen to what has finished; it reports whether it did.
func (r *retention) addFault(g *generator) bool {
	if r == nil || r.rand.IntN(10) > 0 {
		return false
	}
	r.names, r.jobs = g.names, g.jobs
	job := g.slices.refer(r.pick(r.jobs...))
	switch r.rand.IntN(9) {
	case 8:
		r.endUnshown(g, job)
	case 0, 1:
		g.addf("date %s %s", job, r.pick("1m", "1m", "-1m", "-1m", "6h", "-6h", "10000h"))
	case 2:
		g.addf("tick 20m")
	case 3:
		g.addf("%s %s", r.pick("drain", "undrain"), r.pickCluster())
	case 4:
		g.addf("crash hub")
		g.addf("clock %s", r.pick("1m", "9m"))
		g.addf("restart hub")
	case 5:
		g.addf("%s %s", r.pick("delete", "discard", "remake"), job)
	default:
		g.addf("until-quiet")
		g.addf("clock %s", r.pick("10s", "2m", "30m"))
		g.addf("until-quiet")
	}
	return true
}

// endUnshown lets a job start and end, and its copy be removed, and the hub be shown the start last.
func (r *retention) endUnshown(g *generator, job string) {
	for _, c := range g.names {
		g.addf("work %s %s", c, job)
		g.addf("deliver %s copies", c)
	}
	g.addf("dispatch %s", job)
	for _, c := range g.names {
		g.addf("deliver %s jobs", c)
		g.addf("work %s %s", c, job)
		g.addf("work %s %s", c, job)
	}
	g.addf("clock 30m")
	for _, c := range g.names {
		g.addf("work %s %s", c, job)
		g.addf("remove %s copy %s", c, job)
		for range 4 {
			g.addf("deliver %s copies", c)
		}
	}
	for range 3 {
		g.addf("dispatch %s", job)
		g.addf("deliver hub")
	}
	for _, c := range g.names {
		g.addf("deliver %s jobs", c)
	}
	g.addf("dispatch %s", job)
}
