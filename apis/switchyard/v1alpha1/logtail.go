package v1alpha1

// LogTailLabel marks a ConfigMap with the ends of the logs of a failed job; its value is the UID of the job's Workload. The ConfigMap is in the
// job's namespace on the hub, and has a text for each container, compressed by gzip.
const LogTailLabel = "switchyard.dev/log-tail"

// Annotations of such a ConfigMap.
const (
	// LogTailClusterAnnotation is the cluster that has run the job, LogTailJobAnnotation the job as Kind.group/name, LogTailTimeAnnotation when
	// the job had finished (RFC 3339).
	LogTailClusterAnnotation = "switchyard.dev/log-tail-cluster"
	LogTailJobAnnotation     = "switchyard.dev/log-tail-job"
	LogTailTimeAnnotation    = "switchyard.dev/log-tail-finished-at"
	// LogTailEntriesAnnotation is a JSON array that says of each key of binaryData which pod and container it is of, and its exit code.
	LogTailEntriesAnnotation = "switchyard.dev/log-tail-entries"
	// LogTailLeftOutAnnotation says what is not kept, and why.
	LogTailLeftOutAnnotation = "switchyard.dev/log-tail-left-out"
)
