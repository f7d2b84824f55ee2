// Package kinds runs jobs of all kinds with their own operators, submitted to a worker itself and through a hub. Their manifests are those of
// config/samples/kinds. Nodes are simulated. Where an operator cannot do its work without a program that would run in a pod, that
// program is played: Ray's dashboard and Ray Serve, and Spark's executors.
package kinds
