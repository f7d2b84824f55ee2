// Package capacity converts what the workers publish of their capacity into what placement reads: their capacity reports or, of a
// worker without a report, the status of its queues.
package capacity
