package sim

import (
	"fmt"
	"math/rand/v2"
)

// Script returns the random script of a seed: a scene, some hundreds of commands that give single actors single turns
// and break things in between, and then the healing of every fault, after which everything must come to rest.
func Script(seed uint64, length int) []string {
	g := &generator{rand: rand.New(rand.NewPCG(seed, 0x5317c4a4d))}
	g.ways = g.choices()
	g.lines = make([]string, 0, length+length/4)
	g.scene()
	for len(g.lines) < length {
		g.next()
		if g.external && g.rand.IntN(15) == 0 {
			g.nominate()
		}
	}
	return append(g.lines, "final")
}

type generator struct {
	rand  *rand.Rand
	lines []string
	names []string
	jobs  []string
	// sizes are the clusters' GPUs.
	sizes []int
	// laggard is a cluster of which the hub sees little; theme is the kind of trouble that prevails.
	laggard string
	theme   int
	// external says that somebody else nominates clusters.
	external bool
	// strict is the policy, empty for the compatible one.
	strict string
	// later is a command for when things have begun.
	later string
	// ways are what a command may do, and how often.
	ways []choice
}

// The themes of random scripts.
const (
	anything = iota
	brokenHub
	brokenLinks
	evictions
	operations
	partings
	drifts
	takeovers
)

func (g *generator) add(format string, args ...any) {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	g.lines = append(g.lines, format)
}

func (g *generator) pick(from ...string) string { return from[g.rand.IntN(len(from))] }
func (g *generator) cluster() string            { return g.pick(g.names...) }
func (g *generator) job() string                { return g.pick(g.jobs...) }

// scene makes two to four clusters and one to three jobs.
func (g *generator) scene() {
	line := "clusters"
	for i := range 2 + g.rand.IntN(3) {
		g.names = append(g.names, fmt.Sprintf("w%d", i+1))
		g.sizes = append(g.sizes, 2+2*g.rand.IntN(4))
		line += fmt.Sprintf(" w%d=%d", i+1, g.sizes[i])
	}
	g.add("%s", line)
	g.add("hub-gpu %d", 8+g.rand.IntN(16))
	switch g.rand.IntN(10) {
	case 0:
		g.add("dispatcher incremental step=%d", 1+g.rand.IntN(2))
		if g.rand.IntN(2) == 0 {
			g.add("by-name")
			g.add("list w1") // at the end
		}
	case 1:
		g.external = true
		g.add("dispatcher external")
	case 2, 3, 4:
		g.add("dispatcher best-fit hedge=%s", g.pick("1s", "10s"))
	}
	g.policy()
	g.traits()
	g.laggard, g.theme = g.cluster(), g.someTheme()
	related := g.rand.IntN(6) == 0
	for i := range 1 + g.rand.IntN(3) {
		g.jobs = append(g.jobs, fmt.Sprintf("j%d", i+1))
		if related && i > 0 {
			g.add("submit %s with=j1 run=2m kill=%s", g.jobs[i], g.kill())
		}
		if !related || i > 0 || g.later != "" || g.rand.IntN(2) == 0 {
			g.submit(g.jobs[i])
		} else {
			g.later = "submit j1 gpu=2 run=30m kill=" + g.kill() // when its siblings are there already
		}
	}
}

func (g *generator) someTheme() int {
	themes := []int{anything, brokenHub, brokenLinks, brokenLinks, evictions, evictions, operations, partings, drifts, takeovers}
	return themes[g.rand.IntN(len(themes))]
}

func (g *generator) submit(job string) {
	line := fmt.Sprintf("submit %s gpu=%d run=%s ttl=%s kill=%s", job, 1+g.rand.IntN(6), g.pick("10s", "2m", "30m"), g.pick("-1s", "-1s", "0s", "30s"), g.kill())
	if g.rand.IntN(3) == 0 {
		line += " taint=tolerates"
	}
	if g.rand.IntN(8) == 0 {
		line += " checks=wait"
	}
	if g.rand.IntN(10) == 0 {
		line += " jobs=theirs"
	}
	g.add("%s", line)
}

// sight returns the cluster whose events are delivered next: the laggard's only now and then.
func (g *generator) sight() string {
	if c := g.cluster(); c != g.laggard || g.rand.IntN(6) == 0 {
		return c
	}
	return g.cluster()
}

// next adds one command. Nine in ten give an actor a turn; the others change the world.
func (g *generator) next() {
	if g.later != "" && len(g.lines) > 60 {
		g.add("%s", g.later)
		g.later = ""
	}
	n := g.rand.IntN(1000)
	for _, choice := range g.ways {
		if n -= choice.weight; n < 0 {
			choice.add()
			return
		}
	}
	g.add("round")
}

type choice struct {
	weight int
	add    func()
}

func (g *generator) choices() []choice {
	return []choice{
		{250, g.dispatch},
		{210, func() { g.add("work %s %s", g.cluster(), g.job()) }},
		{210, func() { g.add("deliver %s %s", g.sight(), g.pick("jobs", "copies")) }},
		{60, func() { g.add("core %s", g.job()) }},
		{20, func() { g.add("core %s plain", g.job()) }},
		{80, func() { g.add("deliver hub") }},
		{45, func() { g.add("probe %s", g.cluster()) }},
		{25, func() { g.add("clock %s", g.pick("1s", "10s", "1m", "5m", "16m")) }},
		{10, func() { g.add("round") }},
		{5, func() { g.add("sweep %s", g.cluster()) }},
		{10, func() { g.add("%s %s", g.pick("report", "report", "fence", "renew"), g.cluster()) }},
		{85, g.disturb},
	}
}

// dispatch is a turn of the dispatcher, in which now and then a call fails or the hub crashes.
func (g *generator) dispatch() {
	line := "dispatch " + g.job()
	if g.rand.IntN(8) == 0 {
		line += fmt.Sprintf(" %s=%d", g.pick("fail", "late", "held", "crash"), 1+g.rand.IntN(3))
	}
	g.add("%s", line)
}

// disturb changes the world; half of the time in the way of the theme.
func (g *generator) disturb() {
	if g.theme != anything && g.rand.IntN(2) == 0 {
		g.disturbByTheme()
		return
	}
	switch n := g.rand.IntN(16); {
	case n == 0 && g.strict != "":
		g.isolate()
		return
	case n == 1:
		g.haunt()
		return
	case n == 2 && g.strict != "":
		g.vandalize()
		return
	}
	switch g.rand.IntN(24) {
	case 0, 1:
		g.add("partition %s", g.cluster())
	case 2, 3, 4:
		g.add("reconnect %s", g.cluster())
	case 5:
		g.add("crash hub")
	case 6, 7, 8:
		g.add("restart hub")
	case 9, 10:
		g.add("drop %s", g.cluster())
	case 11:
		g.add("evict hub %s", g.job())
	case 12, 13:
		g.add("evict %s %s for=%s", g.cluster(), g.job(), g.pick("0s", "10s"))
	case 14:
		g.add("%s %s", g.pick("unlist", "list", "list"), g.cluster())
	default:
		g.disturbRarely()
	}
}

func (g *generator) disturbRarely() {
	switch g.rand.IntN(22) {
	case 20:
		g.add("forge %s %s %s", g.cluster(), g.job(), g.pick("named", "named", "bare"))
	case 21:
		g.tamper()
	case 16:
		g.part()
	case 17:
		g.drift()
	case 18:
		g.takeOver()
	case 19:
		g.compete()
	case 12:
		g.add("%s %s", g.pick("hold", "release", "release"), g.cluster())
	case 13:
		g.add("checks %s %s", g.job(), g.pick("wait", "ready", "ready"))
	case 14, 15:
		g.add("land")
	case 9, 10:
		g.operate()
	case 11:
		if g.rand.IntN(2) == 0 {
			g.add("%s renew", g.pick("freeze", "thaw", "thaw"))
		} else {
			g.add("%s %s", g.pick("deny", "grant", "grant"), g.cluster())
		}
	case 0:
		if g.rand.IntN(4) == 0 {
			g.add("wipe %s", g.cluster())
		} else {
			g.add("remove %s %s %s", g.cluster(), g.pick("job", "copy"), g.job())
		}
	case 1:
		g.add("out-of-sync %s %s", g.cluster(), g.job())
	case 2:
		g.add("foreign %s %s", g.cluster(), g.job())
	case 3:
		g.disremember(g.job())
	case 4:
		g.add("reprioritize %s %d", g.job(), g.rand.IntN(3))
	case 5:
		g.add("resize %s %d", g.job(), 1+g.rand.IntN(6))
	case 6:
		g.add("%s %s", g.pick("slow", "fast"), g.cluster())
	case 7:
		g.add("delete %s", g.job())
	case 8:
		g.submit(g.job())
	}
}

func (g *generator) disturbByTheme() {
	switch g.theme {
	case partings:
		g.part()
	case drifts:
		g.drift()
	case takeovers:
		g.takeOver()
	case brokenHub:
		g.reboot()
	case brokenLinks:
		switch n := g.rand.IntN(8); {
		case n < 2:
			g.cutOff()
			return
		case n < 6 && g.strict != "":
			g.isolate()
			return
		}
		c := g.cluster()
		g.add("%s %s", g.pick("partition", "reconnect", "reconnect", "drop"), c)
		g.add("probe %s", c)
	case operations:
		g.operate()
	case evictions:
		if g.rand.IntN(3) == 0 {
			g.haunt()
			return
		}
		g.retreat()
	}
}

// tamper takes marks off a job, wherever it is, and may have its cluster given up.
func (g *generator) tamper() {
	job := g.job()
	for _, c := range g.names {
		g.add("relabel %s %s %s", c, job, g.pick("label", "all"))
	}
	if g.rand.IntN(2) == 0 {
		g.add("evict %s %s for=10s", g.pick("hub", g.cluster()), job)
		g.add("round")
		g.add("clock 2s")
		g.add("round")
	}
}

// nominate lets an external dispatcher choose some clusters, one of them perhaps of no such name.
func (g *generator) nominate() {
	line := "nominate " + g.job()
	for _, name := range append(g.names, "w9") {
		if g.rand.IntN(3) > 0 {
			line += " " + name
		}
	}
	g.add("%s", line)
}

// haunt evicts, and lets the next attempt go on while the laggard shows little of the last one: its copies but not its jobs,
// or nothing. The job may have ended there, or be slow to go.
func (g *generator) haunt() {
	job, shown := g.job(), g.rand.IntN(2) == 0
	switch g.rand.IntN(12) {
	case 0:
		g.belate(job)
		return
	case 1, 2, 3, 4:
		g.dawdle(job)
	}
	g.add("%s %s", g.pick("slow", "fast"), g.laggard)
	if g.rand.IntN(4) == 0 {
		g.add("dispatch %s held=%d", job, 1+g.rand.IntN(2))
	}
	g.add("clock %s", g.pick("1s", "2m"))
	g.add("work %s %s", g.laggard, job)
	g.add("evict hub %s", job)
	for range 3 {
		g.add("deliver hub")
		g.add("dispatch %s", job)
		g.add("core %s", job)
		g.add("clock 2s")
	}
	for range 2 + g.rand.IntN(3) {
		g.add("deliver hub")
		g.add("dispatch %s", job)
		if g.rand.IntN(4) == 0 {
			g.add("land")
		}
		for _, c := range g.names {
			g.add("work %s %s", c, job)
			if c != g.laggard || shown {
				g.add("deliver %s copies", c)
			}
			if c != g.laggard {
				g.add("deliver %s jobs", c)
			}
		}
	}
}

// dawdle holds up the calls that make things, wherever they go.
func (g *generator) dawdle(job string) {
	for range 4 {
		g.add("core %s", job)
		g.add("deliver hub")
		g.add("dispatch %s held=1", job)
		g.add("work %s %s", g.cluster(), job)
		g.add("deliver %s copies", g.cluster())
	}
	g.add("land")
	g.spread(job)
	g.add("dispatch %s", job)
	g.add("deliver hub")
	g.add("dispatch %s held=%d", job, 1+len(g.lines)%2)
	g.add("evict hub %s", job)
	g.add("until-quiet")
	g.add("clock 2s")
	g.add("core %s", job)
	g.add("deliver hub")
	g.add("dispatch %s", job)
	g.spread(job)
	g.add("land") // the job, when there is a later offer
	g.spread(job)
}

// spread lets every cluster do something about a job, and the hub see its copies.
func (g *generator) spread(job string) {
	for _, c := range g.names {
		for range 3 {
			g.add("work %s %s", c, job)
			g.add("deliver %s copies", c)
		}
	}
}

// cutOff parts the hub from everybody for a while, and then from some for longer.
func (g *generator) cutOff() {
	for _, c := range g.names {
		g.add("partition %s", c)
		g.add("probe %s", c)
	}
	g.add("clock %s", g.pick("1m", "5m", "16m"))
	for _, c := range g.names {
		if g.rand.IntN(3) > 0 {
			g.add("reconnect %s", c)
		}
		g.add("probe %s", c)
		g.add("dispatch %s", g.job())
	}
	g.add("clock %s", g.pick("1m", "5m", "16m"))
	g.add("dispatch %s", g.job())
}

// reboot brings the hub back without anything in its caches, perhaps out of the middle of a turn.
func (g *generator) reboot() {
	if g.rand.IntN(2) == 0 {
		g.add("dispatch %s crash=%d", g.job(), 1+g.rand.IntN(2))
	}
	g.add("crash hub")
	g.add("restart hub")
	for _, c := range g.names {
		g.add("probe %s", c)
	}
}

// retreat evicts, and lets time pass until the next attempt, in which much may happen.
func (g *generator) retreat() {
	job := g.job()
	if g.rand.IntN(4) == 0 {
		g.disremember(job)
		return
	}
	g.add("evict %s %s for=10s", g.pick(append([]string{"hub", "hub"}, g.names...)...), job)
	g.add("clock %s", g.pick("1s", "1s", "10s", "2m"))
	for range g.rand.IntN(4) {
		g.add("core %s", job)
		g.add("work %s %s", g.cluster(), job)
		g.add("deliver hub")
		g.add("dispatch %s", job)
	}
	if g.rand.IntN(3) == 0 {
		g.reboot()
	}
}

// disremember drops the dispatcher's record, as a client does that knows only the public types, at a moment when little of what it
// says can be seen: some cluster is out of reach, the hub evicts before the dispatcher looks, or has just been restarted.
func (g *generator) disremember(job string) {
	if g.rand.IntN(3) == 0 {
		c := g.cluster()
		g.add("partition %s", c)
		g.add("probe %s", c)
	}
	if g.rand.IntN(4) == 0 {
		g.reboot()
	}
	if g.rand.IntN(2) == 0 {
		g.add("evict hub %s", job)
		g.add("forget %s", job)
	} else {
		g.add("forget %s", job)
		g.add("%s %s", g.pick("evict hub", "evict hub", "dispatch", "delete"), job)
	}
	g.add("deliver hub")
	g.add("deliver hub")
	for range g.rand.IntN(3) {
		g.add("dispatch %s", job)
		g.add("deliver hub")
		g.add("core %s", job)
	}
	g.add("clock 2s")
}

// belate holds up an offer until the next attempt has been offered too, and has been won by another.
func (g *generator) belate(job string) {
	g.add("evict hub %s", job)
	for range 3 {
		g.add("deliver hub")
		g.add("dispatch %s", job)
		g.add("core %s", job)
		g.add("clock 2s")
	}
	g.add("deliver hub")
	g.add("dispatch %s held=%d", job, 1+g.rand.IntN(3))
	g.add("evict hub %s", job)
	for range 3 {
		g.add("deliver hub")
		g.add("dispatch %s", job)
		g.add("core %s", job)
		g.add("clock 2s")
	}
	g.add("until-quiet")
	g.add("land")
}

// vandalize lets somebody delete on a worker what runs there, or stops there, or is being removed, in the background as kubectl does
// it, and the hub go on at once.
func (g *generator) vandalize() {
	c, job := g.cluster(), g.job()
	if g.rand.IntN(2) == 0 {
		g.add("until-quiet")
	}
	switch g.rand.IntN(4) {
	case 0:
		g.add("evict hub %s", job)
		g.add("round")
	case 1:
		g.add("evict %s %s for=1m", c, job)
		g.add("round")
		g.add("round")
	case 2:
		g.add("partition %s", c)
		g.add("probe %s", c)
	}
	if g.rand.IntN(2) == 0 {
		g.add("wipe %s", c)
	} else {
		g.add("remove %s job %s", c, job)
	}
	if g.rand.IntN(4) == 0 {
		g.reboot()
	}
	g.add("reconnect %s", c)
	g.add("probe %s", c)
	for range 3 {
		g.add("round")
		g.add("clock %s", g.pick("1s", "1s", "29s"))
	}
	g.add("until-quiet")
}
