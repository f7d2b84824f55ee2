// Package charts renders the Helm chart in switchyard/ and the overlays of config/ as Helm and kubectl would, for the tests
// beside it. It is a module of its own, so that Helm's dependencies stay out of the programs'.
package charts
