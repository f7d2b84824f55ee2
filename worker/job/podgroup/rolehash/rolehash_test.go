package rolehash

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

const (
	empty = `{"spec":{"affinity":null,"containers":null,"initContainers":null,"nodeSelector":null,"overhead":null,"priority":null,` +
		`"resourceClaims":null,"runtimeClassName":null,"tolerations":null,"topologySpreadConstraints":null}}`
	oneCPU = `{"spec":{"affinity":null,"containers":[{"ports":null,"resources":{"requests":{"cpu":"1"}}}],"initContainers":null,` +
		`"nodeSelector":null,"overhead":null,"priority":null,"resourceClaims":null,"runtimeClassName":null,"tolerations":null,` +
		`"topologySpreadConstraints":null}}`
	noRequests = `{"spec":{"affinity":null,"containers":[{"ports":null,"resources":{"requests":null}}],"initContainers":null,` +
		`"nodeSelector":null,"overhead":null,"priority":null,"resourceClaims":null,"runtimeClassName":null,"tolerations":null,` +
		`"topologySpreadConstraints":null}}`
	everything = `{"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":` +
		`[{"matchExpressions":[{"key":"zone","operator":"In","values":["a","b"]}]}]}}},"containers":[{"ports":[{"name":"http",` +
		`"hostPort":80,"containerPort":8080,"protocol":"TCP"}],"resources":{"requests":{"cpu":"1500m","memory":"1Gi",` +
		`"nvidia.com/gpu":"8"}}},{"ports":null,"resources":{"requests":null}}],"initContainers":[{"ports":null,"resources":` +
		`{"requests":{"cpu":"2"}}}],"nodeSelector":{"a":"\u003cb\u003e","z":"1"},"overhead":{"cpu":"100m"},"priority":-5,` +
		`"resourceClaims":[{"name":"gpu","resourceClaimTemplateName":"big"}],"resources":{"requests":{"memory":"2Gi"}},` +
		`"runtimeClassName":"gvisor","tolerations":[{"key":"gpu","operator":"Exists","effect":"NoSchedule"},` +
		`{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],` +
		`"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule",` +
		`"labelSelector":{"matchLabels":{"app":"x"}}}]}}`
)

// The hashes were computed from the texts by another program (sha256sum).
func TestTheHashIsThatOfTheShapeToTheBit(t *testing.T) {
	for _, c := range []struct {
		name, spec, text, hash string
	}{
		{"nothing at all", `{}`, empty, "b18935ae"},
		{"one container with a request", `{"containers":[{"name":"a","image":"x","resources":{"requests":{"cpu":"1"}}}]}`, oneCPU, "dc85db45"},
		{"the same amount in other words", `{"containers":[{"resources":{"requests":{"cpu":"1000m"}}}]}`, oneCPU, "dc85db45"},
		{
			"names, images, limits, environment and volumes do not count",
			`{"volumes":[{"name":"v"}],"hostname":"h","restartPolicy":"Never","schedulingGates":[{"name":"g"}],"containers":[{"name":"b","image":"y",
			"env":[{"name":"E"}],"command":["c"],"resources":{"requests":{"cpu":"1"},"limits":{"cpu":"9"}}}]}`, oneCPU, "dc85db45",
		},
		{"limits alone are no requests", `{"containers":[{"resources":{"limits":{"cpu":"1"}}}]}`, noRequests, "7aa6c7b8"},
		{"limits of the pod alone leave its resources out", `{"containers":[{}],"resources":{"limits":{"cpu":"1"}}}`, noRequests, "7aa6c7b8"},
		{"everything that counts", `{
			"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule","labelSelector":{"matchLabels":{"app":"x"}}}],
			"tolerations":[{"key":"gpu","operator":"Exists","effect":"NoSchedule"},
			{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],
			"runtimeClassName":"gvisor","resources":{"requests":{"memory":"2Gi"},"limits":{"memory":"3Gi"}},
			"resourceClaims":[{"name":"gpu","resourceClaimTemplateName":"big"}],"priority":-5,"priorityClassName":"low","overhead":{"cpu":"100m"},
			"nodeSelector":{"z":"1","a":"<b>"},"initContainers":[{"name":"i","resources":{"requests":{"cpu":"2"}}}],
			"containers":[{"name":"m","ports":[{"protocol":"TCP","containerPort":8080,"hostPort":80,"name":"http"}],
			"resources":{"requests":{"nvidia.com/gpu":"8","memory":"1Gi","cpu":"1.5"}}},{"name":"s"}],
			"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
			{"matchExpressions":[{"values":["a","b"],"operator":"In","key":"zone"}]}]}}}
		}`, everything, "5a94eaca"},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := &corev1.PodSpec{}
			if err := json.Unmarshal([]byte(c.spec), spec); err != nil {
				t.Fatal(err)
			}
			text, err := Text(spec)
			if err != nil {
				t.Fatal(err)
			}
			if string(text) != c.text {
				t.Errorf("text is\n%s\nwant\n%s", text, c.text)
			}
			if hash, _ := Compute(spec); hash != c.hash {
				t.Errorf("hash is %s, want %s", hash, c.hash)
			}
		})
	}
}

func TestWhatCountsMakesAnotherRole(t *testing.T) {
	priority := int32(7)
	class := "kata"
	base := corev1.PodSpec{Containers: []corev1.Container{{Name: "a"}}}
	seen := map[string]string{}
	for name, change := range map[string]func(*corev1.PodSpec){
		"nothing":            func(*corev1.PodSpec) {},
		"a second container": func(s *corev1.PodSpec) { s.Containers = append(s.Containers, corev1.Container{}) },
		"an init container":  func(s *corev1.PodSpec) { s.InitContainers = []corev1.Container{{}} },
		"a port": func(s *corev1.PodSpec) {
			s.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{{ContainerPort: 1}}}}
		},
		"a node selector":       func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{"a": "b"} },
		"an affinity":           func(s *corev1.PodSpec) { s.Affinity = &corev1.Affinity{} },
		"a toleration":          func(s *corev1.PodSpec) { s.Tolerations = []corev1.Toleration{{}} },
		"a runtime class":       func(s *corev1.PodSpec) { s.RuntimeClassName = &class },
		"a priority":            func(s *corev1.PodSpec) { s.Priority = &priority },
		"an overhead":           func(s *corev1.PodSpec) { s.Overhead = corev1.ResourceList{} },
		"a resource claim":      func(s *corev1.PodSpec) { s.ResourceClaims = []corev1.PodResourceClaim{{Name: "c"}} },
		"a topology constraint": func(s *corev1.PodSpec) { s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{}} },
	} {
		spec := base.DeepCopy()
		change(spec)
		hash, err := Compute(spec)
		if err != nil {
			t.Fatal(err)
		}
		if other, found := seen[hash]; found {
			t.Errorf("%s and %s have the same hash", name, other)
		}
		seen[hash] = name
	}
}

func FuzzComputeNeverPanics(f *testing.F) {
	f.Add(`{"containers":[{"resources":{"requests":{"cpu":"1"}}}]}`)
	f.Add(`{"affinity":{},"overhead":{"x":"-1e30"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		spec := &corev1.PodSpec{}
		if json.Unmarshal([]byte(text), spec) != nil {
			return
		}
		hash, err := Compute(spec)
		if err == nil && len(hash) != 8 {
			t.Errorf("hash %q", hash)
		}
	})
}

func BenchmarkCompute(b *testing.B) {
	spec := &corev1.PodSpec{}
	if err := json.Unmarshal([]byte(`{"containers":[{"resources":{"requests":{"cpu":"1","memory":"1Gi"}}}]}`), spec); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		_, _ = Compute(spec)
	}
}
