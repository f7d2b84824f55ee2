// Package kubeflow declares the kinds of job of the training operator: TFJob, PyTorchJob, XGBoostJob, PaddleJob and JAXJob of
// kubeflow.org/v1 (contract: job-kinds.md 2). They are one declaration with five names.
package kubeflow

import (
	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/worker/job"
)

// +kubebuilder:rbac:groups=kubeflow.org,resources=tfjobs;pytorchjobs;xgboostjobs;paddlejobs;jaxjobs,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=kubeflow.org,resources=tfjobs/status;pytorchjobs/status;xgboostjobs/status;paddlejobs/status;jaxjobs/status,verbs=patch
// +kubebuilder:rbac:groups=kubeflow.org,resources=tfjobs/finalizers;pytorchjobs/finalizers;xgboostjobs/finalizers;paddlejobs/finalizers;jaxjobs/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=pods,verbs=list
// +kubebuilder:webhook:path=/mutate-kubeflow-org-v1-tfjob,mutating=true,failurePolicy=fail,sideEffects=None,groups=kubeflow.org,resources=tfjobs,verbs=create,versions=v1,name=mtfjob.kb.io,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/validate-kubeflow-org-v1-tfjob,mutating=false,failurePolicy=fail,sideEffects=None,groups=kubeflow.org,resources=tfjobs,verbs=create;update,versions=v1,name=vtfjob.kb.io,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/mutate-kubeflow-org-v1-pytorchjob,mutating=true,failurePolicy=fail,sideEffects=None,groups=kubeflow.org,resources=pytorchjobs,verbs=create,versions=v1,name=mpytorchjob.kb.io,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/validate-kubeflow-org-v1-pytorchjob,mutating=false,failurePolicy=fail,sideEffects=None,groups=kubeflow.org,resources=pytorchjobs,verbs=create;update,versions=v1,name=vpytorchjob.kb.io,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/mutate-kubeflow-org-v1-xgboostjob,mutating=true,failurePolicy=fail,sideEffects=None,groups=kubeflow.org,resources=xgboostjobs,verbs=create,versions=v1,name=mxgboostjob.kb.io,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/validate-kubeflow-org-v1-xgboostjob,mutating=false,failurePolicy=fail,sideEffects=None,groups=kubeflow.org,resources=xgboostjobs,verbs=create;update,versions=v1,name=vxgboostjob.kb.io,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/mutate-kubeflow-org-v1-paddlejob,mutating=true,failurePolicy=fail,sideEffects=None,groups=kubeflow.org,resources=paddlejobs,verbs=create,versions=v1,name=mpaddlejob.kb.io,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/validate-kubeflow-org-v1-paddlejob,mutating=false,failurePolicy=fail,sideEffects=None,groups=kubeflow.org,resources=paddlejobs,verbs=create;update,versions=v1,name=vpaddlejob.kb.io,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/mutate-kubeflow-org-v1-jaxjob,mutating=true,failurePolicy=fail,sideEffects=None,groups=kubeflow.org,resources=jaxjobs,verbs=create,versions=v1,name=mjaxjob.kb.io,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/validate-kubeflow-org-v1-jaxjob,mutating=false,failurePolicy=fail,sideEffects=None,groups=kubeflow.org,resources=jaxjobs,verbs=create;update,versions=v1,name=vjaxjob.kb.io,admissionReviewVersions=v1

// TFKind returns the declaration of TFJob.
func TFKind() job.Kind[*kubeflow.TFJob] { return tensorFlow().declare() }

// TFExamples returns a TFJob and what its operator makes of its status.
func TFExamples() job.Examples[*kubeflow.TFJob] { return tensorFlow().examples() }

func tensorFlow() variety[*kubeflow.TFJob] {
	return variety[*kubeflow.TFJob]{
		kind: kubeflow.TFJobKind, field: "tfReplicaSpecs",
		types: []kubeflow.ReplicaType{
			kubeflow.TFJobReplicaTypeChief, kubeflow.TFJobReplicaTypeMaster, kubeflow.TFJobReplicaTypePS,
			kubeflow.TFJobReplicaTypeWorker, kubeflow.TFJobReplicaTypeEval,
		},
		newJob:  func() *kubeflow.TFJob { return &kubeflow.TFJob{} },
		newList: func() client.ObjectList { return &kubeflow.TFJobList{} },
		parts:   func(j *kubeflow.TFJob) parts { return parts{&j.Spec.RunPolicy, &j.Spec.TFReplicaSpecs, &j.Status} },
	}
}

// PyTorchKind returns the declaration of PyTorchJob.
func PyTorchKind() job.Kind[*kubeflow.PyTorchJob] { return pyTorch().declare() }

// PyTorchExamples returns a PyTorchJob and what its operator makes of its status.
func PyTorchExamples() job.Examples[*kubeflow.PyTorchJob] { return pyTorch().examples() }

func pyTorch() variety[*kubeflow.PyTorchJob] {
	return variety[*kubeflow.PyTorchJob]{
		kind: kubeflow.PyTorchJobKind, field: "pytorchReplicaSpecs",
		types:   []kubeflow.ReplicaType{kubeflow.PyTorchJobReplicaTypeMaster, kubeflow.PyTorchJobReplicaTypeWorker},
		newJob:  func() *kubeflow.PyTorchJob { return &kubeflow.PyTorchJob{} },
		newList: func() client.ObjectList { return &kubeflow.PyTorchJobList{} },
		parts: func(j *kubeflow.PyTorchJob) parts {
			return parts{&j.Spec.RunPolicy, &j.Spec.PyTorchReplicaSpecs, &j.Status}
		},
	}
}

// XGBoostKind returns the declaration of XGBoostJob.
func XGBoostKind() job.Kind[*kubeflow.XGBoostJob] { return xgBoost().declare() }

// XGBoostExamples returns an XGBoostJob and what its operator makes of its status.
func XGBoostExamples() job.Examples[*kubeflow.XGBoostJob] { return xgBoost().examples() }

func xgBoost() variety[*kubeflow.XGBoostJob] {
	return variety[*kubeflow.XGBoostJob]{
		kind: kubeflow.XGBoostJobKind, field: "xgbReplicaSpecs",
		types:   []kubeflow.ReplicaType{kubeflow.XGBoostJobReplicaTypeMaster, kubeflow.XGBoostJobReplicaTypeWorker},
		newJob:  func() *kubeflow.XGBoostJob { return &kubeflow.XGBoostJob{} },
		newList: func() client.ObjectList { return &kubeflow.XGBoostJobList{} },
		parts: func(j *kubeflow.XGBoostJob) parts {
			return parts{&j.Spec.RunPolicy, &j.Spec.XGBReplicaSpecs, &j.Status}
		},
	}
}

// PaddleKind returns the declaration of PaddleJob.
func PaddleKind() job.Kind[*kubeflow.PaddleJob] { return paddle().declare() }

// PaddleExamples returns a PaddleJob and what its operator makes of its status.
func PaddleExamples() job.Examples[*kubeflow.PaddleJob] { return paddle().examples() }

func paddle() variety[*kubeflow.PaddleJob] {
	return variety[*kubeflow.PaddleJob]{
		kind: kubeflow.PaddleJobKind, field: "paddleReplicaSpecs",
		types:   []kubeflow.ReplicaType{kubeflow.PaddleJobReplicaTypeMaster, kubeflow.PaddleJobReplicaTypeWorker},
		newJob:  func() *kubeflow.PaddleJob { return &kubeflow.PaddleJob{} },
		newList: func() client.ObjectList { return &kubeflow.PaddleJobList{} },
		parts: func(j *kubeflow.PaddleJob) parts {
			return parts{&j.Spec.RunPolicy, &j.Spec.PaddleReplicaSpecs, &j.Status}
		},
	}
}

// JAXKind returns the declaration of JAXJob.
func JAXKind() job.Kind[*kubeflow.JAXJob] { return jax().declare() }

// JAXExamples returns a JAXJob and what its operator makes of its status.
func JAXExamples() job.Examples[*kubeflow.JAXJob] { return jax().examples() }

func jax() variety[*kubeflow.JAXJob] {
	return variety[*kubeflow.JAXJob]{
		kind: kubeflow.JAXJobKind, field: "jaxReplicaSpecs",
		types:   []kubeflow.ReplicaType{kubeflow.JAXJobReplicaTypeWorker},
		newJob:  func() *kubeflow.JAXJob { return &kubeflow.JAXJob{} },
		newList: func() client.ObjectList { return &kubeflow.JAXJobList{} },
		parts:   func(j *kubeflow.JAXJob) parts { return parts{&j.Spec.RunPolicy, &j.Spec.JAXReplicaSpecs, &j.Status} },
	}
}
