// Package configured makes kinds of job from declarations: what a JobKind says in CEL expressions and field paths becomes a [job.Kind] of
// objects without a Go type. It is pure: nothing here knows of a cluster.
package configured
