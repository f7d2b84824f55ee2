package controller

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/fleet"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// credentialsError is why a cluster has no credentials that can be used: the reason of its condition, and the cause.
type credentialsError struct {
	reason kueue.Reason
	err    error
}

// Error implements error with the message of the condition (contract: multikueue.md 2).
func (b *credentialsError) Error() string { return fmt.Sprintf("load client config failed: %v", b.err) }

// Unwrap implements errors.Unwrap.
func (b *credentialsError) Unwrap() error { return b.err }

// Credentials finds the credentials of MultiKueueClusters.
type Credentials struct {
	// Secrets reads Secrets of Namespace, the hub's own.
	Secrets   client.Reader
	Namespace string
	// PathPrefix is the directory below which kubeconfig files are allowed.
	PathPrefix string
	// Profiles tells whether cluster profiles are switched on (gate MultiKueueClusterProfile).
	Profiles bool
}

// of returns the credentials of a cluster, or a *credentialsError.
func (c Credentials) of(ctx context.Context, cluster *kueue.MultiKueueCluster) (fleet.Credentials, error) {
	source := cluster.Spec.ClusterSource
	switch {
	case source.ClusterProfileRef != nil && !c.Profiles:
		return fleet.Credentials{}, &credentialsError{
			kueue.ReasonMultiKueueClusterProfileFeatureDisabled, errors.New("the feature gate MultiKueueClusterProfile is off"),
		}
	case source.ClusterProfileRef != nil:
		return fleet.Credentials{}, &credentialsError{kueue.ReasonBadClusterProfile, errors.New("no access provider configured")}
	case source.KubeConfig == nil:
		return fleet.Credentials{}, &credentialsError{kueue.ReasonBadKubeConfig, errors.New("no cluster source is given")}
	}
	raw, err := c.read(ctx, source.KubeConfig)
	if err != nil {
		return fleet.Credentials{}, &credentialsError{kueue.ReasonBadKubeConfig, err}
	}
	config, err := fleet.ParseKubeconfig(raw)
	switch {
	case errors.Is(err, fleet.ErrInsecure):
		return fleet.Credentials{}, &credentialsError{kueue.ReasonInsecureKubeConfig, err}
	case err != nil:
		return fleet.Credentials{}, &credentialsError{kueue.ReasonBadKubeConfig, err}
	}
	sum := sha256.Sum256(raw)
	return fleet.Credentials{Config: config, Fingerprint: hex.EncodeToString(sum[:])}, nil
}

func (c Credentials) read(ctx context.Context, from *kueue.KubeConfig) ([]byte, error) {
	if from.LocationType == kueue.PathLocationType {
		return fleet.ReadPath(c.PathPrefix, from.Location)
	}
	secret := &corev1.Secret{}
	if err := c.Secrets.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: from.Location}, secret); err != nil {
		return nil, err //nolint:wrapcheck // the text is the contract's
	}
	raw, ok := secret.Data[kueue.MultiKueueConfigSecretKey]
	if !ok {
		return nil, fmt.Errorf("key %q not found in secret %q", kueue.MultiKueueConfigSecretKey, from.Location)
	}
	return raw, nil
}
