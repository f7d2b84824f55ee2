package runner

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

func TestACheckIsActiveUnlessSomethingIsWrongWithIt(t *testing.T) {
	for _, c := range []struct {
		name, controller string
		fault            *CheckFault
		want             string
	}{
		{"our check can be used", ownController, nil, "True Active The admission check is active"},
		{"our check is at fault", ownController, &CheckFault{Reason: kueue.ReasonBadParametersRef, Message: "no"}, "False BadParametersRef no"},
		{"somebody else's check is left alone", "somebody.else/check", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := newServer(t, interceptor.Funcs{}, newCheck("a", c.controller))
			seen := 0
			r := &CheckReconciler{
				Client: server, Clock: testclock.NewFakePassiveClock(now), Controller: ownController,
				Condition: conditionOnceWatched(&watchStarter{objects: []client.Object{newCheck("b", "")}, watch: func(client.Object) error { seen++; return nil }},
					func(*kueue.AdmissionCheck) *CheckFault { return c.fault }),
			}
			for range 2 {
				if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "a"}}); err != nil {
					t.Fatal(err)
				}
			}
			ac := &kueue.AdmissionCheck{}
			if err := server.Get(t.Context(), client.ObjectKey{Name: "a"}, ac); err != nil {
				t.Fatal(err)
			}
			got := ""
			if active := meta.FindStatusCondition(ac.Status.Conditions, kueue.AdmissionCheckActive); active != nil {
				got = string(active.Status) + " " + active.Reason + " " + active.Message
			}
			if got != c.want || (seen > 0) != (c.controller == ownController) {
				t.Errorf("condition %q, want %q; seen %d times", got, c.want, seen)
			}
		})
	}
}

func TestWatchesBeginOnceAndAfterAFailureAgain(t *testing.T) {
	var started []string
	fail := errors.New("no such kind")
	w := &watchStarter{objects: []client.Object{newCheck("a", ""), newCheck("b", "")}, watch: func(o client.Object) error {
		started = append(started, o.GetName())
		if o.GetName() == "b" {
			return fail
		}
		return nil
	}}
	if err := w.startAll(); !errors.Is(err, fail) {
		t.Errorf("got %v", err)
	}
	fail = nil
	for range 2 {
		if err := w.startAll(); err != nil {
			t.Error(err)
		}
	}
	if got := len(started); got != 3 {
		t.Errorf("started %q, want a once and b twice", started)
	}
}
