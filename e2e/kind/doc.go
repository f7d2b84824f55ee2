// Package kind has the end-to-end tests on kind clusters: real kubelets, real images, the chart as users install it. Run it
// with "make e2e-kind"; without what that prepares, its test is skipped.
package kind
