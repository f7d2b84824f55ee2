package webhook

// The webhooks of the queue kinds (contract: kueue-api.md 8.5). They see
// v1beta2 only: the API server converts requests of v1beta1 before.

// +kubebuilder:webhook:mutating=true,path=/mutate-kueue-x-k8s-io-v1beta2-clusterqueue,failurePolicy=fail,sideEffects=None,groups=kueue.x-k8s.io,resources=clusterqueues,verbs=create,versions=v1beta2,name=mclusterqueue.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system
// +kubebuilder:webhook:mutating=false,path=/validate-kueue-x-k8s-io-v1beta2-clusterqueue,failurePolicy=fail,sideEffects=None,groups=kueue.x-k8s.io,resources=clusterqueues,verbs=create;update,versions=v1beta2,name=vclusterqueue.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system

// +kubebuilder:webhook:mutating=false,path=/validate-kueue-x-k8s-io-v1beta2-cohort,failurePolicy=fail,sideEffects=None,groups=kueue.x-k8s.io,resources=cohorts,verbs=create;update,versions=v1beta2,name=vcohort.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system

// +kubebuilder:webhook:mutating=true,path=/mutate-kueue-x-k8s-io-v1beta2-resourceflavor,failurePolicy=fail,sideEffects=None,groups=kueue.x-k8s.io,resources=resourceflavors,verbs=create,versions=v1beta2,name=mresourceflavor.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system
// +kubebuilder:webhook:mutating=false,path=/validate-kueue-x-k8s-io-v1beta2-resourceflavor,failurePolicy=fail,sideEffects=None,groups=kueue.x-k8s.io,resources=resourceflavors,verbs=create;update,versions=v1beta2,name=vresourceflavor.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system

// +kubebuilder:webhook:mutating=true,path=/mutate-kueue-x-k8s-io-v1beta2-workload,failurePolicy=fail,sideEffects=None,groups=kueue.x-k8s.io,resources=workloads,verbs=create,versions=v1beta2,name=mworkload.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system
// +kubebuilder:webhook:mutating=false,path=/validate-kueue-x-k8s-io-v1beta2-workload,failurePolicy=fail,sideEffects=None,groups=kueue.x-k8s.io,resources=workloads;workloads/status,verbs=create;update,versions=v1beta2,name=vworkload.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system
