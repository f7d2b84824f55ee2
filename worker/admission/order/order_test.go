package order

import (
	"fmt"
	"math/rand"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func at(n int) time.Time { return time.Unix(int64(n), 0) }

func TestWhoIsNext(t *testing.T) {
	for _, c := range []struct {
		name          string
		first, second Rank
	}{
		{"the higher priority comes first however late", Rank{Priority: 2, QueuedAt: at(9)}, Rank{Priority: 1, QueuedAt: at(1)}},
		{"the older of equal priority comes first", Rank{QueuedAt: at(1), UID: "z"}, Rank{QueuedAt: at(2), UID: "a"}},
		{"the UID decides between equals", Rank{UID: "a"}, Rank{UID: "b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.first.Compare(c.second) >= 0 || c.second.Compare(c.first) <= 0 {
				t.Errorf("%v does not come before %v", c.first, c.second)
			}
		})
	}
}

func TestWhichQueueIsNext(t *testing.T) {
	low, high := Bid{Borrowing: 1, Rank: Rank{Priority: 9}}, Bid{Borrowing: 0, Rank: Rank{Priority: 1}}
	if Classical(high, low) >= 0 {
		t.Error("who need not borrow comes before who must, whatever the priority")
	}
	if Classical(Bid{Rank: Rank{Priority: 2}}, high) >= 0 {
		t.Error("among equal heights rank decides")
	}
}

func FuzzRankIsAStrictTotalOrder(f *testing.F) {
	f.Add(int32(1), int32(1), int32(2), int64(5), int64(5), int64(5), "a", "b", "c")
	f.Add(int32(1), int32(1), int32(1), int64(5), int64(5), int64(5), "a", "a\x00", "ab")
	f.Add(int32(1), int32(1), int32(1), int64(5), int64(-1), int64(-5), "12345678-b", "12345678-a", "")
	f.Fuzz(func(t *testing.T, p, q, r int32, i, j, k int64, u, v, w string) {
		a := Bid{p&4 != 0, int(p) % 2, Rank{p % 3, time.Unix(i%3, 0), u}}
		b := Bid{q&4 != 0, int(q) % 2, Rank{q % 3, time.Unix(j%3, 0), v}}
		c := Bid{r&4 != 0, int(r) % 2, Rank{r % 3, time.Unix(k%3, 0), w}}
		if Classical(a, b) != -Classical(b, a) {
			t.Error("not antisymmetric")
		}
		if Classical(a, b) == 0 && u != v {
			t.Error("different UIDs are never equal")
		}
		if marks, ranks := a.Mark().Compare(b.Mark()), a.Rank.Compare(b.Rank); marks != 0 && marks != ranks {
			t.Errorf("marks compare as %d, ranks as %d", marks, ranks)
		}
		if Classical(a, b) <= 0 && Classical(b, c) <= 0 && Classical(a, c) > 0 {
			t.Error("not transitive")
		}
	})
}

func FuzzAHeapGivesItsElementsInOrder(f *testing.F) {
	f.Add([]byte{5, 3, 200, 7, 7, 0, 130, 255, 9, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		type element struct{ value, at int }
		h := NewHeap(func(a, b *element) int { return a.value - b.value }, func(e *element, at int) { e.at = at })
		var model []*element
		for _, b := range data {
			switch {
			case b < 160 || len(model) == 0:
				e := &element{value: int(b)}
				h.Push(e)
				model = append(model, e)
			case b < 220:
				i := int(b) % len(model)
				h.Remove(model[i].at)
				if model[i].at != -1 {
					t.Fatal("the element was not told that it left")
				}
				model = slices.Delete(model, i, i+1)
			default:
				e := model[int(b)%len(model)]
				e.value = 255 - e.value
				h.Fix(e.at)
			}
		}
		slices.SortFunc(model, func(a, b *element) int { return a.value - b.value })
		for _, want := range model {
			if h.First().value != want.value {
				t.Fatalf("got %d, want %d", h.First().value, want.value)
			}
			h.Remove(h.First().at)
		}
		if h.Len() != 0 {
			t.Error("something is left")
		}
	})
}

// line is a Line of names with strings for reasons.
type line struct {
	*Line[string, string, string]
	members map[string]*Member[string, string, string]
}

func newLine() line {
	return line{NewLine[string, string, string]("q"), map[string]*Member[string, string, string]{}}
}

// join adds a member whose kind is the first letter of its name and whose priority is the number after it. Kinds from m on
// are in a group of their own.
func (l line) join(name string) {
	l.members[name] = l.Join(name, Rank{Priority: int32(priority(name)), UID: name}, Spot{Group: groupOf(name), Kind: name[:1]})
}

func groupOf(name string) string {
	if name[0] >= 'm' {
		return "late"
	}
	return ""
}

func priority(name string) int {
	n, err := strconv.Atoi(name[1:])
	if err != nil {
		panic(err)
	}
	return n
}

func (l line) leave(name string) {
	l.Leave(l.members[name])
	delete(l.members, name)
}

// park parks the head until somebody wakes the kind by its letter.
func (l line) park(because string) string { return l.parkAside(because, false) }

func (l line) parkAside(because string, ranked bool) string {
	return names(l.Park(Notice[string]{Because: because}, Aside[string]{Until: l.Head().Value[:1], Ranked: ranked}))
}

func (l line) block() {
	if head := l.Head(); head != nil {
		l.Block(head.Value[:1])
	}
}

func (l line) head() string {
	if head := l.Head(); head != nil {
		return head.Value
	}
	return "nobody"
}

func (l line) news() string {
	var parts []string
	for _, told := range l.News() {
		parts = append(parts, names(told.Members)+" "+told.Because)
	}
	return strings.Join(parts, "; ")
}

func names(members []*Member[string, string, string]) string {
	var list []string
	for _, m := range members {
		list = append(list, m.Value)
	}
	return strings.Join(list, " ")
}

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s:\n%s", what, diff)
	}
}

func TestParkingTakesTheWholeKindAside(t *testing.T) {
	l := newLine()
	for _, name := range []string{"a5", "b4", "a3", "b2"} {
		l.join(name)
	}
	expect(t, "told", l.park("full"), "a5 a3")
	expect(t, "the best of the others is next", l.head(), "b4")
	expect(t, "counts", fmt.Sprint(l.Active(), l.Parked(), l.Len()), "2 2 4")
	l.Wake()
	expect(t, "all are back in order", l.head(), "a5")
	expect(t, "counts", fmt.Sprint(l.Active(), l.Parked(), l.Len()), "4 0 4")
	expect(t, "ranks", names(l.All()), "a5 b4 a3 b2")
}

func TestTheSameReasonIsToldOnce(t *testing.T) {
	l := newLine()
	for _, name := range []string{"a5", "a3", "a1"} {
		l.join(name)
	}
	expect(t, "everybody hears it first", l.park("full"), "a5 a3 a1")
	l.Wake()
	expect(t, "then nobody", l.park("full"), "")
	l.Wake()
	l.join("a2")
	expect(t, "but who is new", l.park("full"), "a2")
	l.Wake()
	expect(t, "another message is for the one that was looked at",
		names(l.Park(Notice[string]{Because: "full", Message: "nearly"}, Aside[string]{})), "a5")
	l.Wake()
	expect(t, "another reason is news to all", l.park("gone"), "a5 a3 a2 a1")
}

func TestWhoHeldUpTheLineHearsAgainWhatItsKindWasTold(t *testing.T) {
	l := newLine()
	l.join("a5")
	l.join("a3")
	expect(t, "everybody hears it first", l.park("gone"), "a5 a3")
	l.Wake()
	l.Block("") // And a5 is told why, which is something else.
	l.Wake()
	expect(t, "the one that was told something else", l.park("gone"), "a5")
}

func TestWhoJoinsAParkedKindIsParkedAndTold(t *testing.T) {
	l := newLine()
	l.join("a5")
	l.park("full")
	if l.HasNews() {
		t.Error("nobody is new")
	}
	l.join("a9")
	l.join("a7")
	l.leave("a7")
	if !l.HasNews() {
		t.Error("a9 has not been told")
	}
	expect(t, "nobody is looked at", l.head(), "nobody")
	expect(t, "news", l.news(), "a9 full")
	if l.HasNews() {
		t.Error("news are told once")
	}
	expect(t, "news are told once", l.news(), "")
	l.leave("a5")
	l.leave("a9")
	l.join("a1")
	expect(t, "a kind that died out is forgotten", l.head(), "a1")
}

func TestABlockedHeadHoldsUpTheLine(t *testing.T) {
	blocked := func() line {
		l := newLine()
		l.join("a5")
		l.join("b4")
		l.block()
		return l
	}
	l := blocked()
	expect(t, "nobody is looked at", l.head(), "nobody")
	expect(t, "but nobody is parked", fmt.Sprint(l.Active(), l.Parked()), "2 0")
	l.join("b3")
	expect(t, "nor when somebody joins behind", l.head(), "nobody")
	l.join("c9")
	expect(t, "who joins before it is", l.head(), "c9")
	l.leave("c9")
	expect(t, "and then it blocks again", l.head(), "nobody")
	l.leave("a5")
	expect(t, "until it leaves", l.head(), "b4")

	l = blocked()
	l.Wake()
	expect(t, "or something changed", l.head(), "a5")
}

func TestAKindThatWasParkedForAWorseRankIsLookedAtForABetterOne(t *testing.T) {
	parked := func(ranked bool) line {
		l := newLine()
		l.join("a5")
		l.join("a3")
		l.parkAside("full", ranked)
		return l
	}
	l := parked(true)
	l.join("a4")
	expect(t, "not for one that ranks behind", l.head(), "nobody")
	l.join("a9")
	expect(t, "but for one that ranks before", l.head(), "a9")
	expect(t, "all are active then", fmt.Sprint(l.Active(), l.Parked()), "4 0")
	expect(t, "and those who know are not told again", l.parkAside("full", true), "a9 a4")
	l = parked(false)
	l.join("a9")
	expect(t, "unless rank does not matter", l.head(), "nobody")
}

func TestAHeadThatSticksStaysHead(t *testing.T) {
	stuck := func() line {
		l := newLine()
		l.join("a5")
		l.Stick()
		l.join("b9")
		l.join("a8")
		return l
	}
	l := stuck()
	expect(t, "whoever joins", l.head(), "a5")
	l.block()
	expect(t, "and blocks", l.head(), "nobody")
	l.Unblock()
	expect(t, "until it is to be looked at", l.head(), "a5")
	l.leave("a5")
	expect(t, "or leaves", l.head(), "b9")
	l = stuck()
	expect(t, "if rank matters it parks alone", l.parkAside("full", true), "a5")
	expect(t, "and those before it are next", l.head(), "b9")
	l = stuck()
	expect(t, "otherwise its kind parks with it", l.parkAside("full", false), "a8 a5")
	l = stuck()
	l.join("m1")
	l.Weigh("late", -1)
	expect(t, "groups with less weight go before it", l.head(), "m1")
	l.Weigh("late", 1)
	expect(t, "as long as they have", l.head(), "a5")
}

func TestGroupsTakeTurnsByWeight(t *testing.T) {
	l := newLine()
	l.join("a9")
	l.join("m1")
	l.join("m2")
	expect(t, "equal weights leave it to rank", l.head(), "a9")
	l.Weigh("late", -3)
	expect(t, "the lighter goes first", l.head(), "m2")
	l.block()
	l.Weigh("late", 3)
	expect(t, "a head that is none any more blocks nobody", l.head(), "a9")
	l.leave("a9")
	expect(t, "but does when it is again", l.head(), "nobody")
	expect(t, "groups count as long as somebody is active", fmt.Sprint(l.Groups()), "1")
	l.leave("m1")
	l.leave("m2")
	l.join("m5")
	l.join("a4")
	expect(t, "a group that died out has no weight", l.head(), "m5")
}

func TestOnlyThoseWakeWhoseWaitIsOver(t *testing.T) {
	l := newLine()
	for _, name := range []string{"a9", "b8", "c7", "d6"} {
		l.join(name)
	}
	l.park("full")
	l.park("full")
	l.park("full")
	l.block()
	wake := func(letters string) bool {
		return l.WakeIf(func(until string) bool { return strings.Contains(letters, until) })
	}
	if wake("xyz") {
		t.Error("nobody waits for that")
	}
	if !wake("b") {
		t.Error("b waits for that")
	}
	expect(t, "b wakes", l.head(), "b8")
	expect(t, "alone", fmt.Sprint(l.Active(), l.Parked()), "2 2")
	l.leave("b8")
	expect(t, "the others still block", l.head(), "nobody")
	wake("d")
	expect(t, "d blocks no more", l.head(), "d6")
}

// FuzzALineIsASortedListWithParkedKinds compares a line with a list that is searched from end to end.
func FuzzALineIsASortedListWithParkedKinds(f *testing.F) {
	for seed := range int64(30) {
		data := make([]byte, 200)
		rand.New(rand.NewSource(seed)).Read(data)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l, model := newLine(), lineModel{parked: map[string]bool{}}
		for i := 0; i+1 < len(data); i += 2 {
			name := fmt.Sprintf("%c%d", 'a'+data[i+1]%4, data[i+1]/4%16)
			if i%7 == 0 {
				name = "m" + name[1:]
			}
			switch data[i] % 12 {
			case 0, 1, 2, 3:
				if _, found := l.members[name]; !found {
					l.join(name)
					model.members = append(model.members, name)
				}
			case 4:
				if _, found := l.members[name]; found {
					l.leave(name)
					model.leave(name)
				}
			case 5:
				if head := l.Head(); head != nil {
					l.park("full")
					model.park(head.Value[:1])
				}
			case 6:
				if head := model.head(); head != "nobody" {
					model.blocked = head
				}
				l.block()
			case 7:
				l.Wake()
				model.parked, model.blocked = map[string]bool{}, ""
			case 8:
				model.late = 0
				if slices.ContainsFunc(model.members, func(n string) bool { return n[0] == 'm' }) {
					model.late = int(data[i+1]%3) - 1
				}
				l.Weigh("late", int64(model.late))
			case 9:
				l.Stick()
				if head := model.first(); head != "nobody" {
					model.stuck = head
				}
			case 10:
				kind := name[:1]
				l.WakeIf(func(until string) bool { return until == kind })
				delete(model.parked, kind)
				if strings.HasPrefix(model.blocked, kind) {
					model.blocked = ""
				}
			case 11:
				l.Unblock()
				model.blocked = ""
			}
			expect(t, "head", l.head(), model.head())
			expect(t, "members", names(l.All()), strings.Join(model.sorted(), " "))
			if l.Active()+l.Parked() != len(model.members) || l.Parked() != model.countParked() {
				t.Fatalf("%d active, %d parked", l.Active(), l.Parked())
			}
		}
	})
}

type lineModel struct {
	members        []string
	parked         map[string]bool
	blocked, stuck string
	late           int
}

func (m *lineModel) leave(name string) {
	m.members = slices.DeleteFunc(m.members, func(n string) bool { return n == name })
	if m.blocked == name {
		m.blocked = ""
	}
	if m.stuck == name {
		m.stuck = ""
	}
	if !slices.ContainsFunc(m.members, func(n string) bool { return n[0] == name[0] }) {
		delete(m.parked, name[:1])
	}
	if !slices.ContainsFunc(m.members, func(n string) bool { return n[0] == 'm' }) {
		m.late = 0
	}
}

func (m *lineModel) park(kind string) {
	m.parked[kind] = true
	if strings.HasPrefix(m.stuck, kind) {
		m.stuck = ""
	}
}

func (m *lineModel) sorted() []string {
	list := slices.Clone(m.members)
	slices.SortFunc(list, func(a, b string) int {
		if d := priority(b) - priority(a); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return list
}

func (m *lineModel) head() string {
	if first := m.first(); first != m.blocked {
		return first
	}
	return "nobody"
}

// first returns who comes first of those not parked: by weight, then the one that sticks, then by rank.
func (m *lineModel) first() string {
	weight := func(name string) int {
		if groupOf(name) == "" {
			return 0
		}
		return m.late
	}
	best := "nobody"
	for _, name := range m.sorted() {
		switch {
		case m.parked[name[:1]]:
		case best == "nobody" || weight(name) < weight(best):
			best = name
		}
	}
	if m.stuck != "" && weight(m.stuck) <= weight(best) {
		return m.stuck
	}
	return best
}

func (m *lineModel) countParked() int {
	n := 0
	for _, name := range m.members {
		if m.parked[name[:1]] {
			n++
		}
	}
	return n
}
