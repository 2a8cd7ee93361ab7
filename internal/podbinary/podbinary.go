// Package podbinary carries railhead-pod for every architecture of the pods, so that railhead can put it into a pod
// without a registry.
package podbinary

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
)

// Architectures are those that railhead-pod is built for.
var Architectures = []string{"amd64", "arm64"}

// files holds bin/railhead-pod-<arch>.gz, which "make build" puts there before it builds railhead.
//
//go:embed bin
var files embed.FS

// Binary is railhead-pod for one architecture.
type Binary struct {
	Arch   string
	Data   []byte
	SHA256 string // in hex
}

// New names a binary by its content.
func New(arch string, data []byte) Binary {
	sum := sha256.Sum256(data)
	return Binary{Arch: arch, Data: data, SHA256: hex.EncodeToString(sum[:])}
}

// For returns the binary that this railhead carries for an architecture.
func For(arch string) (Binary, error) {
	packed, err := files.ReadFile("bin/railhead-pod-" + arch + ".gz")
	if err != nil {
		return Binary{}, fmt.Errorf("this railhead carries no railhead-pod for %s: build it with 'make build', or name the file with --pod-binary", arch)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return Binary{}, fmt.Errorf("unpack railhead-pod for %s: %w", arch, err)
	}
	data, err := io.ReadAll(unpacked)
	if err != nil {
		return Binary{}, fmt.Errorf("unpack railhead-pod for %s: %w", arch, err)
	}
	return New(arch, data), nil
}
