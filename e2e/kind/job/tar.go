package main

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// archive is "tar cf - FILE" and "tar -xmf - [-C DIRECTORY]", with whatever other options.
func archive(_ context.Context, in io.Reader, out io.Writer, args []string) error {
	if len(args) == 0 {
		return errors.New("pack or unpack?")
	}
	if strings.Contains(args[0], "c") {
		return pack(out, args[len(args)-1])
	}
	dir := "."
	if at := slices.Index(args, "-C"); at >= 0 && at+1 < len(args) {
		dir = args[at+1]
	}
	return unpack(in, dir)
}

func pack(out io.Writer, file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	w := tar.NewWriter(out)
	if err := w.WriteHeader(&tar.Header{Name: strings.TrimPrefix(file, "/"), Mode: 0o644, Size: int64(len(data))}); err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	if _, err := w.Write(data); err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	return w.Close()
}

func unpack(in io.Reader, dir string) error {
	r := tar.NewReader(in)
	for {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("unpack: %w", err)
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return fmt.Errorf("unpack %s: %w", header.Name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(header.Name)), data, 0o600); err != nil {
			return fmt.Errorf("unpack: %w", err)
		}
	}
}
