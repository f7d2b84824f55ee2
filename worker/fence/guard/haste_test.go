package guard

import (
	"fmt"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

func stamped(count int, onHubLost switchyard.OnHubLost) []client.Object {
	var list []client.Object
	for i := range count {
		list = append(list, &kueue.Workload{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: fmt.Sprint(onHubLost, i), Labels: map[string]string{kueue.MultiKueueOriginLabel: fmt.Sprint("hub-", i%2)},
			Annotations: map[string]string{switchyard.OnHubLostAnnotation: string(onHubLost)},
		}})
	}
	return list
}

func TestHowLongAFenceMayTakeDependsOnWhatItWouldStop(t *testing.T) {
	for _, c := range []struct {
		name       string
		stop, keep int
		takeover   time.Duration
		rate       float64
		want       time.Duration
	}{
		{"nothing depends on a lease", 0, 300, 17 * time.Second, 4, 25 * time.Second},
		{"four writes for each, of all hubs", 10, 300, 17 * time.Second, 4, 35 * time.Second},
		{"another program takes longer to lead", 10, 0, time.Minute, 4, 80 * time.Second},
		{"calls that nobody limits", 300, 0, 17 * time.Second, -1, 25 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			reader := fake.NewClientBuilder().WithScheme(known(t)).WithIndex(&kueue.Workload{}, byLease, indexed).
				WithObjects(stamped(c.stop, switchyard.Stop)...).WithObjects(stamped(c.keep, switchyard.KeepRunning)...).Build()
			got, err := haste{reader: reader, takeover: c.takeover, rate: c.rate}.within(t.Context())
			if err != nil || got != c.want {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

func TestTheFencesLeaseSaysHowLongItMayTake(t *testing.T) {
	reader := fake.NewClientBuilder().WithScheme(known(t)).WithIndex(&kueue.Workload{}, byLease, indexed).Build()
	p := newPresence(t, "me", nil)
	for _, takeover := range []time.Duration{17 * time.Second, time.Minute} {
		p.Within = haste{reader: reader, takeover: takeover}.within
		p.clock.Step(10 * time.Second)
		if err := p.renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		lease := &coordinationv1.Lease{}
		if err := p.Live.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: switchyard.FenceLease}, lease); err != nil {
			t.Fatal(err)
		}
		want, err := p.Within(t.Context())
		if got := lease.Annotations[switchyard.StopsWithinAnnotation]; err != nil || got != want.String() {
			t.Errorf("says %q, want %v (%v)", got, want, err)
		}
	}
}
