// Package kept knows the form in which a hub keeps how the logs of a failed job end: one ConfigMap, in the namespace of the job, with a
// compressed text for each container.
package kept

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

const (
	// MaxLog is how much of a container's log is kept, in bytes.
	MaxLog = 64 << 10
	// MaxTotal is how much of a job's logs is kept, compressed, in bytes. With what base64 adds, an object of that is less than a megabyte.
	MaxTotal = 512 << 10
	// maxLeftOut is how much is said about what was left out.
	maxLeftOut = 1024
)

// Job is the job of a Workload.
type Job struct {
	// Kind is Kind.group, or Kind alone for the core group.
	Kind, Name string
}

// String is "Kind.group/name".
func (j Job) String() string { return j.Kind + "/" + j.Name }

// Entry is the end of one container's log.
type Entry struct {
	// Key is that of the compressed text in binaryData.
	Key       string `json:"key"`
	Pod       string `json:"pod"`
	Container string `json:"container"`
	// ExitCode is nil if the container has not ended.
	ExitCode *int32 `json:"exitCode,omitempty"`
	// Cut tells that the log had more before that.
	Cut bool `json:"cut,omitempty"`
	// Incomplete says why there may be more behind it; empty if there is not.
	Incomplete string `json:"incomplete,omitempty"`
}

// Tail is how the logs of a job end.
type Tail struct {
	Namespace string
	// Workload is the name of the job's Workload, UID the Workload's.
	Workload string
	UID      types.UID
	Job      Job
	Cluster  string
	// FinishedAt is when the job had ended.
	FinishedAt time.Time
	Entries    []Entry
	// LeftOut says what else there was.
	LeftOut []string

	data map[string][]byte
	size int
}

// errFull says that there is no room for more.
var errFull = errors.New("no room")

// Add adds the end of a container's log, unless there is no room for it: then it is named in LeftOut.
func (t *Tail) Add(e Entry, text []byte) error {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write(text)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return fmt.Errorf("compress the log of %s/%s: %w", e.Pod, e.Container, err)
	}
	if t.size+packed.Len() > MaxTotal {
		t.LeaveOut(e.Pod, e.Container, errFull)
		return nil
	}
	if e.Key = e.Pod + "_" + e.Container + ".log.gz"; len(e.Key) > maxKey {
		e.Key = fmt.Sprintf("%d.log.gz", len(t.Entries))
	}
	if t.data == nil {
		t.data = map[string][]byte{}
	}
	if t.data[e.Key] != nil {
		return nil // a pod that was listed twice
	}
	t.data[e.Key] = packed.Bytes()
	t.size += packed.Len()
	t.Entries = append(t.Entries, e)
	return nil
}

// maxKey is how long a key of a ConfigMap may be.
const maxKey = 253

// LeaveOut notes that the log of a container is not there, and why.
func (t *Tail) LeaveOut(pod, container string, why error) {
	t.LeftOut = append(t.LeftOut, fmt.Sprintf("%s/%s: %v", pod, container, why))
}

// ConfigMap is the form in which the Tail is kept.
func (t *Tail) ConfigMap() (*corev1.ConfigMap, error) {
	entries, err := json.Marshal(t.Entries)
	if err != nil {
		return nil, fmt.Errorf("write what is kept of %s: %w", t.Job, err)
	}
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: t.Namespace, Name: Name(t.Workload, t.UID), Labels: map[string]string{switchyard.LogTailLabel: string(t.UID)},
			Annotations: map[string]string{
				switchyard.LogTailClusterAnnotation: t.Cluster,
				switchyard.LogTailJobAnnotation:     t.Job.String(),
				switchyard.LogTailTimeAnnotation:    t.FinishedAt.UTC().Format(time.RFC3339),
				switchyard.LogTailEntriesAnnotation: string(entries),
			},
		},
		Immutable: new(true), BinaryData: t.data,
	}
	if len(t.LeftOut) > 0 {
		cm.Annotations[switchyard.LogTailLeftOutAnnotation] = strings.ToValidUTF8(fmt.Sprintf("%.*s", maxLeftOut, strings.Join(t.LeftOut, "; ")), "?")
	}
	return cm, nil
}

// Name is that of the ConfigMap for a Workload: no other Workload has it, not even one of the same name.
func Name(workload string, uid types.UID) string {
	const room = 253 - 1 - 16
	return strings.TrimRight(workload[:min(len(workload), room)], "-.") + suffix(uid)
}

func suffix(uid types.UID) string {
	sum := sha256.Sum256([]byte(uid))
	return "-" + hex.EncodeToString(sum[:])[:16]
}

// IsOurs tells from its metadata whether a ConfigMap with the label is named as one that a hub has made. Whoever may make ConfigMaps can make it
// look so.
func IsOurs(meta *metav1.ObjectMeta) bool {
	uid := meta.Labels[switchyard.LogTailLabel]
	return uid != "" && strings.HasSuffix(meta.Name, suffix(types.UID(uid)))
}

// Read reads what is kept.
func Read(cm *corev1.ConfigMap) (*Tail, error) {
	t := &Tail{Namespace: cm.Namespace, UID: types.UID(cm.Labels[switchyard.LogTailLabel]), Cluster: cm.Annotations[switchyard.LogTailClusterAnnotation], data: cm.BinaryData}
	t.Job.Kind, t.Job.Name, _ = strings.Cut(cm.Annotations[switchyard.LogTailJobAnnotation], "/")
	if err := json.Unmarshal([]byte(cm.Annotations[switchyard.LogTailEntriesAnnotation]), &t.Entries); err != nil {
		return nil, fmt.Errorf("read ConfigMap %s: annotation %s: %w", cm.Name, switchyard.LogTailEntriesAnnotation, err)
	}
	if left := cm.Annotations[switchyard.LogTailLeftOutAnnotation]; left != "" {
		t.LeftOut = []string{left}
	}
	at, err := time.Parse(time.RFC3339, cm.Annotations[switchyard.LogTailTimeAnnotation])
	if err != nil {
		return nil, fmt.Errorf("read ConfigMap %s: annotation %s: %w", cm.Name, switchyard.LogTailTimeAnnotation, err)
	}
	t.FinishedAt = at
	return t, nil
}

// Text is the end of a container's log. More than there can be is not read, whatever the ConfigMap has.
func (t *Tail) Text(e Entry) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(t.data[e.Key]))
	if err != nil {
		return nil, fmt.Errorf("read what is kept of the log of %s/%s: %w", e.Pod, e.Container, err)
	}
	text, err := io.ReadAll(io.LimitReader(r, MaxLog))
	if err != nil {
		return nil, fmt.Errorf("read what is kept of the log of %s/%s: %w", e.Pod, e.Container, err)
	}
	return text, nil
}
