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

func unixTime(n int) time.Time { return time.Unix(int64(n), 0) }

func TestRankCompare(t *testing.T) {
	for _, c := range []struct {
		name          string
		first, second Rank
	}{
		{"the higher priority comes first however late", Rank{Priority: 2, QueuedAt: unixTime(9)}, Rank{Priority: 1, QueuedAt: unixTime(1)}},
		{"the older of equal priority comes first", Rank{QueuedAt: unixTime(1), UID: "z"}, Rank{QueuedAt: unixTime(2), UID: "a"}},
		{"the UID decides between equals", Rank{UID: "a"}, Rank{UID: "b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.first.Compare(c.second) >= 0 || c.second.Compare(c.first) <= 0 {
				t.Errorf("%v does not come before %v", c.first, c.second)
			}
		})
	}
}

func TestCompareHeads(t *testing.T) {
	low, high := HeadKey{BorrowingHeight: 1, Rank: Rank{Priority: 9}}, HeadKey{BorrowingHeight: 0, Rank: Rank{Priority: 1}}
	if CompareHeads(high, low) >= 0 {
		t.Error("who need not borrow comes before who must, whatever the priority")
	}
	if CompareHeads(HeadKey{Rank: Rank{Priority: 2}}, high) >= 0 {
		t.Error("among equal heights rank decides")
	}
}

func FuzzRankIsAStrictTotalOrder(f *testing.F) {
	f.Add(int32(1), int32(1), int32(2), int64(5), int64(5), int64(5), "a", "b", "c")
	f.Add(int32(1), int32(1), int32(1), int64(5), int64(5), int64(5), "a", "a\x00", "ab")
	f.Add(int32(1), int32(1), int32(1), int64(5), int64(-1), int64(-5), "12345678-b", "12345678-a", "")
	f.Fuzz(func(t *testing.T, p, q, r int32, i, j, k int64, u, v, w string) {
		a := HeadKey{p&4 != 0, int(p) % 2, Rank{p % 3, time.Unix(i%3, 0), u}}
		b := HeadKey{q&4 != 0, int(q) % 2, Rank{q % 3, time.Unix(j%3, 0), v}}
		c := HeadKey{r&4 != 0, int(r) % 2, Rank{r % 3, time.Unix(k%3, 0), w}}
		if CompareHeads(a, b) != -CompareHeads(b, a) {
			t.Error("not antisymmetric")
		}
		if CompareHeads(a, b) == 0 && u != v {
			t.Error("different UIDs are never equal")
		}
		if marks, ranks := a.Prefix().Compare(b.Prefix()), a.Rank.Compare(b.Rank); marks != 0 && marks != ranks {
			t.Errorf("marks compare as %d, ranks as %d", marks, ranks)
		}
		if CompareHeads(a, b) <= 0 && CompareHeads(b, c) <= 0 && CompareHeads(a, c) > 0 {
			t.Error("not transitive")
		}
	})
}

func FuzzHeapYieldsElementsInOrder(f *testing.F) {
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

// testQueue is a Line of names with strings for reasons.
type testQueue struct {
	*Queue[string, string]
	members map[string]*Member[string, string]
}

func newTestQueue() testQueue {
	return testQueue{NewQueue[string, string]("q"), map[string]*Member[string, string]{}}
}

// push adds a member whose class is the first letter of its name and whose priority is the number after it. Kinds from m on
// are in a group of their own.
func (l testQueue) push(name string) {
	l.members[name] = l.Push(name, Rank{Priority: int32(priorityFromName(name)), UID: name}, Membership{Group: groupFromName(name), Class: name[:1]})
}

func groupFromName(name string) string {
	if name[0] >= 'm' {
		return "late"
	}
	return ""
}

func priorityFromName(name string) int {
	n, err := strconv.Atoi(name[1:])
	if err != nil {
		panic(err)
	}
	return n
}

func (l testQueue) remove(name string) {
	l.Remove(l.members[name])
	delete(l.members, name)
}

// markInadmissible marks the head inadmissible until the class is requeued by its letter.
func (l testQueue) markInadmissible(because string) string {
	return l.markInadmissibleRanked(because, false)
}

func (l testQueue) markInadmissibleRanked(because string, ranked bool) string {
	return memberNames(l.MarkInadmissible(WaitReason{Reason: Reason(because)}, Inadmissible[string]{Until: l.Head().Value[:1], RankSensitive: ranked}))
}

func (l testQueue) blockOnHead() {
	if head := l.Head(); head != nil {
		l.BlockOnHead(head.Value[:1])
	}
}

func (l testQueue) headName() string {
	if head := l.Head(); head != nil {
		return head.Value
	}
	return "nobody"
}

func (l testQueue) notificationTexts() string {
	var parts []string
	for _, told := range l.TakeNotifications() {
		parts = append(parts, memberNames(told.Members)+" "+string(told.Reason))
	}
	return strings.Join(parts, "; ")
}

func memberNames(members []*Member[string, string]) string {
	var list []string
	for _, m := range members {
		list = append(list, m.Value)
	}
	return strings.Join(list, " ")
}

func expectEqual(t *testing.T, what, got, want string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s:\n%s", what, diff)
	}
}

func TestMarkInadmissibleCoversTheWholeClass(t *testing.T) {
	l := newTestQueue()
	for _, name := range []string{"a5", "b4", "a3", "b2"} {
		l.push(name)
	}
	expectEqual(t, "told", l.markInadmissible("full"), "a5 a3")
	expectEqual(t, "the best of the others is next", l.headName(), "b4")
	expectEqual(t, "counts", fmt.Sprint(l.PendingActive(), l.PendingInadmissible(), l.Len()), "2 2 4")
	l.RequeueAll()
	expectEqual(t, "all are back in order", l.headName(), "a5")
	expectEqual(t, "counts", fmt.Sprint(l.PendingActive(), l.PendingInadmissible(), l.Len()), "4 0 4")
	expectEqual(t, "ranks", memberNames(l.All()), "a5 b4 a3 b2")
}

func TestTheSameReasonIsReportedOnce(t *testing.T) {
	l := newTestQueue()
	for _, name := range []string{"a5", "a3", "a1"} {
		l.push(name)
	}
	expectEqual(t, "everybody hears it first", l.markInadmissible("full"), "a5 a3 a1")
	l.RequeueAll()
	expectEqual(t, "then nobody", l.markInadmissible("full"), "")
	l.RequeueAll()
	l.push("a2")
	expectEqual(t, "but who is new", l.markInadmissible("full"), "a2")
	l.RequeueAll()
	expectEqual(t, "another message is for the one that was looked at",
		memberNames(l.MarkInadmissible(WaitReason{Reason: "full", Message: "nearly"}, Inadmissible[string]{})), "a5")
	l.RequeueAll()
	expectEqual(t, "another reason is news to all", l.markInadmissible("gone"), "a5 a3 a2 a1")
}

func TestABlockingHeadIsNotifiedAgain(t *testing.T) {
	l := newTestQueue()
	l.push("a5")
	l.push("a3")
	expectEqual(t, "everybody hears it first", l.markInadmissible("gone"), "a5 a3")
	l.RequeueAll()
	l.BlockOnHead("") // And a5 is told why, which is something else.
	l.RequeueAll()
	expectEqual(t, "the one that was told something else", l.markInadmissible("gone"), "a5")
}

func TestMembersOfAnInadmissibleClassAreNotified(t *testing.T) {
	l := newTestQueue()
	l.push("a5")
	l.markInadmissible("full")
	if l.HasNotifications() {
		t.Error("nobody is new")
	}
	l.push("a9")
	l.push("a7")
	l.remove("a7")
	if !l.HasNotifications() {
		t.Error("a9 has not been told")
	}
	expectEqual(t, "nobody is looked at", l.headName(), "nobody")
	expectEqual(t, "news", l.notificationTexts(), "a9 full")
	if l.HasNotifications() {
		t.Error("news are told once")
	}
	expectEqual(t, "news are told once", l.notificationTexts(), "")
	l.remove("a5")
	l.remove("a9")
	l.push("a1")
	expectEqual(t, "a kind that died out is forgotten", l.headName(), "a1")
}

func TestABlockingHeadHoldsUpTheQueue(t *testing.T) {
	blocked := func() testQueue {
		l := newTestQueue()
		l.push("a5")
		l.push("b4")
		l.blockOnHead()
		return l
	}
	l := blocked()
	expectEqual(t, "nobody is looked at", l.headName(), "nobody")
	expectEqual(t, "but nobody is parked", fmt.Sprint(l.PendingActive(), l.PendingInadmissible()), "2 0")
	l.push("b3")
	expectEqual(t, "nor when somebody joins behind", l.headName(), "nobody")
	l.push("c9")
	expectEqual(t, "who joins before it is", l.headName(), "c9")
	l.remove("c9")
	expectEqual(t, "and then it blocks again", l.headName(), "nobody")
	l.remove("a5")
	expectEqual(t, "until it leaves", l.headName(), "b4")

	l = blocked()
	l.RequeueAll()
	expectEqual(t, "or something changed", l.headName(), "a5")
}

func TestABetterRankReactivatesARankSensitiveClass(t *testing.T) {
	parked := func(ranked bool) testQueue {
		l := newTestQueue()
		l.push("a5")
		l.push("a3")
		l.markInadmissibleRanked("full", ranked)
		return l
	}
	l := parked(true)
	l.push("a4")
	expectEqual(t, "not for one that ranks behind", l.headName(), "nobody")
	l.push("a9")
	expectEqual(t, "but for one that ranks before", l.headName(), "a9")
	expectEqual(t, "all are active then", fmt.Sprint(l.PendingActive(), l.PendingInadmissible()), "4 0")
	expectEqual(t, "and those who know are not told again", l.markInadmissibleRanked("full", true), "a9 a4")
	l = parked(false)
	l.push("a9")
	expectEqual(t, "unless rank does not matter", l.headName(), "nobody")
}

func TestAStickyHeadStaysHead(t *testing.T) {
	stuck := func() testQueue {
		l := newTestQueue()
		l.push("a5")
		l.MakeHeadSticky()
		l.push("b9")
		l.push("a8")
		return l
	}
	l := stuck()
	expectEqual(t, "whoever joins", l.headName(), "a5")
	l.blockOnHead()
	expectEqual(t, "and blocks", l.headName(), "nobody")
	l.Unblock()
	expectEqual(t, "until it is to be looked at", l.headName(), "a5")
	l.remove("a5")
	expectEqual(t, "or leaves", l.headName(), "b9")
	l = stuck()
	expectEqual(t, "if rank matters it parks alone", l.markInadmissibleRanked("full", true), "a5")
	expectEqual(t, "and those before it are next", l.headName(), "b9")
	l = stuck()
	expectEqual(t, "otherwise its kind parks with it", l.markInadmissibleRanked("full", false), "a8 a5")
	l = stuck()
	l.push("m1")
	l.SetGroupWeight("late", -1)
	expectEqual(t, "groups with less weight go before it", l.headName(), "m1")
	l.SetGroupWeight("late", 1)
	expectEqual(t, "as long as they have", l.headName(), "a5")
}

func TestGroupsAreOrderedByWeight(t *testing.T) {
	l := newTestQueue()
	l.push("a9")
	l.push("m1")
	l.push("m2")
	expectEqual(t, "equal weights leave it to rank", l.headName(), "a9")
	l.SetGroupWeight("late", -3)
	expectEqual(t, "the lighter goes first", l.headName(), "m2")
	l.blockOnHead()
	l.SetGroupWeight("late", 3)
	expectEqual(t, "a head that is none any more blocks nobody", l.headName(), "a9")
	l.remove("a9")
	expectEqual(t, "but does when it is again", l.headName(), "nobody")
	expectEqual(t, "groups count as long as somebody is active", fmt.Sprint(l.ActiveGroupCount()), "1")
	l.remove("m1")
	l.remove("m2")
	l.push("m5")
	l.push("a4")
	expectEqual(t, "a group that died out has no weight", l.headName(), "m5")
}

func TestRequeueIf(t *testing.T) {
	l := newTestQueue()
	for _, name := range []string{"a9", "b8", "c7", "d6"} {
		l.push(name)
	}
	l.markInadmissible("full")
	l.markInadmissible("full")
	l.markInadmissible("full")
	l.blockOnHead()
	wake := func(letters string) bool {
		return l.RequeueIf(func(until string) bool { return strings.Contains(letters, until) })
	}
	if wake("xyz") {
		t.Error("nobody waits for that")
	}
	if !wake("b") {
		t.Error("b waits for that")
	}
	expectEqual(t, "b wakes", l.headName(), "b8")
	expectEqual(t, "alone", fmt.Sprint(l.PendingActive(), l.PendingInadmissible()), "2 2")
	l.remove("b8")
	expectEqual(t, "the others still block", l.headName(), "nobody")
	wake("d")
	expectEqual(t, "d blocks no more", l.headName(), "d6")
}

// FuzzQueueMatchesASortedList compares a line with a list that is searched from end to end.
func FuzzQueueMatchesASortedList(f *testing.F) {
	for seed := range int64(30) {
		data := make([]byte, 200)
		rand.New(rand.NewSource(seed)).Read(data)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l, model := newTestQueue(), queueModel{inadmissible: map[string]bool{}}
		for i := 0; i+1 < len(data); i += 2 {
			name := fmt.Sprintf("%c%d", 'a'+data[i+1]%4, data[i+1]/4%16)
			if i%7 == 0 {
				name = "m" + name[1:]
			}
			switch data[i] % 12 {
			case 0, 1, 2, 3:
				if _, found := l.members[name]; !found {
					l.push(name)
					model.members = append(model.members, name)
				}
			case 4:
				if _, found := l.members[name]; found {
					l.remove(name)
					model.remove(name)
				}
			case 5:
				if head := l.Head(); head != nil {
					l.markInadmissible("full")
					model.markInadmissible(head.Value[:1])
				}
			case 6:
				if head := model.head(); head != "nobody" {
					model.blockingHead = head
				}
				l.blockOnHead()
			case 7:
				l.RequeueAll()
				model.inadmissible, model.blockingHead = map[string]bool{}, ""
			case 8:
				model.lateWeight = 0
				if slices.ContainsFunc(model.members, func(n string) bool { return n[0] == 'm' }) {
					model.lateWeight = int(data[i+1]%3) - 1
				}
				l.SetGroupWeight("late", int64(model.lateWeight))
			case 9:
				l.MakeHeadSticky()
				if head := model.firstActive(); head != "nobody" {
					model.stickyHead = head
				}
			case 10:
				kind := name[:1]
				l.RequeueIf(func(until string) bool { return until == kind })
				delete(model.inadmissible, kind)
				if strings.HasPrefix(model.blockingHead, kind) {
					model.blockingHead = ""
				}
			case 11:
				l.Unblock()
				model.blockingHead = ""
			}
			expectEqual(t, "head", l.headName(), model.head())
			expectEqual(t, "members", memberNames(l.All()), strings.Join(model.sorted(), " "))
			if l.PendingActive()+l.PendingInadmissible() != len(model.members) || l.PendingInadmissible() != model.countInadmissible() {
				t.Fatalf("%d active, %d parked", l.PendingActive(), l.PendingInadmissible())
			}
		}
	})
}

type queueModel struct {
	members                  []string
	inadmissible             map[string]bool
	blockingHead, stickyHead string
	lateWeight               int
}

func (m *queueModel) remove(name string) {
	m.members = slices.DeleteFunc(m.members, func(n string) bool { return n == name })
	if m.blockingHead == name {
		m.blockingHead = ""
	}
	if m.stickyHead == name {
		m.stickyHead = ""
	}
	if !slices.ContainsFunc(m.members, func(n string) bool { return n[0] == name[0] }) {
		delete(m.inadmissible, name[:1])
	}
	if !slices.ContainsFunc(m.members, func(n string) bool { return n[0] == 'm' }) {
		m.lateWeight = 0
	}
}

func (m *queueModel) markInadmissible(kind string) {
	m.inadmissible[kind] = true
	if strings.HasPrefix(m.stickyHead, kind) {
		m.stickyHead = ""
	}
}

func (m *queueModel) sorted() []string {
	list := slices.Clone(m.members)
	slices.SortFunc(list, func(a, b string) int {
		if d := priorityFromName(b) - priorityFromName(a); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return list
}

func (m *queueModel) head() string {
	if first := m.firstActive(); first != m.blockingHead {
		return first
	}
	return "nobody"
}

// firstActive returns the first of the members that are not inadmissible: by weight, then the sticky head, then by rank.
func (m *queueModel) firstActive() string {
	weight := func(name string) int {
		if groupFromName(name) == "" {
			return 0
		}
		return m.lateWeight
	}
	best := "nobody"
	for _, name := range m.sorted() {
		switch {
		case m.inadmissible[name[:1]]:
		case best == "nobody" || weight(name) < weight(best):
			best = name
		}
	}
	if m.stickyHead != "" && weight(m.stickyHead) <= weight(best) {
		return m.stickyHead
	}
	return best
}

func (m *queueModel) countInadmissible() int {
	n := 0
	for _, name := range m.members {
		if m.inadmissible[name[:1]] {
			n++
		}
	}
	return n
}
