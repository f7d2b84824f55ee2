package sparkapplication_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	spark "github.com/kubeflow/spark-operator/v2/api/v1beta2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"switchyard.dev/worker/job/sparkapplication"
)

func TestTemplatesAreMadeOfWhatTheApplicationSays(t *testing.T) {
	affinity := &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}
	app := sample()
	app.Spec.NodeSelector = map[string]string{"not": "counted"}
	app.Spec.Volumes = []corev1.Volume{{Name: "data"}, {Name: "unused"}, {Name: "spark-local-dir-1"}}
	d := &app.Spec.Driver
	d.MemoryLimit, d.CoreLimit = ptr.To("2gb"), ptr.To("1200m")
	d.GPU = &spark.GPUSpec{Name: "nvidia.com/gpu", Quantity: 2}
	d.Affinity, d.PriorityClassName = affinity, ptr.To("high")
	d.VolumeMounts = []corev1.VolumeMount{
		{Name: "data", MountPath: "/a"}, {Name: "data", MountPath: "/b"}, {Name: "absent"}, {Name: "spark-local-dir-1", MountPath: "/tmp"},
	}
	d.Sidecars = []corev1.Container{{Name: "log", Image: "log:1"}, {Name: "log", Image: "log:1", TTY: true}, {Name: "log", Image: "log:2"}}
	d.InitContainers = []corev1.Container{{Name: "fetch"}, {Name: "fetch"}}
	d.Template = &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "mine", "tier": "batch"}}}
	d.Template.Spec.Containers = []corev1.Container{{Name: "not-counted"}}
	d.Template.Spec.NodeSelector = map[string]string{"not": "counted"}

	want := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "driver", "tier": "batch"}, Annotations: map[string]string{"scrape": "yes"}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{
				{
					Name: "spark-kubernetes-driver",
					Resources: corev1.ResourceRequirements{
						Requests: corev1.ResourceList{"cpu": resource.MustParse("500m"), "memory": resource.MustParse("1Gi")},
						Limits: corev1.ResourceList{
							"cpu": resource.MustParse("1200m"), "memory": resource.MustParse("2Gi"), "nvidia.com/gpu": *resource.NewQuantity(2, resource.DecimalSI),
						},
					},
					VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/a"}, {Name: "data", MountPath: "/b"}},
				},
				{Name: "log", Image: "log:1"}, {Name: "log", Image: "log:2"},
			},
			InitContainers: []corev1.Container{{Name: "fetch"}}, Volumes: []corev1.Volume{{Name: "data"}},
			Affinity: affinity, PriorityClassName: "high", NodeSelector: map[string]string{"arch": "arm64"},
			Tolerations: []corev1.Toleration{{Key: "spot", Operator: corev1.TolerationOpExists}},
		},
	}
	sets, err := sparkapplication.Kind().PodSets(app)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, sets[0].Template); diff != "" {
		t.Errorf("the driver's template differs (-want +got):\n%s", diff)
	}
	if got := sets[1].Template.Spec.Containers[0].Name; got != "spark-kubernetes-executor" {
		t.Errorf("the executor's container is %s", got)
	}
}

func TestMemoryIsReadAsJavaWritesIt(t *testing.T) {
	for text, want := range map[string]string{
		"512k": "512Ki", "512kb": "512Ki", "512m": "512Mi", "512MB": "512Mi", "1g": "1Gi", "1G": "1Gi", "2gb": "2Gi", "1t": "1Ti", "1tb": "1Ti",
		"1p": "1Pi", "1Pb": "1Pi", "1.5g": "1536Mi", "1024b": "1Ki", "1024": "1Ki", "1Gi": "1Gi", "1e9": "1e9", "": "0",
	} {
		app := sample()
		app.Spec.Driver.Memory = &text
		sets, err := sparkapplication.Kind().PodSets(app)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := sets[0].Template.Spec.Containers[0].Resources.Requests.Memory(); got.Cmp(resource.MustParse(want)) != 0 {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

func TestAmountsThatCannotBeReadAreRefusedWhereTheyAre(t *testing.T) {
	for want, change := range map[string]func(*spark.SparkApplication){
		`spec.driver.coreRequest: Invalid value: "one"`:           func(app *spark.SparkApplication) { app.Spec.Driver.CoreRequest = ptr.To("one") },
		`spec.driver.coreLimit: Invalid value: "1g"`:              func(app *spark.SparkApplication) { app.Spec.Driver.CoreLimit = ptr.To("1g") },
		`spec.executor.memory: Invalid value: "1gbb"`:             func(app *spark.SparkApplication) { app.Spec.Executor.Memory = ptr.To("1gbb") },
		`spec.executor.memoryLimit: Invalid value: "1z"`:          func(app *spark.SparkApplication) { app.Spec.Executor.MemoryLimit = ptr.To("1z") },
		`spec.executor.memory: Invalid value: "-1g": must not be`: func(app *spark.SparkApplication) { app.Spec.Executor.Memory = ptr.To("-1g") },
	} {
		app := sample()
		change(app)
		if _, err := sparkapplication.Kind().PodSets(app); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("it says %.200v, want %s", err, want)
		}
	}
}

// No API server has looked at these texts.
func TestAmountsThatNobodyCanCountAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"99999999999999999999": "is more than can be counted", "1e99": "is more than can be counted",
		"1e2147483647": "is no amount", "1e-2147483647": "is no amount", strings.Repeat("9", 1<<20): "is no amount", "1.1.1": "read the amount",
	} {
		app := sample()
		app.Spec.Driver.Memory = &text
		if _, err := sparkapplication.Kind().PodSets(app); err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 200 {
			t.Errorf("%.50s: it says %.300v", text, err)
		}
	}
}

func TestOnlyPositiveNumbersOfNamedDevicesCount(t *testing.T) {
	for name, gpu := range map[string]*spark.GPUSpec{
		"none": nil, "of no name": {Quantity: 1}, "zero": {Name: "nvidia.com/gpu"}, "less than none": {Name: "nvidia.com/gpu", Quantity: -1},
	} {
		app := sample()
		app.Spec.Driver.GPU = gpu
		sets, err := sparkapplication.Kind().PodSets(app)
		if err != nil || len(sets[0].Template.Spec.Containers[0].Resources.Limits) > 0 {
			t.Errorf("%s: %v, %v", name, sets[0].Template.Spec.Containers[0].Resources, err)
		}
	}
}
