package apiserver

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/authorization/union"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes"
)

// +kubebuilder:rbac:groups=flowcontrol.apiserver.k8s.io,resources=flowschemas;prioritylevelconfigurations,verbs=list;watch
// +kubebuilder:rbac:groups=flowcontrol.apiserver.k8s.io,resources=flowschemas/status,verbs=patch

// The ConfigMap in which a cluster's API server says by what certificates it, and clients, identify themselves; and the Role that
// lets it be read.
const (
	authenticationNamespace = "kube-system"
	authenticationConfigMap = "extension-apiserver-authentication"
	authenticationRole      = "extension-apiserver-authentication-reader"
)

const (
	// answerLifetime is how long the cluster's answers to reviews hold.
	answerLifetime = 10 * time.Second
	reviewTimeout  = 10 * time.Second
	// readRetry is how often to try again to read the ConfigMap.
	readRetry = 10 * time.Second
)

// reviewBackoff is when to ask again if the cluster's API server does not answer a review.
func reviewBackoff() *wait.Backoff {
	return &wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 5}
}

// identities say who a client is: whom the cluster's API server names in headers, beside a certificate of its own; whose certificate
// the cluster has signed; and whose token it knows. All others are refused.
type identities struct {
	client kubernetes.Interface
	log    logr.Logger
	info   genericapiserver.AuthenticationInfo
	// followers follow the ConfigMap, once it can be read.
	followers []dynamiccertificates.ControllerRunner
}

func newIdentities(client kubernetes.Interface, log logr.Logger) (*identities, error) {
	clients, err := authority(client, "client-ca", "client-ca-file")
	if err != nil {
		return nil, err
	}
	proxies, err := authority(client, "request-header-ca", "requestheader-client-ca-file")
	if err != nil {
		return nil, err
	}
	headers := headerrequest.NewRequestHeaderAuthRequestController(authenticationConfigMap, authenticationNamespace, client,
		"requestheader-username-headers", "requestheader-uid-headers", "requestheader-group-headers",
		"requestheader-extra-headers-prefix", "requestheader-allowed-names")
	fromProxy := &authenticatorfactory.RequestHeaderConfig{
		UsernameHeaders:     headerrequest.StringSliceProviderFunc(headers.UsernameHeaders),
		UIDHeaders:          headerrequest.StringSliceProviderFunc(headers.UIDHeaders),
		GroupHeaders:        headerrequest.StringSliceProviderFunc(headers.GroupHeaders),
		ExtraHeaderPrefixes: headerrequest.StringSliceProviderFunc(headers.ExtraHeaderPrefixes),
		AllowedClientNames:  headerrequest.StringSliceProviderFunc(headers.AllowedClientNames),
		CAContentProvider:   proxies,
	}
	authenticator, _, err := authenticatorfactory.DelegatingAuthenticatorConfig{
		TokenAccessReviewClient:            client.AuthenticationV1(),
		TokenAccessReviewTimeout:           reviewTimeout,
		WebhookRetryBackoff:                reviewBackoff(),
		CacheTTL:                           answerLifetime,
		ClientCertificateCAContentProvider: clients,
		RequestHeaderConfig:                fromProxy,
	}.New()
	if err != nil {
		return nil, fmt.Errorf("authenticate clients: %w", err)
	}
	return &identities{
		client: client, log: log,
		info:      genericapiserver.AuthenticationInfo{Authenticator: authenticator, RequestHeaderConfig: fromProxy},
		followers: []dynamiccertificates.ControllerRunner{clients, proxies, headers},
	}, nil
}

// authority is the certificate authority under a key of the ConfigMap.
func authority(client kubernetes.Interface, purpose, key string) (*dynamiccertificates.ConfigMapCAController, error) {
	ca, err := dynamiccertificates.NewDynamicCAFromConfigMapController(purpose, authenticationNamespace, authenticationConfigMap, key, client)
	if err != nil {
		return nil, fmt.Errorf("follow %s of ConfigMap %s: %w", key, authenticationConfigMap, err)
	}
	return ca, nil
}

// follow follows the ConfigMap until the context ends. While it cannot be read, the rest of the program runs on, and only tokens
// identify clients.
func (i *identities) follow(ctx context.Context) {
	if !i.waitReadable(ctx) {
		return
	}
	for _, f := range i.followers {
		go f.Run(ctx, 1)
	}
	<-ctx.Done()
}

// waitReadable returns when the ConfigMap can be read, and says once what is missing until then; false if the context ended.
func (i *identities) waitReadable(ctx context.Context) bool {
	told := ""
	err := wait.PollUntilContextCancel(ctx, readRetry, true, func(ctx context.Context) (bool, error) {
		_, err := i.client.CoreV1().ConfigMaps(authenticationNamespace).Get(ctx, authenticationConfigMap, metav1.GetOptions{})
		if err != nil && ctx.Err() == nil && err.Error() != told {
			told = err.Error()
			i.log.Error(err, missing(err), "configMap", authenticationNamespace+"/"+authenticationConfigMap, "role", authenticationRole)
		}
		return err == nil, nil
	})
	if err == nil && told != "" {
		i.log.Info("Clients of the cluster's API server are known again")
	}
	return err == nil
}

// missing says what an administrator has to do about an error.
func missing(err error) string {
	if apierrors.IsForbidden(err) {
		return "The aggregation layer's requests are refused until the program may read how it identifies itself: " +
			"bind the role in kube-system to the program's account, as RoleBinding visibility-server-auth-reader does; trying again"
	}
	return "The aggregation layer's requests are refused until it is known how it identifies itself; trying again"
}

// newAuthorizer asks the cluster's API server what a client may do. Its own account, and all else of the group that it lets do
// anything, need no question.
func newAuthorizer(client kubernetes.Interface) (authorizer.Authorizer, error) {
	delegated, err := authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: client.AuthorizationV1(),
		AllowCacheTTL:             answerLifetime,
		DenyCacheTTL:              answerLifetime,
		WebhookRetryBackoff:       reviewBackoff(),
	}.New()
	if err != nil {
		return nil, fmt.Errorf("authorize clients: %w", err)
	}
	return union.New(
		union.NamedAuthorizer{AuthorizerName: "Privileged", Authorizer: authorizerfactory.NewPrivilegedGroups(user.SystemPrivilegedGroup)},
		union.NamedAuthorizer{AuthorizerName: "Delegated", Authorizer: delegated},
	)
}
