package clusters_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"switchyard.dev/e2e/clusters"
)

func TestARestoreUndoesWhatCameAfterTheBackup(t *testing.T) {
	c, err := clusters.Start(t.Context(), clusters.Options{Name: "restored", Controllers: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	maps := kubernetes.NewForConfigOrDie(c.Config).CoreV1().ConfigMaps("default")
	create := func(name string) {
		t.Helper()
		data := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := maps.Create(t.Context(), data, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	create("before")
	backup, err := c.BackUp()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // a backup is not used up
		create("after")
		if err := maps.Delete(t.Context(), "before", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := c.Restore(t.Context(), backup); err != nil {
			t.Fatal(err)
		}
		if _, err := maps.Get(t.Context(), "before", metav1.GetOptions{}); err != nil {
			t.Errorf("what was there: %v", err)
		}
		if _, err := maps.Get(t.Context(), "after", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("what came afterwards: %v; want it not to be found", err)
		}
	}
}
