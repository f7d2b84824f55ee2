package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	accessapi "switchyard.dev/apis/access/v1alpha1"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/cmd/switchctl/cli"
	"switchyard.dev/cmd/switchctl/exit"
	"switchyard.dev/cmd/switchctl/show"
	"switchyard.dev/cmd/switchctl/workload"
)

// atShell runs a command line as a shell would, without any cluster in memory.
func atShell(t *testing.T, kubeconfig string, line ...string) (code int, errs string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", file)
	t.Setenv("KUBERNETES_MASTER", "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	var out, err bytes.Buffer
	a := cli.NewApp(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &err})
	return runCommandLine(t.Context(), a, append([]string{"switchctl"}, line...)), err.String()
}

const twoContexts = `{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}],
contexts: [{name: west, context: {cluster: c}}, {name: east, context: {cluster: c}}]}`

func TestWhoeverHasNoClusterIsToldWhatToPass(t *testing.T) {
	for _, c := range []struct {
		name, kubeconfig string
		line             []string
		code             int
		want             string
	}{
		{"no kubeconfig", "", []string{"cluster", "list"}, exit.Usage, "set KUBECONFIG, or pass --kubeconfig or --context"},
		{"no current context", twoContexts, []string{"list", "workload"}, exit.Usage, "set KUBECONFIG, or pass --kubeconfig or --context"},
		{"no such context", twoContexts, []string{"top", "--once", "--context", "north"}, exit.Usage, `no context "north"; its contexts are: east, west`},
		{
			"no such context of the worker", twoContexts, []string{"cluster", "register", "w1", "--context", "north", "--hub-context", "west"}, exit.Usage,
			`no context "north"; its contexts are: east, west`,
		},
		{"no such file", "", []string{"cluster", "list", "--kubeconfig", "/nowhere/kubeconfig"}, exit.Usage, "read the kubeconfig: stat /nowhere/kubeconfig"},
		{"not a kubeconfig", "a: [b", []string{"cluster", "list"}, exit.Usage, "read the kubeconfig: error loading config file"},
		{"nobody answers", twoContexts, []string{"cluster", "list", "--context", "west"}, exit.Failed, "hint: the API server cannot be reached"},
		{"nobody answers what a job is", twoContexts, []string{"logs", "job/x", "--context", "west"}, exit.Failed, "hint: the API server cannot be reached"},
		{"a format that there is not", twoContexts, []string{"list", "workload", "-o", "bogus"}, exit.Usage, `output format "bogus"`},
		{"a format that there is not, of get", twoContexts, []string{"get", "workload", "-o", "bogus"}, exit.Usage, `output format "bogus"`},
		{"a format that there is not, of a change", twoContexts, []string{"stop", "workload", "x", "-o", "bogus"}, exit.Usage, `output format "bogus"`},
		{"no name", twoContexts, []string{"cluster", "register"}, exit.Usage, "Usage: switchctl cluster register NAME [flags]\nSee 'switchctl cluster register --help'."},
		{"no kind", twoContexts, []string{"get"}, exit.Usage, "which kind? get workload, "},
	} {
		t.Run(c.name, func(t *testing.T) {
			if code, errs := atShell(t, c.kubeconfig, c.line...); code != c.code || !strings.Contains(errs, c.want) {
				t.Errorf("code %d, want %d; errors\n%swant\n%s", code, c.code, errs, c.want)
			}
		})
	}
}

func TestFlagsThatEveryCommandHasAreShownOnce(t *testing.T) {
	x := newTerminal(t)
	if out := x.ok("options"); !strings.Contains(out, "--system-namespace") || !strings.Contains(out, "--context") {
		t.Error(out)
	}
	for _, line := range []string{"--help", "cluster --help", "cluster register --help", "list workload --help", "get --help"} {
		if out := x.ok(line); strings.Contains(out, "--certificate-authority") || !strings.Contains(out, "switchctl options") {
			t.Errorf("%s:\n%s", line, out)
		}
	}
}

func TestABatchUserWhoMaySeeNeitherClustersNorChecksIsToldWhatTheWorkloadSays(t *testing.T) {
	x := newTerminal(t)
	offered := aWorkload("job-offered-1", "Job", "offered", condition(kueue.WorkloadQuotaReserved, "True", "QuotaReserved", "", time.Minute))
	offered.Status.AdmissionChecks = []kueue.AdmissionCheckState{{
		Name: "workers", State: kueue.CheckStatePending, Message: `waiting for a cluster; "w1" waits for quota`,
	}}
	x.hub = x.site("hub", interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		switch list.(type) {
		case *kueue.WorkloadList, *kueue.LocalQueueList:
			return c.List(ctx, list, options...)
		}
		return apierrors.NewForbidden(schema.GroupResource{Group: "kueue.x-k8s.io"}, "", nil)
	}}, offered)
	out := x.ok("explain job/offered")
	for _, want := range []string{"On the worker clusters (admission check workers: Pending)", `"w1" waits for quota`} {
		if !strings.Contains(out, want) {
			t.Errorf("does not say %q:\n%s", want, out)
		}
	}
}

func TestNothingIsSaidOfClustersThatWaitForTheHubsQuotaThemselves(t *testing.T) {
	x := newTerminal(t)
	waits := aWorkload("job-waits-1", "Job", "waits", condition(kueue.WorkloadQuotaReserved, "False", "WaitingForQuota", "full", time.Minute))
	waits.Status.AdmissionChecks = []kueue.AdmissionCheckState{{Name: "workers", State: kueue.CheckStatePending}}
	x.hub = x.site("hub", interceptor.Funcs{}, waits)
	if out := x.ok("explain job/waits"); strings.Contains(out, "workers") || !strings.Contains(out, "full") {
		t.Errorf("says:\n%s", out)
	}
}

func TestSelectorsAndNamesOfGetAreUnderstoodAsKubectlDoes(t *testing.T) {
	x := aHub(t)
	if out := x.ok("get mkc w2 --no-headers"); !strings.HasPrefix(out, "w2") || strings.Contains(out, "w1") {
		t.Error(out)
	}
	if out := x.ok("get lq -A -o name"); out != "localqueue.kueue.x-k8s.io/train\n" {
		t.Errorf("%q", out)
	}
	if out := x.ok("list lq -l team=none -o name"); out != "" {
		t.Errorf("%q", out)
	}
	if out := x.ok("get wl job-done-1 job-waiting-1 -o name"); strings.Count(out, "\n") != 2 {
		t.Errorf("%q", out)
	}
	x.fails("list lq -l a=b=c", exit.Usage, "--selector")
	x.fails("list lq --field-selector a", exit.Usage, "--field-selector")
	x.fails("get wl a -l b=c", exit.Usage, "names cannot be given together")
	x.fails("get wl a -A", exit.Usage, "names cannot be given together")
	x.fails("get lq nobody", exit.NotFound, "nobody")
	x.fails("get cq nobody", exit.NotFound, "nobody")
	x.fails("get mkc nobody", exit.NotFound, "nobody")
	x.fails("get wl -o bogus", exit.Usage, "bogus")
}

// tokenUntil is a kubeconfig with a token that ends at a time.
func tokenUntil(at time.Time) []byte {
	claims := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"exp":%d}`, at.Unix()))
	return bytes.ReplaceAll(kubeconfigFor("w1").Data["kubeconfig"], []byte("token: old"), []byte("token: x."+claims+".x"))
}

func TestATokenThatEndsSoonOrHasEndedIsFound(t *testing.T) {
	secret := kubeconfigFor("w1")
	for left, want := range map[time.Duration]show.Result{
		-time.Hour: show.Failed, 24 * time.Hour: show.Warned, 60 * 24 * time.Hour: show.Passed,
	} {
		secret.Data["kubeconfig"] = tokenUntil(now.Add(left))
		x := newTerminal(t, workerCluster("w1", metav1.ConditionTrue, "Active", "Connected"), secret.DeepCopy())
		x.withWorker("w1")
		_, out, _ := x.run("cluster check w1")
		i := strings.Index(out, "token ")
		if i < 0 || !strings.HasPrefix(strings.TrimSpace(out[i+len("token "):]), string(want)) {
			t.Errorf("%s left: want %s:\n%s", left, want, out)
		}
	}
	secret.Data["kubeconfig"] = tokenUntil(now.Add(30 * 24 * time.Hour))
	x := newTerminal(t, workerCluster("w1", metav1.ConditionTrue, "Active", "Connected"), secret)
	if out := x.ok("cluster list -o wide"); !strings.Contains(out, "for 30d") {
		t.Error(out)
	}
}

func TestARegistrationAddsTheClusterToAConfigOnce(t *testing.T) {
	x := newTerminal(t)
	connecting(x, fleetConfig("workers", "w0"))
	x.withWorker("w1")
	x.ok("cluster register w1 --context w1 --config workers")
	if out := x.ok("cluster register w1 --context w1 --config workers"); !strings.Contains(out, "MultiKueueConfig workers unchanged") {
		t.Error(out)
	}
	if diff := cmp.Diff([]string{"w0", "w1"}, get(x, x.hub, "", "workers", &kueue.MultiKueueConfig{}).Spec.Clusters); diff != "" {
		t.Error(diff)
	}
}

func TestTheProgressOfAJobIsToldInWords(t *testing.T) {
	x := aHub(t)
	a, _, _ := x.app()
	for name, want := range map[string]string{
		"job/waiting": "waits for quota", "job/offered": "has quota, waits for a cluster", "jobset/running": `admitted on cluster "w1"`,
		"job/done": "finished, Succeeded: Job finished successfully", "job/nobody": "submitted",
	} {
		j, err := workload.ParseJob(x.hub, name)
		if err != nil {
			t.Fatal(err)
		}
		state, done, failed, err := workload.Progress(t.Context(), a, x.hub, "team", j, "admitted")
		if err != nil || state != want || failed || done != (name == "jobset/running" || name == "job/done") {
			t.Errorf("%s: %q done=%t failed=%t %v, want %q", name, state, done, failed, err, want)
		}
	}
}

func TestAJobOfAQueueWithoutWorkersRunsOnTheHub(t *testing.T) {
	local := aWorkload("jobset-running-1", "JobSet", "running", condition(kueue.WorkloadAdmitted, "True", "Admitted", "", time.Minute))
	x := newTerminal(t, local, aPod("running-a-0"))
	s := x.withFleet(map[string][]client.Object{"w1": {aPod("running-a-0")}})
	x.hub.Config.Host = s.URL + accessapi.BasePath("w1") // an API server that has the pod
	if out := x.ok("logs jobset/running"); out != "log of running-a-0/main\n" {
		t.Errorf("%q", out)
	}
}

func TestADrainIsOverWhenNoJobIsLeft(t *testing.T) {
	x := aFleet(t)
	wl := get(x, x.hub, "team", "running", &kueue.Workload{})
	wl.Status.ClusterName = ptr.To("w2")
	if err := x.hub.Status().Update(t.Context(), wl); err != nil {
		t.Fatal(err)
	}
	if out := x.ok("cluster drain w1 --wait"); !strings.Contains(out, `no job is left on cluster "w1"`) {
		t.Error(out)
	}
}

func TestKubectlIsRunAsItIsAndEndsTheProgramWithItsCode(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\necho \"kubectl $*\"\nexit 7\n"
	if err := os.WriteFile(filepath.Join(dir, "kubectl"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	x := newTerminal(t)
	a, out, errs := x.app()
	a.Kubectl = cli.RunKubectl
	if code := runCommandLine(t.Context(), a, []string{"switchctl", "edit", "cq", "gpus"}); code != 7 || out.String() != "kubectl edit clusterqueue gpus\n" || errs.String() != "" {
		t.Errorf("code %d, out %q, errors %q", code, out, errs)
	}
	t.Setenv("PATH", "")
	err := cli.RunKubectl(t.Context(), genericiooptions.NewTestIOStreamsDiscard(), nil)
	if err == nil || !strings.Contains(err.Error(), "install kubectl") {
		t.Error(err)
	}
}
