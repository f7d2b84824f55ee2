// Package pods has the webhooks of objects that every cluster is full of: pods, Deployments and StatefulSets (contract: kueue-api.md 8.5). They
// fail closed as all others, so they are no part of config/webhook, but laid over it where the configuration asks for one of them
// (contract: job-kinds.md 1.11). The kinds themselves are declared in worker/job.
package pods

// +kubebuilder:webhookconfiguration:mutating=true,name=kueue-mutating-webhook-configuration
// +kubebuilder:webhookconfiguration:mutating=false,name=kueue-validating-webhook-configuration

// +kubebuilder:webhook:mutating=true,path=/mutate--v1-pod,failurePolicy=fail,sideEffects=None,groups="",resources=pods,verbs=create,versions=v1,name=mpod.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system
// +kubebuilder:webhook:mutating=false,path=/validate--v1-pod,failurePolicy=fail,sideEffects=None,groups="",resources=pods,verbs=create;update,versions=v1,name=vpod.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system

// +kubebuilder:webhook:mutating=true,path=/mutate-apps-v1-deployment,failurePolicy=fail,sideEffects=None,groups=apps,resources=deployments,verbs=create;update,versions=v1,name=mdeployment.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system
// +kubebuilder:webhook:mutating=false,path=/validate-apps-v1-deployment,failurePolicy=fail,sideEffects=None,groups=apps,resources=deployments,verbs=create;update,versions=v1,name=vdeployment.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system

// +kubebuilder:webhook:mutating=true,path=/mutate-apps-v1-statefulset,failurePolicy=fail,sideEffects=None,groups=apps,resources=statefulsets,verbs=create;update,versions=v1,name=mstatefulset.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system
// +kubebuilder:webhook:mutating=false,path=/validate-apps-v1-statefulset,failurePolicy=fail,sideEffects=None,groups=apps,resources=statefulsets,verbs=create;update,versions=v1,name=vstatefulset.kb.io,admissionReviewVersions=v1,serviceName=kueue-webhook-service,serviceNamespace=kueue-system
