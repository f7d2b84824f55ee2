package main

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/cmd/switchctl/exit"
)

func TestWhoWaitsGoesOnWaitingWhileTheHubIsAwayForAMoment(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		code int
	}{
		"restarted":              {apierrors.NewServiceUnavailable("starting"), exit.OK},
		"out of reach":           {&net.OpError{Op: "dial", Err: errors.New("refused")}, exit.OK},
		"busy":                   {apierrors.NewTooManyRequests("busy", 1), exit.OK},
		"no longer ours to read": {apierrors.NewForbidden(kueue.GroupVersion.WithResource("workloads").GroupResource(), "", nil), exit.Denied},
	} {
		t.Run(name, func(t *testing.T) {
			x := newTerminal(t)
			asked := 0
			x.hub = x.site("hub", interceptor.Funcs{
				List: func(ctx context.Context, cl client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
					if _, ok := list.(*kueue.WorkloadList); ok {
						if asked++; asked > 1 && asked < 4 {
							return c.err
						}
					}
					if asked == 4 {
						asked++
						wl := aWorkload("job-train-1", "Job", "train")
						if err := cl.Create(ctx, wl); err != nil {
							return err
						}
						wl.Status.Conditions = []metav1.Condition{condition(kueue.WorkloadFinished, "True", "Succeeded", "it ended", 0)}
						if err := cl.Status().Update(ctx, wl); err != nil {
							return err
						}
					}
					return cl.List(ctx, list, options...)
				},
			}, aLocalQueue("team", "train", "gpus"))
			code, out, errs := x.run("submit -q train --wait -f " + file(t, trainJob))
			if code != c.code || code == exit.OK && (!strings.Contains(out, "finished, Succeeded") || strings.Count(errs, "waiting on") != 1) {
				t.Errorf("code %d, want %d\n%s%s", code, c.code, out, errs)
			}
		})
	}
}

func TestAnExplanationSaysThatPodsDoNotComeUpOnceTheyHadTimeTo(t *testing.T) {
	for before, want := range map[time.Duration]bool{30 * time.Second: false, 5 * time.Minute: true} {
		running := aWorkload("job-train-1", "Job", "train", condition(kueue.WorkloadAdmitted, "True", "Admitted", "", before),
			condition(kueue.WorkloadPodsReady, "False", "WaitForStart", "Not all pods are ready", before))
		running.Status.ClusterName = ptr.To("w1")
		out := newTerminal(t, running).ok("explain job/train")
		says := strings.Contains(out, `its pods are not ready for 5m, WaitForStart: Not all pods are ready; see "events job.batch/train"`)
		if says != want || !strings.Contains(out, `it is on cluster "w1"`) {
			t.Errorf("after %s:\n%s", before, out)
		}
	}
}

func TestAnExplanationSaysThatAWorkloadIsOnItsWayOut(t *testing.T) {
	leaving := aWorkload("job-train-1", "Job", "train", condition(kueue.WorkloadQuotaReserved, "True", "QuotaReserved", "", time.Minute))
	leaving.DeletionTimestamp, leaving.Finalizers = ptr.To(ago(3*time.Minute)), []string{kueue.ResourceInUseFinalizer}
	if out := newTerminal(t, leaving).ok("explain job/train"); !strings.Contains(out, "it was deleted 3m ago, and goes when no cluster") {
		t.Error(out)
	}
}

func TestANameAloneIsAWorkloadsOrElseAJobs(t *testing.T) {
	x := newTerminal(t, aWorkload("job-train-1", "Job", "train"), aWorkload("train-2", "Job", "other"), aWorkload("job-2", "Job", "train-2"),
		&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "free"}})
	for name, want := range map[string]string{
		"train": "Workload team/job-train-1 of job.batch/train\n", "train-2": "Workload team/train-2 of job.batch/other\n",
	} {
		if out := x.ok("explain " + name); !strings.HasPrefix(out, want) {
			t.Errorf("%s: want %s got %s", name, want, out)
		}
	}
	x.fails("explain free", exit.NotFound, "it names no queue")
	x.fails("explain nobody", exit.NotFound, `read workload nobody of namespace team (a job is named as job/NAME)`)
}

func TestARegistrationComplainsOfAThingOnce(t *testing.T) {
	x := newTerminal(t)
	connecting(x)
	w1 := x.withWorker("w1")
	serve(w1, "v1.36.3", "kueue.x-k8s.io/v1beta2 workloads localqueues clusterqueues", "switchyard.dev/v1alpha1 capacityreports", "batch/v1 jobs")
	if _, _, errs := x.run("cluster register w1 --context w1 --config workers"); strings.Count(errs, "does not serve jobsets") != 1 {
		t.Error(errs)
	}
}
