package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestItSaysWhatItIsTold(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), strings.NewReader(""), &out, []string{"echo", "hello", "hub"}); err != nil || out.String() != "hello hub\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestItSleepsForAsLongAsItIsTold(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), strings.NewReader(""), &out, []string{"sleep", "1ms"}); err != nil || out.String() != "sleeping for 1ms\nslept\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestItFailsWhenItIsToldToStop(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, strings.NewReader(""), &strings.Builder{}, []string{"sleep", "1h"}); err == nil {
		t.Error("it succeeded")
	}
}

func TestItRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, args := range [][]string{nil, {"echo"}, {"dance", "now"}, {"sleep", "long"}} {
		if err := run(t.Context(), strings.NewReader(""), &strings.Builder{}, args); err == nil {
			t.Errorf("%v is taken", args)
		}
	}
}

func TestItPacksWhatItUnpacks(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	if err := archive(t.Context(), nil, &packed, []string{"cf", "-", filepath.Join(dir, "file")}); err != nil {
		t.Fatal(err)
	}
	there := t.TempDir()
	if err := archive(t.Context(), &packed, nil, []string{"-xmf", "-", "-C", there}); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(there, "file")); string(data) != "content" {
		t.Errorf("%q %v", data, err)
	}
}
