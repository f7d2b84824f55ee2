// Package jobkind serves the kinds of job that JobKinds declare: it accepts declarations, and starts and stops what looks after jobs of
// their kinds, while the program runs.
package jobkind
