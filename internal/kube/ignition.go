package kube

import (
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/railhead/railhead/internal/cluster"
)

// maxFile bounds the decompressed content of a file: CRI-O's configuration is a few KB.
const maxFile = 1 << 20

// ignitionFile is a file of an Ignition config (coreos/ignition config/v3_4/types/schema.go). In Ignition 2 append is a
// flag.
type ignitionFile struct {
	Path     string           `json:"path"`
	Contents ignitionResource `json:"contents"`
	Append   any              `json:"append"`
}

type ignitionResource struct {
	Source      *string `json:"source"`
	Compression *string `json:"compression"`
}

func (f ignitionFile) read() cluster.File {
	file := cluster.File{Path: f.Path, Inherits: f.Contents.Source == nil}
	if c := f.Contents.Compression; c != nil {
		file.Compression = cmp.Or(*c, cluster.NotCompressed)
	}
	switch pieces := f.Append.(type) {
	case bool:
		if pieces {
			file.Unread = "it is appended to an existing file"
		}
	case []any:
		if len(pieces) > 0 {
			file.Unread = "other content is appended to it"
		}
	}
	if file.Unread != "" {
		return file
	}
	content, err := f.Contents.decode()
	if err != nil {
		file.Unread = err.Error()
		return file
	}
	file.Content = content
	return file
}

// decode returns the content of a data URL. Ignition fetches other sources when the node starts.
func (r ignitionResource) decode() (string, error) {
	if r.Source == nil || *r.Source == "" {
		return "", nil
	}
	data, ok := strings.CutPrefix(*r.Source, "data:")
	if !ok {
		return "", fmt.Errorf("its content is fetched from %s", *r.Source)
	}
	content, err := decodeDataURL(data)
	if err != nil {
		return "", err
	}
	compression := ""
	if r.Compression != nil {
		compression = *r.Compression
	}
	switch compression {
	case "":
		return content, nil
	case cluster.Gzip:
		return unzip(content)
	}
	return "", fmt.Errorf("its compression %q is unknown", compression)
}

// decodeDataURL decodes the part after "data:" (RFC 2397): [<mediatype>][;base64],<data>.
func decodeDataURL(s string) (string, error) {
	head, data, ok := strings.Cut(s, ",")
	if !ok {
		return "", errors.New("its data URL has no comma")
	}
	data, err := url.PathUnescape(data)
	if err != nil {
		return "", fmt.Errorf("its data URL: %w", err)
	}
	if head != "base64" && !strings.HasSuffix(head, ";base64") {
		return data, nil
	}
	content, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(data, "="))
	if err != nil {
		return "", fmt.Errorf("its data URL: %w", err)
	}
	return string(content), nil
}

func unzip(compressed string) (string, error) {
	r, err := gzip.NewReader(strings.NewReader(compressed))
	if err != nil {
		return "", fmt.Errorf("its compressed content: %w", err)
	}
	content, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("its compressed content: %w", err)
	case len(content) > maxFile:
		return "", fmt.Errorf("its content has more than %d bytes", maxFile)
	}
	return string(content), nil
}
