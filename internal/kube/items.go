package kube

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxItem bounds one object: etcd takes 1.5 MiB and an object grows by less than its encoding twice over.
const maxItem = 64 << 20

// encoding is the form in which one object came.
type encoding int

const (
	inJSON encoding = iota
	inProtobuf
)

// visitor is given each object of a list; raw is valid during the call only.
type visitor func(raw []byte, form encoding) error

// eachItem reads a list object by object, so that its size does not matter, and returns its resource version. A list
// that ends early is errBroken.
func eachItem(list io.Reader, visit visitor) (resourceVersion string, err error) {
	r := bufio.NewReaderSize(list, 64<<10)
	magic, err := r.Peek(4)
	switch {
	case err != nil:
		return "", fmt.Errorf("%w: %w", errBroken, err)
	case bytes.Equal(magic, protobufMagic()):
		return eachProtobuf(r, visit)
	}
	return eachJSON(r, visit)
}

// protobufMagic begins every protobuf body of Kubernetes (apimachinery pkg/runtime/serializer/protobuf/doc.go).
func protobufMagic() []byte { return []byte("k8s\x00") }

func eachJSON(r io.Reader, visit visitor) (resourceVersion string, err error) {
	decoder := json.NewDecoder(r)
	if _, err := decoder.Token(); err != nil { // {
		return "", fmt.Errorf("%w: %w", errBroken, err)
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return "", fmt.Errorf("%w: %w", errBroken, err)
		}
		switch name {
		case "metadata":
			var meta metav1.ListMeta
			if err := decoder.Decode(&meta); err != nil {
				return "", fmt.Errorf("%w: %w", errBroken, err)
			}
			resourceVersion = meta.ResourceVersion
		case "items":
			if err := eachElement(decoder, visit); err != nil {
				return "", err
			}
		default:
			var skipped json.RawMessage
			if err := decoder.Decode(&skipped); err != nil {
				return "", fmt.Errorf("%w: %w", errBroken, err)
			}
		}
	}
	if _, err := decoder.Token(); err != nil { // }
		return "", fmt.Errorf("%w: %w", errBroken, err)
	}
	return resourceVersion, nil
}

func eachElement(decoder *json.Decoder, visit visitor) error {
	open, err := decoder.Token()
	if err != nil {
		return fmt.Errorf("%w: %w", errBroken, err)
	}
	if open != json.Delim('[') { // null: a list without items
		return nil
	}
	var raw json.RawMessage
	for decoder.More() {
		if err := decoder.Decode(&raw); err != nil {
			return fmt.Errorf("%w: %w", errBroken, err)
		}
		if err := visit(raw, inJSON); err != nil {
			return err
		}
		raw = raw[:0]
	}
	if _, err := decoder.Token(); err != nil { // ]
		return fmt.Errorf("%w: %w", errBroken, err)
	}
	return nil
}

// eachProtobuf reads the envelope runtime.Unknown, whose field 2 is the list; the list's field 1 is its ListMeta, and
// each of its fields 2 is an object (k8s.io/apimachinery/pkg/runtime/generated.proto,
// k8s.io/api/core/v1/generated.proto).
func eachProtobuf(r *bufio.Reader, visit visitor) (resourceVersion string, err error) {
	if _, err := r.Discard(len(protobufMagic())); err != nil {
		return "", fmt.Errorf("%w: %w", errBroken, err)
	}
	for {
		number, size, err := field(r)
		if err != nil {
			return "", fmt.Errorf("%w: %w", errBroken, err)
		}
		if number == 2 {
			return eachMessage(&io.LimitedReader{R: r, N: size}, visit)
		}
		if _, err := io.CopyN(io.Discard, r, size); err != nil {
			return "", fmt.Errorf("%w: %w", errBroken, err)
		}
	}
}

// eachMessage reads a list.
func eachMessage(list *io.LimitedReader, visit visitor) (resourceVersion string, err error) {
	r := bufio.NewReaderSize(list, 64<<10)
	var raw []byte
	for {
		number, size, err := field(r)
		if errors.Is(err, io.EOF) && list.N == 0 {
			return resourceVersion, nil
		}
		if err == nil && size > maxItem {
			err = fmt.Errorf("an object of %d bytes", size)
		}
		if err == nil {
			raw = slices.Grow(raw[:0], int(size))[:size]
			_, err = io.ReadFull(r, raw)
		}
		if err != nil {
			return "", fmt.Errorf("%w: %w", errBroken, err)
		}
		switch number {
		case 1:
			var meta metav1.ListMeta
			if err := meta.Unmarshal(raw); err != nil {
				return "", fmt.Errorf("%w: %w", errBroken, err)
			}
			resourceVersion = meta.ResourceVersion
		case 2:
			if err := visit(raw, inProtobuf); err != nil {
				return "", err
			}
		}
	}
}

// field reads the head of a length-delimited field, the only kind there is in envelopes and lists; io.EOF when there is
// no further one.
func field(r *bufio.Reader) (number uint64, size int64, err error) {
	tag, err := binary.ReadUvarint(r)
	if err != nil {
		return 0, 0, err
	}
	length, err := binary.ReadUvarint(r)
	if err != nil {
		return 0, 0, io.ErrUnexpectedEOF
	}
	if tag&7 != 2 || length > math.MaxInt64 {
		return 0, 0, fmt.Errorf("field %d has wire type %d and %d bytes", tag>>3, tag&7, length)
	}
	return tag >> 3, int64(length), nil
}
