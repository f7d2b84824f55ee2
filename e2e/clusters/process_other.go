//go:build !linux

package clusters

import "syscall"

// Without a parent-death signal children outlive a parent that was killed with SIGKILL; every
// other end of the parent goes through Stop.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
