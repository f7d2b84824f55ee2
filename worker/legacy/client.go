package legacy

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// Transform does what inner does (nil: nothing) and makes Workloads detailed before that, for an informers' cache of a
// program that only reads them.
func Transform(inner toolscache.TransformFunc) toolscache.TransformFunc {
	return compose(refineWorkload, inner)
}

// OwnTransform does the same for the cache behind [Client], and adds what is not said of Workloads that were never admitted.
func OwnTransform(inner toolscache.TransformFunc) toolscache.TransformFunc {
	return compose(refineOwnWorkload, inner)
}

func compose(hear func(any), inner toolscache.TransformFunc) toolscache.TransformFunc {
	return func(object any) (any, error) {
		hear(object)
		if inner == nil {
			return object, nil
		}
		return inner(object)
	}
}

// Client returns a client that writes coarse reasons and answers with detailed ones. Reads are left to the inner client's
// cache, whose informers need [OwnTransform].
func Client(inner client.Client) client.Client { return &coarseClient{Client: inner} }

type coarseClient struct{ client.Client }

// Patch implements client.Client. The answer is refined, because the caller goes on with it.
func (c *coarseClient) Patch(ctx context.Context, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
	err := c.Client.Patch(ctx, obj, p, opts...)
	refineOwnWorkload(obj)
	return err
}

func (c *coarseClient) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	err := c.Client.Update(ctx, obj, opts...)
	refineOwnWorkload(obj)
	return err
}

func (c *coarseClient) Status() client.SubResourceWriter { return c.SubResource("status") }

func (c *coarseClient) SubResource(name string) client.SubResourceClient {
	inner := c.Client.SubResource(name)
	if name != "status" {
		return inner
	}
	return &coarseStatus{SubResourceClient: inner}
}

type coarseStatus struct{ client.SubResourceClient }

// Update implements client.SubResourceWriter with coarse reasons. The object has the detailed ones afterwards.
func (s *coarseStatus) Update(ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption) error {
	if wl, ok := obj.(*kueue.Workload); ok {
		wl.Status.Conditions = slices.DeleteFunc(wl.Status.Conditions, isImplied)
		ready := allReady(wl.Status.AdmissionChecks)
		for i := range wl.Status.Conditions {
			generalize(&wl.Status.Conditions[i], ready)
		}
	}
	err := s.SubResourceClient.Update(ctx, obj, opts...)
	refineOwnWorkload(obj)
	return err
}

// Patch implements client.SubResourceWriter with coarse reasons in the patch. The object has the detailed ones afterwards.
func (s *coarseStatus) Patch(ctx context.Context, obj client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
	wl, ok := obj.(*kueue.Workload)
	if !ok {
		return s.SubResourceClient.Patch(ctx, obj, p, opts...)
	}
	data, err := p.Data(obj)
	if err != nil {
		return fmt.Errorf("encode the patch of workload %s/%s: %w", wl.Namespace, wl.Name, err)
	}
	if p.Type() == types.ApplyPatchType || p.Type() == types.MergePatchType {
		if data, err = generalizePatch(data); err != nil {
			return fmt.Errorf("translate the patch of workload %s/%s: %w", wl.Namespace, wl.Name, err)
		}
	}
	err = s.SubResourceClient.Patch(ctx, obj, client.RawPatch(p.Type(), data), opts...)
	refineOwnWorkload(obj)
	return err
}

// generalizePatch makes the conditions of a patch coarse, and leaves everything else in it as it is.
func generalizePatch(patch []byte) ([]byte, error) {
	var whole, status map[string]json.RawMessage
	if err := json.Unmarshal(patch, &whole); err != nil {
		return nil, err
	}
	if err := unmarshal(whole["status"], &status); err != nil {
		return nil, err
	}
	var conditions []metav1.Condition
	var checks []kueue.AdmissionCheckState
	if err := unmarshal(status["conditions"], &conditions); err != nil {
		return nil, err
	}
	if err := unmarshal(status["admissionChecks"], &checks); err != nil {
		return nil, err
	}
	said := slices.DeleteFunc(conditions, isImplied)
	changed := len(said) < len(conditions)
	conditions = said
	for i := range conditions {
		changed = generalize(&conditions[i], allReady(checks)) || changed
	}
	if !changed {
		return patch, nil
	}
	var err error
	if status["conditions"], err = json.Marshal(conditions); err != nil {
		return nil, err
	}
	if whole["status"], err = json.Marshal(status); err != nil {
		return nil, err
	}
	return json.Marshal(whole)
}

// unmarshal takes what is not there for nothing.
func unmarshal(data json.RawMessage, into any) error {
	if len(data) == 0 {
		return nil
	}
	return json.Unmarshal(data, into)
}

func allReady(checks []kueue.AdmissionCheckState) bool {
	return !slices.ContainsFunc(checks, func(c kueue.AdmissionCheckState) bool { return c.State != kueue.CheckStateReady })
}
