package listener

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

var (
	apiServer = netip.MustParseAddr("10.0.0.1")
	pod       = netip.MustParseAddr("10.1.0.1")
	otherPod  = netip.MustParseAddr("10.1.0.2")
)

// fill has a remote enter with a weight of one until it may not, and returns its holds and those of them that others
// displace.
func fill(t *testing.T, r *Limiter, remote netip.Addr) (holds []*Hold, displaced *[]int) {
	t.Helper()
	displaced = new([]int)
	for i := range 1000 {
		h, ok := r.TryAcquire(remote, 1, func() { *displaced = append(*displaced, i) })
		if !ok {
			return holds, displaced
		}
		holds = append(holds, h)
	}
	t.Fatal("a thousand had room")
	return nil, nil
}

func TestARemoteHasNoMoreThanItsPart(t *testing.T) {
	r := NewLimiter(10, 4, 0)
	holds, _ := fill(t, r, pod)
	if len(holds) != 4 {
		t.Fatalf("one remote holds %d of 4", len(holds))
	}
	holds[0].Release()
	holds[0].Release()
	if holds, _ = fill(t, r, pod); len(holds) != 1 {
		t.Errorf("after one left, %d more have room", len(holds))
	}
}

func TestWhoHoldsLittleIsServedWhenTheRoomIsFull(t *testing.T) {
	r := NewLimiter(10, 5, 0)
	_, ofPod := fill(t, r, pod)
	_, ofOther := fill(t, r, otherPod)
	held, displaced := fill(t, r, apiServer)
	if len(held) != 3 || len(*displaced) != 0 {
		t.Errorf("the API server holds %d, and %d were displaced; want its fair share", len(held), len(*displaced))
	}
	gone := slices.Concat(*ofPod, *ofOther)
	slices.Sort(gone)
	if !slices.Equal(gone, []int{0, 0, 1}) {
		t.Errorf("displaced are %v, want the oldest of who held most", gone)
	}
	if more, _ := fill(t, r, pod); len(more) != 0 || len(*displaced) != 0 {
		t.Errorf("a greedy remote takes %d back", len(more))
	}
}

func TestNobodyIsDisplacedForWhatHasNoRoomNevertheless(t *testing.T) {
	r := NewLimiter(100, 100, 0)
	gone := 0
	for range 6 {
		r.TryAcquire(pod, 10, func() { gone++ })
	}
	pinned, _ := r.TryAcquire(otherPod, 40, func() { gone++ })
	if !pinned.Pin() {
		t.Fatal("is not there")
	}
	if _, ok := r.TryAcquire(apiServer, 55, func() {}); ok || gone != 0 {
		t.Errorf("entered %v, displaced %d", ok, gone)
	}
	if _, ok := r.TryAcquire(apiServer, 20, func() {}); !ok || gone != 2 {
		t.Errorf("within its share: entered %v, displaced %d", ok, gone)
	}
	if r.used != 100 {
		t.Errorf("used %d", r.used)
	}
}

func TestWhatIsPinnedStaysUntilItIsNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewLimiter(100, 100, 0)
		gone := false
		greedy, _ := r.TryAcquire(pod, 100, func() { gone = true })
		greedy.Pin()
		entered := make(chan bool, 1)
		go func() {
			_, ok := r.Acquire(t.Context(), apiServer, 10, func() {})
			entered <- ok
		}()
		synctest.Wait()
		if gone || len(entered) > 0 {
			t.Fatal("what is pinned was displaced")
		}
		greedy.Unpin()
		if !<-entered || !gone || greedy.Pin() {
			t.Error("what is pinned no more stays")
		}
		greedy.Unpin()
		greedy.Release()
		if r.used != 10 {
			t.Errorf("used %d", r.used)
		}
	})
}

func TestWhoGivesUpWaitingHoldsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewLimiter(1, 1, 0)
		first, _ := r.TryAcquire(pod, 1, func() {})
		ctx, giveUp := context.WithCancel(t.Context())
		ended := make(chan bool)
		go func() { _, ok := r.Acquire(ctx, apiServer, 1, func() {}); ended <- ok }()
		synctest.Wait()
		giveUp()
		if <-ended {
			t.Error("entered a full room")
		}
		first.Release()
		if r.used != 0 || len(r.remotes) != 0 || r.waiting.Len() != 0 {
			t.Errorf("left are %d, %d remotes, %d who wait", r.used, len(r.remotes), r.waiting.Len())
		}
	})
}

func TestNobodyIsDisplacedWhoHasJustCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewLimiter(10, 10, time.Second)
		_, gone := fill(t, r, pod)
		began := time.Now()
		if _, ok := r.TryAcquire(apiServer, 1, func() {}); ok || len(*gone) > 0 {
			t.Error("a burst is disturbed")
		}
		_, ok := r.Acquire(t.Context(), apiServer, 1, func() {})
		if !ok || len(*gone) != 1 || time.Since(began) != time.Second {
			t.Errorf("entered %v after %s, displaced are %v", ok, time.Since(began), *gone)
		}
	})
}

func TestWhoHoldsLeastNeedNotQueueBehindOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewLimiter(2, 2, time.Hour)
		held, _ := fill(t, r, pod)
		entered := make(chan netip.Addr, 100)
		for _, remote := range append(slices.Repeat([]netip.Addr{pod}, 50), apiServer) {
			go func() {
				if _, ok := r.Acquire(t.Context(), remote, 1, func() {}); ok {
					entered <- remote
				}
			}()
			synctest.Wait()
		}
		held[0].Release()
		if first := <-entered; first != apiServer {
			t.Errorf("%s comes first, which holds more", first)
		}
		synctest.Wait()
		if len(entered) > 0 {
			t.Error("more enter than there is room for")
		}
	})
}

// Whatever happens, no more is held than there is, by all or by one, what is held is what has not been left, and a remote that
// would hold no more than its equal share is let in unless others are pinned.
func TestTheRoomIsNeverOverfullAndAlwaysFair(t *testing.T) {
	const total, each, remotes = 60, 40, 5
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		r := NewLimiter(total, each, 0)
		held := map[*Hold]bool{}
		sum := func(of netip.Addr) (n int64) {
			for h := range held {
				if h.remote == of || !of.IsValid() {
					n += h.weight
				}
			}
			return n
		}
		for range 300 {
			remote := netip.AddrFrom4([4]byte{10, 0, 0, byte(random.IntN(remotes))})
			if random.IntN(3) == 0 {
				for h := range held {
					delete(held, h)
					h.Release()
					break
				}
			}
			weight := int64(random.IntN(6))
			before := sum(remote)
			var h *Hold
			var ok bool
			h, ok = r.TryAcquire(remote, weight, func() { delete(held, h) })
			if !ok && before+weight <= total/remotes-5 {
				t.Fatalf("seed %d: who would hold %d finds no room", seed, before+weight)
			}
			if ok {
				held[h] = true
			}
			if sum(remote) > each || sum(netip.Addr{}) > total || sum(netip.Addr{}) != r.used {
				t.Fatalf("seed %d: one holds %d, all %d, counted %d", seed, sum(remote), sum(netip.Addr{}), r.used)
			}
		}
		for h := range held {
			h.Release()
		}
		if r.used != 0 || len(r.remotes) != 0 {
			t.Fatalf("seed %d: %d left of %d remotes", seed, r.used, len(r.remotes))
		}
	}
}
