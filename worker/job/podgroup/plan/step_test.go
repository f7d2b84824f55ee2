package plan

import "testing"

type state func(*Facts)

func admitted(f *Facts)          { f.Reserved, f.Admitted = true, true }
func evicted(f *Facts)           { f.Reserved, f.Admitted, f.Evicted = true, true, true }
func released(f *Facts)          { f.Evicted = true }
func deleted(f *Facts)           { f.Deleting = true }
func finished(f *Facts)          { f.Finished, f.FinishedAsJob = true, true }
func finishedOtherwise(f *Facts) { f.Finished = true }
func waiting(f *Facts)           { f.Waiting = true }
func serving(f *Facts)           { f.Serving = true }
func fast(f *Facts)              { f.Fast = true }
func ofHub(f *Facts)             { f.Copy = true }
func prebuilt(f *Facts)          { f.Prebuilt = true }
func fastRelease(f *Facts)       { f.FastRelease = true }
func outdated(f *Facts)          { f.Outdated = true }
func statusOutdated(f *Facts)    { f.StatusOutdated = true }
func conflict(f *Facts)          { f.CannotPlace = true }
func elsewhere(f *Facts)         { f.Elsewhere = true }
func behind(f *Facts)            { f.CacheBehind = true }
func unguarded(f *Facts)         { f.Finalizer = false }

// without replaces the Workload by none.
func without(f *Facts) { f.Workload, f.Link = Workload{}, LinkNone }

func link(l Link) state { return func(f *Facts) { f.Link = l } }

func cannotCompose(r Reason) state {
	return func(f *Facts) { without(f); f.CannotCompose = r }
}

func roles(list ...Role) state { return func(f *Facts) { f.Roles = list } }

type story struct {
	name    string
	members string
	states  []state
	want    string
}

func runStories(t *testing.T, of func(*testing.T, string) Facts, stories []story) {
	t.Helper()
	for _, c := range stories {
		t.Run(c.name, func(t *testing.T) {
			f := of(t, c.members)
			for _, apply := range c.states {
				apply(&f)
			}
			if got := show(f, Step(f)); got != c.want {
				t.Errorf("plan is\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestAGroupFromItsFirstPodToItsEnd(t *testing.T) {
	runStories(t, groupOf, []story{
		{"too few pods wait for the others", "a1 gated", []state{cannotCompose(CannotCompose)}, "Nothing ErrWorkloadCompose"},
		{"for a priority class it is tried again", "a1 gated", []state{cannotCompose(PriorityClassNotFound)}, "Nothing WorkloadPriorityClassNotFound: again in 15s"},
		{"all pods are there", "a1 gated; a2 gated", []state{without}, "Create NoWorkload"},
		{"a pod too many goes before that", "a1 gated; a2 gated; a3 gated free", []state{without}, "Nothing ExcessPods: a3 delete+excess"},
		{"the one without our finalizer", "a1 gated free; a2 gated; a3 gated", []state{without}, "Nothing ExcessPods: a1 delete+excess"},
		{"the youngest of equals", "a3 gated; a1 gated; a2 gated", []state{without}, "Nothing ExcessPods: a3 finalize+delete+excess"},
		{"a pod that is on its way out already is not deleted twice", "a1 gated; a2 gated; a3 running deleting free", []state{without}, "Nothing WaitingForPods: again in 30s"},
		{"a deleted pod that never ran makes room", "a1 gated; a2 gated deleting; a3 gated", []state{without}, "Nothing ExcessPods: a2 finalize"},
		{"waiting for quota", "a1 gated; a2 gated", nil, "Nothing WaitingForAdmission"},
		{"a pod that came later becomes an owner", "a1 gated; a2 gated new", nil, "Adopt NewMembers"},
		{"the queue was changed", "a1 gated; a2 gated", []state{outdated}, "Update PodsChanged"},
		{"admitted", "a1 gated; a2 gated", []state{admitted}, "Nothing Admitted: a1 ungate, a2 ungate"},
		{"half of it was done before a crash", "a1 pending; a2 gated", []state{admitted}, "Nothing Admitted: a2 ungate"},
		{"all run", "a1 ready; a2 ready", []state{admitted}, "Nothing Running"},
		{"which is reported", "a1 ready; a2 ready", []state{admitted, statusOutdated}, "UpdateStatus Running"},
		{"one has succeeded", "a1 succeeded; a2 ready", []state{admitted}, "Nothing Running"},
		{"all have succeeded", "a1 succeeded; a2 succeeded", []state{admitted}, `Finish Ended: success=true "Pods succeeded: 2/2."`},
		{"the pods are let go only then", "a1 succeeded; a2 succeeded", []state{admitted, finished, unguarded}, "Nothing Over: a1 finalize, a2 finalize"},
		{"an end that was recorded by half", "a1 succeeded free; a2 succeeded free", []state{admitted, finished}, "RemoveFinalizer Over"},
		{"nothing is left to do", "a1 succeeded free; a2 succeeded free", []state{finished, unguarded}, "Nothing Over"},
		{"pods of the next group of the name wait for this one to go", "a1 succeeded free; a2 gated new", []state{finished, unguarded}, "Nothing Over"},
		{"the end holds whatever the Workload asks for", "a1 succeeded; a2 succeeded", []state{admitted, outdated, deleted}, `Finish Ended: success=true "Pods succeeded: 2/2."`},
		{"an ended group gets no second Workload", "a1 succeeded free; a2 succeeded free", []state{without}, "Nothing Over"},
		{"nor does what is left of it", "a1 succeeded free", []state{cannotCompose(CannotCompose)}, "Nothing Over"},
		{"no pods are left", "", nil, "RemoveFinalizer PodsGone"},
		{"what a Workload has been made for besides answers for it", "", []state{func(f *Facts) { f.HasOtherOwners = true }}, "Nothing Over"},
		{"a Workload that never had pods is not touched", "", []state{func(f *Facts) { f.HasPodOwners = false }}, "Nothing Over"},
		{"nothing is done before the cache has caught up", "a1 gated; a2 gated", []state{admitted, behind}, "Nothing CatchingUp: again in 1s"},
		{"on another cluster", "a1 gated; a2 gated", []state{admitted, elsewhere}, "Nothing RunsElsewhere"},
	})
}

func TestMembersOfAGroupAreReplaced(t *testing.T) {
	two := roles(Role{"a", 2}, Role{"b", 1})
	runStories(t, groupOf, []story{
		{"a failed pod is missed", "a1 failed; a2 ready", []state{admitted}, "UpdateStatus Running: waiting"},
		{"which is said once", "a1 failed; a2 ready", []state{admitted, waiting}, "Nothing Running: waiting"},
		{"its successor takes its place", "a1 failed; a2 ready; a3 gated", []state{admitted, waiting}, "Nothing ExcessPods: a1 finalize"},
		{"and is let go", "a2 ready; a3 gated", []state{admitted, waiting}, "Nothing Admitted: a3 ungate"},
		{"then nothing is missed", "a2 ready; a3 pending", []state{admitted, waiting}, "UpdateStatus Running"},
		{"the oldest of the failed goes first", "a1 ready; a2 failed; a3 failed", []state{admitted, waiting}, "Nothing ExcessPods: a2 finalize"},
		{"a third pod is too many", "a1 ready; a2 ready; a3 gated", []state{admitted}, "Nothing ExcessPods: a3 finalize+delete+excess"},
		{"one that runs is kept for one that does not", "a2 ready; a3 ready; a1 gated", []state{admitted}, "Nothing ExcessPods: a1 finalize+delete+excess"},
		{"a deleted pod keeps its place while it is being terminated", "a1 ready deleting; a2 ready; a3 gated", []state{admitted}, "Nothing ExcessPods: a3 finalize+delete+excess"},
		{"but not longer than its grace", "a1 ready overdue; a2 ready; a3 gated", []state{admitted}, "Nothing ExcessPods: a1 finalize"},
		{"a pod that was never bound makes room at once", "a1 pending deleting; a2 ready; a3 gated", []state{admitted}, "Nothing ExcessPods: a1 finalize"},
		{"roles are counted apart", "a1 ready; a2 failed; b1 ready; b2 gated", []state{admitted, two}, "Nothing ExcessPods: b2 finalize+delete+excess"},
		{"and missed apart", "a1 ready; a2 ready; b1 failed", []state{admitted, two}, "UpdateStatus Running: waiting"},
		{"a pod of another role is too many where others run", "a1 ready; c1 gated", []state{admitted, waiting}, "Nothing ExcessPods: c1 finalize+delete+excess"},
		{"so is one that contradicts what was admitted", "a1 ready; a2 gated misfit", []state{admitted}, "Nothing ExcessPods: a2 finalize+delete+excess"},
		{"a failed pod of another role is let go", "a1 ready; a2 ready; c1 failed", []state{admitted}, "Nothing ExcessPods: c1 finalize"},
		{"a group ends when an unretriable pod has failed and none is left to run", "a1 failed unretriable; a2 succeeded", []state{admitted}, `Finish Ended: success=true "Pods succeeded: 1/2."`},
		{"not while another one runs", "a1 failed unretriable; a2 ready", []state{admitted, waiting}, "Nothing Running: waiting"},
		{"nor before any has run", "a1 gated unretriable; a2 gated unretriable", []state{admitted}, "Nothing Admitted: a1 ungate, a2 ungate"},
		{"whoever made a prebuilt Workload replaces pods himself", "a1 failed; a2 ready; a3 gated", []state{admitted, prebuilt}, "Nothing Admitted: a3 ungate"},
		{"in a group that serves the end of a pod is no success", "a1 succeeded; a2 ready", []state{admitted, serving}, "UpdateStatus Running: waiting"},
		{"its successor is let go", "a1 succeeded; a2 ready; a3 gated", []state{admitted, serving, waiting}, "Nothing ExcessPods: a1 finalize"},
		{"and the group never ends", "a1 succeeded unretriable; a2 succeeded", []state{admitted, serving, waiting}, "Nothing Running: waiting"},
	})
}

func TestAGroupThatIsAdmittedAtOnceGetsItsPodsLater(t *testing.T) {
	runStories(t, groupOf, []story{
		{"the first pod is enough", "a1 gated", []state{without, fast}, "Create NoWorkload"},
		{"and runs alone", "a1 gated", []state{fast, admitted}, "Nothing Admitted: a1 ungate"},
		{"nothing is missed", "a1 ready", []state{fast, admitted}, "Nothing Running"},
		{"others join", "a1 ready; a2 gated new", []state{fast, admitted}, "Adopt NewMembers"},
		{"and run", "a1 ready; a2 gated", []state{fast, admitted}, "Nothing Admitted: a2 ungate"},
		{"pods of another role may not", "a1 ready; b1 gated", []state{fast, admitted}, "Nothing ExcessPods: b1 finalize+delete+excess"},
		{"which ends it if none runs", "a1 gated; b1 gated", []state{fast, admitted}, "Finish CannotPlace"},
		{"a pod is missed when none of the role is left", "a1 failed", []state{fast, admitted}, "UpdateStatus Running: waiting"},
	})
}

func TestPodsThatMustNotRunAreStopped(t *testing.T) {
	runStories(t, groupOf, []story{
		{"evicted", "a1 ready; a2 pending", []state{evicted}, "Nothing WorkloadEvicted: a1 tell+delete, a2 tell+delete"},
		{"gated and ended pods are left alone", "a1 ready; a2 gated", []state{evicted}, "Nothing WorkloadEvicted: a1 tell+delete"},
		{"after a crash between the two writes", "a1 ready told; a2 failed told deleting", []state{evicted}, "Nothing WorkloadEvicted: a1 delete"},
		{"quota is kept while they terminate", "a1 ready told deleting; a2 failed told deleting", []state{evicted}, "Nothing WaitingForPods: again in 30s"},
		{"PodsReady is reported meanwhile", "a1 ready told deleting; a2 failed told deleting", []state{evicted, statusOutdated}, "UpdateStatus WaitingForPods: again in 30s"},
		{"unless it is to be released fast", "a1 ready told deleting; a2 failed told deleting", []state{evicted, fastRelease}, "Release Drained: waiting"},
		{"or a node does not answer", "a1 ready told overdue; a2 failed told deleting", []state{evicted}, "Release Drained: waiting"},
		{"a pod that is about to start counts", "a1 bound deleting; a2 gated", []state{evicted}, "Nothing WaitingForPods: again in 30s"},
		{"pods that had never been let go are missed by none", "a1 gated; a2 gated", []state{evicted}, "Release Drained"},
		{"the group waits for other pods", "a1 failed told deleting; a2 failed told deleting", []state{released, waiting}, "Nothing WaitingForReplacement: waiting"},
		{"which take the places", "a1 failed told deleting; a2 failed told deleting; a3 gated; a4 gated", []state{released, waiting}, "Nothing ExcessPods: a1 finalize, a2 finalize"},
		{"and queue", "a3 gated; a4 gated", []state{released, waiting}, "UpdateStatus WaitingForAdmission"},
		{"what exits without complaint when told has not succeeded", "a1 succeeded told deleting; a2 succeeded told deleting", []state{evicted}, "Release Drained: waiting"},
		{"not admitted", "a1 pending; a2 gated", nil, "Nothing NotAdmitted: a1 tell+delete"},
		{"evicted and not yet admitted again", "a1 pending; a2 gated", []state{released}, "Nothing WorkloadEvicted: a1 tell+delete"},
		{"the Workload is gone", "a1 ready; a2 gated", []state{without}, "Nothing NoMatchingWorkload: a1 tell+delete"},
		{"no new one before the pods are", "a1 ready deleting told; a2 gated; a3 gated", []state{without, func(f *Facts) { f.TotalCount = 3 }}, "Nothing WaitingForPods: again in 30s"},
		{"it ended for another reason", "a1 ready; a2 ready", []state{finishedOtherwise}, "Nothing NoMatchingWorkload: a1 tell+delete, a2 tell+delete"},
		{"and then lets the pods go", "a1 failed; a2 gated", []state{finishedOtherwise, unguarded}, "Nothing Over: a1 finalize, a2 finalize"},
		{"a Workload that is being deleted takes all pods along", "a1 ready; a2 gated; a3 failed", []state{deleted}, "Nothing WorkloadDeleted: a1 tell+finalize+delete, a2 finalize+delete, a3 finalize+delete"},
		{"and goes when none runs", "a1 ready deleting free; a2 failed deleting free", []state{deleted}, "Nothing WaitingForPods: again in 30s"},
		{"at last", "a2 failed deleting free", []state{deleted}, "RemoveFinalizer WorkloadDeleted"},
		{"what was kept for long enough", "a1 gated; a2 gated", []state{released, func(f *Facts) { f.RetireAt = noon }}, "Nothing Expired: a1 finalize+delete, a2 finalize+delete"},
		{"is looked at in time", "a1 gated; a2 gated", []state{released, func(f *Facts) { f.RetireAt = noon.Add(1e9) }}, "Nothing WaitingForAdmission: again in 1s"},
		{"an admission that contradicts itself ends the Workload", "a1 gated; a2 gated", []state{admitted, conflict}, "Finish CannotPlace"},
		{"but not one that runs", "a1 ready; a2 ready", []state{admitted, conflict}, "Nothing Running"},
		{"nor what is left of it", "a1 ready; a2 gated", []state{admitted, conflict}, "Nothing Running"},
	})
}

func TestTheWorkloadOfTheNameIsNotTheGroups(t *testing.T) {
	runStories(t, groupOf, []story{
		{"another one's", "a1 gated; a2 gated", []state{link(LinkForeign)}, "Nothing WorkloadNameConflict"},
		{"pods do not run under it", "a1 ready; a2 gated", []state{link(LinkForeign), admitted}, "Nothing NoMatchingWorkload: a1 tell+delete"},
		{"ended pods are let go", "a1 failed; a2 gated", []state{link(LinkForeign)}, "Nothing WorkloadNameConflict: a1 finalize"},
		{"its end is not theirs", "a1 gated; a2 gated", []state{link(LinkForeign), finished}, "Nothing WorkloadNameConflict"},
		{"a prebuilt one that is not there is waited for", "a1 gated; a2 gated", []state{link(LinkAwaited), prebuilt}, "Nothing WaitingForPrebuilt"},
		{"one of another owner as well", "a1 gated; a2 gated", []state{link(LinkForeign), prebuilt}, "Nothing WaitingForPrebuilt"},
		{"one that asks for something else ends", "a1 gated; a2 gated", []state{link(LinkOutOfSync), prebuilt}, "Finish OutOfSync"},
		{"after its pods", "a1 ready; a2 gated", []state{link(LinkOutOfSync), prebuilt}, "Nothing NoMatchingWorkload: a1 tell+delete"},
		{"and not before", "a1 ready deleting; a2 gated", []state{link(LinkOutOfSync), prebuilt}, "Nothing WaitingForPods: again in 30s"},
	})
}

func TestASinglePodFromGateToEnd(t *testing.T) {
	runStories(t, single, []story{
		{"seen", "a1 gated", []state{without}, "Create NoWorkload"},
		{"admitted", "a1 gated", []state{admitted}, "Nothing Admitted: a1 ungate"},
		{"running", "a1 ready", []state{admitted, statusOutdated}, "UpdateStatus Running"},
		{"succeeded", "a1 succeeded", []state{admitted}, `Finish Ended: success=true ""`},
		{"failed", "a1 failed", []state{admitted}, `Finish Ended: success=false ""`},
		{"let go", "a1 failed", []state{finished, unguarded}, "Nothing Over: a1 finalize"},
		{"ended without a Workload", "a1 failed", []state{without}, "Nothing Over: a1 finalize"},
		{"evicted", "a1 ready", []state{evicted}, "Nothing WorkloadEvicted: a1 tell+delete"},
		{"its quota is kept while it terminates", "a1 ready told deleting", []state{evicted}, "Nothing WaitingForPods: again in 30s"},
		{"and released before its end is recorded", "a1 failed told deleting", []state{evicted}, "Release Drained"},
		{"which follows", "a1 failed told deleting", []state{released}, `Finish Ended: success=false ""`},
		{"but not for a hub, which runs it somewhere else", "a1 failed told deleting", []state{released, ofHub}, "RemoveFinalizer PodsGone: a1 finalize"},
		{"unless it ended by itself", "a1 failed", []state{admitted, ofHub}, `Finish Ended: success=false ""`},
		{"evicted while gated it stays", "a1 gated", []state{evicted}, "Release Drained"},
		{"deleted while gated", "a1 gated deleting", nil, "RemoveFinalizer PodsGone: a1 finalize"},
		{"deleted, and it terminates", "a1 ready deleting", []state{admitted}, "Nothing Running: again in 30s"},
		{"deleted, and no node answers", "a1 ready overdue", []state{admitted}, "RemoveFinalizer PodsGone: a1 finalize"},
		{"another one's finalizer keeps it, not us", "a1 gated deleting free", []state{unguarded}, "Nothing PodsGone"},
		{"gone", "", nil, "Forget PodsGone"},
		{"gone after its eviction", "", []state{released, unguarded}, "Nothing Over"},
		{"gone, as is its Workload", "", []state{without}, "Nothing Over"},
		{"gone after its end", "", []state{finished, unguarded}, "Nothing Over"},
		{"a Workload that is being deleted takes it along", "a1 ready", []state{admitted, deleted}, "Nothing WorkloadDeleted: a1 tell+finalize+delete"},
		{"a prebuilt Workload is taken up", "a1 gated", []state{link(LinkUnowned), prebuilt}, "Adopt NewMembers"},
		{"a misfit ends its Workload", "a1 gated misfit", []state{admitted}, "Finish CannotPlace"},
		{"its Workload ended before it ran", "a1 gated", []state{finishedOtherwise, unguarded}, "Nothing Over: a1 finalize"},
		{"it is in a group by now", "a1 gated", []state{link(LinkStray)}, "Discard Regrouped"},
		{"it has changed", "a1 gated", []state{outdated}, "Update PodsChanged"},
	})
}
