// Package cohort is the controller of Cohorts: under fair sharing it writes their share from the view, gathered (contract:
// kueue-api.md 1.5), and it drops the metrics of cohorts that are gone, those included that never had an object.
package cohort
