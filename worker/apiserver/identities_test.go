package apiserver

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// While it is not known how API servers identify themselves, the log says once what is missing, and it is tried again.
func TestWhatIsMissingIsSaidOnceAndWaitedFor(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, authenticationConfigMap, errors.New("no RoleBinding"))
	for name, c := range map[string]struct {
		err  error
		says string
	}{
		"the right":     {forbidden, "RoleBinding visibility-server-auth-reader"},
		"the ConfigMap": {nil, "until it is known"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewClientset()
				var mu sync.Mutex
				err := c.err
				client.PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
					mu.Lock()
					defer mu.Unlock()
					return err != nil, nil, err
				})
				var lines []string
				log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				ended := make(chan bool)
				go func() { ended <- (&identities{client: client, log: log}).waitReadable(ctx) }()
				time.Sleep(5 * readRetry) //nolint:forbidigo // steps the clock of the bubble
				synctest.Wait()
				if len(lines) != 1 || !strings.Contains(lines[0], c.says) {
					t.Errorf("it says %q", lines)
				}
				mu.Lock()
				err = nil
				mu.Unlock()
				if _, err := client.CoreV1().ConfigMaps(authenticationNamespace).Create(ctx, &corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Namespace: authenticationNamespace, Name: authenticationConfigMap},
				}, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
				if readable := <-ended; !readable || len(lines) != 2 || !strings.Contains(lines[1], "known again") {
					t.Errorf("readable: %v, it says %q", readable, lines)
				}
			})
		})
	}
}
