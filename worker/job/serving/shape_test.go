package serving_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"switchyard.dev/worker/job/serving"
)

func list(cpu string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
}

func newSpec() *corev1.PodSpec {
	return &corev1.PodSpec{
		InitContainers: []corev1.Container{{Name: "load", Image: "load:1"}},
		Containers: []corev1.Container{
			{Name: "main", Image: "main:1", Resources: corev1.ResourceRequirements{Requests: list("1"), Limits: list("2")}},
			{Name: "side", Resources: corev1.ResourceRequirements{Limits: list("1")}},
		},
	}
}

func TestWhatIsTheShapeOfAPod(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*corev1.PodSpec)
		want   []string
	}{
		"nothing":                              {func(*corev1.PodSpec) {}, nil},
		"an image":                             {func(s *corev1.PodSpec) { s.Containers[0].Image = "main:2" }, nil},
		"the environment":                      {func(s *corev1.PodSpec) { s.Containers[0].Env = []corev1.EnvVar{{Name: "a"}} }, nil},
		"a name":                               {func(s *corev1.PodSpec) { s.Containers[0].Name = "other" }, nil},
		"a limit above the request":            {func(s *corev1.PodSpec) { s.Containers[0].Resources.Limits = list("9") }, nil},
		"the same request in other words":      {func(s *corev1.PodSpec) { s.Containers[0].Resources.Requests = list("1000m") }, nil},
		"what is empty instead of absent":      {func(s *corev1.PodSpec) { s.NodeSelector, s.Tolerations = map[string]string{}, []corev1.Toleration{} }, nil},
		"the class":                            {func(s *corev1.PodSpec) { s.PriorityClassName = "high" }, nil},
		"a request":                            {func(s *corev1.PodSpec) { s.Containers[0].Resources.Requests = list("3") }, []string{"containers[0].resources.requests"}},
		"a request that is made of a limit":    {func(s *corev1.PodSpec) { s.Containers[1].Resources.Limits = list("3") }, []string{"containers[1].resources.requests"}},
		"saying what the API server says":      {func(s *corev1.PodSpec) { s.Containers[1].Resources.Requests = list("1") }, nil},
		"a request of an init container":       {func(s *corev1.PodSpec) { s.InitContainers[0].Resources.Requests = list("3") }, []string{"initContainers[0].resources.requests"}},
		"ports":                                {func(s *corev1.PodSpec) { s.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80}} }, []string{"containers[0].ports"}},
		"a container more":                     {func(s *corev1.PodSpec) { s.Containers = append(s.Containers, corev1.Container{}) }, []string{"containers"}},
		"no init container":                    {func(s *corev1.PodSpec) { s.InitContainers = nil }, []string{"initContainers"}},
		"the node selector":                    {func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{"a": "b"} }, []string{"nodeSelector"}},
		"affinity":                             {func(s *corev1.PodSpec) { s.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}} }, []string{"affinity"}},
		"tolerations":                          {func(s *corev1.PodSpec) { s.Tolerations = []corev1.Toleration{{Key: "a"}} }, []string{"tolerations"}},
		"the runtime class":                    {func(s *corev1.PodSpec) { s.RuntimeClassName = new("kata") }, []string{"runtimeClassName"}},
		"the priority":                         {func(s *corev1.PodSpec) { s.Priority = new(int32(3)) }, []string{"priority"}},
		"the spread":                           {func(s *corev1.PodSpec) { s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1}} }, []string{"topologySpreadConstraints"}},
		"the overhead":                         {func(s *corev1.PodSpec) { s.Overhead = list("1") }, []string{"overhead"}},
		"claims":                               {func(s *corev1.PodSpec) { s.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}} }, []string{"resourceClaims"}},
		"a request of the whole pod":           {func(s *corev1.PodSpec) { s.Resources = &corev1.ResourceRequirements{Requests: list("9")} }, []string{"resources.requests"}},
		"no resources instead of no resources": {func(s *corev1.PodSpec) { s.Resources = &corev1.ResourceRequirements{} }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			old, now := newSpec(), newSpec()
			c.change(now)
			var got []string
			for _, err := range serving.ValidateShape(old, now, field.NewPath("spec")) {
				if err.Type != field.ErrorTypeInvalid || err.Detail != "field is immutable" {
					t.Errorf("text is %v", err)
				}
				got = append(got, err.Field[len("spec."):])
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("fields differ (-want +got):\n%s", diff)
			}
		})
	}
}
