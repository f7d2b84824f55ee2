package clusters

import (
	"net"
	"runtime"
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
	for _, end := range []func() error{listener.Close, second.Release, third.Release} {
		if err := end(); err != nil {
			t.Error(err)
		}
	}
}

func TestAPortRememberedByItsNumberOnlyStaysReserved(t *testing.T) {
	number := func() int {
		port, err := ReservePort()
		if err != nil {
			t.Fatal(err)
		}
		return port.Number
	}()
	runtime.GC() // closes files that nobody refers to
	runtime.GC()
	again, err := ReservePort()
	if err != nil {
		t.Fatal(err)
	}
	if again.Number == number {
		t.Errorf("port %d was given out twice", number)
	}
	for _, port := range []Port{{Number: number}, again} {
		if err := port.Release(); err != nil {
			t.Error(err)
		}
	}
}
