package integration

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configapi "switchyard.dev/apis/config/v1beta2"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

// resultUnknown is what the check says of a job that is gone from w1.
const resultUnknown = `Result unknown: the job is gone from worker cluster "w1" and nobody saw how it ended; ` +
	`delete the workload, or deactivate and reactivate it to run it again`

// orphans renders the hub's condition of a worker that says what is left alone there.
func orphans(ctx context.Context, w *installation.Site) (string, error) {
	cluster := registered(w)
	err := hub.Get(ctx, client.ObjectKeyFromObject(cluster), cluster)
	return condition(cluster.Status.Conditions, switchyard.OrphansCondition), err
}

// backupState is a team with jobs on w1, and a backup of that moment.
type backupState struct {
	team
	seen *podLog
	// goesOn and ends ran when the backup was made, waits waited for quota on the hub, until ends has ended.
	goesOn, ends, waits *batchv1.Job
	backup              clusters.Backup
	at                  time.Time // of the backup
}

// newBackupState makes a team and backs a site up.
func newBackupState(ctx context.Context, of *installation.Site) backupState {
	GinkgoHelper()
	p := backupState{team: newTeamOn(ctx, switchyard.RunOnce, []string{"w1", "w2"}, 8, 8)}
	p.seen = watchPods(p.team)
	p.goesOn, p.ends, p.waits = p.unending("goes-on", 1), p.unending("ends", 1), p.unending("waits", 7)
	startOn(ctx, w1, p.team, p.goesOn, p.ends)
	Expect(hub.Create(ctx, p.waits)).To(Succeed())
	Eventually(workloadCondition).WithContext(ctx).WithArguments(client.Object(p.waits), kueue.WorkloadQuotaReserved).
		Should(HavePrefix("False WaitingForQuota"))
	var err error
	p.backup, err = of.BackUp()
	p.at = time.Now()
	Expect(err).NotTo(HaveOccurred())
	return p
}

// changeAfterBackup lets time pass after the backup: one job ends, so that the next one runs.
func (p backupState) changeAfterBackup(ctx context.Context) {
	GinkgoHelper()
	closeQueue(ctx, w2, p.team)
	endJob(ctx, w1, p.ends)
	expectComplete(ctx, p.ends)
	awaitOn(ctx, w1, p.waits)
	openQueue(ctx, w2, p.team)
	Eventually(jobAt).WithContext(ctx).WithArguments(w1, p.ends).Should(BeFalse())
}

// awaitRecord returns when a site's program has written its lease after the backup. The program goes by that lease: it does not
// notice that it was put back by less than the ten seconds between two entries.
func (p backupState) awaitRecord(ctx context.Context, of *installation.Site, lease string) {
	GinkgoHelper()
	Eventually(func() (time.Time, error) {
		record := &coordinationv1.Lease{}
		err := of.Get(ctx, client.ObjectKey{Namespace: installation.Namespace, Name: lease}, record)
		if err != nil || record.Spec.RenewTime == nil {
			return time.Time{}, err
		}
		return record.Spec.RenewTime.Time, nil
	}).WithContext(ctx).Should(BeTemporally(">", p.at))
}

func (p backupState) remove(ctx context.Context, job *batchv1.Job) {
	GinkgoHelper()
	Expect(hub.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
}

var _ = Describe("A hub whose etcd is put back to a backup", Label("slow"), func() {
	var p backupState
	var made *batchv1.Job // after the backup

	BeforeEach(func(ctx SpecContext) {
		p = newBackupState(ctx, hub)
		By("letting time pass: a job ends, a waiting one runs, another one is submitted")
		p.changeAfterBackup(ctx)
		made = p.unending("made", 0)
		startOn(ctx, w1, p.team, made)
		p.awaitRecord(ctx, hub, switchyard.UptimeLease)
	})

	// expectTrue holds the README's words against what the hub does.
	expectTrue := func(ctx SpecContext) {
		GinkgoHelper()
		By("leaving alone what the hub has no record of, and reporting it")
		Eventually(orphans).WithContext(ctx).WithArguments(w1).Should(And(HavePrefix("True NoRecord"), ContainSubstring(p.name+"/job-made-")))
		By("not making a result again that it cannot see any more")
		Eventually(checkMessage).WithContext(ctx).WithArguments(p.ends).Should(Equal(resultUnknown))
		By("recording the end of what ran all the time")
		endJob(ctx, w1, p.goesOn)
		expectComplete(ctx, p.goesOn)
		By("dispatching anew what it knows in an older state, when the first run has been stopped")
		// It may be on w1 again before the next look: the second creation tells, and the sightings that the first run was
		// over. The program may have begun anew between stopping the first run and seeing it stop: then it waits for the
		// termination grace and the margin, 90 s.
		Eventually(creations).WithTimeout(150*time.Second).WithArguments(p.team, "jobs", "waits").Should(Equal(2))
		p.remove(ctx, p.ends)
		at := boundTo(ctx, p.waits)
		Eventually(activePodsAt).WithContext(ctx).WithArguments(at, p.waits).Should(Equal(int32(1)))
		endJob(ctx, at, p.waits)
		expectComplete(ctx, p.waits)
		for job, runs := range map[string]int{"goes-on": 1, "ends": 1, "waits": 2, "made": 1} {
			Expect(creations(p.team, "jobs", job)).To(Equal(runs), job)
		}
		Expect(p.seen.listFaults()).To(BeEmpty())
		Expect(activePodsAt(ctx, w1, made)).To(Equal(int32(1)), "it runs on")
	}

	It("and whose program is started afterwards goes by what it has, runs nothing twice, and leaves alone what it does not know", func(ctx SpecContext) {
		former := foreignHub{team: p.team, origin: configapi.DefaultMultiKueueOrigin, uid: "uid-of-a-former-hub"}
		left := former.run(ctx, "left", switchyard.KeepRunning)
		Expect(hub.Program.Stop()).To(Succeed())
		Expect(hub.Restore(ctx, p.backup)).To(Succeed())
		Expect(hub.Program.Start(ctx)).To(Succeed())

		at := newSwitchctlSession()
		Eventually(at.expectOutput).WithContext(ctx).WithArguments("cluster", "check", "w1").Should(And(
			ContainSubstring("1 of a time that this hub has no record of ("+p.name+"/job-made-"),
			ContainSubstring("1 of another hub, uid-of-a-former-hub ("+p.name+"/job-left)")))
		By("adopting what a former hub has left: it runs on until it is discarded")
		DeferCleanup(removeAnnotation, w1, switchyard.AdoptHubsAnnotation)
		at.expectPrinted(ctx, "cluster", "adopt", "w1", "uid-of-a-former-hub")
		Eventually(orphans).WithContext(ctx).WithArguments(w1).Should(ContainSubstring("2 of a time that this hub has no record of"))
		expectTrue(ctx)
		Expect(activePodsAt(ctx, w1, left)).To(Equal(int32(1)))
		By("discarding both")
		DeferCleanup(removeAnnotation, w1, switchyard.DiscardOrphansAnnotation)
		at.expectPrinted(ctx, "cluster", "discard", "w1", "--yes")
		expectNothingLeft(ctx, p.team)
		Eventually(orphans).WithContext(ctx).WithArguments(w1).Should(HavePrefix("False NoOrphans"))
	}, SpecTimeout(5*time.Minute))

	It("and whose program is left running finds out by itself, and does the same", func(ctx SpecContext) {
		Expect(hub.Restore(ctx, p.backup)).To(Succeed())
		expectTrue(ctx)
		DeferCleanup(removeAnnotation, w1, switchyard.DiscardOrphansAnnotation)
		newSwitchctlSession().expectPrinted(ctx, "cluster", "discard", "w1", "--yes")
		expectNothingLeft(ctx, p.team)
	}, SpecTimeout(5*time.Minute))
})

var _ = Describe("A worker whose etcd is put back to a backup, under its own program", Label("slow"), func() {
	It("goes on with what it has, takes new jobs, and what it does not have is not run again", func(ctx SpecContext) {
		p := newBackupState(ctx, w1)
		p.changeAfterBackup(ctx)
		p.awaitRecord(ctx, w1, switchyard.FenceLease)
		Expect(w1.Restore(ctx, p.backup)).To(Succeed())

		By("removing what has come back though the hub has its end on record")
		Eventually(jobAt).WithContext(ctx).WithArguments(w1, p.ends).Should(BeFalse())
		Expect(workloadCondition(ctx, p.ends, kueue.WorkloadFinished)).To(HavePrefix("True Succeeded"))
		By("not running again what has vanished with the backup")
		Eventually(checkMessage).WithContext(ctx).WithArguments(p.waits).Should(Equal(resultUnknown))
		By("recording the end of what ran all the time")
		endJob(ctx, w1, p.goesOn)
		expectComplete(ctx, p.goesOn)
		By("taking new jobs")
		p.remove(ctx, p.waits)
		next := p.unending("next", 7)
		startOn(ctx, w1, p.team, next)
		endJob(ctx, w1, next)
		expectComplete(ctx, next)
		for job, runs := range map[string]int{"goes-on": 1, "ends": 1, "waits": 1, "next": 1} {
			Expect(creations(p.team, "jobs", job)).To(Equal(runs), job)
		}
		expectNothingLeft(ctx, p.team)
	}, SpecTimeout(3*time.Minute))
})
