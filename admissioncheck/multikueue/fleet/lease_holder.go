package fleet

import (
	"errors"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"

	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

// errOtherHub says that a lease was not renewed because another hub keeps it.
var errOtherHub = errors.New("another hub of this origin keeps the run lease")

// checkHolder returns an error if another hub keeps a run lease. To renew it would make the fence believe in a hub that is away, and run on
// what that one counts as stopped. It is free when that hub's fence has had the time to act on it.
func (o LeaseOptions) checkHolder(lease *coordinationv1.Lease, now time.Time) error {
	holder := types.UID(lease.Annotations[switchyard.HubUIDAnnotation])
	if o.Identity == nil || holder == "" || o.Identity() == "" || holder == o.Identity() {
		return nil
	}
	if o.AdoptedIdentities != nil && slices.Contains(o.AdoptedIdentities(), holder) || lease.Spec.RenewTime == nil || lease.Spec.LeaseDurationSeconds == nil {
		return nil
	}
	ends := lease.Spec.RenewTime.Add(time.Duration(*lease.Spec.LeaseDurationSeconds)*time.Second + o.Margin + o.Skew)
	if now.After(ends) {
		return nil
	}
	return fmt.Errorf("%w: %s is that of hub %s: give each hub an origin of its own (multiKueue.origin)", errOtherHub, o.Name, holder)
}

// setHubIdentity makes a lease say which hub keeps it.
func (o LeaseOptions) setHubIdentity(lease *coordinationv1.Lease) {
	if o.Identity == nil || o.Identity() == "" {
		return
	}
	if lease.Annotations == nil {
		lease.Annotations = map[string]string{}
	}
	lease.Annotations[switchyard.HubUIDAnnotation] = string(o.Identity())
}
