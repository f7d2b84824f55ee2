package dispatch

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// ConditionType is the type of the one condition on the hub's Workload that stores what the public API has no word for.
const ConditionType = "switchyard.dev/Dispatch"

// EpochAnnotation stamps remote Workloads and jobs with the epoch they were made in, in decimal.
const EpochAnnotation = "switchyard.dev/epoch"

// The reasons of a Record.
const (
	recordOwed    = "Owed"
	recordSettled = "Settled"
)

// The words of a Record's message, in their order.
const (
	epochWord       = "epoch "
	reservationWord = " of reservation "
	stopsWord       = "; its job stops without the hub"
	roundWord       = "; nominating since "
	debtsWord       = "; may still run on "
	debtEpochWord   = " since epoch "
	debtStopsWord   = " unless stopped"
	debtAbsentWord  = " with its job gone since "
)

// Record is the content of the condition of type ConditionType.
type Record struct {
	// Owed is the condition's status: whether there are debts.
	Owed bool
	// ObservedGeneration is the epoch.
	ObservedGeneration int64
	Reason             string
	// Message is for people and for Decode: `epoch 3 of reservation "r2"; its job stops without the hub; nominating since
	// 2026-01-01T12:00:00Z; may still run on "w1" since epoch 2`.
	Message string
}

// Encode turns epoch, reservation and debts into a Record; ok is false if there is nothing to record, and then the
// condition must be absent.
func Encode(s State) (r Record, ok bool) {
	if s.Epoch <= 1 && len(s.Debts) == 0 && s.Reservation == "" && !s.StopsOnHubLost && s.Round.IsZero() {
		return Record{}, false
	}
	var b strings.Builder
	b.WriteString(epochWord + strconv.FormatInt(s.Epoch, 10))
	if s.Reservation != "" {
		b.WriteString(reservationWord + strconv.Quote(s.Reservation))
	}
	if s.StopsOnHubLost {
		b.WriteString(stopsWord)
	}
	if !s.Round.IsZero() {
		b.WriteString(roundWord + s.Round.UTC().Format(time.RFC3339))
	}
	for i, d := range s.Debts {
		if i == 0 {
			b.WriteString(debtsWord)
		} else {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Quote(d.Cluster) + debtEpochWord + strconv.FormatInt(d.Epoch, 10))
		if d.StopsOnHubLost {
			b.WriteString(debtStopsWord)
		}
		if !d.AbsentSince.IsZero() {
			b.WriteString(debtAbsentWord + d.AbsentSince.UTC().Format(time.RFC3339))
		}
	}
	r = Record{Owed: len(s.Debts) > 0, ObservedGeneration: s.Epoch, Reason: recordSettled, Message: b.String()}
	if r.Owed {
		r.Reason = recordOwed
	}
	return r, true
}

// Decode restores a State from what is stored. A missing or unreadable record is epoch 1 without known debts, from which
// Step recovers by reading the clusters; of an unreadable one the State says so.
func Decode(r *Record, nominated []string, bound string) State {
	s := State{Epoch: 1}
	if r != nil {
		if parsed, ok := parse(r.Message); ok {
			s = parsed
		} else {
			s.Unreadable = true
		}
	}
	s.Bound = bound
	if bound == "" {
		s.Nominated = slices.Sorted(slices.Values(nominated))
	}
	return s
}

// parse reads a Record's message.
func parse(message string) (State, bool) {
	p := parser{rest: message, ok: true}
	var s State
	p.word(epochWord)
	s.Epoch = p.number()
	if p.accept(reservationWord) {
		s.Reservation = p.quoted()
	}
	s.StopsOnHubLost = p.accept(stopsWord)
	if p.accept(roundWord) {
		s.Round = p.time()
	}
	more := p.accept(debtsWord)
	for more && p.ok {
		d := Debt{Cluster: p.quoted()}
		p.word(debtEpochWord)
		d.Epoch = p.number()
		d.StopsOnHubLost = p.accept(debtStopsWord)
		if p.accept(debtAbsentWord) {
			d.AbsentSince = p.time()
		}
		s = s.withDebt(d)
		more = p.accept(", ")
	}
	return s, p.ok && p.rest == "" && s.Epoch >= 1
}

// parser reads a message from left to right; after the first mismatch ok stays false and nothing is read any more.
type parser struct {
	rest string
	ok   bool
}

func (p *parser) accept(word string) bool {
	rest, found := strings.CutPrefix(p.rest, word)
	if p.ok && found {
		p.rest = rest
		return true
	}
	return false
}

func (p *parser) word(word string) { p.ok = p.accept(word) }

func (p *parser) number() int64 {
	end := strings.IndexFunc(p.rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(p.rest)
	}
	n, err := strconv.ParseInt(p.rest[:end], 10, 64)
	p.ok = p.ok && err == nil && n <= MaxEpoch
	p.rest = p.rest[end:]
	return n
}

// time reads a UTC time of whole seconds.
func (p *parser) time() time.Time {
	length := min(len(time.RFC3339)-len("07:00"), len(p.rest))
	at, err := time.Parse(time.RFC3339, p.rest[:length])
	p.ok = p.ok && err == nil
	p.rest = p.rest[length:]
	return at
}

func (p *parser) quoted() string {
	prefix, err := strconv.QuotedPrefix(p.rest)
	if err != nil {
		p.ok = false
		return ""
	}
	p.rest = p.rest[len(prefix):]
	text, err := strconv.Unquote(prefix)
	p.ok = p.ok && err == nil
	return text
}
