package charts_test

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"switchyard.dev/apis/config"
	configapi "switchyard.dev/apis/config/v1beta2"
	"switchyard.dev/charts"
)

func TestWrongValuesAreRefusedInWordsThatHelp(t *testing.T) {
	for name, c := range map[string]struct{ values, want string }{
		"a role that does not exist":         {"role: manager", "at '/role': value must be one of 'hub', 'worker'"},
		"a misspelt value":                   {"replica: 1", "additional properties 'replica' not allowed"},
		"a misspelt field of config":         {"config: {multikueue: {}}", "at '/config': additional properties 'multikueue' not allowed"},
		"a namespace in config":              {"config: {namespace: elsewhere}", "at '/config': additional properties 'namespace' not allowed"},
		"no replica":                         {"replicas: 0", "at '/replicas': minimum: got 0, want 1"},
		"a digest that is a tag":             {"image: {digest: v1}", "at '/image/digest': 'v1' does not match pattern"},
		"a timeout no API server allows":     {"webhooks: {timeoutSeconds: 60}", "at '/webhooks/timeoutSeconds': maximum: got 60, want 30"},
		"a failure policy in small type":     {"webhooks: {failurePolicy: fail}", "at '/webhooks/failurePolicy': value must be one of 'Fail', 'Ignore'"},
		"a gate that is neither on nor off":  {"featureGates: {MultiKueue: maybe}", "at '/featureGates/MultiKueue': got string, want boolean"},
		"a reader without its namespace":     {"metrics: {reader: {name: prometheus}}", "at '/metrics/reader': properties 'namespace' required, if 'name' exists"},
		"a priority class of the system's":   {"priorityClass: {create: true, name: system-mine}", "at '/priorityClass/name': 'not' failed"},
		"two programs that both lead":        {"leaderElection: {enabled: false}", "replicas must be 1"},
		"gates in two places":                {"{featureGates: {MultiKueue: true}, config: {featureGates: {MultiKueue: true}}}", "not in both"},
		"nobody makes certificates":          {"config: {internalCertManagement: {enable: false}}", "nobody would make the webhook certificate"},
		"a Service for metrics that are off": {"config: {metrics: {bindAddress: '0'}}", "set metrics.service and metrics.serviceMonitor.enabled to false"},
		"a monitor without its Service":      {"metrics: {service: false, serviceMonitor: {enabled: true}}", "needs metrics.service"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := charts.Render(charts.Release{
				Chart: chartDir, Name: "switchyard", Namespace: namespace, Values: valuesOf(t, []byte(c.values)),
			})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestTheSchemaKnowsTheFieldsOfAConfiguration(t *testing.T) {
	text, err := os.ReadFile(chartDir + "/values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties struct {
			Config struct {
				Properties map[string]any
			}
		}
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	var got []string
	for name := range schema.Properties.Config.Properties {
		got = append(got, name)
	}
	slices.Sort(got)
	want := []string{"apiVersion", "kind"}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[configapi.Configuration]()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if len(field.Index) == 1 && name != "" && name != "namespace" {
			want = append(want, name)
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// configuration is what the program will read.
func configuration(t *testing.T, r charts.Rendered) *configapi.Configuration {
	t.Helper()
	for _, o := range r.Objects {
		text, found, err := unstructured.NestedString(o.Object, "data", "config.yaml")
		if err != nil || !found {
			continue
		}
		c, err := config.Load([]byte(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		return c
	}
	t.Fatal("there is no configuration")
	return nil
}

func TestTheProgramAcceptsTheConfigurationOfEveryValueSet(t *testing.T) {
	for name, values := range valueSets(t) {
		t.Run(name, func(t *testing.T) {
			c := configuration(t, render(t, values))
			if *c.Namespace != namespace {
				t.Errorf("its namespace is %s", *c.Namespace)
			}
		})
	}
}

func TestConfigGoesBeforeTheDefaultsAlsoWhenItTurnsSomethingOff(t *testing.T) {
	c := configuration(t, render(t, valuesOf(t, []byte(`
role: hub
certManager: {enabled: true}
config:
  multiKueue: {gcInterval: 0s}
  clientConnection: {qps: 7}
  integrations: {frameworks: [batch/job]}
`))))
	if c.MultiKueue.GCInterval.Duration != 0 || c.MultiKueue.Origin == nil || *c.MultiKueue.Origin != "multikueue" {
		t.Errorf("multiKueue is %+v", c.MultiKueue)
	}
	if *c.ClientConnection.QPS != 7 || *c.ClientConnection.Burst != 2000 {
		t.Errorf("clientConnection is %+v", c.ClientConnection)
	}
	if diff := cmp.Diff([]string{"batch/job"}, c.Integrations.Frameworks); diff != "" {
		t.Error(diff)
	}
	if *c.InternalCertManagement.Enable {
		t.Error("the program would make certificates beside cert-manager")
	}
	c = configuration(t, render(t, valuesOf(t, []byte(`
replicas: 1
leaderElection: {enabled: false}
config: {leaderElection: {leaderElect: true, leaseDuration: 20s}}
`))))
	if *c.LeaderElection.LeaderElect || c.LeaderElection.LeaseDuration.Seconds() != 20 {
		t.Errorf("leaderElection is %+v", c.LeaderElection)
	}
}

func TestAReleaseInAnotherNamespaceNeverNamesTheDefaultOne(t *testing.T) {
	values := valueSets(t)["observed"]
	r, err := charts.Render(charts.Release{Chart: chartDir, Name: "other", Namespace: "batch", Values: values})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range r.Objects {
		if o.GetNamespace() == namespace {
			t.Errorf("%s %s lies in %s", o.GetKind(), o.GetName(), namespace)
		}
		text, err := json.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), namespace) {
			t.Errorf("%s %s speaks of %s", o.GetKind(), o.GetName(), namespace)
		}
	}
}
