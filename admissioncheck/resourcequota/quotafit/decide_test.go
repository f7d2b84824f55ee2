package quotafit

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"switchyard.dev/worker/admission/amount"
)

var (
	start  = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	policy = Policy{GracePeriod: 5 * time.Second, BaseDelay: 10 * time.Second, MaxDelay: 5 * time.Minute}
)

func vector(pairs ...any) amount.Vector {
	var requests []amount.Request
	for i := 0; i < len(pairs); i += 2 {
		requests = append(requests, amount.Request{Resource: pairs[i].(string), Amount: amount.Amount(pairs[i+1].(int))})
	}
	return amount.NewVector(requests...)
}

// pods asks for count pods of one cpu each.
func pods(count int64) Claim {
	return Claim{Pods: []Pods{{Count: count, Each: vector("pods", 1, "requests.cpu", 1000)}}}
}

func quota(name string, hard, used amount.Vector) Quota {
	return Quota{Name: name, Hard: hard, Used: used}
}

func TestDecide(t *testing.T) {
	onePod := quota("team", vector("pods", 1), vector("pods", 0))
	fullPod := quota("team", vector("pods", 1), vector("pods", 1))
	long := start.Add(time.Minute)
	for _, c := range []struct {
		name string
		o    Observation
		want Outcome
	}{
		{"a namespace without quota has room", Observation{Now: start, ReservedAt: start, Requested: pods(9)}, Outcome{State: Ready, Reason: NoQuota}},
		{
			"a quota of other things has no say",
			Observation{Now: start, ReservedAt: start, Requested: pods(9), Quotas: []Quota{quota("q", vector("services", 0), vector("services", 0))}},
			Outcome{State: Ready, Reason: NoQuota},
		},
		{"what fits exactly passes", Observation{Now: start, ReservedAt: start, Requested: pods(1), Quotas: []Quota{onePod}}, Outcome{State: Ready, Reason: WithinQuota}},
		{
			"what is used already waits a moment for room",
			Observation{Now: start, ReservedAt: start, Requested: pods(1), Quotas: []Quota{fullPod}},
			Outcome{
				State: Pending, Reason: QuotaExceeded, RecheckAt: start.Add(5 * time.Second),
				Shortages: []Shortage{{Quota: "team", Resource: "pods", Reason: QuotaExceeded, Requested: 1, Used: 1, Hard: 1}},
			},
		},
		{
			"and is sent back when the moment is over",
			Observation{Now: start.Add(5 * time.Second), ReservedAt: start, Requested: pods(1), Quotas: []Quota{fullPod}},
			Outcome{
				State: Retry, Reason: QuotaExceeded, RequeueAfter: 10 * time.Second,
				Shortages: []Shortage{{Quota: "team", Resource: "pods", Reason: QuotaExceeded, Requested: 1, Used: 1, Hard: 1}},
			},
		},
		{
			"what is promised to others is as good as used",
			Observation{Now: long, ReservedAt: start, Requested: pods(1), Quotas: []Quota{onePod}, InFlight: []Claim{pods(1)}},
			Outcome{
				State: Retry, Reason: QuotaExceeded, RequeueAfter: 10 * time.Second,
				Shortages: []Shortage{{Quota: "team", Resource: "pods", Reason: QuotaExceeded, Requested: 1, Promised: 1, Hard: 1}},
			},
		},
		{
			"what was let pass stays so when the room has gone",
			Observation{Now: long, ReservedAt: start, Passed: true, Requested: pods(1), Quotas: []Quota{fullPod}},
			Outcome{State: Ready, Reason: AlreadyPassed},
		},
		{
			"more than the limit waits long for a larger quota, and at once",
			Observation{Now: start, ReservedAt: start, Requested: pods(2), Quotas: []Quota{onePod}},
			Outcome{
				State: Retry, Reason: TooLarge, RequeueAfter: 5 * time.Minute,
				Shortages: []Shortage{{Quota: "team", Resource: "pods", Reason: TooLarge, Requested: 2, Hard: 1}},
			},
		},
		{
			"all quotas must have room",
			Observation{Now: long, ReservedAt: start, Requested: pods(1), Quotas: []Quota{onePod, quota("z", vector("requests.cpu", 4000), vector("requests.cpu", 3500))}},
			Outcome{
				State: Retry, Reason: QuotaExceeded, RequeueAfter: 10 * time.Second,
				Shortages: []Shortage{{Quota: "z", Resource: "requests.cpu", Reason: QuotaExceeded, Requested: 1000, Used: 3500, Hard: 4000}},
			},
		},
		{
			"a quota that is not counted yet is waited for",
			Observation{Now: start, ReservedAt: start, Requested: pods(1), Quotas: []Quota{quota("new", vector("pods", 1), nil)}},
			Outcome{
				State: Pending, Reason: Uncounted, RecheckAt: start.Add(5 * time.Second),
				Shortages: []Shortage{{Quota: "new", Resource: "pods", Reason: Uncounted, Requested: 1, Hard: 1}},
			},
		},
		{
			"a quota lowered below its use stops what asks for more of it",
			Observation{Now: long, ReservedAt: start, Requested: pods(1), Quotas: []Quota{quota("q", vector("pods", 2), vector("pods", 3))}},
			Outcome{
				State: Retry, Reason: QuotaExceeded, RequeueAfter: 10 * time.Second,
				Shortages: []Shortage{{Quota: "q", Resource: "pods", Reason: QuotaExceeded, Requested: 1, Used: 3, Hard: 2}},
			},
		},
		{
			"and nothing else",
			Observation{Now: long, ReservedAt: start, Requested: Claim{}, Quotas: []Quota{quota("q", vector("pods", 2), vector("pods", 3))}},
			Outcome{State: Ready, Reason: NoQuota},
		},
		{
			"pods that do not declare what a quota restricts would be refused",
			Observation{
				Now: start, ReservedAt: start, Quotas: []Quota{quota("q", vector("limits.cpu", 9000), vector("limits.cpu", 0))},
				Requested: Claim{Pods: []Pods{{Count: 1, Undeclared: []string{"limits.cpu"}}}},
			},
			Outcome{
				State: Retry, Reason: Undeclared, RequeueAfter: 5 * time.Minute,
				Shortages: []Shortage{{Quota: "q", Resource: "limits.cpu", Reason: Undeclared, Hard: 9000}},
			},
		},
		{
			"objects that are not pods count too",
			Observation{
				Now: start, ReservedAt: start, Quotas: []Quota{quota("q", vector("count/jobs.batch", 3), vector("count/jobs.batch", 2))},
				Requested: Claim{Objects: vector("count/jobs.batch", 1)},
			},
			Outcome{State: Ready, Reason: WithinQuota},
		},
		{
			"requests beyond all numbers do not wrap around",
			Observation{
				Now: start, ReservedAt: start, Quotas: []Quota{quota("q", vector("requests.memory", 9), vector("requests.memory", 0))},
				Requested: Claim{Pods: []Pods{{Count: 1 << 31, Each: amount.NewVector(amount.Request{Resource: "requests.memory", Amount: 1 << 62})}}},
			},
			Outcome{
				State: Retry, Reason: TooLarge, RequeueAfter: 5 * time.Minute,
				Shortages: []Shortage{{Quota: "q", Resource: "requests.memory", Reason: TooLarge, Requested: amount.Unlimited, Hard: 9}},
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Decide(c.o, policy)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestTheDelayDoublesUpToTheLongest(t *testing.T) {
	o := Observation{Now: start.Add(time.Hour), ReservedAt: start, Requested: pods(1), Quotas: []Quota{quota("q", vector("pods", 1), vector("pods", 1))}}
	for retries, want := range map[int32]time.Duration{
		0: 10 * time.Second, 1: 20 * time.Second, 4: 160 * time.Second, 5: 5 * time.Minute, 1 << 30: 5 * time.Minute,
	} {
		o.Retries = retries
		if got := Decide(o, policy).RequeueAfter; got != want {
			t.Errorf("after %d retries the delay is %v, want %v", retries, got, want)
		}
	}
}

func TestAQuotaWithScopesCountsThePodsOfItsScopesOnly(t *testing.T) {
	plain := Pods{}
	deadline, best := Pods{Terminating: true}, Pods{BestEffort: true}
	high, far := Pods{PriorityClass: "high"}, Pods{CrossNamespaceAffinity: true}
	class := func(o Operator, values ...string) []Scope {
		return []Scope{{Name: PriorityClass, Operator: o, Values: values}}
	}
	exists := func(names ...ScopeName) []Scope {
		var scopes []Scope
		for _, name := range names {
			scopes = append(scopes, Scope{Name: name, Operator: Exists})
		}
		return scopes
	}
	for _, c := range []struct {
		name    string
		scopes  []Scope
		in, out []Pods
	}{
		{"no scope: all pods", nil, []Pods{plain, deadline, best, high, far}, nil},
		{"Terminating: pods with a deadline", exists(Terminating), []Pods{deadline}, []Pods{plain, best}},
		{"NotTerminating: the others", exists(NotTerminating), []Pods{plain, best}, []Pods{deadline}},
		{"BestEffort: pods without requests", exists(BestEffort), []Pods{best}, []Pods{plain}},
		{"NotBestEffort: the others", exists(NotBestEffort), []Pods{plain}, []Pods{best}},
		{"two scopes: both must match", exists(NotBestEffort, Terminating), []Pods{deadline}, []Pods{plain, {Terminating: true, BestEffort: true}}},
		{"cross namespace affinity", exists(CrossNamespaceAffinity), []Pods{far}, []Pods{plain}},
		{"class in a list", class(In, "high"), []Pods{high}, []Pods{plain, {PriorityClass: "low"}}},
		{"class not in a list", class(NotIn, "high"), []Pods{plain, {PriorityClass: "low"}}, []Pods{high}},
		{"any class", class(Exists), []Pods{high}, []Pods{plain}},
		{"no class", class(DoesNotExist), []Pods{plain}, []Pods{high}},
		{"an operator that nobody knows", class("Near"), nil, []Pods{plain, high}},
		{"a scope that nobody knows", exists("Later"), nil, []Pods{plain, high}},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := Quota{Name: "q", Scopes: c.scopes, Hard: vector("pods", 0), Used: vector("pods", 0)}
			for want, list := range map[Reason][]Pods{TooLarge: c.in, NoQuota: c.out} {
				for _, p := range list {
					p.Count, p.Each = 1, vector("pods", 1)
					if got := Decide(Observation{Quotas: []Quota{q}, Requested: Claim{Pods: []Pods{p}}}, policy).Reason; got != want {
						t.Errorf("%+v: %s, want %s", p, got, want)
					}
				}
			}
		})
	}
}

func TestAQuotaWithScopesDoesNotCountObjects(t *testing.T) {
	q := Quota{Name: "q", Scopes: []Scope{{Name: NotTerminating, Operator: Exists}}, Hard: vector("count/jobs.batch", 0)}
	got := Decide(Observation{Quotas: []Quota{q}, Requested: Claim{Objects: vector("count/jobs.batch", 1)}}, policy)
	if got.State != Ready {
		t.Errorf("got %+v", got)
	}
}

func TestOnlyPodsOfItsScopeMustDeclareWhatAQuotaRestricts(t *testing.T) {
	q := quota("q", vector("limits.cpu", 1000), vector("limits.cpu", 0))
	q.Scopes = []Scope{{Name: PriorityClass, Operator: In, Values: []string{"high"}}}
	for class, want := range map[string]Reason{"high": Undeclared, "low": NoQuota} {
		asked := Claim{Pods: []Pods{{Count: 1, PriorityClass: class, Undeclared: []string{"limits.cpu"}}}}
		if got := Decide(Observation{Quotas: []Quota{q}, Requested: asked}, policy).Reason; got != want {
			t.Errorf("class %s: %s, want %s", class, got, want)
		}
	}
}

func TestAMessageNamesQuotaResourceAskedUsedPromisedAndHard(t *testing.T) {
	a := Decide(Observation{
		Now: start.Add(time.Hour), ReservedAt: start, Requested: pods(2), InFlight: []Claim{pods(1)},
		Quotas: []Quota{
			quota("a", vector("requests.cpu", 4000), vector("requests.cpu", 1500)),
			quota("b", vector("pods", 1), vector("pods", 0)),
			quota("c", vector("pods", 8), nil),
		},
	}, policy)
	want := `ResourceQuota "a" has no room: requests.cpu asked 2, used 1500m, promised to workloads that start 1, hard 4; ` +
		`ResourceQuota "b" can never have room: pods asked 2, used 0, promised to workloads that start 1, hard 1; ` +
		`ResourceQuota "c" does not say yet how much pods is used`
	if diff := cmp.Diff(want, a.Message()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestPodsThatExistAreNotMissingAnyMore(t *testing.T) {
	claim := Claim{Pods: []Pods{{Count: 3}, {Count: 2}, {Count: 1}}}
	want := Claim{Pods: []Pods{{Count: 1}, {Count: 0}, {Count: 1}}}
	if diff := cmp.Diff(want, claim.WithoutExisting([]int64{2, 5})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
