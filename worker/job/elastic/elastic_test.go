package elastic_test

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"switchyard.dev/worker/job/elastic"
)

// parse reads slices, oldest first: a name, then + for quota, ! for an eviction, * for a record of clusters, and <x for a slice that it replaces.
func parse(text string) []elastic.Slice {
	var list []elastic.Slice
	for i, word := range strings.Fields(text) {
		word, replaces, _ := strings.Cut(word, "<")
		name := strings.TrimRight(word, "+!*")
		list = append(list, elastic.Slice{
			Name: name, UID: "uid-" + name, Created: time.Unix(int64(i), 0), Replaces: replaces,
			Reserved: strings.Contains(word, "+"), Evicted: strings.Contains(word, "!"),
			Recorded: strings.Contains(word, "*"),
		})
	}
	return list
}

// describe says what becomes of slices: who runs, who is next, who ends.
func describe(list []elastic.Slice) string {
	c := elastic.Choose(list)
	text := "none"
	if c.Running != elastic.None {
		text = list[c.Running].Name + " runs"
	}
	if c.Next != elastic.None {
		text += ", " + list[c.Next].Name + " is next"
	}
	for _, end := range c.End {
		why := "out of sync"
		if end.Replaced {
			why = "replaced"
		}
		text += fmt.Sprintf(", %s is %s", list[end.Slice].Name, why)
	}
	return text
}

func TestWhatBecomesOfTheSlicesOfAJob(t *testing.T) {
	for name, row := range map[string]struct{ slices, want string }{
		"without any":              {"", "none"},
		"one that waits":           {"a", "a runs"},
		"one that holds quota":     {"a+", "a runs"},
		"one that waits behind it": {"a+ b<a", "a runs, b is next"},
		"one that has taken over":  {"a+ b+<a", "b runs, a is replaced"},
		"one that has taken over, and one more that waits":       {"a+ b+<a c<b", "b runs, c is next, a is replaced"},
		"two that wait to take over":                             {"a+ b<a c<a", "a runs, c is next, b is out of sync"},
		"one that waits for one that waits":                      {"a+ b<a c<b", "a runs, b is next, c is out of sync"},
		"two with quota, of which none replaces the other":       {"a+ b+", "b runs, a is out of sync"},
		"one that waits and replaces nothing":                    {"a+ b", "a runs, b is out of sync"},
		"two that wait":                                          {"a b<a", "b runs, a is replaced"},
		"one that has to stop first":                             {"a+! b<a", "a runs, b is next"},
		"one that has stopped":                                   {"a! b<a", "b runs, a is replaced"},
		"one that was evicted, alone":                            {"a!", "a runs"},
		"one that was evicted before the next took over":         {"a+! b+<a", "b runs, a is replaced"},
		"one that was evicted after it had taken over":           {"a+ b+!<a", "b runs, a is replaced"},
		"two that were taken over before the last was evicted":   {"a+ b+<a c+!<b", "c runs, a is replaced, b is replaced"},
		"one that was evicted and one of which it knows nothing": {"a+! b+!<x", "b runs"},
		"one that has stopped here, and may run elsewhere":       {"a!* b<a", "a runs, b is out of sync"},
		"one that has to stop elsewhere first":                   {"a+!* b<a", "a runs, b is next"},
		"one whose record the next has taken over":               {"a+* b+*<a", "b runs, a is replaced"},
		"two that were evicted":                                  {"a! b!<a", "b runs, a is replaced"},
		"two that claim each other's place":                      {"a+<b b+<a", "b runs, a is out of sync"},
		"an older one that claims the place of a younger":        {"a<b b+", "b runs, a is next"},
		"one that claims its own place":                          {"a+<a", "a runs"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := describe(parse(row.slices)); got != row.want {
				t.Errorf("%s: %s", row.slices, got)
			}
		})
	}
}

func TestSlicesOfTheSameSecondAreOrderedByUID(t *testing.T) {
	list := parse("b+ a+")
	list[1].Created = list[0].Created
	if got := describe(list); got != "b runs, a is out of sync" {
		t.Error(got)
	}
}

func TestPodsThatRunCount(t *testing.T) {
	for name, row := range map[string]struct {
		asked, held, runs string
		want              elastic.Need
		counts            string
	}{
		"nothing changes":                      {"h1 w3", "h1 w3", "h1 w3", elastic.Need{}, "h1 w3"},
		"fewer, and all of them run":           {"h1 w1", "h1 w3", "h1 w3", elastic.Need{Leaving: true}, "h1 w3"},
		"fewer, and some of them run":          {"h1 w1", "h1 w3", "h1 w2", elastic.Need{Leaving: true}, "h1 w2"},
		"fewer, and the others are gone":       {"h1 w1", "h1 w3", "h1 w1", elastic.Need{}, "h1 w1"},
		"fewer, and more run than there may":   {"h1 w1", "h1 w3", "h1 w9", elastic.Need{Leaving: true}, "h1 w3"},
		"none, and all of them run":            {"h1 w0", "h1 w3", "h1 w3", elastic.Need{Leaving: true}, "h1 w3"},
		"more":                                 {"h1 w5", "h1 w3", "h1 w3", elastic.Need{}, "h1 w5"},
		"more, and more run than there may":    {"h1 w5", "h1 w3", "h1 w4", elastic.Need{Overdrawn: true}, "h1 w5"},
		"as many, and more run than there may": {"h1 w3", "h1 w3", "h1 w4", elastic.Need{}, "h1 w3"},
		"more of one, fewer of another":        {"h2 w1", "h1 w3", "h1 w3", elastic.Need{Leaving: true}, "h2 w3"},
		"other pod sets are not compared":      {"h2 x1", "h1 w3", "h1 w3", elastic.Need{}, "h2 x1"},
		"one pod set fewer is not compared":    {"h2", "h1 w3", "h9 w3", elastic.Need{}, "h2"},
		"pods of no pod set are nobody's":      {"h1 w1", "h1 w3", "x3", elastic.Need{}, "h1 w1"},
	} {
		t.Run(name, func(t *testing.T) {
			runs := map[string]int32{}
			for _, c := range counts(t, row.runs) {
				runs[c.Name] = c.Pods
			}
			row.want.Counts = counts(t, row.counts)
			if diff := cmp.Diff(row.want, elastic.Needed(counts(t, row.asked), counts(t, row.held), runs)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// counts reads sizes of pod sets that have names of one letter.
func counts(t *testing.T, text string) []elastic.Count {
	t.Helper()
	var list []elastic.Count
	for _, word := range strings.Fields(text) {
		var c elastic.Count
		if _, err := fmt.Sscanf(word, "%1s%d", &c.Name, &c.Pods); err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	return list
}

func TestHowAJobDiffersFromASlice(t *testing.T) {
	for name, row := range map[string]struct {
		slice, job string
		want       elastic.Change
	}{
		"the same":                      {"h1 w3", "h1 w3", elastic.Same},
		"fewer of one":                  {"h1 w3", "h1 w2", elastic.Shrunk},
		"none of one":                   {"h1 w3", "h1 w0", elastic.Shrunk},
		"more of one":                   {"h1 w3", "h1 w4", elastic.Grown},
		"fewer of one, more of another": {"h1 w3 x2", "h1 w2 x3", elastic.Grown},
		"more of one, fewer of another": {"h1 w3 x2", "h1 w4 x1", elastic.Grown},
		"another name":                  {"h1 w3", "h1 x3", elastic.Incompatible},
		"another order":                 {"h1 w3", "w3 h1", elastic.Incompatible},
		"one group more":                {"h1 w3", "h1 w3 x1", elastic.Incompatible},
		"one group fewer":               {"h1 w3", "h1", elastic.Incompatible},
		"more of one and another name":  {"h1 w3", "h2 x3", elastic.Incompatible},
	} {
		t.Run(name, func(t *testing.T) {
			if got := elastic.Compare(counts(t, row.slice), counts(t, row.job)); got != row.want {
				t.Errorf("got %d, want %d", got, row.want)
			}
		})
	}
}

// Whatever slices there are: every one has exactly one fate; what ends leaves quota behind for the job; and when those have ended, nothing is
// left to do.
func FuzzTheChoiceKeepsItsLaws(f *testing.F) {
	for seed := range int64(500) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed int64) {
		chance := rand.New(rand.NewSource(seed))
		list := make([]elastic.Slice, chance.Intn(6))
		for i := range list {
			list[i] = elastic.Slice{
				Name: string(rune('a' + i)), UID: fmt.Sprint(chance.Intn(3), i), Created: time.Unix(chance.Int63n(3), 0),
				Reserved: chance.Intn(2) == 0, Evicted: chance.Intn(3) == 0, Replaces: string(rune('a' + chance.Intn(7))),
			}
		}
		c := elastic.Choose(list)
		if (c.Running == elastic.None) != (len(list) == 0) || c.Running != elastic.None && c.Running == c.Next {
			t.Fatalf("%+v of %+v", c, list)
		}
		var left []elastic.Slice
		ended := map[int]bool{}
		for _, end := range c.End {
			if ended[end.Slice] || end.Slice == c.Running || end.Slice == c.Next {
				t.Fatalf("%d has two fates: %+v of %+v", end.Slice, c, list)
			}
			ended[end.Slice] = true
			keeper := list[c.Running]
			if list[end.Slice].Reserved && (!keeper.Reserved || keeper.Evicted && keeper.Replaces == "") {
				t.Fatalf("the job loses its quota: %+v of %+v", c, list)
			}
		}
		for i := range list {
			if !ended[i] {
				left = append(left, list[i])
			}
		}
		if c.Next != elastic.None && (list[c.Next].Reserved || list[c.Next].Replaces != list[c.Running].Name) {
			t.Fatalf("%+v of %+v", c, list)
		}
		if again := elastic.Choose(left); len(again.End) > 0 {
			t.Fatalf("does not come to rest: %+v, then %+v, of %+v", c, again, list)
		}
		if diff := cmp.Diff(c, elastic.Choose(list)); diff != "" {
			t.Fatal(diff)
		}
	})
}
