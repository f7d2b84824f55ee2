package network

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// connection is one client's, with the one to the server that belongs to it.
type connection struct {
	link   *Link
	client net.Conn

	mu     sync.Mutex
	server net.Conn // nil until the first moment at which the link passes
	over   bool
	done   chan struct{} // closed when the connection is over
}

// packet is what was read at a time, to be written at another.
type packet struct {
	data []byte
	due  time.Time
	end  error // the reader's error, io.EOF for an orderly end; nothing follows it
}

const (
	packetSize = 32 << 10
	// inFlight bounds what a direction holds; past it the sender feels the back-pressure.
	inFlight = 256
)

// serve carries packets until both sides have ended or one was reset.
func (c *connection) serve() {
	defer c.abort()
	if !c.waitPassing() {
		return
	}
	server, err := new(net.Dialer).DialContext(context.Background(), "tcp", c.link.target)
	if err != nil || !c.attach(server) {
		return
	}
	var both sync.WaitGroup
	var there, back bool
	both.Go(func() { there = c.carry(c.client, server) })
	both.Go(func() { back = c.carry(server, c.client) })
	both.Wait()
	if there && back {
		c.end(func(conn net.Conn) { _ = conn.Close() }) // both ways were closed already
	}
}

// attach keeps the connection to the server, or ends it if the client's is over.
func (c *connection) attach(server net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		reset(server)
		return false
	}
	c.server = server
	return true
}

// carry moves one direction and tells whether it came to an orderly end. Any other end is one of both directions.
func (c *connection) carry(from, to net.Conn) bool {
	packets := make(chan packet, inFlight)
	var reading sync.WaitGroup
	reading.Go(func() { c.read(from, packets) })
	defer reading.Wait()
	for {
		var p packet
		select {
		case p = <-packets:
		case <-c.done:
			return false
		}
		if !c.waitUntil(p.due) || !c.waitPassing() {
			return false
		}
		if _, err := to.Write(p.data); err != nil {
			c.abort()
			return false
		}
		if p.end == nil {
			continue
		}
		half, ok := to.(*net.TCPConn)
		if !ok || !errors.Is(p.end, io.EOF) || half.CloseWrite() != nil {
			c.abort()
			return false
		}
		return true
	}
}

func (c *connection) read(from net.Conn, packets chan<- packet) {
	for {
		buffer := make([]byte, packetSize)
		n, err := from.Read(buffer)
		w, _ := c.link.now()
		select {
		case packets <- packet{data: buffer[:n], due: time.Now().Add(w.delay), end: err}:
		case <-c.done:
			return
		}
		if err != nil {
			return
		}
	}
}

// waitUntil returns false if the connection is over before that time.
func (c *connection) waitUntil(due time.Time) bool {
	wait := time.Until(due)
	if wait <= 0 {
		return true
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.done:
		return false
	}
}

// waitPassing returns when the link lets packets through, false if the connection is over before.
func (c *connection) waitPassing() bool {
	for {
		w, changed := c.link.now()
		if w.mode == passing {
			return true
		}
		select {
		case <-changed:
		case <-c.done:
			return false
		}
	}
}

// abort ends both sides with a reset; what was not delivered is lost.
func (c *connection) abort() { c.end(reset) }

// end does that to both sides, once.
func (c *connection) end(one func(net.Conn)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return
	}
	c.over = true
	close(c.done)
	one(c.client)
	if c.server != nil {
		one(c.server)
	}
}

// reset closes a connection so that the other end is told of a failure, not of an orderly end.
func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // no harm if it is closed already
	}
	_ = conn.Close() // the same
}
