package trainjob_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job/trainjob"
)

// object reads an object of the trainer's API called t from its spec.
func object(kind, spec string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	text := fmt.Sprintf(`{"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": %q, "metadata": {"name": "t", "namespace": "team", "uid": "u"}, "spec": %s}`, kind, spec)
	if err := obj.UnmarshalJSON([]byte(text)); err != nil {
		panic(fmt.Sprintf("%s: %v", text, err))
	}
	return obj
}

// step is a replicated job of one container with its own name; trainer, if not empty, makes it one of the trainer's steps.
func step(name, ancestor, more, jobSpec string) string {
	labels := ""
	if ancestor != "" {
		labels = fmt.Sprintf(`"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": %q}},`, ancestor)
	}
	container := name
	if name == "launcher" {
		container = "node"
	}
	return fmt.Sprintf(`{"name": %q, %s "template": {%s "spec": {%s "template": {"spec": {"containers": [{"name": %q, "image": "i:1"}]}}}}}`,
		name, more, labels, jobSpec, container)
}

func runtimeOf(policy string, steps ...string) client.Object {
	return object("ClusterTrainingRuntime", fmt.Sprintf(`{%s "template": {"spec": {"replicatedJobs": [%s]}}}`, policy, strings.Join(steps, ",")))
}

const ref = `"runtimeRef": {"name": "r"}`

// setsOf returns the pod sets of a TrainJob with more in its spec.
func setsOf(t *testing.T, more string, runtime client.Object) []kueue.PodSet {
	t.Helper()
	kind := trainjob.Kind()
	sets, err := kind.PodSetsOf(object("TrainJob", `{`+ref+more+`}`), []client.Object{runtime})
	if err != nil {
		t.Fatal(err)
	}
	return sets
}

func TestPodsAreCountedAsTheTrainerMakesThem(t *testing.T) {
	const four = `, "trainer": {"numNodes": 4}`
	for name, row := range map[string]struct {
		more    string
		runtime client.Object
		want    string
	}{
		"nodes of the policy": {``, runtimeOf(`"mlPolicy": {"numNodes": 3},`, step("node", "trainer", "", "")), "node 3"},
		"no policy":           {``, runtimeOf(``, step("node", "trainer", "", `"parallelism": 2, "completions": 9,`)), "node 2"},
		"nodes of the job":    {four, runtimeOf(`"mlPolicy": {"numNodes": 3, "jax": {}},`, step("node", "trainer", "", "")), "node 4"},
		"no nodes":            {`, "trainer": {"numNodes": 0}`, runtimeOf(``, step("node", "trainer", "", "")), "node 0"},
		"the first of two jobs that train": {
			four, runtimeOf(`"mlPolicy": {"numNodes": 2, "torch": {}},`, step("node", "trainer", "", ""), step("more", "trainer", "", "")), "node 4, more 2",
		},
		"replicas of a job of the trainer's": {``, runtimeOf(``, step("node", "trainer", `"replicas": 7,`, "")), "node 1"},
		"replicas of an initializer":         {``, runtimeOf(``, step("dataset-initializer", "dataset-initializer", `"replicas": 7,`, "")), "dataset-initializer 1"},
		"replicas of another job":            {``, runtimeOf(``, step("ps", "", `"replicas": 2,`, `"parallelism": 3,`)), "ps 6"},
		"no replicas":                        {``, runtimeOf(``, step("ps", "", `"replicas": 0,`, `"parallelism": 0,`)), "ps 1"},
		"a launcher that is no node": {
			four, runtimeOf(`"mlPolicy": {"mpi": {}},`, step("launcher", "trainer", "", ""), step("node", "", "", "")), "launcher 1, node 4",
		},
		"a launcher that is a node": {
			four, runtimeOf(`"mlPolicy": {"mpi": {"runLauncherAsNode": true}},`, step("launcher", "trainer", "", ""), step("node", "", "", "")), "launcher 1, node 3",
		},
		"a launcher that is the only node": {
			`, "trainer": {"numNodes": 1}`,
			runtimeOf(`"mlPolicy": {"mpi": {"runLauncherAsNode": true}},`, step("launcher", "trainer", "", ""), step("node", "", "", "")), "launcher 1, node 1",
		},
		"flux":                   {four, runtimeOf(`"mlPolicy": {"flux": {}},`, step("node", "trainer", "", "")), "node 4"},
		"no node that is known":  {four, runtimeOf(`"mlPolicy": {"mpi": {}},`, step("ps", "", "", "")), "ps 1"},
		"nothing at all":         {four, runtimeOf(``), ""},
		"a policy without flags": {four, runtimeOf(`"mlPolicy": {"torch": {}},`, step("node", "", "", "")), "node 1"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, set := range setsOf(t, row.more, row.runtime) {
				got = append(got, fmt.Sprintf("%s %d", set.Name, set.Count))
			}
			if diff := cmp.Diff(row.want, strings.Join(got, ", ")); diff != "" {
				t.Errorf("pod sets differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestATrainJobWithoutPodSetsSaysWhy(t *testing.T) {
	big := step("ps", "", `"replicas": 65536,`, `"parallelism": 65536,`)
	for name, row := range map[string]struct {
		spec    string
		runtime client.Object
		want    string
	}{
		"a missing runtime":           {`{` + ref + `}`, nil, "runtime 'r' not found"},
		"a kind that is no runtime":   {`{"runtimeRef": {"name": "r", "kind": "Recipe"}}`, nil, "unsupported runtime: Recipe.trainer.kubeflow.org"},
		"a group of somebody else":    {`{"runtimeRef": {"name": "r", "apiGroup": "example.com"}}`, nil, "unsupported runtime: ClusterTrainingRuntime.example.com"},
		"a product that wraps":        {`{` + ref + `}`, runtimeOf(``, big), "must be 0 to 2147483647 pods"},
		"negative nodes":              {`{` + ref + `, "trainer": {"numNodes": -2147483648}}`, runtimeOf(`"mlPolicy": {"mpi": {"runLauncherAsNode": true}},`, step("node", "", "", "")), "spec.trainer.numNodes: Invalid value: -2147483648: must not be negative"},
		"negative replicas":           {`{` + ref + `}`, runtimeOf(``, step("ps", "", `"replicas": -1,`, "")), "must be 0 to 2147483647 pods"},
		"a name in upper case":        {`{` + ref + `}`, runtimeOf(``, step("Node", "", "", "")), "job[Node]: Invalid value: \"Node\": must be in lower case"},
		"a spec of another form":      {`{"runtimeRef": 7}`, nil, "spec of TrainJob t"},
		"a runtime of another form":   {`{` + ref + `}`, object("ClusterTrainingRuntime", `{"template": []}`), "spec of ClusterTrainingRuntime t"},
		"a container of no such name": {`{` + ref + `}`, runtimeOf(`"mlPolicy": {"torch": {"envInjection": {"targets": [{"jobName": "node", "containerNames": ["side"]}]}}},`, step("node", "trainer", "", "")), `the runtime names container "side" of job "node", which does not exist`},
	} {
		t.Run(name, func(t *testing.T) {
			tj := object("TrainJob", row.spec)
			kind := trainjob.Kind()
			_, err := kind.Inputs.Of(tj)
			if err == nil {
				_, err = kind.PodSetsOf(tj, []client.Object{row.runtime})
			}
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("the error is %v, want %q", err, row.want)
			}
		})
	}
}

// env is a container's environment as text: what comes from elsewhere has its path.
func env(c *corev1.Container) string {
	var list []string
	for _, e := range c.Env {
		value := e.Value
		if e.ValueFrom != nil && e.ValueFrom.FieldRef != nil {
			value = "<index>"
		}
		list = append(list, e.Name+"="+value)
	}
	return strings.Join(list, " ")
}

func TestNodesLearnWhereTheOthersAre(t *testing.T) {
	const two = `, "trainer": {"numNodes": 2, "env": [{"name": "MINE", "value": "1"}]}`
	for name, row := range map[string]struct{ more, policy, want string }{
		"plain":              {two, ``, "MINE=1"},
		"plain, no trainer":  {``, ``, ""},
		"torch":              {two, `"mlPolicy": {"torch": {}},`, "MINE=1 PET_NNODES=2 PET_NPROC_PER_NODE=1 PET_NODE_RANK=<index> PET_MASTER_ADDR=t-node-0-0.t PET_MASTER_PORT=29500"},
		"torch with GPUs":    {`, "trainer": {"resourcesPerNode": {"limits": {"nvidia.com/gpu": 8}}}`, `"mlPolicy": {"torch": {}},`, "PET_NNODES=1 PET_NPROC_PER_NODE=auto PET_NODE_RANK=<index> PET_MASTER_ADDR=t-node-0-0.t PET_MASTER_PORT=29500"},
		"torch with CPUs":    {`, "trainer": {"resourcesPerNode": {"requests": {"cpu": "2500m"}}}`, `"mlPolicy": {"torch": {}},`, "PET_NNODES=1 PET_NPROC_PER_NODE=3 PET_NODE_RANK=<index> PET_MASTER_ADDR=t-node-0-0.t PET_MASTER_PORT=29500"},
		"torchtune":          {`, "trainer": {"command": ["tune", "run"], "numProcPerNode": 4}`, `"mlPolicy": {"torch": {}},`, "PET_NNODES=1 PET_NPROC_PER_NODE=4 PET_NODE_RANK=<index>"},
		"torch, no trainer":  {``, `"mlPolicy": {"torch": {}},`, ""},
		"jax":                {two, `"mlPolicy": {"jax": {}},`, "JAX_NUM_PROCESSES=2 JAX_PROCESS_ID=<index> JAX_COORDINATOR_ADDRESS=t-node-0-0.t:29500 MINE=1"},
		"xgboost":            {two, `"mlPolicy": {"xgboost": {}},`, "MINE=1 DMLC_TRACKER_URI=t-node-0-0.t DMLC_TRACKER_PORT=29500 DMLC_TASK_ID=<index> DMLC_NUM_WORKER=2"},
		"xgboost with GPUs":  {`, "trainer": {"numNodes": 3, "resourcesPerNode": {"requests": {"nvidia.com/gpu": 2}}}`, `"mlPolicy": {"xgboost": {}},`, "DMLC_TRACKER_URI=t-node-0-0.t DMLC_TRACKER_PORT=29500 DMLC_TASK_ID=<index> DMLC_NUM_WORKER=6"},
		"a value by its key": {`, "trainer": {"env": [{"name": "KEY", "value": "lost", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]}`, ``, "KEY="},
	} {
		t.Run(name, func(t *testing.T) {
			sets := setsOf(t, row.more, runtimeOf(row.policy, step("node", "trainer", "", "")))
			c := &sets[0].Template.Spec.Containers[0]
			if got := env(c); got != row.want {
				t.Errorf("the environment is %q, want %q", got, row.want)
			}
			if hasPort := len(c.Ports) == 1 && c.Ports[0].ContainerPort == 29500 && c.Ports[0].Protocol == "TCP"; hasPort != strings.Contains(row.want, "<index>") {
				t.Errorf("ports are %v", c.Ports)
			}
		})
	}
}

func TestMPILaunchersHaveKeysAndHosts(t *testing.T) {
	sets := setsOf(t, `, "trainer": {"numNodes": 2, "resourcesPerNode": {"limits": {"nvidia.com/gpu": 8}}}`, runtimeOf(
		`"mlPolicy": {"mpi": {"numProcPerNode": 1, "runLauncherAsNode": true}},`, step("launcher", "trainer", "", ""), step("node", "", "", "")))
	for i, want := range []string{"/root/.ssh /etc/mpi", "/root/.ssh"} {
		spec := sets[i].Template.Spec
		var mounts []string
		for _, m := range spec.Containers[0].VolumeMounts {
			mounts = append(mounts, m.MountPath)
		}
		if got := strings.Join(mounts, " "); got != want || len(spec.Volumes) != len(mounts) {
			t.Errorf("%s mounts %q of %d volumes, want %q", sets[i].Name, got, len(spec.Volumes), want)
		}
		if gpus := spec.Containers[0].Resources.Limits["nvidia.com/gpu"]; gpus.Value() != 8 {
			t.Errorf("%s has %s GPUs", sets[i].Name, gpus.String())
		}
	}
	if got := env(&sets[0].Template.Spec.Containers[0]); !strings.Contains(got, "OMPI_MCA_orte_set_default_slots=8") {
		t.Errorf("the launcher's environment is %s", got)
	}
}

func TestFluxRunsTheCommandByItsScript(t *testing.T) {
	sets := setsOf(t, `, "trainer": {"command": ["python"], "args": ["a.py"], "env": [{"name": "FLUX_VIEW_IMAGE", "value": "view:2"}]}`,
		runtimeOf(`"mlPolicy": {"flux": {}},`, step("node", "trainer", "", "")))
	spec := sets[0].Template.Spec
	if diff := cmp.Diff([]string{"/bin/bash", "/etc/flux-config/entrypoint.sh", "python a.py"}, spec.Containers[0].Command); diff != "" || spec.Containers[0].Args != nil {
		t.Errorf("command differs (-want +got):\n%s", diff)
	}
	if len(spec.InitContainers) != 1 || spec.InitContainers[0].Image != "view:2" || len(spec.Volumes) != 5 || len(spec.Containers[0].VolumeMounts) != 5 {
		t.Errorf("the pod is %+v", spec)
	}
}

func TestInitializersLearnWhatToFetch(t *testing.T) {
	sets := setsOf(t, `, "initializer": {"model": {"storageUri": "s3://m", "env": [{"name": "A", "value": "b"}], "secretRef": {"name": "s"}}}`,
		runtimeOf(``, step("dataset-initializer", "dataset-initializer", "", ""), step("model-initializer", "model-initializer", "", "")))
	dataset, model := sets[0].Template.Spec.Containers[0], sets[1].Template.Spec.Containers[0]
	if env(&dataset) != "" || env(&model) != "STORAGE_URI=s3://m A=b" || len(model.EnvFrom) != 1 || model.EnvFrom[0].SecretRef.Name != "s" {
		t.Errorf("dataset: %q, model: %q, %v", env(&dataset), env(&model), model.EnvFrom)
	}
}

func TestResourcesOfTheTrainJobAreMergedIntoThoseOfTheNodes(t *testing.T) {
	runtime := object("ClusterTrainingRuntime", `{"mlPolicy": {}, "template": {"spec": {"replicatedJobs": [{"name": "node", "template": {
		"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
		"spec": {"template": {"spec": {"containers": [
			{"name": "side", "resources": {"requests": {"cpu": "1"}}},
			{"name": "node", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "2Gi"}}}]}}}}}]}}}`)
	sets := setsOf(t, `, "trainer": {"image": "new", "args": [], "resourcesPerNode": {"requests": {"cpu": "4"}}}`, runtime)
	got, err := json.Marshal(sets[0].Template.Spec.Containers)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"name":"side","resources":{"requests":{"cpu":"1"}}},` +
		`{"name":"node","image":"new","resources":{"limits":{"memory":"2Gi"},"requests":{"cpu":"4","memory":"1Gi"}}}]`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("containers differ (-want +got):\n%s", diff)
	}
}

func TestPatchesOfAllManagersAreMerged(t *testing.T) {
	patch := func(manager, pod string) string {
		return fmt.Sprintf(`{"manager": %q, "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [{"name": "node", "replicas": 99, "template": {
			"spec": {"parallelism": 99, "template": %s}}}]}}}}`, manager, pod)
	}
	sets := setsOf(t, `, "runtimePatches": [`+strings.Join([]string{
		patch("a.com/a", `{"metadata": {"labels": {"a": "1"}}, "spec": {"nodeSelector": {"a": "1"}, "tolerations": [{"key": "a"}], "hostNetwork": true}}`),
		patch("b.com/b", `{"spec": {"nodeSelector": {"b": "2", "a": "3"}, "tolerations": [{"key": "b"}], "containers": [{"name": "node", "image": "evil", "env": [{"name": "X", "value": "y"}]}]}}`),
		`{"manager": "c.com/c"}`, `{"manager": "d.com/d", "trainingRuntimeSpec": {"template": {"spec": null}}}`,
	}, ",")+`]`, runtimeOf(``, step("first", "", "", ""), step("node", "", "", "")))
	if len(sets) != 2 || sets[0].Name != "first" || sets[1].Count != 1 {
		t.Fatalf("pod sets are %v", sets)
	}
	pod := sets[1].Template
	if diff := cmp.Diff(map[string]string{"a": "3", "b": "2"}, pod.Spec.NodeSelector); diff != "" {
		t.Errorf("node selector differs (-want +got):\n%s", diff)
	}
	if len(pod.Spec.Tolerations) != 1 || pod.Spec.Tolerations[0].Key != "b" || pod.Labels["a"] != "1" || pod.Spec.HostNetwork {
		t.Errorf("the template is %+v", pod)
	}
	if c := pod.Spec.Containers; len(c) != 1 || c[0].Image != "i:1" || env(&c[0]) != "X=y" {
		t.Errorf("containers are %+v", c)
	}
}

func TestPodsCarryTheNameOfTheirPodGroup(t *testing.T) {
	gang := setsOf(t, ``, runtimeOf(`"podGroupPolicy": {"coscheduling": {}},`, step("node", "", "", "")))[0].Template
	volcano := setsOf(t, ``, runtimeOf(`"podGroupPolicy": {"volcano": {}},`, step("node", "", "", "")))[0].Template
	if gang.Labels["scheduling.x-k8s.io/pod-group"] != "t" || volcano.Annotations["scheduling.k8s.io/group-name"] != "t" {
		t.Errorf("labels %v, annotations %v", gang.Labels, volcano.Annotations)
	}
}
