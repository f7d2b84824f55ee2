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
	usual := Options{Takeover: 24 * time.Second, Rate: 300, Workloads: 10, Jobs: 5}
	for _, c := range []struct {
		name       string
		stop, keep int
		but        func(*Options)
		want       time.Duration
	}{
		{"nothing depends on a lease", 0, 300, func(*Options) {}, 35 * time.Second},
		{"20 ms for each, of all hubs", 300, 300, func(*Options) {}, 40 * time.Second},
		{"another program takes longer to lead", 300, 0, func(o *Options) { o.Takeover = time.Minute }, 75 * time.Second},
		{"few calls a second", 300, 0, func(o *Options) { o.Rate = 20 }, 95 * time.Second},
		{"calls that nobody limits", 300, 0, func(o *Options) { o.Rate = -1 }, 40 * time.Second},
		{"one job after the other", 300, 0, func(o *Options) { o.Jobs = 1 }, 50 * time.Second},
		{"one Workload after the other", 300, 0, func(o *Options) { o.Workloads = 0 }, time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			reader := fake.NewClientBuilder().WithScheme(known(t)).WithIndex(&kueue.Workload{}, leaseIndex, leaseIndexValues).
				WithObjects(stamped(c.stop, switchyard.Stop)...).WithObjects(stamped(c.keep, switchyard.KeepRunning)...).Build()
			o := usual
			c.but(&o)
			got, err := stopEstimate{Options: o, reader: reader}.duration(t.Context())
			if err != nil || got != c.want {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

func TestTheFencesLeaseSaysHowLongItMayTake(t *testing.T) {
	y := newYard(t)
	p := newPresence(t, "me", nil)
	for _, takeover := range []time.Duration{17 * time.Second, time.Minute} {
		y.lookout.Takeover = takeover
		p.Guarantee = y.lookout.observe
		p.clock.Step(10 * time.Second)
		if err := p.renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		lease := &coordinationv1.Lease{}
		if err := p.Live.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: switchyard.FenceLease}, lease); err != nil {
			t.Fatal(err)
		}
		want, err := y.lookout.duration(t.Context())
		if got := lease.Annotations[switchyard.StopsWithinAnnotation]; err != nil || got != want.String() {
			t.Errorf("says %q, want %v (%v)", got, want, err)
		}
	}
}
