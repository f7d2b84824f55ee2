package stream

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// Client returns a client that does what inner does, and reads the API server's answers to patches of the status of
// Workloads, by far the most of all writes, as this package does: without managed fields. What it answers with may be changed.
func Client(inner client.Client, connection *rest.Config) (client.Client, error) {
	own, err := restClient(connection, inner.Scheme())
	if err != nil {
		return nil, fmt.Errorf("connect to write workloads: %w", err)
	}
	return &writer{Client: inner, own: own}, nil
}

type writer struct {
	client.Client
	own rest.Interface
}

func (w *writer) Status() client.SubResourceWriter { return w.SubResource("status") }

func (w *writer) SubResource(name string) client.SubResourceClient {
	inner := w.Client.SubResource(name)
	if name != "status" {
		return inner
	}
	return &statusWriter{SubResourceClient: inner, own: w.own}
}

type statusWriter struct {
	client.SubResourceClient
	own rest.Interface
}

func (s *statusWriter) Patch(ctx context.Context, obj client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
	o := (&client.SubResourcePatchOptions{}).ApplyOptions(opts)
	wl, ok := obj.(*kueue.Workload)
	if !ok || o.SubResourceBody != nil {
		return s.SubResourceClient.Patch(ctx, obj, p, opts...)
	}
	data, err := p.Data(wl)
	if err != nil {
		return fmt.Errorf("encode the patch of workload %s/%s: %w", wl.Namespace, wl.Name, err)
	}

	return s.own.Patch(p.Type()).Resource("workloads").Namespace(wl.Namespace).Name(wl.Name).SubResource("status").
		VersionedParams(o.AsPatchOptions(), metav1.ParameterCodec).Body(data).Do(ctx).Into(wl)
}
