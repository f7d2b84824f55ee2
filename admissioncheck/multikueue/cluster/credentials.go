package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	inventory "sigs.k8s.io/cluster-inventory-api/apis/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/fleet"
	"switchyard.dev/admissioncheck/multikueue/kubeconfig"
	"switchyard.dev/admissioncheck/multikueue/profile"
	configapi "switchyard.dev/apis/config/v1beta2"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// credentialsError is why a cluster has no credentials that can be used: the reason of its condition, and the cause.
type credentialsError struct {
	reason kueue.Reason
	err    error
}

// Error implements error with the message of the condition (contract: multikueue.md 2).
func (b *credentialsError) Error() string { return fmt.Sprintf("load client config failed: %v", b.err) }

// isRetriable tells whether to look again although no event will say so. A Secret that is missing, and all that a kubeconfig or a
// profile says, is told by events.
func (b *credentialsError) isRetriable() bool {
	return b.reason == kueue.ReasonBadKubeConfig && !apierrors.IsNotFound(b.err)
}

// Unwrap implements errors.Unwrap.
func (b *credentialsError) Unwrap() error { return b.err }

// CredentialSources says where credentials may come from, as the Configuration and its gates have it.
type CredentialSources struct {
	// AllowAnyPath lets kubeconfig files be anywhere: the gate MultiKueueKubeConfigPathValidation is off.
	AllowAnyPath bool
	// AllowProfiles is the gate MultiKueueClusterProfile, Providers are the access providers for them, the preferred one first.
	AllowProfiles bool
	Providers     []configapi.ClusterProfileAccessProvider
}

// ProfileReader finds ClusterProfiles of the hub's namespace; profile.ErrUnknown if it cannot tell yet.
type ProfileReader interface {
	Get(ctx context.Context, name string) (*inventory.ClusterProfile, error)
}

// CredentialsLoader finds the credentials of MultiKueueClusters. It runs no program and calls no cluster.
type CredentialsLoader struct {
	// Secrets reads Secrets of Namespace, the hub's own.
	Secrets   client.Reader
	Namespace string
	// PathPrefix is the directory below which kubeconfig files are allowed, empty if they are anywhere.
	PathPrefix string
	// Profiles is nil while cluster profiles are switched off.
	Profiles ProfileReader
	// Providers are asked for access to the cluster of a profile.
	Providers []configapi.ClusterProfileAccessProvider
}

// load returns the credentials of a cluster, a *credentialsError, or profile.ErrUnknown.
func (c CredentialsLoader) load(ctx context.Context, cluster *kueue.MultiKueueCluster) (fleet.Credentials, error) {
	source := cluster.Spec.ClusterSource
	switch {
	case source.ClusterProfileRef != nil:
		return c.loadFromProfile(ctx, source.ClusterProfileRef.Name)
	case source.KubeConfig == nil:
		return fleet.Credentials{}, &credentialsError{kueue.ReasonBadKubeConfig, errors.New("no cluster source is given")}
	}
	raw, err := c.readKubeconfig(ctx, source.KubeConfig)
	if err != nil {
		return fleet.Credentials{}, &credentialsError{kueue.ReasonBadKubeConfig, err}
	}
	config, err := kubeconfig.Parse(raw)
	switch {
	case errors.Is(err, kubeconfig.ErrInsecure):
		return fleet.Credentials{}, &credentialsError{kueue.ReasonInsecureKubeConfig, err}
	case err != nil:
		return fleet.Credentials{}, &credentialsError{kueue.ReasonBadKubeConfig, err}
	}
	sum := sha256.Sum256(raw)
	return fleet.Credentials{Config: config, Fingerprint: hex.EncodeToString(sum[:])}, nil
}

// readKubeconfig returns the kubeconfig as it is stored, in a Secret of the hub's namespace or in a file below the prefix.
func (c CredentialsLoader) readKubeconfig(ctx context.Context, from *kueue.KubeConfig) ([]byte, error) {
	if from.LocationType == kueue.PathLocationType {
		return kubeconfig.ReadPath(c.PathPrefix, from.Location)
	}
	secret := &corev1.Secret{}
	if err := c.Secrets.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: from.Location}, secret); err != nil {
		return nil, err
	}
	raw, ok := secret.Data[kueue.MultiKueueConfigSecretKey]
	if !ok {
		return nil, fmt.Errorf("key %q not found in secret %q", kueue.MultiKueueConfigSecretKey, from.Location)
	}
	return raw, nil
}

// loadFromProfile returns the credentials that a ClusterProfile gives. They hold a program to run, but nothing runs it here.
func (c CredentialsLoader) loadFromProfile(ctx context.Context, name string) (fleet.Credentials, error) {
	if c.Profiles == nil {
		return fleet.Credentials{}, &credentialsError{
			kueue.ReasonMultiKueueClusterProfileFeatureDisabled, errors.New("MultiKueueClusterProfile feature gate is disabled"),
		}
	}
	found, err := c.Profiles.Get(ctx, name)
	switch {
	case errors.Is(err, profile.ErrUnknown):
		return fleet.Credentials{}, err
	case err != nil:
		return fleet.Credentials{}, &credentialsError{kueue.ReasonBadClusterProfile, err}
	}
	credentials, err := profile.Credentials(found, c.Providers)
	switch {
	case errors.Is(err, profile.ErrBadConfig):
		return fleet.Credentials{}, &credentialsError{kueue.ReasonBadRestConfig, err}
	case err != nil:
		return fleet.Credentials{}, &credentialsError{kueue.ReasonBadClusterProfile, err}
	}
	return credentials, nil
}
