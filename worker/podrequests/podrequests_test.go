package podrequests

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"switchyard.dev/worker/admission/amount"
)

func list(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

func container(requests, limits corev1.ResourceList) corev1.Container {
	return corev1.Container{Name: "c", Resources: corev1.ResourceRequirements{Requests: requests, Limits: limits}}
}

func pod(containers ...corev1.Container) corev1.PodSpec {
	return corev1.PodSpec{Containers: containers}
}

// ranges is one LimitRange with one item.
func ranges(of corev1.LimitType, item corev1.LimitRangeItem) Context {
	item.Type = of
	lr := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "lr"}, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{item}}}
	return Context{LimitRanges: []*corev1.LimitRange{lr}}
}

func overhead(pairs ...string) Context {
	return Context{RuntimeClass: &nodev1.RuntimeClass{Overhead: &nodev1.Overhead{PodFixed: list(pairs...)}}}
}

func TestAPodAsksForWhatTheSchedulerWouldCount(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	sidecar := container(list("cpu", "100m"), nil)
	sidecar.RestartPolicy = &always
	one := container(list("cpu", "1"), nil)
	own := pod(one)
	own.Overhead = list("cpu", "250m")
	whole := pod(container(nil, nil), one)
	whole.Resources = &corev1.ResourceRequirements{Limits: list("cpu", "8", "memory", "4Gi")}
	said := pod(one)
	said.Resources = &corev1.ResourceRequirements{Requests: list("cpu", "6"), Limits: list("cpu", "8")}
	initial := pod(container(list("cpu", "1", "memory", "2Gi"), nil))
	initial.InitContainers = []corev1.Container{container(list("cpu", "4", "memory", "1Gi"), nil)}
	beside := pod(one)
	beside.InitContainers = []corev1.Container{sidecar}
	limited := pod(container(nil, nil))
	limited.Resources = &corev1.ResourceRequirements{Limits: list("cpu", "4")}
	for name, tc := range map[string]struct {
		spec corev1.PodSpec
		in   Context
		want corev1.ResourceList
	}{
		"containers add up": {pod(one, container(list("cpu", "2", "gpu", "1"), nil)), Context{}, list("cpu", "3", "gpu", "1")},
		"an init container counts only where it is larger": {initial, Context{}, list("cpu", "4", "memory", "2Gi")},
		"a sidecar runs along":                             {beside, Context{}, list("cpu", "1100m")},
		"the name pods is the core's":                      {pod(container(list("cpu", "1", "pods", "7"), nil)), Context{}, list("cpu", "1")},
		"overhead comes on top":                            {own, Context{}, list("cpu", "1250m")},
		"a RuntimeClass brings overhead":                   {pod(one), overhead("cpu", "500m", "memory", "1Gi"), list("cpu", "1500m", "memory", "1Gi")},
		"the pod's own overhead goes before":               {own, overhead("cpu", "500m"), list("cpu", "1250m")},
		"a RuntimeClass without overhead brings none":      {pod(one), Context{RuntimeClass: &nodev1.RuntimeClass{}}, list("cpu", "1")},
		"a limit stands in for a missing request": {
			pod(container(list("cpu", "1"), list("cpu", "2", "gpu", "4"))), Context{}, list("cpu", "1", "gpu", "4"),
		},
		"a LimitRange gives what a container does not ask for": {
			pod(one, container(nil, nil)),
			ranges(corev1.LimitTypeContainer, corev1.LimitRangeItem{DefaultRequest: list("cpu", "300m", "memory", "1Gi"), Default: list("cpu", "3")}),
			list("cpu", "1300m", "memory", "2Gi"),
		},
		"a default limit stands for a request too": {
			pod(container(nil, nil)), ranges(corev1.LimitTypeContainer, corev1.LimitRangeItem{Default: list("cpu", "3")}), list("cpu", "3"),
		},
		"a limit that somebody wrote goes before a default request": {
			pod(container(nil, list("cpu", "2"))), ranges(corev1.LimitTypeContainer, corev1.LimitRangeItem{DefaultRequest: list("cpu", "1")}), list("cpu", "2"),
		},
		"a request of zero is a request": {
			pod(container(list("cpu", "0"), nil)), ranges(corev1.LimitTypeContainer, corev1.LimitRangeItem{DefaultRequest: list("cpu", "1")}), list("cpu", "0"),
		},
		"defaults for pods are not for containers": {
			pod(one), ranges(corev1.LimitTypePod, corev1.LimitRangeItem{DefaultRequest: list("memory", "1Gi")}), list("cpu", "1"),
		},
		"what a pod requests as a whole goes before its containers": {said, Context{}, list("cpu", "6")},
		"a pod's limit stands for what no container requests":       {whole, Context{}, list("cpu", "1", "memory", "4Gi")},
		"and does so where a LimitRange gives the containers defaults": {
			limited, ranges(corev1.LimitTypeContainer, corev1.LimitRangeItem{DefaultRequest: list("cpu", "100m"), Default: list("cpu", "3")}), list("cpu", "4"),
		},
		"a LimitRange completes what a pod asks for as a whole": {
			said, ranges(corev1.LimitTypePod, corev1.LimitRangeItem{DefaultRequest: list("memory", "1Gi")}), list("cpu", "6", "memory", "1Gi"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := tc.spec.DeepCopy()
			got, problem := (&Rules{}).Compute(&tc.spec, tc.in)
			if problem.Message() != "" {
				t.Errorf("there is no problem, but: %s", problem.Message())
			}
			if diff := cmp.Diff(ToVector(tc.want), got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, &tc.spec); diff != "" {
				t.Errorf("the template was changed: %s", diff)
			}
		})
	}
}

// The texts are those of contract messages.md 1.2.
func TestWhatCannotRunSaysWhatToChange(t *testing.T) {
	two := container(list("cpu", "2"), nil)
	whole := pod(container(nil, nil))
	whole.Resources = &corev1.ResourceRequirements{Requests: list("cpu", "2"), Limits: list("cpu", "1")}
	starting := pod()
	starting.InitContainers = []corev1.Container{container(list("cpu", "-1"), nil)}
	const contradicts, restricted = "resources validation failed: spec", "resources didn't satisfy LimitRange constraints: spec"
	for name, tc := range map[string]struct {
		spec corev1.PodSpec
		in   Context
		want string
	}{
		"a request above its limit": {
			pod(container(list("cpu", "2"), list("cpu", "1500m"))), Context{},
			contradicts + `.containers[0]: Invalid value: ["cpu"]: requests must not exceed its limits`,
		},
		"a request above a limit that is a default": {
			pod(two), ranges(corev1.LimitTypeContainer, corev1.LimitRangeItem{Default: list("cpu", "1")}),
			contradicts + `.containers[0]: Invalid value: ["cpu"]: requests must not exceed its limits`,
		},
		"a pod that contradicts itself": {whole, Context{}, contradicts + `.resources: Invalid value: ["cpu"]: requests must not exceed its limits`},
		"a negative request":            {starting, Context{}, contradicts + `.initContainers[0]: Invalid value: ["cpu"]: requests must be greater than or equal to 0`},
		"more than a container may have": {
			pod(two), ranges(corev1.LimitTypeContainer, corev1.LimitRangeItem{Max: list("cpu", "1")}),
			restricted + `.containers[0]: Invalid value: ["cpu"]: requests must not be above the limitRange max`,
		},
		"less than a container must have": {
			pod(two), ranges(corev1.LimitTypeContainer, corev1.LimitRangeItem{Min: list("cpu", "3")}),
			restricted + `.containers[0]: Invalid value: ["cpu"]: requests must not be below the limitRange min`,
		},
		"more than a pod may have": {
			pod(two, two), ranges(corev1.LimitTypePod, corev1.LimitRangeItem{Max: list("cpu", "3")}),
			restricted + `: Invalid value: ["cpu"]: requests must not be above the limitRange max`,
		},
		"less than a pod must have": {
			pod(two, two), ranges(corev1.LimitTypePod, corev1.LimitRangeItem{Min: list("cpu", "5")}), restricted + `: Invalid value: ["cpu"]: requests must not be below the limitRange min`,
		},
		"a limit too far above the request": {
			pod(container(list("cpu", "500m"), list("cpu", "2"))),
			ranges(corev1.LimitTypeContainer, corev1.LimitRangeItem{MaxLimitRequestRatio: list("cpu", "3")}),
			restricted + `.containers[0]: Invalid value: ["cpu"]: limits must not be above the limitRange maxLimitRequestRatio times the requests`,
		},
		"a limit above the most, and a request below": {
			pod(container(list("cpu", "1"), list("cpu", "3"))), ranges(corev1.LimitTypeContainer, corev1.LimitRangeItem{Max: list("cpu", "2")}),
			restricted + `.containers[0]: Invalid value: ["cpu"]: limits must not be above the limitRange max`,
		},
		"several resources of several containers": {
			pod(container(list("memory", "2", "cpu", "2"), list("memory", "1", "cpu", "1")), two, container(list("cpu", "3"), list("cpu", "1"))), Context{},
			`resources validation failed: [spec.containers[0]: Invalid value: ["cpu","memory"]: requests must not exceed its limits, ` +
				`spec.containers[2]: Invalid value: ["cpu"]: requests must not exceed its limits]`,
		},
		"contradictions go before restrictions": {
			pod(container(list("cpu", "2"), list("cpu", "1"))), ranges(corev1.LimitTypeContainer, corev1.LimitRangeItem{Max: list("cpu", "1")}),
			contradicts + `.containers[0]: Invalid value: ["cpu"]: requests must not exceed its limits`,
		},
		"a limit as far above as it may be": {
			pod(container(list("cpu", "500m"), list("cpu", "2"))),
			ranges(corev1.LimitTypeContainer, corev1.LimitRangeItem{MaxLimitRequestRatio: list("cpu", "4"), Max: list("gpu", "0"), Min: list("gpu", "1")}), "",
		},
		"overhead is not held against a LimitRange": {
			pod(two), Context{
				RuntimeClass: overhead("cpu", "4").RuntimeClass,
				LimitRanges:  ranges(corev1.LimitTypePod, corev1.LimitRangeItem{Max: list("cpu", "2")}).LimitRanges,
			}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.in.Path = field.NewPath("spec")
			if _, got := (&Rules{}).Compute(&tc.spec, tc.in); got.Message() != tc.want {
				t.Errorf("the problem is %q, want %q", got.Message(), tc.want)
			}
		})
	}
}

func TestResourcesCountAsTheConfigurationSays(t *testing.T) {
	mig := func(replace bool) Rules {
		return Rules{Transformations: map[corev1.ResourceName]Transformation{
			"mig-1g": {Replace: replace, Outputs: list("gpu-memory", "5Gi", "credits", "10")},
			"mig-2g": {Replace: true, Outputs: list("gpu-memory", "10Gi")},
		}}
	}
	cores := func(by corev1.ResourceName) Rules {
		return Rules{Transformations: map[corev1.ResourceName]Transformation{"cores": {Replace: true, MultiplyBy: by, Outputs: list("total", "1")}}}
	}
	for name, tc := range map[string]struct {
		rules Rules
		asks  corev1.ResourceList
		want  corev1.ResourceList
	}{
		"nothing matches":       {mig(true), list("cpu", "1"), list("cpu", "1")},
		"an input is replaced":  {mig(true), list("cpu", "1", "mig-1g", "2"), list("cpu", "1", "gpu-memory", "10Gi", "credits", "20")},
		"an input is retained":  {mig(false), list("mig-1g", "2"), list("mig-1g", "2", "gpu-memory", "10Gi", "credits", "20")},
		"outputs add up":        {mig(true), list("mig-1g", "1", "mig-2g", "1", "credits", "1"), list("gpu-memory", "15Gi", "credits", "11")},
		"by another resource":   {cores("gpu"), list("cores", "50", "gpu", "3"), list("total", "150", "gpu", "3")},
		"by none of another":    {cores("gpu"), list("cores", "50"), list("total", "50")},
		"by zero of another":    {cores("gpu"), list("cores", "50", "gpu", "0"), list("total", "0", "gpu", "0")},
		"outputs do not go on":  {Rules{Transformations: map[corev1.ResourceName]Transformation{"a": {Replace: true, Outputs: list("b", "1")}, "b": {Replace: true, Outputs: list("c", "1")}}}, list("a", "1"), list("b", "1")},
		"negative counts as 0":  {Rules{Transformations: map[corev1.ResourceName]Transformation{"a": {Outputs: list("b", "-5")}}}, list("a", "1", "b", "2"), list("a", "1", "b", "2")},
		"fractions are exact":   {Rules{Transformations: map[corev1.ResourceName]Transformation{"cpu": {Outputs: list("credits", "1500m")}}}, list("cpu", "1500m"), list("cpu", "1500m", "credits", "3")},
		"excluded goes before":  {Rules{ExcludePrefixes: []string{"mig-"}, Transformations: mig(true).Transformations}, list("mig-1g", "2", "cpu", "1"), list("cpu", "1")},
		"an output is not pods": {Rules{Transformations: map[corev1.ResourceName]Transformation{"a": {Outputs: list("pods", "5")}}}, list("a", "1"), list("a", "1")},
		"an absurd product":     {cores("gpu"), list("cores", "9E", "gpu", "9E"), corev1.ResourceList{"total": *resource.NewQuantity(int64(amount.Unlimited), resource.DecimalSI), "gpu": resource.MustParse("9E")}},
		"prefixes of names":     {Rules{ExcludePrefixes: []string{"example.com/"}}, list("example.com/a", "1", "example.org/b", "1"), list("example.org/b", "1")},
	} {
		t.Run(name, func(t *testing.T) {
			spec := pod(container(tc.asks, nil))
			got, problem := tc.rules.Compute(&spec, Context{})
			if diff := cmp.Diff(ToVector(tc.want), got); diff != "" || problem.Message() != "" {
				t.Error(diff, problem.Message())
			}
		})
	}
}

func TestWeightsAndSharesAreCountedFinely(t *testing.T) {
	for text, want := range map[string]int64{"1": 1e9, "500m": 5e8, "0": 0, "1n": 1, "-3": 0, "100E": int64(amount.Unlimited)} {
		if got := ToBillionths(resource.MustParse(text)); got != want {
			t.Errorf("%s is %d billionths, want %d", text, got, want)
		}
	}
	if got := ToThousandths(resource.MustParse("1500u")); got != 2 {
		t.Errorf("1500u is %d thousandths, want 2", got)
	}
}
