package cluster

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/workeraccess"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/cmd/switchctl/cli"
	"switchyard.dev/cmd/switchctl/exit"
	"switchyard.dev/cmd/switchctl/kubeclient"
	"switchyard.dev/cmd/switchctl/show"
)

// checkViewer says what the hub may show its users of their jobs on a cluster, and tests with the account for it that it may. None of it
// keeps a job from running.
func checkViewer(ctx context.Context, a *cli.App, hub *kubeclient.Client, cluster string, jobs []workeraccess.JobResource) show.Finding {
	f := show.Finding{Subject: "access", Result: show.Passed}
	secret := &corev1.Secret{}
	err := hub.Get(ctx, client.ObjectKey{Namespace: a.SystemNamespace, Name: workeraccess.ViewerSecretName(cluster)}, secret)
	switch {
	case exit.Code(err) == exit.NotFound:
		f.Detail = fmt.Sprintf("none: users of the hub see no pods and logs there (cluster register %s --access logs)", cluster)
		return f
	case err != nil:
		f.Result, f.Detail, f.Remedy = show.Warned, err.Error(), "without it the access cannot be checked from here"
		return f
	}
	level, where := workeraccess.Level(secret.Labels[workeraccess.LevelLabel]), []string{""}
	remedy := fmt.Sprintf("cluster register %s --context CONTEXT --access %s", cluster, level)
	if named := secret.Annotations[workeraccess.NamespacesAnnotation]; named != "" {
		where = strings.Split(named, ",")
		remedy += " --access-namespaces " + named
	}
	if level != workeraccess.LevelLogs && level != workeraccess.LevelExec {
		f.Result, f.Detail = show.Warned, fmt.Sprintf("Secret %s does not say by the label %s what it is for", secret.Name, workeraccess.LevelLabel)
		f.Remedy = fmt.Sprintf("cluster register %s --context CONTEXT --access logs", cluster)
		return f
	}
	raw := secret.Data[kueue.MultiKueueConfigSecretKey]
	token := checkToken(a, cluster, raw)
	if token.Result != show.Passed {
		f.Result, f.Detail, f.Remedy = show.Warned, fmt.Sprintf("%s: token %s", level, token.Detail), token.Remedy
		return f
	}
	worker, err := a.Clusters.Credentials(raw)
	if err != nil {
		f.Result, f.Detail, f.Remedy = show.Warned, err.Error(), remedy
		return f
	}
	f.Detail = fmt.Sprintf("%s, in %s; token %s", level, namespacesText(where), token.Detail)
	var wanted []authorizationv1.ResourceAttributes
	for _, namespace := range where {
		wanted = append(wanted, resourceAttributes(workeraccess.ViewerRules(level, jobs...), namespace)...)
	}
	return checkAccess(ctx, worker, wanted, f, show.Finding{
		Result: show.Warned, Detail: fmt.Sprintf("%s, in %s, but the hub's second account may not ", level, namespacesText(where)), Remedy: remedy,
	})
}

// namespacesText names namespaces for a sentence.
func namespacesText(list []string) string {
	if len(list) == 1 && list[0] == "" {
		return "every namespace"
	}
	return strings.Join(list, ", ")
}
