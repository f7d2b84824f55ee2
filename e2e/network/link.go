package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Link is an address on loopback that leads to a server. It begins by passing everything on; its methods may be called at
// any time and from any goroutine, and hold for the connections that exist as well as for new ones.
type Link struct {
	target   string
	listener net.Listener
	serving  sync.WaitGroup

	mu      sync.Mutex
	weather networkMode
	changed chan struct{} // closed, and replaced, when the weather changes
	conns   map[*connection]struct{}
	closed  bool
}

// networkMode is what a Link does to packets.
type networkMode struct {
	mode  mode
	delay time.Duration
}

type mode int

const (
	passing mode = iota
	refusing
	silent
)

// Open makes a link to a server, "host:port". The address of the link stays its own until Close, whatever the weather.
func Open(target string) (*Link, error) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("link to %s: %w", target, err)
	}
	l := &Link{target: target, listener: listener, changed: make(chan struct{}), conns: map[*connection]struct{}{}}
	l.serving.Go(l.accept)
	return l, nil
}

// Addr is where clients connect, "127.0.0.1:port".
func (l *Link) Addr() string { return l.listener.Addr().String() }

// Pass heals the link. What a black hole held back arrives now, as it would be sent again by TCP.
func (l *Link) Pass() { l.setMode(networkMode{mode: passing}) }

// Delay passes everything on, each packet d later, in either direction.
func (l *Link) Delay(d time.Duration) { l.setMode(networkMode{mode: passing, delay: d}) }

// Partition resets all connections, and every new one as soon as it is made.
func (l *Link) Partition() {
	l.setMode(networkMode{mode: refusing})
	for _, c := range l.open() {
		c.abort()
	}
}

// BlackHole lets nothing through, neither data nor ends of connections, and reports nothing: connections stay, and new ones
// are accepted, but nothing is ever answered.
func (l *Link) BlackHole() { l.setMode(networkMode{mode: silent}) }

// Connections is how many there are now, by which a test knows that the link is in use.
func (l *Link) Connections() int { return len(l.open()) }

// Close resets all connections and gives up the address.
func (l *Link) Close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	err := l.listener.Close()
	for _, c := range l.open() {
		c.abort()
	}
	l.serving.Wait()
	if err != nil {
		return fmt.Errorf("closing the link to %s: %w", l.target, err)
	}
	return nil
}

func (l *Link) setMode(w networkMode) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.weather = w
	close(l.changed)
	l.changed = make(chan struct{})
}

// now is the weather, and a channel that is closed when it changes.
func (l *Link) now() (networkMode, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.weather, l.changed
}

func (l *Link) open() []*connection {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []*connection
	for c := range l.conns {
		all = append(all, c)
	}
	return all
}

func (l *Link) accept() {
	for {
		client, err := l.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // out of files, say: the client was told by the kernel
		}
		c := &connection{link: l, client: client, done: make(chan struct{})}
		if !l.acceptConnection(c) {
			c.abort()
			continue
		}
		l.serving.Go(func() {
			defer l.forget(c)
			c.serve()
		})
	}
}

// acceptConnection takes a connection in, unless the link refuses. Both are decided at once, so that none slips past a Partition.
func (l *Link) acceptConnection(c *connection) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.weather.mode == refusing {
		return false
	}
	l.conns[c] = struct{}{}
	return true
}

func (l *Link) forget(c *connection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}
