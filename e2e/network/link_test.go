package network

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// silence is how long a test listens to nothing before it believes it.
const silence = 100 * time.Millisecond

// echo is a server that returns what it gets, and ends when its client does.
func echo(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	return listener.Addr().String()
}

func open(t *testing.T) *Link {
	t.Helper()
	link, err := Open(echo(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := link.Close(); err != nil {
			t.Error(err)
		}
	})
	return link
}

func dial(t *testing.T, link *Link) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", link.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func writeLine(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := conn.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

// readLine reads as many bytes as the text has, within the time.
func readLine(t *testing.T, conn net.Conn, text string, within time.Duration) error {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(within)); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(text))
	if n, err := io.ReadFull(conn, got); err != nil {
		return errors.Join(err, errors.New("after "+string(got[:n])))
	}
	if string(got) != text {
		t.Fatalf("heard %q, want %q", got, text)
	}
	return nil
}

func expectEcho(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	writeLine(t, conn, text)
	if err := readLine(t, conn, text, time.Minute); err != nil {
		t.Fatal(err)
	}
}

func expectSilence(t *testing.T, conn net.Conn) {
	t.Helper()
	if err := readLine(t, conn, "?", silence); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("heard %v, want nothing", err)
	}
}

// expectReset reads until the connection has failed, which is neither an orderly end nor silence.
func expectReset(t *testing.T, conn net.Conn) {
	t.Helper()
	err := readLine(t, conn, "?", time.Minute)
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the connection ended with %v, want a reset", err)
	}
}

func TestALinkCarriesBytesBothWaysAndAnOrderlyEnd(t *testing.T) {
	conn := dial(t, open(t))
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	go func() {
		_, _ = conn.Write(sent)
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(conn)
	if err != nil || !bytes.Equal(got, sent) {
		t.Fatalf("got %d bytes of %d, error %v", len(got), len(sent), err)
	}
}

func TestAPartitionResetsOldAndNewConnectionsAndHeals(t *testing.T) {
	link := open(t)
	old := dial(t, link)
	expectEcho(t, old, "before")
	link.Partition()
	expectReset(t, old)
	// A reset may be so quick that it comes before the connection is made.
	if late, err := new(net.Dialer).DialContext(t.Context(), "tcp", link.Addr()); err == nil {
		expectReset(t, late)
		_ = late.Close()
	}
	link.Pass()
	expectEcho(t, dial(t, link), "after")
}

func TestABlackHoleSwallowsWithoutAResetAndDeliversWhenItHeals(t *testing.T) {
	link := open(t)
	old := dial(t, link)
	expectEcho(t, old, "before")
	link.BlackHole()
	writeLine(t, old, "old")
	expectSilence(t, old)
	late := dial(t, link)
	writeLine(t, late, "late")
	expectSilence(t, late)
	link.Pass()
	for conn, text := range map[net.Conn]string{old: "old", late: "late"} {
		if err := readLine(t, conn, text, time.Minute); err != nil {
			t.Fatal(err)
		}
		expectEcho(t, conn, "after")
	}
}

func TestABlackHoleHidesTheEndOfAConnection(t *testing.T) {
	ended := make(chan struct{})
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		_, _ = conn.Write([]byte("hello"))
		_, _ = io.Copy(io.Discard, conn)
		_ = conn.Close()
		close(ended)
	}()
	link, err := Open(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	conn := dial(t, link)
	if err := readLine(t, conn, "hello", time.Minute); err != nil {
		t.Fatal(err)
	}
	link.BlackHole()
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	quiet, cancel := context.WithTimeout(t.Context(), silence)
	defer cancel()
	select {
	case <-ended:
		t.Error("the server learned through the black hole that its client has gone")
	case <-quiet.Done():
	}
	link.Pass()
	<-ended
}

// Each direction takes d; a hundred packets under way take no longer than one.
func TestADelayIsLatencyNotThroughput(t *testing.T) {
	const d = 200 * time.Millisecond
	link := open(t)
	link.Delay(d)
	conn := dial(t, link)
	start := time.Now()
	for range 100 {
		writeLine(t, conn, "x")
	}
	if err := readLine(t, conn, string(bytes.Repeat([]byte("x"), 100)), time.Minute); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took < 2*d || took > 50*d {
		t.Errorf("an echo took %s; want about %s", took, 2*d)
	}
	link.Pass()
	expectEcho(t, conn, "undelayed")
}

func TestAClosedLinkLeavesNobodyWaiting(t *testing.T) {
	link, err := Open(echo(t))
	if err != nil {
		t.Fatal(err)
	}
	conn := dial(t, link)
	expectEcho(t, conn, "before")
	link.BlackHole()
	if err := link.Close(); err != nil {
		t.Fatal(err)
	}
	expectReset(t, conn)
	if n := link.Connections(); n != 0 {
		t.Errorf("%d connections are left", n)
	}
}
