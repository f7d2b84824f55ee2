// Package procfs reads what Linux tells of processes in /proc: the CPU time and the memory that they have used.
package procfs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ticksPerSecond is the unit of CPU times in /proc on every Linux that Go supports.
const ticksPerSecond = 100

// Process is what /proc tells of a process.
type Process struct {
	// Name is that of the program, cut off after 15 bytes.
	Name string
	// CPU is the time that it has spent in user and kernel mode.
	CPU time.Duration
	// Peak is the most memory that it ever had resident, in bytes.
	Peak int64
}

// Read reads what a process has used so far. It fails if there is no such process.
func Read(pid int) (Process, error) {
	dir := "/proc/" + strconv.Itoa(pid)
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return Process{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return Process{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	cpu, err := parseCPU(string(stat))
	if err != nil {
		return Process{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	name := field(string(status), "Name:")
	kilobytes, err := strconv.ParseInt(strings.TrimSuffix(field(string(status), "VmHWM:"), " kB"), 10, 64)
	if err != nil {
		return Process{}, fmt.Errorf("peak memory of process %d: %w", pid, err)
	}
	return Process{Name: name, CPU: cpu, Peak: kilobytes * 1024}, nil
}

// parseCPU adds up the times in user and kernel mode of a line of /proc/<pid>/stat.
func parseCPU(stat string) (time.Duration, error) {
	_, rest, found := strings.Cut(stat, ") ") // the name may hold blanks
	fields := strings.Fields(rest)
	const user, system = 11, 12
	if !found || len(fields) <= system {
		return 0, fmt.Errorf("no CPU times in %q", stat)
	}
	var ticks int64
	for _, i := range []int{user, system} {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("CPU times in %q: %w", stat, err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond, nil
}

// field is the rest of the line that begins with the key.
func field(text, key string) string {
	for line := range strings.Lines(text) {
		if value, found := strings.CutPrefix(line, key); found {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// ChildrenRunning finds the child processes of ours that run the program.
func ChildrenRunning(program string) ([]int, error) {
	path, err := filepath.EvalSymlinks(program)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", program, err)
	}
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, dir := range entries {
		exe, err := os.Readlink(filepath.Join(dir, "exe"))
		if err != nil || exe != path {
			continue // gone, not ours to read, or another program
		}
		status, err := os.ReadFile(filepath.Join(dir, "status"))
		pid, notNumber := strconv.Atoi(filepath.Base(dir))
		if err == nil && notNumber == nil && field(string(status), "PPid:") == strconv.Itoa(os.Getpid()) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// NewChild finds the one child that runs the program and did not before.
func NewChild(program string, before []int) (int, error) {
	now, err := ChildrenRunning(program)
	if err != nil {
		return 0, err
	}
	fresh := slices.DeleteFunc(now, func(pid int) bool { return slices.Contains(before, pid) })
	if len(fresh) != 1 {
		return 0, fmt.Errorf("%d new processes of ours run %s", len(fresh), program)
	}
	return fresh[0], nil
}
