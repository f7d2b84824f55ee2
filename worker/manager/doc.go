// Package manager is what every program around the worker engine has in common: flags, configuration, logs, certificates
// and the manager with its servers. A program is a scheme and a list of parts; this package runs them and knows nothing of
// what they do.
//
// DESIGN.md in the directory above says how certificates, readiness and the metrics server are set up.
package manager
