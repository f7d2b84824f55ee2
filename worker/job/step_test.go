package job

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// A job is described by words, so that a row can be read aloud; see describe.
func TestStepAnswersEveryRowOfTheContract(t *testing.T) {
	for _, c := range []struct {
		name  string
		facts Facts
		want  Plan
	}{
		// Step 1: the job is gone.
		{"a job that is gone frees its workloads", Facts{JobDeleted: true, Orphans: true}, Plan{Do: DoForgetOrphans, Reason: JobDeleted}},
		{"a job that is gone leaves nothing to do after that", Facts{JobDeleted: true}, Plan{Reason: JobDeleted}},
		{"workloads of a job's predecessor are freed first", describe("running").with(orphans), Plan{Do: DoForgetOrphans, Reason: JobDeleted}},
		{"a job that we have written and the cache has not seen is looked at later", describe("admitted").with(cacheBehind), Plan{Reason: CatchingUp, RequeueAt: noon.Add(time.Second)}},
		// Steps 2 to 5: scope.
		{"a job out of scope is left alone", Facts{Scope: ScopeIgnored}, Plan{Reason: Unmanaged}},
		{"a job nested too deep is left alone", Facts{Scope: ScopeTooDeep}, Plan{Reason: NestedTooDeep}},
		{
			"the children of an evicted job are left to its controller", Facts{Scope: ScopeChild, Now: noon, AncestorStopsUntil: noon.Add(time.Second)},
			Plan{Reason: ChildOfManaged, RequeueAt: noon.Add(time.Second)},
		},
		{"and are suspended if that does not stop them", Facts{Scope: ScopeChild, Now: noon, AncestorStopsUntil: noon}, Plan{Do: DoSuspend, Reason: ChildOfManaged}},
		{"a child runs with its admitted ancestor", Facts{Scope: ScopeChild, AncestorAdmitted: true}, Plan{Reason: ChildOfManaged}},
		{"a child is suspended without", Facts{Scope: ScopeChild}, Plan{Do: DoSuspend, Reason: ChildOfManaged}},
		{"a suspended child stays so", Facts{Scope: ScopeChild, Suspended: true}, Plan{Reason: ChildOfManaged}},
		{"a finished child is left alone", Facts{Scope: ScopeChild, Ended: &Outcome{}}, Plan{Reason: ChildOfManaged}},
		// Step 6: exactly one workload, which matches.
		{"extra workloads are deleted", describe("waiting").with(extras), Plan{Do: DoDeleteExtras, Reason: NoMatchingWorkload}},
		{"while the job runs with the one that is kept too", describe("running").with(extras, extrasHold), Plan{Do: DoDeleteExtras, Reason: NoMatchingWorkload}},
		{"not before the job has stopped that may run with one of them", describe("running").with(extras, extrasHold).link(LinkStale), Plan{Do: DoStop, Reason: NoMatchingWorkload}},
		{"and its pods are gone", describe("waiting").with(extras, extrasHold, pods), Plan{Reason: WaitingForPods}},
		{"one that says that another cluster may run the job waits", describe("waiting").with(extras, extrasAway), Plan{Reason: WaitingForDispatcher}},
		{"but not the end", describe("running").with(extras, extrasAway, succeeded), Plan{Do: DoFinish, Reason: JobFinished, Finish: kueue.ReasonSucceeded}},
		{"a workload that was changed under a suspended job without quota is updated", describe("waiting").link(LinkStale), Plan{Do: DoUpdate, Reason: JobChanged}},
		{"one with quota is deleted", describe("reserved").link(LinkStale), Plan{Do: DoDelete, Reason: NoMatchingWorkload}},
		{"a running job is stopped before", describe("running").link(LinkStale), Plan{Do: DoStop, Reason: NoMatchingWorkload}},
		{"a job that became impossible keeps its workload and waits", describe("waiting").link(LinkStale).with(impossible), Plan{Reason: CannotCompose, RequeueAt: noon.Add(recheckInterval)}},
		{"a prebuilt workload without owner is adopted", describe("waiting").link(LinkUnowned), Plan{Do: DoAdopt, Reason: Unowned}},
		{"a prebuilt workload that is missing is waited for", describe("waiting").link(LinkAwaited), Plan{Reason: WaitingForPrebuilt}},
		{"a job does not run without its prebuilt workload", describe("running").link(LinkAwaited), Plan{Do: DoStop, Reason: NoMatchingWorkload}},
		{"a prebuilt workload of somebody else is not touched", describe("waiting").link(LinkOwnedByOther), Plan{Reason: WaitingForPrebuilt}},
		{"a prebuilt workload out of sync is finished", describe("waiting").link(LinkOutOfSync), Plan{Do: DoFinish, Reason: OutOfSync, Finish: kueue.ReasonOutOfSync}},
		{"its running job is stopped first", describe("running").link(LinkOutOfSync), Plan{Do: DoStop, Reason: NoMatchingWorkload}},
		{"and drained", describe("reserved").link(LinkOutOfSync).with(pods), Plan{Reason: WaitingForPods}},
		{"a workload that is being deleted stops its job", describe("running").with(deleting), Plan{Do: DoStop, Reason: WorkloadDeleted}},
		{"keeps its quota until the pods are gone", describe("reserved").with(deleting, pods), Plan{Reason: WaitingForPods}},
		{"and is let go then", describe("reserved").with(deleting, finalizer), Plan{Do: DoRemoveFinalizer, Reason: WorkloadDeleted}},
		{"but not while the cluster that has the job is not given up", describe("reserved").with(deleting, finalizer, bound), Plan{Reason: WaitingForDispatcher}},
		{"nor while another may still run it", describe("reserved").with(deleting, finalizer, owed), Plan{Reason: WaitingForDispatcher}},
		{"nor without quota", describe("waiting").with(deleting, finalizer, owed), Plan{Reason: WaitingForDispatcher}},
		{"quota that is wanted elsewhere is given back meanwhile", describe("reserved").with(deleting, finalizer, owed, evicted), Plan{Do: DoRelease, Reason: Drained}},
		{"not before the job has stopped there", describe("reserved").with(deleting, finalizer, bound, owed, evicted, dispatched), Plan{Reason: WaitingForDispatcher}},
		{"nor before the dispatcher has recorded who may run it", describe("reserved").with(deleting, finalizer, bound, evicted), Plan{Reason: WaitingForDispatcher}},
		{"a job that is gone needs no record", Facts{JobDeleted: true, Orphans: true}.with(owed), Plan{Do: DoForgetOrphans, Reason: JobDeleted}},
		{"without finalizer there is nothing to let go", describe("reserved").with(deleting), Plan{Reason: WorkloadDeleted}},
		// Step 7: queue, priority, gates, time limit.
		{"what may follow the job is updated", describe("waiting").with(outdated), Plan{Do: DoUpdate, Reason: JobChanged}},
		{"also while the job runs", describe("running").with(outdated), Plan{Do: DoUpdate, Reason: JobChanged}},
		// Step 9: the job has ended.
		{"a job that succeeded finishes its workload", describe("running").with(succeeded), Plan{Do: DoFinish, Reason: JobFinished, Finish: kueue.ReasonSucceeded}},
		{"a job that failed too", describe("running").with(failed), Plan{Do: DoFinish, Reason: JobFinished, Finish: kueue.ReasonFailed}},
		{"an end counts even if the workload does not match", describe("running").link(LinkStale).with(succeeded), Plan{Do: DoFinish, Reason: JobFinished, Finish: kueue.ReasonSucceeded}},
		{"a finalizer left behind is removed", describe("running").with(succeeded, finished, finalizer), Plan{Do: DoRemoveFinalizer, Reason: JobEnded}},
		{"then all is over", describe("running").with(succeeded, finished), Plan{Reason: JobEnded}},
		{"a job that ended without workload gets none", describe("running").link(LinkNone).with(succeeded), Plan{Reason: JobEnded}},
		{"a workload that finished as its job waits for the job's status", describe("running").with(finished, asJob), Plan{Reason: WaitingForOutcome}},
		{"a workload that finished otherwise stops its job", describe("running").with(finished), Plan{Do: DoStop, Reason: NoMatchingWorkload}},
		{"and is let go", describe("reserved").with(finished, finalizer), Plan{Do: DoRemoveFinalizer, Reason: JobEnded}},
		// Step 11: no workload.
		{"a job without workload gets one", describe("waiting").link(LinkNone), Plan{Do: DoCreate, Reason: NoWorkload}},
		{"a job that runs without is stopped first", describe("running").link(LinkNone), Plan{Do: DoStop, Reason: NoMatchingWorkload}},
		{"a change that the workload cannot follow is told", describe("waiting").with(impossible), Plan{Reason: CannotCompose, RequeueAt: noon.Add(recheckInterval)}},
		{"and does not stop what runs", describe("running").with(impossible), Plan{Reason: CannotCompose, RequeueAt: noon.Add(recheckInterval)}},
		{"nor keeps an evicted job from stopping", describe("running").with(impossible, evicted), Plan{Do: DoStop, Reason: WorkloadEvicted}},
		{"a job that cannot be composed waits for its user", describe("waiting").link(LinkNone).with(impossible), Plan{Reason: CannotCompose, RequeueAt: noon.Add(recheckInterval)}},
		// Steps 12 and 13: reports.
		{"a running job is reported on", describe("running").with(reportable), Plan{Do: DoUpdateStatus, Reason: Running}},
		{"a running job without news is left alone", describe("running"), Plan{Reason: Running}},
		{"pods that are no longer ready are reported while waiting", describe("waiting").with(reportable), Plan{Do: DoUpdateStatus, Reason: WaitingForAdmission}},
		// Step 14: eviction.
		{"an evicted job is stopped", describe("running").with(evicted), Plan{Do: DoStop, Reason: WorkloadEvicted}},
		{"a stop that was begun goes on", describe("admitted").with(evicted, halfway), Plan{Do: DoStop, Reason: WorkloadEvicted}},
		{"an evicted job keeps its quota until its pods are gone", describe("admitted").with(evicted, pods), Plan{Reason: WaitingForPods}},
		{"and gives it back then", describe("admitted").with(evicted), Plan{Do: DoRelease, Reason: Drained}},
		{"not while it has not stopped on another cluster", describe("admitted").with(evicted, dispatched), Plan{Reason: WaitingForPods}},
		{"which is told as soon as this one is suspended, or before", describe("running").with(evicted, dispatched), Plan{Do: DoStop, Reason: WorkloadEvicted}},
		{"after that it waits", describe("waiting").with(evicted), Plan{Reason: WaitingForAdmission}},
		{"a job that the system deactivated is kept for its time", describe("waiting").with(evicted, retiring(time.Minute)), Plan{Reason: WaitingForAdmission, RequeueAt: noon.Add(time.Minute)}},
		{"reported on meanwhile", describe("waiting").with(evicted, reportable, retiring(time.Minute)), Plan{Do: DoUpdateStatus, Reason: WaitingForAdmission, RequeueAt: noon.Add(time.Minute)}},
		{"and then deleted", describe("waiting").with(evicted, retiring(0)), Plan{Do: DoDeleteJob, Reason: Expired}},
		{"but not while its pods run", describe("admitted").with(evicted, pods, retiring(0)), Plan{Reason: WaitingForPods}},
		{"an evicted job that somebody resumed is stopped again", Facts{Scope: ScopeOwn, Link: LinkMatching, Evicted: true}, Plan{Do: DoStop, Reason: WorkloadEvicted}},
		// Step 15: start.
		{"an admitted job starts", describe("admitted"), Plan{Do: DoStart, Reason: Admitted}},
		{"not before an earlier stop is complete", describe("admitted").with(halfway), Plan{Do: DoStop, Reason: NotAdmitted}},
		{"a contradicting admission ends the workload", describe("admitted").with(contradiction), Plan{Do: DoFinish, Reason: CannotPlace, Finish: kueue.ReasonFailedToStart}},
		{"a contradiction does not matter once the job runs", describe("running").with(contradiction), Plan{Reason: Running}},
		// Elastic jobs (contract: job-kinds.md 15).
		{"slices that are of no use any more end first", describe("running").with(scalable, staleSlices), Plan{Do: DoEndSlices, Reason: SliceEnded}},
		{"also when the job has ended", describe("running").with(scalable, staleSlices, succeeded), Plan{Do: DoEndSlices, Reason: SliceEnded}},
		{"a job that shrinks is followed in place", describe("running").with(scalable, resize(ResizeInPlace)), Plan{Do: DoResize, Reason: JobChanged}},
		{"one that grows gets another slice", describe("running").with(scalable, resize(ResizeBySlice)), Plan{Do: DoCreate, Reason: JobChanged}},
		{"but not while it has to stop", describe("running").with(scalable, resize(ResizeBySlice), evicted), Plan{Do: DoStop, Reason: WorkloadEvicted}},
		{"an admission for more pods than there are shrinks", describe("running").with(scalable, tooLarge), Plan{Do: DoShrink, Reason: JobChanged}},
		{"one whose pods are on their way out is looked at again", describe("running").with(scalable, leavingPods), Plan{Reason: Running, RequeueAt: noon.Add(childrenRetry)}},
		{"one that runs more pods than it has quota for is stopped", describe("running").with(scalable, overdrawn, resize(ResizeBySlice)), Plan{Do: DoStop, Reason: NotAdmitted}},
		{"and does not start before they are gone", describe("admitted").with(scalable, overdrawn), Plan{Reason: WaitingForPods, RequeueAt: noon.Add(childrenRetry)}},
		{"a job whose next slice waits for its checks runs on", Facts{Scope: ScopeOwn, Link: LinkMatching, Elastic: true, Reserved: true}, Plan{Reason: WaitingForAdmission}},
		{"an elastic job without quota is stopped", Facts{Scope: ScopeOwn, Link: LinkMatching, Elastic: true}, Plan{Do: DoStop, Reason: NotAdmitted}},
		// On hold (contract: job-kinds.md 6).
		{"a job on hold is stopped", describe("running").with(onHold), Plan{Do: DoStop, Reason: NotAdmitted}},
		{"a job on hold gives back its quota once it has no pods", describe("admitted").with(onHold), Plan{Do: DoHold, Reason: OnHold}},
		{"and not before", describe("admitted").with(onHold, pods), Plan{Reason: WaitingForPods}},
		{"a job on hold that waits stops to queue", describe("waiting").with(onHold), Plan{Do: DoHold, Reason: OnHold}},
		{"a job on hold stays so", describe("waiting").with(onHold, held), Plan{Reason: OnHold}},
		{"a job that is not on hold any more queues", describe("waiting").with(held), Plan{Do: DoResume, Reason: WaitingForAdmission}},
		{"an eviction goes before a hold", describe("admitted").with(onHold, evicted), Plan{Do: DoRelease, Reason: Drained}},
		{"a job is put on hold after an eviction", describe("waiting").with(onHold, evicted), Plan{Do: DoHold, Reason: OnHold}},
		{"the end of a job goes before a hold", describe("admitted").with(onHold, failed), Plan{Do: DoFinish, Reason: JobFinished, Finish: kueue.ReasonFailed}},
		// Step 16: no admission.
		{"a job that runs without admission is stopped", Facts{Scope: ScopeOwn, Link: LinkMatching}, Plan{Do: DoStop, Reason: NotAdmitted}},
		{"a reservation does not start a job", describe("reserved"), Plan{Reason: WaitingForAdmission}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Step(c.facts)); diff != "" {
				t.Errorf("plan differs (-want +got):\n%s", diff)
			}
		})
	}
}

// Every combination has an answer, and no answer breaks one of the laws.
func TestStepIsTotalAndKeepsItsLaws(t *testing.T) {
	changes := []func(*Facts){
		jobDeleted, orphans, extras, suspended, halfway, pods, succeeded, impossible, contradiction, deleting, reserved, admitted,
		evicted, finished, asJob, outdated,
	}
	for scope := ScopeIgnored; scope <= ScopeOwn; scope++ {
		for link := LinkNone; link <= LinkMatching; link++ {
			checkLaws(t, Facts{Now: noon, Scope: scope, Link: link}.with(cacheBehind, orphans))
			for bits := range 1 << len(changes) {
				f := Facts{Now: noon, Scope: scope, Link: link, Stopped: true, Drained: true}
				for i, change := range changes {
					if bits&(1<<i) != 0 {
						change(&f)
					}
				}
				checkLaws(t, f)
				if f.Extras {
					checkLaws(t, f.with(extrasHold))
					checkLaws(t, f.with(extrasAway))
				}
				if f.Deleting {
					checkLaws(t, f.with(finalizer, bound))
					checkLaws(t, f.with(finalizer, owed))
				}
				if link == LinkMatching {
					checkLaws(t, f.with(onHold))
					checkLaws(t, f.with(held))
					checkLaws(t, f.with(onHold, held))
				}
				if f.Evicted && link == LinkMatching {
					checkLaws(t, f.with(dispatched))
					checkLaws(t, f.with(retiring(0)))
				}
			}
		}
	}
}

func checkLaws(t *testing.T, f Facts) {
	t.Helper()
	if broken := brokenLaw(f, Step(f)); broken != "" {
		t.Fatalf("%s: %+v", broken, f)
	}
}

func brokenLaw(f Facts, p Plan) string {
	touches := p.Do != DoNothing && p.Do != DoForgetOrphans
	switch {
	case f.CacheBehind && p.Do != DoNothing:
		return "something was done on what is known to be old"
	case p.Reason == "":
		return "a plan has no reason"
	case (p.Do == DoFinish) != (p.Finish != ""):
		return "Finished without a reason, or a reason without Finished"
	case touches && f.Scope == ScopeIgnored:
		return "an unmanaged job was touched"
	case touches && f.JobDeleted:
		return "a job that is gone was touched"
	case p.Do == DoStart && (!f.Admitted || f.Evicted || f.Finished || f.Deleting || f.Ended != nil || f.Link != LinkMatching):
		return "a job was started without a right to"
	case p.Do == DoRelease && (!f.Suspended || !f.Drained || !f.Stopped || f.Dispatched && !f.Deleting):
		return "quota was released under a job that may run"
	case p.Do == DoHold && (!f.Suspended || !f.Drained || !f.Stopped || f.Held || f.Evicted && f.Reserved):
		return "a job was put on hold that may run, is on hold, or has to be released"
	case p.Do == DoStart && (f.OnHold || f.Held):
		return "a job on hold was started"
	case p.Do == DoDeleteExtras && f.ExtrasHaveQuota && f.Ended == nil && (!f.Admitted || f.Link != LinkMatching) && (!f.Suspended || !f.Drained || !f.Stopped):
		return "quota was released under a job that may run with it"
	case p.Do == DoDeleteExtras && f.ExtrasRunElsewhere:
		return "the record of who may run the job was lost"
	case p.Do == DoRemoveFinalizer && f.Deleting && !f.Finished && f.Ended == nil && (f.Bound || f.HasDebt):
		return "the record of who may run the job was lost"
	case p.Do == DoDeleteJob && (f.Reserved && f.Evicted || !f.Suspended || f.Ended != nil || f.Link != LinkMatching || f.RetireAt.IsZero()):
		return "a job was deleted that may be wanted"
	case p.Do == DoStop && f.Ended != nil:
		return "a job that ended was stopped"
	case p.Do == DoFinish && f.Finished:
		return "Finished was written twice"
	case p.Do == DoCreate && f.Link != LinkNone:
		return "a second workload was created"
	}
	return ""
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// describe returns the facts of a job in one of its ordinary states.
func describe(state string) Facts {
	f := Facts{Now: noon, Scope: ScopeOwn, Link: LinkMatching, Suspended: true, Stopped: true, Drained: true}
	switch state {
	case "waiting":
		return f
	case "reserved":
		return f.with(reserved)
	case "admitted":
		return f.with(reserved, admitted)
	case "running":
		f = f.with(reserved, admitted, pods)
		f.Suspended, f.Stopped = false, false
		return f
	}
	panic(state)
}

func (f Facts) with(changes ...func(*Facts)) Facts {
	for _, change := range changes {
		change(&f)
	}
	return f
}

func (f Facts) link(l Link) Facts {
	f.Link = l
	return f
}

func jobDeleted(f *Facts)    { f.JobDeleted = true }
func cacheBehind(f *Facts)   { f.CacheBehind = true }
func orphans(f *Facts)       { f.Orphans = true }
func extras(f *Facts)        { f.Extras = true }
func extrasHold(f *Facts)    { f.ExtrasHaveQuota = true }
func extrasAway(f *Facts)    { f.ExtrasRunElsewhere = true }
func suspended(f *Facts)     { f.Suspended = true }
func halfway(f *Facts)       { f.Stopped = false }
func pods(f *Facts)          { f.Drained = false }
func succeeded(f *Facts)     { f.Ended = &Outcome{Success: true} }
func failed(f *Facts)        { f.Ended = &Outcome{} }
func impossible(f *Facts)    { f.CannotCompose = CannotCompose }
func contradiction(f *Facts) { f.CannotPlace = true }
func deleting(f *Facts)      { f.Deleting = true }
func reserved(f *Facts)      { f.Reserved = true }
func admitted(f *Facts)      { f.Admitted = true }
func evicted(f *Facts)       { f.Evicted = true }
func finished(f *Facts)      { f.Finished = true }
func asJob(f *Facts)         { f.FinishedAsJob = true }
func bound(f *Facts)         { f.Bound = true }
func owed(f *Facts)          { f.HasDebt = true }
func finalizer(f *Facts)     { f.Finalizer = true }
func onHold(f *Facts)        { f.OnHold = true }
func held(f *Facts)          { f.Held = true }
func outdated(f *Facts)      { f.Outdated = true }
func reportable(f *Facts)    { f.StatusOutdated = true }

func dispatched(f *Facts) { f.Dispatched = true }

func retiring(in time.Duration) func(*Facts) { return func(f *Facts) { f.RetireAt = f.Now.Add(in) } }

func scalable(f *Facts)    { f.Elastic = true }
func staleSlices(f *Facts) { f.StaleSlices = true }
func tooLarge(f *Facts)    { f.AdmissionTooLarge = true }
func leavingPods(f *Facts) { f.PodsLeaving = true }
func overdrawn(f *Facts)   { f.Overdrawn = true }

func resize(how Resize) func(*Facts) { return func(f *Facts) { f.Resize = how } }
