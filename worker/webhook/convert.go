package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	kueuev1beta1 "switchyard.dev/apis/kueue/v1beta1"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/jsontext"
)

// ConversionPath is where the API server has objects converted (contract: kueue-api.md 8.5).
const ConversionPath = "/convert"

const (
	// minObjectSize is less than any object has, in bytes: each names its kind.
	minObjectSize = 32
	// maxReviewOverhead is the most that anything else of a review has.
	maxReviewOverhead = 1 << 10
)

// ConvertedObjects calls each for the objects that a review would have converted, until it returns false. False means that it did,
// or that the review is none that an API server sends: with many objects of nothing, or with much besides.
func ConvertedObjects(review []byte, each func(object []byte) bool) bool {
	return jsontext.Members(review, func(name, value []byte) bool {
		if string(name) != "request" {
			return len(value) <= maxReviewOverhead
		}
		return jsontext.Members(value, func(name, value []byte) bool {
			if string(name) != "objects" {
				return len(value) <= maxReviewOverhead
			}
			return jsontext.Elements(value, func(object []byte) bool { return len(object) >= minObjectSize && each(object) })
		})
	})
}

// converter answers what the API server, which keeps a cache for each version, asks about every Workload that is written: to
// convert a plain one into v1beta1. Its members are the same in both versions, so that their texts are passed on. Whatever
// else is asked goes to the general handler, which knows all kinds by their types.
type converter struct{ general http.Handler }

// ServeHTTP answers a ConversionReview.
func (c converter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	review, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, "the review cannot be read", http.StatusBadRequest)
		return
	}
	if answer, ok := convertPlain(review); ok && json.Valid(answer) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer) // nobody is left to be told of an error
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(review))
	c.general.ServeHTTP(w, r)
}

// convertPlain answers a review of nothing but plain Workloads of v1beta2 to be converted into v1beta1; false for any other. It passes
// texts on without having checked them: the caller does.
func convertPlain(review []byte) ([]byte, bool) {
	var request, uid, objects []byte
	ok := jsontext.Members(review, func(name, value []byte) bool {
		switch string(name) {
		case "kind":
			return string(value) == `"ConversionReview"`
		case "apiVersion":
			return string(value) == `"apiextensions.k8s.io/v1"`
		case "request":
			request = value
			return true
		}
		return string(name) == "response" // without anything in it yet
	}) && jsontext.Members(request, func(name, value []byte) bool {
		switch string(name) {
		case "uid":
			uid = value
		case "objects":
			objects = value
		case "desiredAPIVersion":
			return string(value) == `"`+kueuev1beta1.GroupVersion.String()+`"`
		}
		return true
	})
	if !ok || uid == nil {
		return nil, false
	}
	answer := fmt.Appendf(make([]byte, 0, len(review)+256),
		`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"uid":%s,"convertedObjects":[`, uid)
	first := len(answer)
	ok = jsontext.Elements(objects, func(workload []byte) (plain bool) {
		if len(answer) > first {
			answer = append(answer, ',')
		}
		answer, plain = appendPlain(answer, workload)
		return plain
	})
	return append(answer, `],"result":{"metadata":{},"status":"Success"}}}`...), ok
}

// appendPlain appends the Workload of v1beta2 as one of v1beta1; false if it has anything that is not the same in both.
func appendPlain(to, workload []byte) ([]byte, bool) {
	known := 0
	to = fmt.Appendf(to, `{"apiVersion":"%s","kind":"Workload"`, kueuev1beta1.GroupVersion)
	ok := jsontext.Members(workload, func(name, value []byte) bool {
		plain := false
		switch string(name) {
		case "apiVersion":
			known++
			return string(value) == `"`+kueue.GroupVersion.String()+`"`
		case "kind":
			known++
			return string(value) == `"Workload"`
		case "metadata":
			plain = true
		case "spec":
			plain = plainSpec(value)
		case "status":
			plain = plainStatus(value)
		}
		to = append(append(append(to, `,"`...), name...), `":`...)
		to = append(to, value...)
		return plain
	})
	return append(to, '}'), ok && known == 2
}

// plainSpec tells whether a spec says the same in both versions.
func plainSpec(spec []byte) bool {
	return jsontext.Members(spec, func(name, value []byte) bool {
		switch string(name) {
		case "queueName", "priority", "active", "maximumExecutionTimeSeconds":
			return true
		case "podSets":
			return jsontext.Elements(value, isSingle("name", "template", "count", "minCount"))
		}
		return false
	})
}

// plainStatus tells whether a status says the same in both versions.
func plainStatus(status []byte) bool {
	return jsontext.Members(status, func(name, value []byte) bool {
		switch string(name) {
		case "conditions", "requeueState", "reclaimablePods", "resourceRequests", "admissionChecks", "nominatedClusterNames", "clusterName":
			return true
		case "admission":
			return plainAdmission(value)
		}
		return false
	})
}

// plainAdmission tells whether an admission says the same in both versions: v1beta1 requires its assignments, and writes
// topologies in another way.
func plainAdmission(admission []byte) bool {
	assigned := false
	return jsontext.Members(admission, func(name, value []byte) bool {
		switch string(name) {
		case "clusterQueue":
			return true
		case "podSetAssignments":
			assigned = true
			return jsontext.Elements(value, isSingle("name", "flavors", "resourceUsage", "count"))
		}
		return false
	}) && assigned
}

// isSingle tells of an object whether it has no other members.
func isSingle(names ...string) func(object []byte) bool {
	return func(object []byte) bool {
		return jsontext.Members(object, func(name, _ []byte) bool {
			for _, n := range names {
				if n == string(name) {
					return true
				}
			}
			return false
		})
	}
}
