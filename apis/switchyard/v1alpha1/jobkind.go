package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Conditions of a JobKind.
const (
	// JobKindAccepted is True if the declaration is sound: its expressions compile, and nothing else declares the kind.
	JobKindAccepted = "Accepted"
	// JobKindServing is True while jobs of the kind are looked after.
	JobKindServing = "Serving"
)

// Reasons of the conditions of a JobKind.
const (
	// JobKindSound is why a JobKind is accepted.
	JobKindSound = "Sound"
	// JobKindInvalid means that the message says what is wrong, and where: the field, and line:column in its expression.
	JobKindInvalid = "Invalid"
	// JobKindCompiledIn means that the program knows the kind without being told.
	JobKindCompiledIn = "CompiledIn"
	// JobKindExternal means that integrations.externalFrameworks has the kind: another program looks after its jobs.
	JobKindExternal = "External"
	// JobKindDuplicate means that an older JobKind declares the same kind.
	JobKindDuplicate = "Duplicate"

	// JobKindStarted is why a JobKind is served.
	JobKindStarted = "Started"
	// JobKindStarting means that the program is about to serve the kind.
	JobKindStarting = "Starting"
	// JobKindNotAccepted means that the other condition says why.
	JobKindNotAccepted = "NotAccepted"
	// JobKindNotServedByAPI means that the API server does not serve the kind; it is looked for again.
	JobKindNotServedByAPI = "CRDMissing"
	// JobKindForbidden means that the program lacks rights on the kind, which the message names; they are asked for again.
	JobKindForbidden = "Forbidden"
	// JobKindFailed means that the kind could not be started, which is tried again.
	JobKindFailed = "Failed"
)

// JobKind declares a kind of job that the program was not built for: how jobs of a CRD are queued, suspended, placed, watched and sent to
// other clusters. Its expressions are CEL and see the job as "object"; what they read of the job may be absent, so that they should say
// what holds then (object.?status.active.orValue(0)). Its paths name fields of the job: spec.suspend, spec.tasks[0].template,
// metadata.annotations["example.com/stop"].
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:printcolumn:name="Group",type=string,JSONPath=`.spec.group`
// +kubebuilder:printcolumn:name="Kind",type=string,JSONPath=`.spec.kind`
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`
// +kubebuilder:printcolumn:name="Serving",type=string,JSONPath=`.status.conditions[?(@.type=="Serving")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type JobKind struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the declaration.
	Spec JobKindSpec `json:"spec"`
	// status is what has become of it.
	// +optional
	Status JobKindStatus `json:"status,omitempty"`
}

// JobKindList is a list of JobKinds.
//
// +kubebuilder:object:root=true
type JobKindList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []JobKind `json:"items"`
}

// Expression is a CEL expression about a job, which it sees as "object".
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=4096
type Expression string

// FieldPath names a field of a job: names with dots between them, numbers of list entries in brackets, and keys that are no names in
// brackets and quotes.
//
// +kubebuilder:validation:MaxLength=512
// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z_][A-Za-z0-9_-]*|\[[0-9]{1,4}\]|\["[^"\\]{1,253}"\])*$`
type FieldPath string

// JobKindSpec is the declaration of a kind of job.
//
// +kubebuilder:validation:XValidation:rule="has(self.podSets) != has(self.podSetsExpression)",message="one of podSets and podSetsExpression is required",fieldPath=".podSets",reason=FieldValueRequired
// +kubebuilder:validation:XValidation:rule="self.group == oldSelf.group && self.kind == oldSelf.kind",message="group and kind are immutable",fieldPath=".kind"
type JobKindSpec struct {
	// group of the kind.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Group string `json:"group"`
	// version of the kind in which jobs are read and written.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	Version string `json:"version"`
	// kind, such as TrainingRun.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*$`
	Kind string `json:"kind"`

	// podSets are the job's groups of equal pods, where every job of the kind has the same.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=18
	PodSets []JobKindPodSet `json:"podSets,omitempty"`
	// podSetsExpression returns the list of the job's groups of equal pods. Each entry is a map of name, count, and either path, the path
	// of the pod template in the job, or template, a PodTemplateSpec; it may have a map placement with the paths of podSets.placement.
	// +optional
	PodSetsExpression Expression `json:"podSetsExpression,omitempty"`

	// suspend says how a job is kept from running.
	Suspend JobKindSuspend `json:"suspend"`
	// stop is for jobs that cannot be suspended again once they run: to stop such a job ends it.
	// +optional
	Stop *JobKindStop `json:"stop,omitempty"`
	// priorityClass returns the name of the PriorityClass of the whole job. Without it, or when that is empty, the first pod set with a
	// priorityClassName decides.
	// +optional
	PriorityClass Expression `json:"priorityClass,omitempty"`
	// progress says what is read from a job's status.
	Progress JobKindProgress `json:"progress"`
	// podLabels returns labels that all pods of the job carry, a map of texts. It is for kinds whose status does not count all of them, such
	// as those that are being terminated: the quota of a stopped job is kept until pods with these labels, and made for it, have ended.
	// +optional
	PodLabels Expression `json:"podLabels,omitempty"`
	// dispatch is for kinds whose jobs can run on other clusters.
	// +optional
	Dispatch *JobKindDispatch `json:"dispatch,omitempty"`
}

// JobKindPodSet is a group of equal pods.
//
// +kubebuilder:validation:XValidation:rule="has(self.template) != has(self.templateExpression)",message="one of template and templateExpression is required",fieldPath=".template",reason=FieldValueRequired
type JobKindPodSet struct {
	// name of the pod set.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// count returns how many pods there are; 1 without it.
	// +optional
	Count Expression `json:"count,omitempty"`
	// template is the path of the pod template in the job.
	// +optional
	Template FieldPath `json:"template,omitempty"`
	// templateExpression returns a PodTemplateSpec, where the job has no pod template.
	// +optional
	TemplateExpression Expression `json:"templateExpression,omitempty"`
	// placement says where the outcome of an admission goes.
	// +optional
	Placement *JobKindPlacement `json:"placement,omitempty"`
}

// PlacementPart is a part of an admission's outcome.
//
// +kubebuilder:validation:Enum=NodeSelector;Tolerations;SchedulingGates
type PlacementPart string

// The parts without which pods may run where they were not admitted.
const (
	PlacementNodeSelector    PlacementPart = "NodeSelector"
	PlacementTolerations     PlacementPart = "Tolerations"
	PlacementSchedulingGates PlacementPart = "SchedulingGates"
)

// JobKindPlacement says where in a job the outcome of an admission goes, and where the pod set has it from. What it does not name goes to
// the pod template at podSets.template. Where there is none, labels and annotations are left out, and a job whose admission brings
// anything else does not start, unless discard allows that.
type JobKindPlacement struct {
	// nodeSelector is the path of a map.
	// +optional
	NodeSelector FieldPath `json:"nodeSelector,omitempty"`
	// tolerations is the path of a list.
	// +optional
	Tolerations FieldPath `json:"tolerations,omitempty"`
	// labels is the path of a map.
	// +optional
	Labels FieldPath `json:"labels,omitempty"`
	// annotations is the path of a map.
	// +optional
	Annotations FieldPath `json:"annotations,omitempty"`
	// schedulingGates is the path of a list.
	// +optional
	SchedulingGates FieldPath `json:"schedulingGates,omitempty"`
	// discard names what may get lost because the job has no place for it. Pods then run wherever they fit.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=3
	Discard []PlacementPart `json:"discard,omitempty"`
}

// JobKindSuspend says how a job is kept from running.
type JobKindSuspend struct {
	// path of the field that does so.
	// +kubebuilder:default="spec.suspend"
	// +optional
	Path FieldPath `json:"path,omitempty"`
	// value of the field while the job is suspended: a string, a number or a boolean; true without it.
	// +optional
	Value *apiextensionsv1.JSON `json:"value,omitempty"`
	// resumedValue is the field's value while the job may run. Without it the field is false if value is true, and absent otherwise.
	// +optional
	ResumedValue *apiextensionsv1.JSON `json:"resumedValue,omitempty"`
}

// JobKindStop says how a running job is ended.
type JobKindStop struct {
	// path of the field; that of suspend without it.
	// +optional
	Path FieldPath `json:"path,omitempty"`
	// values of the field by which a job is ended. The first is written to stop a job; one that has another was stopped by its user.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Values []apiextensionsv1.JSON `json:"values"`
}

// JobKindProgress says what is read from a job. An expression that fails says nothing, but for active: a job whose status cannot be read
// counts as active.
type JobKindProgress struct {
	// active tells whether pods of the job may still be running. The quota of a stopped job is kept until it is false.
	Active Expression `json:"active"`
	// terminating tells whether pods of the job are being terminated.
	// +optional
	Terminating Expression `json:"terminating,omitempty"`
	// ready tells whether all pods are ready or have succeeded; whether the job is active, without it. A suspended job never is.
	// +optional
	Ready Expression `json:"ready,omitempty"`
	// succeeded tells whether the job has ended well.
	// +optional
	Succeeded Expression `json:"succeeded,omitempty"`
	// failed tells whether the job has ended otherwise.
	// +optional
	Failed Expression `json:"failed,omitempty"`
	// message returns the job's own account of its end.
	// +optional
	Message Expression `json:"message,omitempty"`
	// reclaimablePods returns how many pods need their quota no more: a list of maps of the name of a pod set and a count.
	// +optional
	ReclaimablePods Expression `json:"reclaimablePods,omitempty"`
}

// JobKindDispatch says how jobs of the kind run on other clusters.
type JobKindDispatch struct {
	// managedBy is the field that names the controller which is responsible for a job. A kind whose controllers leave jobs alone that
	// name another controller can be dispatched, and no other.
	ManagedBy JobKindManagedBy `json:"managedBy"`
	// statusPaths are what of a remote job's status is copied; the whole status without them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	StatusPaths []FieldPath `json:"statusPaths,omitempty"`
	// dropPaths are what of a job is left out of its copy on another cluster, such as a time after which the copy would delete itself.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	DropPaths []FieldPath `json:"dropPaths,omitempty"`
}

// JobKindManagedBy is a field that names the controller which is responsible for a job.
type JobKindManagedBy struct {
	// path of the field.
	// +kubebuilder:default="spec.managedBy"
	// +optional
	Path FieldPath `json:"path,omitempty"`
	// default is the value that means the kind's own controller, besides none.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Default string `json:"default,omitempty"`
}

// JobKindStatus is what has become of a declaration.
type JobKindStatus struct {
	// observedGeneration is the generation of the spec that the conditions are about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions are Accepted and Serving.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
