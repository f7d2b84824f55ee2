package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"regexp"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"switchyard.dev/worker/kube"
)

// maxCauses is how many causes of a refusal are kept.
const maxCauses = 16

// reasonWord is what a reason looks like: clients tell refusals apart by it.
var reasonWord = regexp.MustCompile(`^[A-Za-z]{0,64}$`)

// errorResponse puts in the place of an error's answer what of it may be shown: a Status with its texts cut and cleaned, or a text.
func (b *boundedTransport) errorResponse(response *http.Response) error {
	read, err := io.ReadAll(io.LimitReader(response.Body, MaxErrorBody))
	_ = response.Body.Close()
	if err != nil {
		return fmt.Errorf("read why the cluster answers with status %d: %w", response.StatusCode, err)
	}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	text, kind := printableError(read, kind, response.StatusCode)
	clampRetryAfter(response.Header)
	response.Header.Set("Content-Type", kind)
	response.Header.Del("Warning")
	response.Header.Del("Content-Length")
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return nil
}

// printableError returns the text of an error answer fit to be shown, and its content type.
func printableError(read []byte, kind string, code int) (text []byte, as string) {
	status := metav1.Status{}
	if kind == "application/json" && json.Unmarshal(read, &status) == nil && status.Kind == "Status" {
		if cleaned, err := json.Marshal(sanitizeStatus(status, code)); err == nil {
			return cleaned, kind
		}
	}
	if kind == "text/html" { // a page of a proxy is not for reading in a condition
		return []byte("a web page"), "text/plain"
	}
	return []byte(kube.Sanitize(string(read), MaxText)), "text/plain"
}

// sanitizeStatus cuts and cleans the texts of a Status.
func sanitizeStatus(status metav1.Status, code int) metav1.Status {
	cleaned := metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(code),
		Message: kube.Sanitize(status.Message, MaxText),
	}
	if reasonWord.MatchString(string(status.Reason)) {
		cleaned.Reason = status.Reason
	}
	if d := status.Details; d != nil {
		cleaned.Details = &metav1.StatusDetails{
			Name: kube.Sanitize(d.Name, MaxText), Group: kube.Sanitize(d.Group, MaxText), Kind: kube.Sanitize(d.Kind, MaxText),
			RetryAfterSeconds: min(max(d.RetryAfterSeconds, 0), int32(MaxRetryAfter.Seconds())),
		}
		for _, c := range d.Causes[:min(len(d.Causes), maxCauses)] {
			cleaned.Details.Causes = append(cleaned.Details.Causes, metav1.StatusCause{
				Type: metav1.CauseType(kube.Sanitize(string(c.Type), MaxText)), Message: kube.Sanitize(c.Message, MaxText), Field: kube.Sanitize(c.Field, MaxText),
			})
		}
	}
	return cleaned
}

// clampRetryAfter keeps a cluster from having a call wait for ever. It may be a date as well, which no client of ours reads.
func clampRetryAfter(header http.Header) {
	after := header.Get("Retry-After")
	if after == "" {
		return
	}
	most := int(MaxRetryAfter.Seconds())
	seconds, err := strconv.Atoi(after)
	if err != nil || seconds < 0 || seconds > most {
		header.Set("Retry-After", strconv.Itoa(most))
	}
}
