// Package netlink reads RDMA devices in motion from the kernel, and makes and takes apart netlink messages.
package netlink

import (
	"encoding/binary"
	"syscall"
)

const (
	header      = 16 // struct nlmsghdr
	flagRequest = 1  // NLM_F_REQUEST
)

// Request returns a message: struct nlmsghdr and its body.
func Request(kind, flags uint16, body []byte) []byte {
	m := binary.NativeEndian.AppendUint32(nil, uint32(header+len(body)))
	m = binary.NativeEndian.AppendUint16(m, kind)
	m = binary.NativeEndian.AppendUint16(m, flags|flagRequest)
	return append(append(m, make([]byte, 8)...), body...)
}

// Attribute returns struct nlattr with its value, which has a multiple of four bytes.
func Attribute(kind uint16, value []byte) []byte {
	a := binary.NativeEndian.AppendUint16(nil, uint16(4+len(value)))
	return append(binary.NativeEndian.AppendUint16(a, kind), value...)
}

// Uint32 returns the value of a numeric attribute.
func Uint32(v uint32) []byte { return binary.NativeEndian.AppendUint32(nil, v) }

// nestedFlag marks attributes that hold attributes (NLA_F_NESTED).
const nestedFlag = 0x8000

// EachAttribute calls each for the attributes of a message: struct nlattr and its value.
func EachAttribute(data []byte, each func(kind uint16, value []byte)) {
	const start = 4 // length and kind
	for len(data) >= start {
		length := int(binary.NativeEndian.Uint16(data))
		if length < start || length > len(data) {
			return
		}
		each(binary.NativeEndian.Uint16(data[2:])&^nestedFlag, data[start:length])
		data = data[min((length+3)&^3, len(data)):]
	}
}

// Cut splits off the first message; kind is 0 when there is none.
func Cut(data []byte) (kind uint16, body, rest []byte) {
	if len(data) < header {
		return 0, nil, nil
	}
	length := int(binary.NativeEndian.Uint32(data))
	if length < header || length > len(data) {
		return 0, nil, nil
	}
	aligned := min((length+3)&^3, len(data))
	return binary.NativeEndian.Uint16(data[4:]), data[header:length], data[aligned:]
}

// errorOf returns the error of a message NLMSG_ERROR, struct nlmsgerr, or NLMSG_DONE: both start with it.
func errorOf(body []byte) error {
	if len(body) < 4 {
		return syscall.EINVAL
	}
	if errno := -int32(binary.NativeEndian.Uint32(body)); errno > 0 {
		return syscall.Errno(errno)
	}
	return nil
}
