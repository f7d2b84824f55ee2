package trainjob

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	jobsetv1 "sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

// spec is what is read of a TrainJob's spec.
type spec struct {
	RuntimeRef     runtimeRef     `json:"runtimeRef"`
	Initializer    initializers   `json:"initializer"`
	Trainer        *trainer       `json:"trainer"`
	RuntimePatches []runtimePatch `json:"runtimePatches"`
}

type runtimeRef struct {
	Name     string  `json:"name"`
	APIGroup *string `json:"apiGroup"`
	Kind     *string `json:"kind"`
}

type initializers struct {
	Dataset *initializer `json:"dataset"`
	Model   *initializer `json:"model"`
}

type initializer struct {
	StorageURI *string                      `json:"storageUri"`
	Env        []corev1.EnvVar              `json:"env"`
	SecretRef  *corev1.LocalObjectReference `json:"secretRef"`
}

type trainer struct {
	Image            *string                      `json:"image"`
	Command          []string                     `json:"command"`
	Args             []string                     `json:"args"`
	Env              []corev1.EnvVar              `json:"env"`
	NumNodes         *int32                       `json:"numNodes"`
	ResourcesPerNode *corev1.ResourceRequirements `json:"resourcesPerNode"`
	NumProcPerNode   *int32                       `json:"numProcPerNode"`
}

// runtimePatch is what one manager changes in the JobSet. It has the fields that the API lets managers change, so that no other one and no
// directive of a merge gets in.
type runtimePatch struct {
	Manager             string                    `json:"manager"`
	TrainingRuntimeSpec part[object[jobSetPatch]] `json:"trainingRuntimeSpec,omitzero"`
}

// part is an object of which only the template is read.
type part[T any] struct {
	Template *T `json:"template,omitempty"`
}

// object is one of metadata and spec.
type object[T any] struct {
	Metadata *metadata `json:"metadata,omitempty"`
	Spec     *T        `json:"spec,omitempty"`
}

type metadata struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type jobSetPatch struct {
	ReplicatedJobs []replicatedJobPatch `json:"replicatedJobs,omitempty"`
}

type replicatedJobPatch struct {
	Name     string                              `json:"name"`
	Template *object[part[object[podSpecPatch]]] `json:"template,omitempty"`
}

type podSpecPatch struct {
	ServiceAccountName            *string                       `json:"serviceAccountName,omitempty"`
	Volumes                       []corev1.Volume               `json:"volumes,omitempty"`
	InitContainers                []containerPatch              `json:"initContainers,omitempty"`
	Containers                    []containerPatch              `json:"containers,omitempty"`
	ImagePullSecrets              []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
	SecurityContext               *corev1.PodSecurityContext    `json:"securityContext,omitempty"`
	NodeSelector                  map[string]string             `json:"nodeSelector,omitempty"`
	Affinity                      *corev1.Affinity              `json:"affinity,omitempty"`
	Tolerations                   []corev1.Toleration           `json:"tolerations,omitempty"`
	SchedulingGates               []corev1.PodSchedulingGate    `json:"schedulingGates,omitempty"`
	TerminationGracePeriodSeconds *int64                        `json:"terminationGracePeriodSeconds,omitempty"`
}

type containerPatch struct {
	Name            string                  `json:"name"`
	Env             []corev1.EnvVar         `json:"env,omitempty"`
	VolumeMounts    []corev1.VolumeMount    `json:"volumeMounts,omitempty"`
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`
}

// status is what is read of a TrainJob's status.
type status struct {
	Conditions []metav1.Condition `json:"conditions"`
	JobsStatus []jobStatus        `json:"jobsStatus"`
}

type jobStatus struct {
	Name      string `json:"name"`
	Ready     int32  `json:"ready"`
	Succeeded int32  `json:"succeeded"`
	Active    int32  `json:"active"`
}

// runtimeSpec is what is read of a TrainingRuntime's spec, or a ClusterTrainingRuntime's.
type runtimeSpec struct {
	MLPolicy       *mlPolicy `json:"mlPolicy"`
	PodGroupPolicy struct {
		Coscheduling *struct{} `json:"coscheduling"`
		Volcano      *struct{} `json:"volcano"`
	} `json:"podGroupPolicy"`
	Template struct {
		Spec jobsetv1.JobSetSpec `json:"spec"`
	} `json:"template"`
}

type mlPolicy struct {
	NumNodes *int32       `json:"numNodes"`
	Torch    *torchPolicy `json:"torch"`
	MPI      *mpiPolicy   `json:"mpi"`
	Flux     *struct{}    `json:"flux"`
	JAX      *struct{}    `json:"jax"`
	XGBoost  *struct{}    `json:"xgboost"`
}

type torchPolicy struct {
	EnvInjection struct {
		Targets []struct {
			JobName        string   `json:"jobName"`
			ContainerNames []string `json:"containerNames"`
		} `json:"targets"`
	} `json:"envInjection"`
}

type mpiPolicy struct {
	NumProcPerNode    *int32  `json:"numProcPerNode"`
	SSHAuthMountPath  *string `json:"sshAuthMountPath"`
	RunLauncherAsNode bool    `json:"runLauncherAsNode"`
}

// readSpec reads the spec of a TrainJob or of a runtime. An error says that it is of another form.
func readSpec[S any](obj *unstructured.Unstructured) (*S, error) { return read[S](obj, "spec") }

// readStatus reads a TrainJob's status. One of another form says nothing.
func readStatus(tj *unstructured.Unstructured) *status {
	found, err := read[status](tj, "status")
	if err != nil {
		return &status{}
	}
	return found
}

func read[P any](obj *unstructured.Unstructured, field string) (*P, error) {
	found := new(P)
	raw, err := json.Marshal(obj.Object[field])
	if err == nil {
		err = json.Unmarshal(raw, found)
	}
	if err != nil {
		return nil, fmt.Errorf("%s of %s %s: %w", field, obj.GetKind(), obj.GetName(), err)
	}
	return found, nil
}
