// Package bench measures Switchyard on real API servers and reports ratios and API calls per job. Nothing here passes or
// fails by the clock.
package bench
