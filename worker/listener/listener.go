// Package listener bounds what the remotes of a server may hold, so that a client that merely reaches a port does not keep
// others from being served. Its Limiter is shared fairly among remote addresses; its Listener closes at once what finds no
// room. It knows nothing of Kubernetes.
package listener

import (
	"net"
	"net/netip"
)

// Limits are how many connections a listener keeps open.
type Limits struct {
	// Total is for all remote addresses together, Remote for each of them.
	Total, Remote int64
}

// Refusal is why a connection was closed.
type Refusal string

// Reasons to close a connection.
const (
	// Refused: its remote address, or all together, had as many as it may.
	Refused Refusal = "Refused"
	// Displaced: another remote address that holds less needed room.
	Displaced Refusal = "Displaced"
)

// Listener keeps no more connections open than its limits say. A listener that waited in accept, as most with limits do,
// would let the first client keep all others out.
type Listener struct {
	net.Listener
	limiter *Limiter
	closed  func(Refusal)
}

// NewListener bounds the connections of a listener, and tells closed of each that is closed for it.
func NewListener(inner net.Listener, limits Limits, closed func(Refusal)) *Listener {
	return &Listener{Listener: inner, limiter: NewLimiter(limits.Total, limits.Remote, 0), closed: closed}
}

// Accept returns the next connection that there is room for.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		hold, ok := l.limiter.TryAcquire(RemoteAddress(c.RemoteAddr().String()), 1, func() {
			l.closed(Displaced)
			_ = c.Close() // whoever reads from it or writes to it is told
		})
		if ok {
			return &conn{Conn: c, hold: hold}, nil
		}
		l.closed(Refused)
		_ = c.Close()
	}
}

// conn leaves when it is closed.
type conn struct {
	net.Conn
	hold *Hold
}

// Close implements net.Conn.
func (c *conn) Close() error {
	defer c.hold.Release()
	return c.Conn.Close()
}

// RemoteAddress is the address of a remote, of its address and port; the zero address, which all share, if there is none.
func RemoteAddress(address string) netip.Addr {
	remote, err := netip.ParseAddrPort(address)
	if err != nil {
		return netip.Addr{}
	}
	return remote.Addr().Unmap().WithZone("")
}
