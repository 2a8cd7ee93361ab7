package kube

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxItem bounds one object. etcd accepts 1.5 MiB, and an encoding is at most twice as long.
const maxItem = 64 << 20

// encoding is the form of an object on the wire.
type encoding int

const (
	inJSON encoding = iota
	inProtobuf
)

// protobufMagic begins every protobuf body of Kubernetes (apimachinery pkg/runtime/serializer/protobuf/doc.go).
const protobufMagic = "k8s\x00"

// visitor gets each object of a list; raw is valid only during the call.
type visitor func(raw []byte, form encoding)

// eachItem reads a list object by object, so that memory does not grow with it, and returns its resource version. The
// error of a list that ends early is errBroken.
func eachItem(list io.Reader, visit visitor) (resourceVersion string, err error) {
	r := bufio.NewReaderSize(list, 64<<10)
	magic, err := r.Peek(len(protobufMagic))
	switch {
	case err != nil:
	case string(magic) == protobufMagic:
		resourceVersion, err = eachProtobuf(r, visit)
	default:
		resourceVersion, err = eachJSON(r, visit)
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w", errBroken, err)
	}
	return resourceVersion, nil
}

func eachJSON(r io.Reader, visit visitor) (resourceVersion string, err error) {
	decoder := json.NewDecoder(r)
	if _, err := decoder.Token(); err != nil { // {
		return "", err
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return "", err
		}
		switch name {
		case "metadata":
			var meta metav1.ListMeta
			err = decoder.Decode(&meta)
			resourceVersion = meta.ResourceVersion
		case "items":
			err = eachElement(decoder, visit)
		default:
			err = decoder.Decode(new(json.RawMessage))
		}
		if err != nil {
			return "", err
		}
	}
	_, err = decoder.Token() // }
	return resourceVersion, err
}

func eachElement(decoder *json.Decoder, visit visitor) error {
	open, err := decoder.Token()
	if err != nil || open != json.Delim('[') { // null: a list without items
		return err
	}
	var raw json.RawMessage
	for decoder.More() {
		if err := decoder.Decode(&raw); err != nil {
			return err
		}
		visit(raw, inJSON)
	}
	_, err = decoder.Token() // ]
	return err
}

// eachProtobuf reads the envelope runtime.Unknown, whose field 2 is the list
// (k8s.io/apimachinery/pkg/runtime/generated.proto).
func eachProtobuf(r *bufio.Reader, visit visitor) (resourceVersion string, err error) {
	if _, err := r.Discard(len(protobufMagic)); err != nil {
		return "", err
	}
	for {
		number, size, err := field(r)
		if err != nil {
			return "", err
		}
		if number == 2 {
			return eachMessage(&io.LimitedReader{R: r, N: size}, visit)
		}
		if _, err := io.CopyN(io.Discard, r, size); err != nil {
			return "", err
		}
	}
}

// eachMessage reads a list: field 1 is its ListMeta, each field 2 an object (k8s.io/api/core/v1/generated.proto).
func eachMessage(list *io.LimitedReader, visit visitor) (resourceVersion string, err error) {
	r := bufio.NewReaderSize(list, 64<<10)
	var raw []byte
	for {
		number, size, err := field(r)
		switch {
		case errors.Is(err, io.EOF) && list.N == 0:
			return resourceVersion, nil
		case err != nil:
			return "", err
		case size > maxItem:
			return "", fmt.Errorf("an object of %d bytes", size)
		}
		raw = slices.Grow(raw[:0], int(size))[:size]
		if _, err := io.ReadFull(r, raw); err != nil {
			return "", err
		}
		switch number {
		case 1:
			var meta metav1.ListMeta
			if err := meta.Unmarshal(raw); err != nil {
				return "", err
			}
			resourceVersion = meta.ResourceVersion
		case 2:
			visit(raw, inProtobuf)
		}
	}
}

// field reads the head of a length-delimited field, the only kind in envelopes and lists. It returns io.EOF after the
// last one.
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
