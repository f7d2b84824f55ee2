// Package fence decides what a worker does with a hub's jobs when that hub may be gone. The hub renews a run lease on the
// worker; when it has run out, the hub may start its jobs elsewhere, so those that bear the stamp Stop must not go on here.
//
// [Step] is the whole decision, for one hub: it is pure, knows no API and makes no calls. Package guard in the directory
// below feeds it and carries it out; DESIGN.md says what it promises to the hub, and what not.
package fence
