package nccl

import (
	"strconv"
	"testing"
)

// TestNumber states what strtoll with base 0 makes of a value.
func TestNumber(t *testing.T) {
	for value, want := range map[string]struct {
		n  int64
		ok bool
	}{
		"":                     {0, false},
		"0":                    {0, true},
		"1":                    {1, true},
		"-1":                   {-1, true},
		"+3":                   {3, true},
		" 3":                   {3, true},
		"3 ":                   {3, true},
		"00":                   {0, true},
		"010":                  {8, true},
		"08":                   {0, true},
		"0x10":                 {16, true},
		"0X1f":                 {31, true},
		"0x":                   {0, true},
		"0xg":                  {0, true},
		"false":                {0, true},
		"true":                 {0, true},
		"no":                   {0, true},
		"1,2":                  {1, true},
		"3\x11":                {3, true},
		"-":                    {0, true},
		"9223372036854775807":  {9223372036854775807, true},
		"9223372036854775808":  {9223372036854775807, false},
		"-9223372036854775808": {-9223372036854775808, true},
	} {
		if n, ok := number(value); ok != want.ok || ok && n != want.n {
			t.Errorf("%q is %d, %v, want %d, %v", value, n, ok, want.n, want.ok)
		}
	}
}

func FuzzNumber(f *testing.F) {
	for _, seed := range []string{"0x10", "-017", " +5x", "false"} {
		f.Add(seed, int64(0))
	}
	f.Fuzz(func(t *testing.T, text string, n int64) {
		_, _ = number(text)
		decimal := strconv.FormatInt(n, 10)
		more := text == "" || '0' <= text[0] && text[0] <= '9' // digits
		if got, ok := number(decimal + text); !more && n != 0 && (!ok || got != n) {
			t.Errorf("%q is %d, %v", decimal+text, got, ok)
		}
	})
}
