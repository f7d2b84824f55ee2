package clusters

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
)

// Ports are taken from below the kernel's range for outgoing connections (32768 and up on Linux, 49152 on darwin): a port
// from within that range could be lost to another program's outgoing connection while a test has stopped the API server that
// is to come back on it.
const (
	firstPort = 20000
	lastPort  = 29999
)

// Port is a TCP port of 127.0.0.1 that no other user of this package takes, in this process or
// another, until it is released or the process ends.
type Port struct{ Number int }

// reserved holds the lock files of this process' ports. They are kept here rather than in Port: an unreferenced file is
// closed by the garbage collector, and its lock is lost, while a caller may well remember a port by its number only.
var reserved = struct {
	sync.Mutex
	locks map[int]*os.File
}{locks: map[int]*os.File{}}

// Addr is the port as host:port.
func (p Port) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.Number)) }

// Release gives the port back. Its listener should have ended.
func (p Port) Release() error {
	reserved.Lock()
	defer reserved.Unlock()
	lock, ok := reserved.locks[p.Number]
	if !ok {
		return fmt.Errorf("port %d is not reserved", p.Number)
	}
	delete(reserved.locks, p.Number)
	return lock.Close()
}

// ReservePort finds a port without a listener and locks it by a file that the kernel unlocks when the process ends, however
// it ends.
func ReservePort() (Port, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("switchyard-ports-%d", os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Port{}, fmt.Errorf("directory of port locks: %w", err)
	}
	// Start at a place that differs by process: neighbours need not try each other's ports first.
	span := lastPort - firstPort + 1
	start := os.Getpid() * 37 % span
	for i := range span {
		number := firstPort + (start+i)%span
		lock, err := lockPort(dir, number)
		if errors.Is(err, errPortTaken) {
			continue
		}
		if err != nil {
			return Port{}, err
		}
		reserved.Lock()
		reserved.locks[number] = lock
		reserved.Unlock()
		return Port{Number: number}, nil
	}
	return Port{}, fmt.Errorf("no free port between %d and %d", firstPort, lastPort)
}

var errPortTaken = errors.New("port taken")

func lockPort(dir string, number int) (*os.File, error) {
	lock, err := lockFile(filepath.Join(dir, strconv.Itoa(number)))
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errPortTaken
	}
	if err != nil {
		return nil, fmt.Errorf("lock of port %d: %w", number, err)
	}
	// A listener without the lock belongs to a program that does not use this package.
	var listen net.ListenConfig
	probe, err := listen.Listen(context.Background(), "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(number)))
	if err != nil {
		return nil, errors.Join(errPortTaken, lock.Close())
	}
	if err := probe.Close(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}
