// Package guide reads guides as their readers do: it runs the commands that they show, one block after the other, and
// compares what is printed with what the guide says is printed.
//
// A fenced block of a guide that is marked
//
//	sh          is run by bash, and ends at its first command that fails
//	sh retry    is run again until it succeeds and prints what is shown: for what is looked at until it has come about
//	text        shows what the last block before it prints, and is compared with that
//
// and all others (console, yaml, ...) are for the reader alone. See Differs for what may differ from what is shown.
package guide
