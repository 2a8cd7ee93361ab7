package nccl

import "github.com/railhead/railhead/internal/host"

// number reads an integer parameter as NCCL does (src/misc/param.cc ncclLoadParam: strtoll with base 0): blanks and a
// sign first, hexadecimal after 0x, octal after 0, up to the first character that is not a digit, so that "false"
// and "no" are 0. ok is false if NCCL uses its default: the value is empty or out of range.
func number(value string) (n int64, ok bool) {
	if value == "" {
		return 0, false
	}
	return host.Strtol(value, 0)
}
