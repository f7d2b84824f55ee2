package config

// The webhooks of job kinds (contract: kueue-api.md 8.5). Their handlers are
// derived from the declarations in worker/job; a kind that is switched off is
// answered by a handler that allows everything, so that this list can be static.

// +kubebuilder:webhook:mutating=true,path=/mutate-batch-v1-job,failurePolicy=fail,sideEffects=None,groups=batch,resources=jobs,verbs=create,versions=v1,name=mjob.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system
// +kubebuilder:webhook:mutating=false,path=/validate-batch-v1-job,failurePolicy=fail,sideEffects=None,groups=batch,resources=jobs,verbs=create;update,versions=v1,name=vjob.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system

// +kubebuilder:webhook:mutating=true,path=/mutate-jobset-x-k8s-io-v1alpha2-jobset,failurePolicy=fail,sideEffects=None,groups=jobset.x-k8s.io,resources=jobsets,verbs=create,versions=v1alpha2,name=mjobset.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system
// +kubebuilder:webhook:mutating=false,path=/validate-jobset-x-k8s-io-v1alpha2-jobset,failurePolicy=fail,sideEffects=None,groups=jobset.x-k8s.io,resources=jobsets,verbs=create;update,versions=v1alpha2,name=vjobset.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system

// +kubebuilder:webhook:mutating=true,path=/mutate-trainer-kubeflow-org-v1alpha1-trainjob,failurePolicy=fail,sideEffects=None,groups=trainer.kubeflow.org,resources=trainjobs,verbs=create,versions=v1alpha1,name=mtrainjob.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system
// +kubebuilder:webhook:mutating=false,path=/validate-trainer-kubeflow-org-v1alpha1-trainjob,failurePolicy=fail,sideEffects=None,groups=trainer.kubeflow.org,resources=trainjobs,verbs=create;update,versions=v1alpha1,name=vtrainjob.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system

// +kubebuilder:webhook:mutating=true,path=/mutate-kubeflow-org-v2beta1-mpijob,failurePolicy=fail,sideEffects=None,groups=kubeflow.org,resources=mpijobs,verbs=create,versions=v2beta1,name=mmpijob.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system
// +kubebuilder:webhook:mutating=false,path=/validate-kubeflow-org-v2beta1-mpijob,failurePolicy=fail,sideEffects=None,groups=kubeflow.org,resources=mpijobs,verbs=create;update,versions=v2beta1,name=vmpijob.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system

// +kubebuilder:webhook:mutating=true,path=/mutate-kubeflow-org-v1-tfjob,failurePolicy=fail,sideEffects=None,groups=kubeflow.org,resources=tfjobs,verbs=create,versions=v1,name=mtfjob.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system
// +kubebuilder:webhook:mutating=false,path=/validate-kubeflow-org-v1-tfjob,failurePolicy=fail,sideEffects=None,groups=kubeflow.org,resources=tfjobs,verbs=create;update,versions=v1,name=vtfjob.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system

// +kubebuilder:webhook:mutating=true,path=/mutate-kubeflow-org-v1-pytorchjob,failurePolicy=fail,sideEffects=None,groups=kubeflow.org,resources=pytorchjobs,verbs=create,versions=v1,name=mpytorchjob.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system
// +kubebuilder:webhook:mutating=false,path=/validate-kubeflow-org-v1-pytorchjob,failurePolicy=fail,sideEffects=None,groups=kubeflow.org,resources=pytorchjobs,verbs=create;update,versions=v1,name=vpytorchjob.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system

// +kubebuilder:webhook:mutating=true,path=/mutate-kubeflow-org-v1-paddlejob,failurePolicy=fail,sideEffects=None,groups=kubeflow.org,resources=paddlejobs,verbs=create,versions=v1,name=mpaddlejob.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system
// +kubebuilder:webhook:mutating=false,path=/validate-kubeflow-org-v1-paddlejob,failurePolicy=fail,sideEffects=None,groups=kubeflow.org,resources=paddlejobs,verbs=create;update,versions=v1,name=vpaddlejob.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system

// +kubebuilder:webhook:mutating=true,path=/mutate-kubeflow-org-v1-xgboostjob,failurePolicy=fail,sideEffects=None,groups=kubeflow.org,resources=xgboostjobs,verbs=create,versions=v1,name=mxgboostjob.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system
// +kubebuilder:webhook:mutating=false,path=/validate-kubeflow-org-v1-xgboostjob,failurePolicy=fail,sideEffects=None,groups=kubeflow.org,resources=xgboostjobs,verbs=create;update,versions=v1,name=vxgboostjob.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system

// +kubebuilder:webhook:mutating=true,path=/mutate-kubeflow-org-v1-jaxjob,failurePolicy=fail,sideEffects=None,groups=kubeflow.org,resources=jaxjobs,verbs=create,versions=v1,name=mjaxjob.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system
// +kubebuilder:webhook:mutating=false,path=/validate-kubeflow-org-v1-jaxjob,failurePolicy=fail,sideEffects=None,groups=kubeflow.org,resources=jaxjobs,verbs=create;update,versions=v1,name=vjaxjob.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system

// +kubebuilder:webhook:mutating=true,path=/mutate-sparkoperator-k8s-io-v1beta2-sparkapplication,failurePolicy=fail,sideEffects=None,groups=sparkoperator.k8s.io,resources=sparkapplications,verbs=create,versions=v1beta2,name=msparkapplication.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system
// +kubebuilder:webhook:mutating=false,path=/validate-sparkoperator-k8s-io-v1beta2-sparkapplication,failurePolicy=fail,sideEffects=None,groups=sparkoperator.k8s.io,resources=sparkapplications,verbs=create;update,versions=v1beta2,name=vsparkapplication.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system
// +kubebuilder:webhook:mutating=true,path=/mutate-workload-codeflare-dev-v1beta2-appwrapper,failurePolicy=fail,sideEffects=None,groups=workload.codeflare.dev,resources=appwrappers,verbs=create,versions=v1beta2,name=mappwrapper.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system
// +kubebuilder:webhook:mutating=false,path=/validate-workload-codeflare-dev-v1beta2-appwrapper,failurePolicy=fail,sideEffects=None,groups=workload.codeflare.dev,resources=appwrappers,verbs=create;update,versions=v1beta2,name=vappwrapper.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system
// +kubebuilder:webhook:mutating=true,path=/mutate-ray-io-v1-raycluster,failurePolicy=fail,sideEffects=None,groups=ray.io,resources=rayclusters,verbs=create,versions=v1,name=mraycluster.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system
// +kubebuilder:webhook:mutating=false,path=/validate-ray-io-v1-raycluster,failurePolicy=fail,sideEffects=None,groups=ray.io,resources=rayclusters,verbs=create;update,versions=v1,name=vraycluster.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system

// +kubebuilder:webhook:mutating=true,path=/mutate-ray-io-v1-rayjob,failurePolicy=fail,sideEffects=None,groups=ray.io,resources=rayjobs,verbs=create,versions=v1,name=mrayjob.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system
// +kubebuilder:webhook:mutating=false,path=/validate-ray-io-v1-rayjob,failurePolicy=fail,sideEffects=None,groups=ray.io,resources=rayjobs,verbs=create;update,versions=v1,name=vrayjob.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system

// +kubebuilder:webhook:mutating=true,path=/mutate-ray-io-v1-rayservice,failurePolicy=fail,sideEffects=None,groups=ray.io,resources=rayservices,verbs=create,versions=v1,name=mrayservice.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system
// +kubebuilder:webhook:mutating=false,path=/validate-ray-io-v1-rayservice,failurePolicy=fail,sideEffects=None,groups=ray.io,resources=rayservices,verbs=create;update,versions=v1,name=vrayservice.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system

// +kubebuilder:webhook:mutating=true,path=/mutate-leaderworkerset-x-k8s-io-v1-leaderworkerset,failurePolicy=fail,sideEffects=None,groups=leaderworkerset.x-k8s.io,resources=leaderworkersets,verbs=create;update,versions=v1,name=mleaderworkerset.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system
// +kubebuilder:webhook:mutating=false,path=/validate-leaderworkerset-x-k8s-io-v1-leaderworkerset,failurePolicy=fail,sideEffects=None,groups=leaderworkerset.x-k8s.io,resources=leaderworkersets,verbs=create;update,versions=v1,name=vleaderworkerset.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system
