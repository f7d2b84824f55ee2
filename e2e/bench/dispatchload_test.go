package bench

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/yaml"

	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

var (
	benchDispatch = flag.String("bench-dispatch", "", "stages for many Jobs, <workers>x<jobs>, comma-separated (3x1000,2x500); none skips the benchmark")
	benchTraffic  = flag.String("bench-traffic", "once,rate=6,fill=80,idle",
		"how Jobs come: all at once, so many a second, keeping that percentage of the workers' quota in use, or to run and be left alone; mix is once with several kinds")
	benchHub          = flag.String("bench-hub", "", "command line of another hub to measure too; $KUBECONFIG, $CERT_DIR, $WEBHOOK_PORT, $CONFIG are replaced")
	benchWorker       = flag.String("bench-worker", "", "command line of the workers' program for -bench-hub")
	benchHubConfig    = flag.String("bench-hub-config", "", "file with its Configuration; the same names, $METRICS and $HEALTH are replaced")
	benchWorkerConfig = flag.String("bench-worker-config", "", "file with the Configuration of its workers")
	benchWorkerCRDs   = flag.String("bench-worker-crds", "", "directory with CRDs and webhooks of the workers, if they are not the hub's (-bench-crds)")
	benchFollowers    = flag.Int("bench-followers", 0, "so many clients follow the log of a Job on a worker through Switchyard's hub meanwhile")
	benchOurs         = flag.String("bench-config", "", "file with a Configuration that is laid over Switchyard's hub and workers")
)

// TestDispatchLoadBench dispatches many Jobs from a hub to its workers, on control planes of this machine, and reports what
// that took.
func TestDispatchLoadBench(t *testing.T) {
	if *benchDispatch == "" {
		t.Skip("give -bench-dispatch (make bench does)")
	}
	ctrl.SetLogger(logr.Discard())
	root, err := clusters.SourceRoot()
	if err != nil {
		t.Fatal(err)
	}
	programs := cmp.Or(*benchPrograms, filepath.Join(root, "bin"))
	for stage := range strings.SplitSeq(*benchDispatch, ",") {
		for _, c := range fleets(t, root) {
			measureFleet(t, c, stage, programs)
		}
	}
}

// measureFleet raises a stage with the controller and sends all traffic over it, one after the other.
func measureFleet(t *testing.T, c fleetSpec, stage, programs string) {
	t.Helper()
	var workers, jobs int
	if _, err := fmt.Sscanf(stage, "%dx%d", &workers, &jobs); err != nil {
		t.Fatalf("stage %q is not <workers>x<jobs>: %v", stage, err)
	}
	jobs = max(int(float64(jobs)**benchScale), 1)
	a, err := startBenchFleet(t.Context(), c, workers, programs)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.stop(); err != nil {
			t.Error(err)
		}
	}()
	if err := a.createObjects(t.Context()); err != nil {
		t.Fatal(err)
	}
	if *benchFollowers > 0 && a.hub.program != nil {
		stop, err := a.followLog(t.Context(), *benchFollowers)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := stop(); err != nil {
				t.Error(err)
			}
		}()
		c.name += fmt.Sprintf(", %d followers of a log", *benchFollowers)
	}
	var runs []trafficResult
	defer func() { // what was measured is worth telling whatever came after it
		title := fmt.Sprintf("\n%s, %d workers, %d Jobs each", c.name, workers, jobs)
		if err := printTable(os.Stdout, title, runs); err != nil {
			t.Error(err)
		}
	}()
	for word := range strings.SplitSeq(*benchTraffic, ",") {
		t.Logf("%s: %s", c.name, word)
		f, err := runTraffic(t.Context(), a, trafficNamed(t, word, jobs))
		f.controller = c.name
		if err != nil {
			t.Fatalf("%s: %v", f.nameLabel(), err)
		}
		runs = append(runs, f)
	}
}

// trafficNamed is once, rate=<jobs a second>, fill=<percent> or idle.
func trafficNamed(t *testing.T, word string, jobs int) traffic {
	t.Helper()
	name, value, _ := strings.Cut(word, "=")
	number := 0.0
	if value != "" {
		var err error
		if number, err = strconv.ParseFloat(value, 64); err != nil {
			t.Fatalf("traffic %q: %v", word, err)
		}
	}
	tr := traffic{name: strings.NewReplacer("=", "-", ".", "-").Replace(word), jobs: jobs}
	switch {
	case name == "once":
	case name == mixName:
		tr.mix = true
	case name == "rate" && number > 0:
		tr.rate = number
	case name == "fill" && number > 0 && number <= 100:
		tr.fill, tr.run = number/100, 4*time.Second
	case name == "idle":
		const enough = 50
		tr.idle, tr.jobs = 30*time.Second, min(jobs, enough)
	default:
		t.Fatalf("there is no traffic %q", word)
	}
	return tr
}

// fleets are Switchyard with each dispatcher and, if there is one, the other hub with its workers.
func fleets(t *testing.T, root string) []fleetSpec {
	t.Helper()
	over := map[string]any{}
	if *benchOurs != "" {
		if err := yaml.Unmarshal([]byte(contents(t, *benchOurs)), &over); err != nil {
			t.Fatal(err)
		}
	}
	var kinds []mixedKind
	if slices.Contains(strings.Split(*benchTraffic, ","), mixName) {
		kinds = mixedKinds()
		over["integrations"] = installation.Frameworks(integrations(kinds))
	}
	var list []fleetSpec
	for dispatcher := range strings.SplitSeq(*benchDispatcher, ",") {
		hub, worker := map[string]any{"multiKueue": map[string]any{"dispatcherName": dispatcherNamed(dispatcher)}}, map[string]any{}
		for key, value := range over {
			hub[key], worker[key] = value, value
		}
		if *benchProfile != "" {
			hub["pprofBindAddress"] = *benchProfile
		}
		list = append(list, fleetSpec{
			name: "switchyard, " + dispatcher, kinds: kinds,
			hub: controllerSpec{name: "hub", program: "hub", configuration: hub}, worker: controllerSpec{name: "worker", program: "worker", configuration: worker},
		})
	}
	if *benchHub == "" {
		return list
	}
	manifests := cmp.Or(*benchManifests, filepath.Join(root, "config", "crd", "bases"))
	return append(list, fleetSpec{
		name:   filepath.Base(strings.Fields(*benchHub)[0]),
		hub:    controllerSpec{name: "hub", command: *benchHub, manifests: manifests, settings: contents(t, *benchHubConfig)},
		worker: controllerSpec{name: "worker", command: cmp.Or(*benchWorker, *benchHub), manifests: cmp.Or(*benchWorkerCRDs, manifests), settings: contents(t, *benchWorkerConfig)},
	})
}

func contents(t *testing.T, file string) string {
	t.Helper()
	if file == "" {
		return ""
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
