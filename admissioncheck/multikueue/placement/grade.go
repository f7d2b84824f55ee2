package placement

// grade is how well something fits; less is better.
type grade int

const (
	owns grade = iota
	borrows
	unsure
	preempts
	waits
	tooLarge
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
