// Package podbinary carries railhead-pod for every architecture of the pods, so that railhead can put it into a pod
// without a registry.
package podbinary

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io"
)

// Architectures lists the architectures that railhead-pod is built for.
func Architectures() []string { return []string{"amd64", "arm64"} }

// files holds bin/railhead-pod-<arch>.gz, which "make build" puts there before it builds railhead.
//
//go:embed bin
var files embed.FS

// Packed returns the program that this railhead carries for an architecture, compressed by gzip.
func Packed(arch string) ([]byte, error) {
	packed, err := files.ReadFile("bin/railhead-pod-" + arch + ".gz")
	if err != nil {
		return nil, fmt.Errorf("this railhead has no railhead-pod for %s: build it with 'make build', or name "+
			"the file with --pod-binary", arch)
	}
	return packed, nil
}

// For returns the program that this railhead carries for an architecture.
func For(arch string) ([]byte, error) {
	packed, err := Packed(arch)
	if err != nil {
		return nil, err
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err == nil {
		packed, err = io.ReadAll(unpacked)
	}
	if err != nil {
		return nil, fmt.Errorf("unpack railhead-pod for %s: %w", arch, err)
	}
	return packed, nil
}
