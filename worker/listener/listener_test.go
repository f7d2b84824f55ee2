package listener

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"
)

// service is a server with few connections on the loopback network, whose addresses stand for remotes.
type service struct {
	address string
	mu      sync.Mutex
	closed  map[Refusal]int
}

func serve(t *testing.T, limits Limits, server *http.Server) *service {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &service{address: inner.Addr().String(), closed: map[Refusal]int{}}
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	go func() {
		_ = server.Serve(NewListener(inner, limits, func(why Refusal) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.closed[why]++
		}))
	}()
	t.Cleanup(func() { _ = server.Close() })
	return s
}

// connect opens a connection from an address of the loopback network.
func (s *service) connect(t *testing.T, from string) net.Conn {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := dialer.DialContext(t.Context(), "tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// isServed sends a request and tells whether it is answered; false if the connection has been closed.
func isServed(t *testing.T, c net.Conn) bool {
	t.Helper()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: here\r\n\r\n")
	_, err := io.ReadAtLeast(c, make([]byte, 1000), 1)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("is neither answered nor closed")
	}
	return err == nil
}

func awaitClosed(t *testing.T, c net.Conn) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the connection is not closed: %v", err)
	}
}

func TestOneRemoteDoesNotKeepOthersOut(t *testing.T) {
	s := serve(t, Limits{Total: 8, Remote: 4}, new(http.Server))
	var open []net.Conn
	for range 4 {
		open = append(open, s.connect(t, "127.0.0.1"))
	}
	for range 3 {
		awaitClosed(t, s.connect(t, "127.0.0.1"))
	}
	for range 2 {
		if !isServed(t, s.connect(t, "127.0.0.2")) {
			t.Error("another remote is not served")
		}
	}
	if !isServed(t, open[3]) {
		t.Error("a connection within the bound is not served")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed[Refused] != 3 || s.closed[Displaced] != 0 {
		t.Errorf("closed were %v", s.closed)
	}
}

func TestManyRemotesDoNotKeepOneOut(t *testing.T) {
	s := serve(t, Limits{Total: 6, Remote: 3}, new(http.Server))
	greedy := map[string][]net.Conn{}
	for _, from := range []string{"127.0.0.1", "127.0.0.2"} {
		for range 3 {
			greedy[from] = append(greedy[from], s.connect(t, from))
			if !isServed(t, greedy[from][len(greedy[from])-1]) {
				t.Fatal("is not served while there is room")
			}
		}
	}
	modest := s.connect(t, "127.0.0.3")
	if !isServed(t, modest) {
		t.Fatal("who holds nothing is not served")
	}
	awaitClosed(t, s.connect(t, "127.0.0.1")) // which would take it back
	if !isServed(t, modest) {
		t.Error("who holds little is not served any more")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed[Displaced] != 1 || s.closed[Refused] != 1 {
		t.Errorf("closed were %v", s.closed)
	}
}

func TestAConnectionThatIsClosedMakesRoom(t *testing.T) {
	s := serve(t, Limits{Total: 8, Remote: 1}, new(http.Server))
	for range 20 {
		c := s.connect(t, "127.0.0.1")
		for !isServed(t, c) { // the one before may still be there
			c = s.connect(t, "127.0.0.1")
		}
		_ = c.Close()
	}
}

func TestSilentConnectionsAreClosedAndMakeRoom(t *testing.T) {
	s := serve(t, Limits{Total: 8, Remote: 2}, &http.Server{ReadHeaderTimeout: 50 * time.Millisecond, IdleTimeout: 50 * time.Millisecond})
	silent, idle := s.connect(t, "127.0.0.1"), s.connect(t, "127.0.0.1")
	if !isServed(t, idle) {
		t.Fatal("is not served")
	}
	awaitClosed(t, silent)
	awaitClosed(t, idle)
	for !isServed(t, s.connect(t, "127.0.0.1")) {
		continue
	}
}

func TestARemoteIsItsAddressWhateverItIsWrittenLike(t *testing.T) {
	for address, want := range map[string]string{
		"10.0.0.1:1": "10.0.0.1", "[::ffff:10.0.0.1]:2": "10.0.0.1", "[fe80::1%eth0]:3": "fe80::1", "pipe": "invalid IP", "": "invalid IP",
	} {
		if got := RemoteAddress(address).String(); got != want {
			t.Errorf("%s is of %s", address, got)
		}
	}
}
