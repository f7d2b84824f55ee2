package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"switchyard.dev/worker/jsonweight"
)

// tooLarge refuses, as the cluster would, a request whose answer may go beyond a bound. Nil for any other.
func (b *boundedTransport) tooLarge(request *http.Request) *http.Response {
	if request.GetBody == nil {
		return nil
	}
	text, err := request.GetBody()
	if err != nil {
		return nil
	}
	s := jsonweight.Scanner{Weights: b.link.weights}
	_, err = io.Copy(&s, io.LimitReader(text, MaxRequest))
	if err == nil && s.Weight() <= MaxRequest {
		return nil
	}
	_ = request.Body.Close()
	return localResponse(request, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
		"the object needs more than %s of memory, and is not sent to other clusters", mib(MaxRequest))).Status())
}

// localResponse answers a request in the place of the cluster.
func localResponse(request *http.Request, status metav1.Status) *http.Response {
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	text, err := json.Marshal(status)
	if err != nil {
		text = []byte(`{}`)
	}
	return &http.Response{
		Status: http.StatusText(int(status.Code)), StatusCode: int(status.Code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Request: request,
		Body: io.NopCloser(bytes.NewReader(text)), ContentLength: int64(len(text)),
	}
}
