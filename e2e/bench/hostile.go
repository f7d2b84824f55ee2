package bench

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// hostileBehaviour is how a hostile worker answers: false if it leaves a request to its server.
type hostileBehaviour func(http.ResponseWriter, *http.Request) bool

// behavioursBeyondLimits are behaviours that ask more of the hub than it gives any worker.
func behavioursBeyondLimits() []hostileBehaviour {
	return []hostileBehaviour{endlessList, gzipBomb, giantEvent}
}

// behavioursWithinLimits are workers that stay just within what the hub gives each worker, and take all of that.
func behavioursWithinLimits() []hostileBehaviour {
	return []hostileBehaviour{floodEvents(512, 1), floodEvents(64<<10, 1), floodEvents(512, 50)}
}

func isWatch(r *http.Request) bool { return strings.Contains(r.URL.RawQuery, "watch=") }

// isResource tells whether a request reads many objects of one kind.
func isResource(r *http.Request, plural string) bool {
	return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/"+plural)
}

func apiVersionOf(plural string) (version, kind string) {
	if plural == "jobs" {
		return "batch/v1", "Job"
	}
	return "kueue.x-k8s.io/v1beta2", "Workload"
}

func pluralAsked(r *http.Request) (string, bool) {
	for _, plural := range []string{"workloads", "jobs"} {
		if isResource(r, plural) {
			return plural, true
		}
	}
	return "", false
}

// endlessList has always one more object.
func endlessList(w http.ResponseWriter, r *http.Request) bool {
	plural, ok := pluralAsked(r)
	if !ok || isWatch(r) {
		return false
	}
	version, kind := apiVersionOf(plural)
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"kind":"%sList","apiVersion":"%s","metadata":{"resourceVersion":"1"},"items":[{}`, kind, version)
	for i := 0; ; i++ {
		if _, err := fmt.Fprintf(w, `,{"metadata":{"namespace":"%s","name":"endless-%d","uid":"%d","resourceVersion":"1"}}`, team, i, i); err != nil {
			return true
		}
	}
}

// zipBomb is a gigabyte of spaces.
var zipBomb = sync.OnceValue(func() []byte {
	var packed bytes.Buffer
	packer := gzip.NewWriter(&packed)
	chunk := bytes.Repeat([]byte(" "), 1<<20)
	for range 1 << 10 {
		_, _ = packer.Write(chunk) // into memory
	}
	_ = packer.Close()
	return packed.Bytes()
})

// gzipBomb answers with little that is much.
func gzipBomb(w http.ResponseWriter, r *http.Request) bool {
	if _, ok := pluralAsked(r); !ok {
		return false
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Encoding", "gzip")
	_, _ = w.Write(zipBomb()) // whoever hangs up has had enough
	return true
}

// giantEvent lists like any worker, and then sends one object without end.
func giantEvent(w http.ResponseWriter, r *http.Request) bool {
	plural, ok := pluralAsked(r)
	if !ok || !isWatch(r) {
		return false
	}
	version, kind := apiVersionOf(plural)
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"type":"ADDED","object":{"apiVersion":"%s","kind":"%s","metadata":{"name":"giant","annotations":{"a":"`, version, kind)
	chunk := bytes.Repeat([]byte("x"), 1<<16)
	for {
		if _, err := w.Write(chunk); err != nil {
			return true
		}
	}
}

// floodEvents tells of changes of the same few objects as fast as they are taken, each with so many bytes of annotation and containers.
func floodEvents(text, containers int) hostileBehaviour {
	annotation := strings.Repeat("x", text)
	template := `{"spec":{"restartPolicy":"Never","containers":[` +
		strings.TrimSuffix(strings.Repeat(`{"name":"c","image":"i","resources":{"requests":{"cpu":"1"}}},`, containers), ",") + `]}}`
	return func(w http.ResponseWriter, r *http.Request) bool {
		plural, ok := pluralAsked(r)
		if !ok || !isWatch(r) {
			return false
		}
		version, kind := apiVersionOf(plural)
		spec := `{"template":` + template + `}`
		if plural == "workloads" {
			spec = `{"podSets":[{"name":"main","count":1,"template":` + template + `}]}`
		}
		w.Header().Set("Content-Type", "application/json")
		rest := fmt.Sprintf(`"annotations":{"a":"%s"}},"spec":%s}}`+"\n", annotation, spec)
		kinds := []string{"ADDED", "MODIFIED"}
		for i := 0; ; i++ {
			_, err := fmt.Fprintf(w, `{"type":"%s","object":{"apiVersion":"%s","kind":"%s","metadata":{"namespace":"%s","name":"flood-%d","uid":"%d",`+
				`"resourceVersion":"%d",%s`, kinds[min(i/100, 1)], version, kind, team, i%100, i%100, time.Now().UnixNano(), rest)
			if err != nil {
				return true
			}
		}
	}
}

// makeHostile has some of the workers answer in these behaviours from now on, to a hub that has to connect anew.
func (h *memoryFleet) makeHostile(manners []hostileBehaviour) {
	for i, answer := range manners {
		h.workers[i].server.Intercept(answer)
		h.links[i].Partition()
		h.links[i].Pass()
	}
}
