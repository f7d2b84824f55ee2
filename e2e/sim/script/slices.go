package script

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// The part of random scripts that is about elastic jobs. Its draws are its own, so that the other scripts do not depend on them.

// slices draws what happens to elastic jobs; nil in a script without.
type slices struct{ *generator }

// newSlices has one script in four be about elastic jobs.
func (g *generator) newSlices(seed uint64) {
	own := &generator{rand: rand.New(rand.NewPCG(seed, 0xe1a571c))}
	if own.rand.IntN(4) == 0 {
		g.slices = &slices{own}
	}
}

// mark makes the job of a submission elastic, as a rule one that is large enough to be scaled and runs for long.
func (s *slices) mark(line string) string {
	if s == nil || s.rand.IntN(6) == 0 || strings.Contains(line, "jobs=theirs") {
		return line
	}
	if s.rand.IntN(3) > 0 {
		line = strings.Replace(line, " gpu=", " run=30m gpu=", 1)
	}
	return line + " elastic"
}

// refer names one of the slices of a job: mostly the newest.
func (s *slices) refer(job string) string {
	if s == nil {
		return job
	}
	return job + s.pick("~", "~", "~", "~1", "~1", "~2")
}

// addFault may have something happen to an elastic job; it reports whether it did.
func (s *slices) addFault(g *generator) bool {
	if s == nil || s.rand.IntN(3) > 0 {
		return false
	}
	s.lines, s.names, s.jobs = g.lines, g.names, g.jobs
	job := s.pickJob()
	switch s.rand.IntN(10) {
	case 0, 1:
		s.scale(job)
	case 2, 3:
		s.scale(job)
		s.takeOver(job, "")
	case 4, 5:
		s.scale(job)
		s.takeOver(job, s.pick("crash", "fail", "late", "held"))
	case 6: // what it asked for before has not come to anything yet
		s.scale(job)
		s.takeOver(job, "")
		s.scale(job)
		s.takeOver(job, "")
	case 7: // on its way, it loses what it has
		s.scale(job)
		s.takeOver(job, "")
		s.addf("%s %s", s.pick("evict hub", "evict hub", "evict "+s.pickCluster(), "discard", "forget", "remake"), job+s.pick("~", "~1"))
		s.addf("clock %s", s.pick("1s", "2s"))
		s.takeOver(job, "")
	case 8: // its cluster is lost or drained meanwhile
		c := s.pickCluster()
		s.scale(job)
		s.takeOver(job, "")
		s.addf("%s %s", s.pick("partition", "drain", "cordon", "drop"), c)
		s.addf("probe %s", c)
		s.takeOver(job, "")
		s.addf("%s %s", s.pick("reconnect", "undrain", "uncordon"), c)
	case 9: // somebody takes away by what it runs there
		s.addf("until-quiet")
		s.scale(job)
		s.takeOver(job, "")
		s.addf("remove %s %s %s", s.pickCluster(), s.pick("copy", "copy", "job"), job+s.pick("~", "~1"))
		s.takeOver(job, "")
	}
	g.lines = s.lines
	return true
}

func (s *slices) scale(job string) {
	if s.rand.IntN(2) == 0 {
		s.addf("until-quiet")
	}
	s.addf("scale %s %d", job, 1+s.rand.IntN(8))
}

// takeOver gives turns to those that have a part in a takeover, one of which may go wrong.
func (s *slices) takeOver(job, fault string) {
	for range 1 + s.rand.IntN(5) {
		slice := job + s.pick("~", "~", "~1")
		switch s.rand.IntN(8) {
		case 0, 1:
			s.addf("core %s%s", slice, s.pick("", "", " plain"))
		case 2:
			s.addf("deliver hub")
			s.addf("deliver hub")
		case 3:
			c := s.pickCluster()
			s.addf("work %s %s", c, slice)
			s.addf("deliver %s copies", c)
		case 4:
			c := s.pickCluster()
			s.addf("work %s %s", c, slice)
			s.addf("deliver %s jobs", c)
		case 5:
			s.addf("round")
		default:
			s.addf("dispatch %s%s", slice, s.faultOf(fault))
		}
	}
	if fault == "crash" {
		s.addf("restart hub")
		for _, c := range s.names {
			s.addf("probe %s", c)
		}
	}
}

func (s *slices) faultOf(kind string) string {
	if kind == "" {
		return ""
	}
	return fmt.Sprintf(" %s=%d", kind, 1+s.rand.IntN(2))
}
