package placement

// grade is how well something fits; less is better.
type grade int

// The grades, from the best to the worst. The grade of a workload is the worst of its parts. Up to waits a cluster may be
// offered the workload.
const (
	// owns: it fits within the ClusterQueue's own quota.
	owns grade = iota
	// borrows: it fits, some of it borrowed.
	borrows
	// unsure: it may fit, as far as is known.
	unsure
	// preempts: it fits if others are evicted.
	preempts
	// waits: it fits once others have finished.
	waits
	// tooLarge: it would not fit in an empty cluster.
	tooLarge
	// noFlavor: no flavor is for its pods, or none covers a resource.
	noFlavor
)

// reason is the grade as clients are told it.
func (g grade) reason() Reason {
	switch g {
	case owns:
		return Fits
	case borrows:
		return Borrows
	case unsure:
		return Unknown
	case preempts:
		return Preempts
	case waits:
		return Waits
	case tooLarge:
		return TooLarge
	case noFlavor:
		return NoFlavor
	}
	panic("placement: a grade has a reason")
}

// class is the grade as the first part of a score, higher being better. Own and borrowed quota are of one class, because
// what users prefer goes between them.
func (g grade) class() int {
	switch g {
	case owns, borrows:
		return 4
	case unsure:
		return 3
	case preempts:
		return 2
	case waits:
		return 1
	case tooLarge, noFlavor:
	}
	return 0
}
