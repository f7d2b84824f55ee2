package manager

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

const (
	// kindPollInterval is how often to look whether the API server serves the program's kinds.
	kindPollInterval = 250 * time.Millisecond
	// kindWaitLimit is how long to look: an API server publishes a new CRD with a delay, and programs are often installed
	// together with their CRDs.
	kindWaitLimit = 2 * time.Minute
)

// waitForKinds returns once the API server serves the program's kinds, or when the program is told to stop.
func (p Program) waitForKinds(ctx context.Context, connection *rest.Config, scheme *runtime.Scheme, log logr.Logger) error {
	client, err := rest.HTTPClientFor(connection)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(connection, client)
	if err != nil {
		return fmt.Errorf("ask the API server for its kinds: %w", err)
	}
	if err := waitFor(ctx, mapper, scheme, p.API, log); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// waitFor returns once the API server serves every kind that the scheme has in the group and version.
func waitFor(ctx context.Context, mapper meta.RESTMapper, scheme *runtime.Scheme, gv schema.GroupVersion, log logr.Logger) error {
	var missing []string
	told := false
	err := wait.PollUntilContextTimeout(ctx, kindPollInterval, kindWaitLimit, true, func(context.Context) (bool, error) {
		var err error
		if missing, err = listUnserved(mapper, scheme, gv); err != nil {
			return false, err
		}
		if len(missing) > 0 && !told {
			log.Info("Waiting for the API server to serve kinds; are the CRDs installed?", "version", gv.String(), "kinds", missing)
			told = true
		}
		return len(missing) == 0, nil
	})
	if err != nil && len(missing) > 0 {
		return fmt.Errorf("the API server does not serve %s of %s; install the CRDs: %w", strings.Join(missing, ", "), gv, err)
	}
	return err
}

// listUnserved lists the kinds that are not served, sorted.
func listUnserved(mapper meta.RESTMapper, scheme *runtime.Scheme, gv schema.GroupVersion) ([]string, error) {
	var missing []string
	for kind, of := range scheme.KnownTypes(gv) {
		if !reflect.PointerTo(of).Implements(reflect.TypeFor[client.Object]()) {
			continue // lists and options
		}
		_, err := mapper.RESTMapping(gv.WithKind(kind).GroupKind(), gv.Version)
		switch {
		case meta.IsNoMatchError(err):
			missing = append(missing, kind)
		case err != nil:
			return nil, fmt.Errorf("ask the API server for %s: %w", kind, err)
		}
	}
	slices.Sort(missing)
	return missing, nil
}
