package main

import (
	"context"
	"strings"
	"testing"
)

func TestItSaysWhatItIsTold(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out, []string{"echo", "hello", "hub"}); err != nil || out.String() != "hello hub\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestItSleepsForAsLongAsItIsTold(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out, []string{"sleep", "1ms"}); err != nil || out.String() != "sleeping for 1ms\nslept\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestItFailsWhenItIsToldToStop(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, &strings.Builder{}, []string{"sleep", "1h"}); err == nil {
		t.Error("it succeeded")
	}
}

func TestItRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, args := range [][]string{nil, {"echo"}, {"dance", "now"}, {"sleep", "long"}} {
		if err := run(t.Context(), &strings.Builder{}, args); err == nil {
			t.Errorf("%v is taken", args)
		}
	}
}
