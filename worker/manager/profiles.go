package manager

import (
	"context"
	"net/http"
	"net/http/pprof"

	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// addProfiles serves profiles of the process, if the configuration has an address for them.
func addProfiles(ctx context.Context, mgr manager.Manager, s Settings) error {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	profiles := endpoint{name: "profiles", address: s.PprofBindAddress, limits: profileLimits, streams: true}
	return profiles.add(ctx, mgr, mux)
}
