package jobkind

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// recorder is a Listener that remembers what was declared last.
type recorder struct {
	nobody
	declared []schema.GroupKind
}

func (r *recorder) SetDeclared(kinds []schema.GroupKind) { r.declared = kinds }

func TestAListenerIsToldOfAllKindsThatAreDeclaredSoundOrNotButOfNoneThatMayNotBe(t *testing.T) {
	wrong, builtIn, foreign := declare("wrong", "Wrong", 0), declare("sets", "JobSet", 0), declare("foreign", "Foreign", 0)
	wrong.Spec.Progress.Active = "object.status.active >"
	builtIn.Spec.Group = "jobset.x-k8s.io"
	c := newCluster(t, declare("runs", "TrainingRun", 0), declare("again", "TrainingRun", 0), declare("missing", "Missing", 0), wrong, builtIn, foreign)
	told := &recorder{}
	c.reconciler.listener = told
	c.reconcile()
	want := []schema.GroupKind{
		{Group: "ml.example.com", Kind: "Missing"}, {Group: "ml.example.com", Kind: "TrainingRun"}, {Group: "ml.example.com", Kind: "Wrong"},
	}
	if diff := cmp.Diff(want, told.declared); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"runs", "again", "missing", "wrong", "sets", "foreign"} {
		if err := c.api.Delete(t.Context(), declare(name, "TrainingRun", 0)); err != nil {
			t.Fatal(err)
		}
	}
	c.reconcile()
	if len(told.declared) > 0 {
		t.Errorf("of what is declared no more it is told: %v", told.declared)
	}
}
