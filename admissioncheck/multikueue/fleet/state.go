package fleet

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// Credentials are how to reach a cluster.
type Credentials struct {
	// Config was accepted by CheckRESTConfig.
	Config *rest.Config
	// Fingerprint is equal for equal credentials; a new one makes the supervisor connect anew.
	Fingerprint string
}

// State is how a cluster's connection stands.
type State struct {
	// Cluster is its name.
	Cluster string
	// Connected tells that the last probe was answered and the required informers are complete.
	Connected bool
	// ConnectionNumber counts the connections that there have been since this program started, this one included. What was seen over an
	// earlier one says nothing of what there is: the cluster may have been put back to a backup.
	ConnectionNumber int64
	// EverConnected tells that it has been connected at some time since this program started.
	EverConnected bool
	// DegradedReason says why a cluster that is connected may not do what is asked of it: an answer takes much longer than
	// usual, or the last one did, or calls fail one after the other. Empty if there is no such sign. OnTrial is set when it
	// is to be given something all the same, because otherwise the hub would never find out that it works again.
	DegradedReason string
	AllowTrial     bool
	// LostSince is when contact was lost, zero while connected. The first loss counts, failed attempts since do not move
	// it; before the first contact it is when the supervisor began (contract: multikueue.md 2, "Connection state").
	LostSince time.Time
	// Failures is the number of failed attempts in a row.
	Failures int
	// NextAttempt is when the next attempt is due, zero when there is none to wait for: one that follows failures, or sessions
	// that did not hold.
	NextAttempt time.Time
	// Err is why the last attempt failed or the connection was lost; nil while connected or before the first attempt.
	Err error
	// Fingerprint is that of the credentials the other fields speak of, empty before the first attempt.
	Fingerprint string
	// Fencing is how the hub's run lease and the worker's fence stand.
	Fencing Fencing
	// ServesSwitchyard tells that the API group of our program was served when the connection was made: a worker of ours refuses what others let
	// pass.
	ServesSwitchyard bool
	// Identity is that of the cluster which the connection leads, or led last, to: the UID of its namespace kube-system. It is empty
	// before the first connection, and where the hub may not read it; Unidentified says why then.
	Identity      types.UID
	IdentityError string
	// Unserved are the kinds that the cluster does not serve to us, sorted.
	Unserved []Unserved
}

// Unserved is a kind that a cluster does not serve to us, and why.
type Unserved struct {
	GVK schema.GroupVersionKind
	Err error
}
