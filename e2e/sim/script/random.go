// Package script makes random scripts for the simulation: lists of commands that let single actors take turns, and break things.
package script

import (
	"fmt"
	"math/rand/v2"
)

// Random returns the random script of a seed: a scene, some hundreds of commands that give single actors single turns
// and break things in between, and then the healing of every fault, after which everything must come to rest.
func Random(seed uint64, length int) []string {
	g := &generator{rand: rand.New(rand.NewPCG(seed, 0x5317c4a4d))}
	g.newSlices(seed)
	g.newRetention(seed)
	g.commands = g.weightedCommands()
	g.lines = make([]string, 0, length+length/4)
	g.addSetup()
	for len(g.lines) < length {
		g.addNext()
		if g.external && g.rand.IntN(15) == 0 {
			g.addNomination()
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
	// laggingCluster is a cluster of which the hub sees little; theme is the kind of trouble that prevails.
	laggingCluster string
	scenario       int
	// external says that another dispatcher nominates clusters.
	external bool
	// strictPolicy is the policy, empty for the compatible one.
	strictPolicy string
	// delayedCommand is a command for when things have begun.
	delayedCommand string
	// slices is about elastic jobs, nil if there are none.
	slices *slices
	// retention is about what stays when it has finished, nil if nothing does.
	retention *retention
	// commands are what a command may do, and how often.
	commands []weightedCommand
}

// The themes of random scripts.
const (
	anyScenario = iota
	hubCrashScenario
	disconnectScenario
	evictionScenario
	operatorScenario
	deletionScenario
	configChangeScenario
	takeoverScenario
)

func (g *generator) addf(format string, args ...any) {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	g.lines = append(g.lines, format)
}

func (g *generator) pick(from ...string) string { return from[g.rand.IntN(len(from))] }
func (g *generator) pickCluster() string        { return g.pick(g.names...) }
func (g *generator) pickJob() string            { return g.slices.refer(g.pick(g.jobs...)) }

// addSetup makes two to four clusters and one to three jobs.
func (g *generator) addSetup() {
	line := "clusters"
	for i := range 2 + g.rand.IntN(3) {
		g.names = append(g.names, fmt.Sprintf("w%d", i+1))
		g.sizes = append(g.sizes, 2+2*g.rand.IntN(4))
		line += fmt.Sprintf(" w%d=%d", i+1, g.sizes[i])
	}
	g.addf("%s", line)
	g.addf("hub-gpu %d", 8+g.rand.IntN(16))
	switch g.rand.IntN(10) {
	case 0:
		g.addf("dispatcher incremental step=%d", 1+g.rand.IntN(2))
		if g.rand.IntN(2) == 0 {
			g.addf("by-name")
			g.addf("list w1") // at the end
		}
	case 1:
		g.external = true
		g.addf("dispatcher external")
	case 2, 3, 4:
		g.addf("dispatcher best-fit hedge=%s", g.pick("1s", "10s"))
	}
	g.addPolicy()
	g.retention.addSetup(g)
	g.addTraits()
	g.laggingCluster, g.scenario = g.pickCluster(), g.pickScenario()
	related := g.rand.IntN(6) == 0
	for i := range 1 + g.rand.IntN(3) {
		g.jobs = append(g.jobs, fmt.Sprintf("j%d", i+1))
		if related && i > 0 {
			g.addf("submit %s with=j1 run=2m kill=%s", g.jobs[i], g.pickKillGrace())
		}
		if !related || i > 0 || g.delayedCommand != "" || g.rand.IntN(2) == 0 {
			g.addSubmit(g.jobs[i])
		} else {
			g.delayedCommand = "submit j1 gpu=2 run=30m kill=" + g.pickKillGrace() // when its siblings are there already
		}
	}
}

func (g *generator) pickScenario() int {
	themes := []int{anyScenario, hubCrashScenario, disconnectScenario, disconnectScenario, evictionScenario, evictionScenario, operatorScenario, deletionScenario, configChangeScenario, takeoverScenario}
	return themes[g.rand.IntN(len(themes))]
}

func (g *generator) addSubmit(job string) {
	line := fmt.Sprintf("submit %s gpu=%d run=%s ttl=%s kill=%s", job, 1+g.rand.IntN(6), g.pick("10s", "2m", "30m"), g.pick("-1s", "-1s", "0s", "30s"), g.pickKillGrace())
	if g.rand.IntN(3) == 0 {
		line += " taint=tolerates"
	}
	if g.rand.IntN(8) == 0 {
		line += " checks=wait"
	}
	if g.rand.IntN(10) == 0 {
		line += " jobs=theirs"
	}
	if g.rand.IntN(10) == 0 {
		line += " status=stale"
	}
	g.addf("%s", g.slices.mark(line))
}

// pickDeliveringCluster returns the cluster whose events are delivered next: the laggard's only now and then.
func (g *generator) pickDeliveringCluster() string {
	if c := g.pickCluster(); c != g.laggingCluster || g.rand.IntN(6) == 0 {
		return c
	}
	return g.pickCluster()
}

// addNext adds one command. Nine in ten give an actor a turn; the others change the world.
func (g *generator) addNext() {
	if g.delayedCommand != "" && len(g.lines) > 60 {
		g.addf("%s", g.delayedCommand)
		g.delayedCommand = ""
	}
	n := g.rand.IntN(1000)
	for _, choice := range g.commands {
		if n -= choice.weight; n < 0 {
			choice.add()
			return
		}
	}
	g.addf("round")
}

type weightedCommand struct {
	weight int
	add    func()
}

func (g *generator) weightedCommands() []weightedCommand {
	return []weightedCommand{
		{250, g.addDispatch},
		{210, func() { g.addf("work %s %s", g.pickCluster(), g.pickJob()) }},
		{210, func() { g.addf("deliver %s %s", g.pickDeliveringCluster(), g.pick("jobs", "copies")) }},
		{60, func() { g.addf("core %s", g.pickJob()) }},
		{20, func() { g.addf("core %s plain", g.pickJob()) }},
		{80, func() { g.addf("deliver hub") }},
		{45, func() { g.addf("probe %s", g.pickCluster()) }},
		{25, func() { g.addf("clock %s", g.pick("1s", "10s", "1m", "5m", "16m")) }},
		{10, func() { g.addf("round") }},
		{5, func() { g.addf("sweep %s", g.pickCluster()) }},
		{10, func() { g.addf("%s %s", g.pick("report", "report", "fence", "renew"), g.pickCluster()) }},
		{85, g.injectFault},
	}
}

// addDispatch is a turn of the dispatcher, in which now and then a call fails or the hub crashes.
func (g *generator) addDispatch() {
	line := "dispatch " + g.pickJob()
	if g.rand.IntN(8) == 0 {
		line += fmt.Sprintf(" %s=%d", g.pick("fail", "late", "held", "crash"), 1+g.rand.IntN(3))
	}
	g.addf("%s", line)
}

// injectFault changes the world; half of the time in the way of the theme.
func (g *generator) injectFault() {
	if g.slices.addFault(g) || g.retention.addFault(g) {
		return
	}
	if g.scenario != anyScenario && g.rand.IntN(2) == 0 {
		g.injectScenarioFault()
		return
	}
	switch n := g.rand.IntN(16); {
	case n == 0 && g.strictPolicy != "":
		g.isolateCluster()
		return
	case n == 1:
		g.evictWhileLagging()
		return
	case n == 2 && g.strictPolicy != "":
		g.deleteOnWorker()
		return
	}
	switch g.rand.IntN(24) {
	case 0, 1:
		g.addf("partition %s", g.pickCluster())
	case 2, 3, 4:
		g.addf("reconnect %s", g.pickCluster())
	case 5:
		g.addf("crash hub")
	case 6, 7, 8:
		g.addf("restart hub")
	case 9, 10:
		g.addf("drop %s", g.pickCluster())
	case 11:
		g.addf("evict hub %s", g.pickJob())
	case 12, 13:
		g.addf("evict %s %s for=%s", g.pickCluster(), g.pickJob(), g.pick("0s", "10s"))
	case 14:
		g.addf("%s %s", g.pick("unlist", "list", "list"), g.pickCluster())
	default:
		g.injectRareFault()
	}
}

func (g *generator) injectRareFault() {
	switch g.rand.IntN(22) {
	case 20:
		g.addf("forge %s %s %s", g.pickCluster(), g.pickJob(), g.pick("named", "named", "bare"))
	case 21:
		g.removeMarks()
	case 16:
		g.deleteOrRemake()
	case 17:
		g.changeConfig()
	case 18:
		g.takeOverLeadership()
	case 19:
		g.requestGates()
	case 12:
		g.addf("%s %s", g.pick("hold", "release", "release"), g.pickCluster())
	case 13:
		g.addf("checks %s %s", g.pickJob(), g.pick("wait", "ready", "ready"))
	case 14, 15:
		g.addf("land")
	case 9, 10:
		g.addOperatorAction()
	case 11:
		if g.rand.IntN(2) == 0 {
			g.addf("%s renew", g.pick("freeze", "thaw", "thaw"))
		} else {
			g.addf("%s %s", g.pick("deny", "grant", "grant"), g.pickCluster())
		}
	case 0:
		if g.rand.IntN(4) == 0 {
			g.addf("wipe %s", g.pickCluster())
		} else {
			g.addf("remove %s %s %s", g.pickCluster(), g.pick("job", "copy"), g.pickJob())
		}
	case 1:
		g.addf("out-of-sync %s %s", g.pickCluster(), g.pickJob())
	case 2:
		g.addf("foreign %s %s", g.pickCluster(), g.pickJob())
	case 3:
		g.dropRecord(g.pickJob())
	case 4:
		g.addf("reprioritize %s %d", g.pickJob(), g.rand.IntN(3))
	case 5:
		g.addf("resize %s %d", g.pickJob(), 1+g.rand.IntN(6))
	case 6:
		g.addf("%s %s", g.pick("slow", "fast"), g.pickCluster())
	case 7:
		g.addf("delete %s", g.pickJob())
	case 8:
		g.addSubmit(g.pickJob())
	}
}

func (g *generator) injectScenarioFault() {
	switch g.scenario {
	case deletionScenario:
		g.deleteOrRemake()
	case configChangeScenario:
		g.changeConfig()
	case takeoverScenario:
		g.takeOverLeadership()
	case hubCrashScenario:
		g.restartHub()
	case disconnectScenario:
		switch n := g.rand.IntN(8); {
		case n < 2:
			g.cutOffHub()
			return
		case n < 6 && g.strictPolicy != "":
			g.isolateCluster()
			return
		}
		c := g.pickCluster()
		g.addf("%s %s", g.pick("partition", "reconnect", "reconnect", "drop"), c)
		g.addf("probe %s", c)
	case operatorScenario:
		g.addOperatorAction()
	case evictionScenario:
		if g.rand.IntN(3) == 0 {
			g.evictWhileLagging()
			return
		}
		g.evictAndWait()
	}
}

// removeMarks takes marks off a job, wherever it is, and may have its cluster given up.
func (g *generator) removeMarks() {
	job := g.pickJob()
	for _, c := range g.names {
		g.addf("relabel %s %s %s", c, job, g.pick("label", "all"))
	}
	if g.rand.IntN(2) == 0 {
		g.addf("evict %s %s for=10s", g.pick("hub", g.pickCluster()), job)
		g.addf("round")
		g.addf("clock 2s")
		g.addf("round")
	}
}

// addNomination lets an external dispatcher choose some clusters, one of them perhaps of no such name.
func (g *generator) addNomination() {
	line := "nominate " + g.pickJob()
	for _, name := range append(g.names, "w9") {
		if g.rand.IntN(3) > 0 {
			line += " " + name
		}
	}
	g.addf("%s", line)
}

// evictWhileLagging evicts, and lets the next attempt go on while the laggard shows little of the last one: its copies but not its jobs,
// or nothing. The job may have ended there, or be slow to go.
func (g *generator) evictWhileLagging() {
	job, shown := g.pickJob(), g.rand.IntN(2) == 0
	switch g.rand.IntN(12) {
	case 0:
		g.holdOffer(job)
		return
	case 1, 2, 3, 4:
		g.holdCalls(job)
	}
	g.addf("%s %s", g.pick("slow", "fast"), g.laggingCluster)
	if g.rand.IntN(4) == 0 {
		g.addf("dispatch %s held=%d", job, 1+g.rand.IntN(2))
	}
	g.addf("clock %s", g.pick("1s", "2m"))
	g.addf("work %s %s", g.laggingCluster, job)
	g.addf("evict hub %s", job)
	for range 3 {
		g.addf("deliver hub")
		g.addf("dispatch %s", job)
		g.addf("core %s", job)
		g.addf("clock 2s")
	}
	for range 2 + g.rand.IntN(3) {
		g.addf("deliver hub")
		g.addf("dispatch %s", job)
		if g.rand.IntN(4) == 0 {
			g.addf("land")
		}
		for _, c := range g.names {
			g.addf("work %s %s", c, job)
			if c != g.laggingCluster || shown {
				g.addf("deliver %s copies", c)
			}
			if c != g.laggingCluster {
				g.addf("deliver %s jobs", c)
			}
		}
	}
}

// holdCalls holds up the calls that make things, wherever they go.
func (g *generator) holdCalls(job string) {
	for range 4 {
		g.addf("core %s", job)
		g.addf("deliver hub")
		g.addf("dispatch %s held=1", job)
		g.addf("work %s %s", g.pickCluster(), job)
		g.addf("deliver %s copies", g.pickCluster())
	}
	g.addf("land")
	g.stepAllClusters(job)
	g.addf("dispatch %s", job)
	g.addf("deliver hub")
	g.addf("dispatch %s held=%d", job, 1+len(g.lines)%2)
	g.addf("evict hub %s", job)
	g.addf("until-quiet")
	g.addf("clock 2s")
	g.addf("core %s", job)
	g.addf("deliver hub")
	g.addf("dispatch %s", job)
	g.stepAllClusters(job)
	g.addf("land") // the job, when there is a later offer
	g.stepAllClusters(job)
}

// stepAllClusters lets every cluster do something about a job, and the hub see its copies.
func (g *generator) stepAllClusters(job string) {
	for _, c := range g.names {
		for range 3 {
			g.addf("work %s %s", c, job)
			g.addf("deliver %s copies", c)
		}
	}
}

// cutOffHub parts the hub from all clusters for a while, and then from some for longer.
func (g *generator) cutOffHub() {
	for _, c := range g.names {
		g.addf("partition %s", c)
		g.addf("probe %s", c)
	}
	g.addf("clock %s", g.pick("1m", "5m", "16m"))
	for _, c := range g.names {
		if g.rand.IntN(3) > 0 {
			g.addf("reconnect %s", c)
		}
		g.addf("probe %s", c)
		g.addf("dispatch %s", g.pickJob())
	}
	g.addf("clock %s", g.pick("1m", "5m", "16m"))
	g.addf("dispatch %s", g.pickJob())
}

// restartHub brings the hub back without anything in its caches, perhaps out of the middle of a turn.
func (g *generator) restartHub() {
	if g.rand.IntN(2) == 0 {
		g.addf("dispatch %s crash=%d", g.pickJob(), 1+g.rand.IntN(2))
	}
	g.addf("crash hub")
	g.addf("restart hub")
	for _, c := range g.names {
		g.addf("probe %s", c)
	}
}

// evictAndWait evicts, and lets time pass until the next attempt, in which much may happen.
func (g *generator) evictAndWait() {
	job := g.pickJob()
	if g.rand.IntN(4) == 0 {
		g.dropRecord(job)
		return
	}
	g.addf("evict %s %s for=10s", g.pick(append([]string{"hub", "hub"}, g.names...)...), job)
	g.addf("clock %s", g.pick("1s", "1s", "10s", "2m"))
	for range g.rand.IntN(4) {
		g.addf("core %s", job)
		g.addf("work %s %s", g.pickCluster(), job)
		g.addf("deliver hub")
		g.addf("dispatch %s", job)
	}
	if g.rand.IntN(3) == 0 {
		g.restartHub()
	}
}

// dropRecord drops the dispatcher's record, as a client does that knows only the public types, at a moment when little of what it
// says can be seen: some cluster is out of reach, the hub evicts before the dispatcher looks, or has just been restarted.
func (g *generator) dropRecord(job string) {
	if g.rand.IntN(3) == 0 {
		c := g.pickCluster()
		g.addf("partition %s", c)
		g.addf("probe %s", c)
	}
	if g.rand.IntN(4) == 0 {
		g.restartHub()
	}
	if g.rand.IntN(2) == 0 {
		g.addf("evict hub %s", job)
		g.addf("forget %s", job)
	} else {
		g.addf("forget %s", job)
		g.addf("%s %s", g.pick("evict hub", "evict hub", "dispatch", "delete"), job)
	}
	g.addf("deliver hub")
	g.addf("deliver hub")
	for range g.rand.IntN(3) {
		g.addf("dispatch %s", job)
		g.addf("deliver hub")
		g.addf("core %s", job)
	}
	g.addf("clock 2s")
}

// holdOffer holds up an offer until the next attempt has been offered too, and has been won by another.
func (g *generator) holdOffer(job string) {
	g.addf("evict hub %s", job)
	for range 3 {
		g.addf("deliver hub")
		g.addf("dispatch %s", job)
		g.addf("core %s", job)
		g.addf("clock 2s")
	}
	g.addf("deliver hub")
	g.addf("dispatch %s held=%d", job, 1+g.rand.IntN(3))
	g.addf("evict hub %s", job)
	for range 3 {
		g.addf("deliver hub")
		g.addf("dispatch %s", job)
		g.addf("core %s", job)
		g.addf("clock 2s")
	}
	g.addf("until-quiet")
	g.addf("land")
}

// deleteOnWorker has a user delete on a worker what runs there, or stops there, or is being removed, in the background as
// kubectl does it, and the hub go on at once.
func (g *generator) deleteOnWorker() {
	c, job := g.pickCluster(), g.pickJob()
	if g.rand.IntN(2) == 0 {
		g.addf("until-quiet")
	}
	switch g.rand.IntN(4) {
	case 0:
		g.addf("evict hub %s", job)
		g.addf("round")
	case 1:
		g.addf("evict %s %s for=1m", c, job)
		g.addf("round")
		g.addf("round")
	case 2:
		g.addf("partition %s", c)
		g.addf("probe %s", c)
	}
	if g.rand.IntN(2) == 0 {
		g.addf("wipe %s", c)
	} else {
		g.addf("remove %s job %s", c, job)
	}
	if g.rand.IntN(4) == 0 {
		g.restartHub()
	}
	g.addf("reconnect %s", c)
	g.addf("probe %s", c)
	for range 3 {
		g.addf("round")
		g.addf("clock %s", g.pick("1s", "1s", "29s"))
	}
	g.addf("until-quiet")
}
