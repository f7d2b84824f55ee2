package clusters

import (
	"net"
	"testing"
)

func TestAReservedPortIsNobodyElsesUntilItIsReleased(t *testing.T) {
	first, err := ReservePort()
	if err != nil {
		t.Fatal(err)
	}
	second, err := ReservePort()
	if err != nil {
		t.Fatal(err)
	}
	if first.Number == second.Number {
		t.Errorf("port %d was given out twice", first.Number)
	}
	listener, err := net.Listen("tcp4", first.Addr())
	if err != nil {
		t.Fatalf("nobody can listen on a reserved port: %v", err)
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	third, err := ReservePort()
	if err != nil {
		t.Fatal(err)
	}
	if third.Number == first.Number {
		t.Errorf("port %d was given out although somebody listens there", third.Number)
	}
	for _, close := range []func() error{listener.Close, second.Release, third.Release} {
		if err := close(); err != nil {
			t.Error(err)
		}
	}
}
