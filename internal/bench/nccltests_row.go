package bench

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/host"
)

// NCCLRow is one size of a table. Root is -1 if the operation has none, and absent in tables without that column.
type NCCLRow struct {
	Bytes      int64               `json:"bytes"` // of all_gather and reduce_scatter: over all ranks
	Count      int64               `json:"count"` // elements
	Type       string              `json:"type"`
	RedOp      string              `json:"redop,omitempty"`
	Root       host.Fact[int]      `json:"root,omitzero"`
	OutOfPlace host.Fact[NCCLTime] `json:"outOfPlace,omitzero"`
	InPlace    host.Fact[NCCLTime] `json:"inPlace,omitzero"` // absent: the operation is never in place (N/A)
}

// NCCLTime is one half of a row.
type NCCLTime struct {
	Micros float64          `json:"us"` // of one iteration
	Algbw  GBps             `json:"algbw"`
	Busbw  GBps             `json:"busbw"`
	Wrong  host.Fact[int64] `json:"wrong,omitzero"` // wrong values; absent: not checked (N/A)
}

// Faster returns the half with the higher busbw. It is false if neither was measured.
func (r NCCLRow) Faster() (NCCLTime, bool) {
	faster := r.OutOfPlace
	if r.InPlace.IsKnown() && !(faster.IsKnown() && faster.Value.Busbw >= r.InPlace.Value.Busbw) {
		faster = r.InPlace
	}
	return faster.Get()
}

// columns are the names of the columns of a table, in their oldest spelling: error is #wrong, cputime is time.
type columns []string

const (
	half     = 4 // time algbw busbw #wrong
	fullHalf = 8 // and i_min i_max i_p99 i_cv% (-I)
)

// headerColumns reads the line of column names. It is nil for other comments.
func headerColumns(line string) columns {
	words := strings.Fields(strings.TrimLeft(line, "#"))
	if len(words) < 3+2*half || words[0] != "size" || words[1] != "count" {
		return nil
	}
	for i, w := range words {
		switch w {
		case "error":
			words[i] = "#wrong"
		case "cputime":
			words[i] = "time"
		}
	}
	return words
}

// inferred returns the columns of a row without a header. Before 2.12 only operations that use redop and root have
// these columns. A trailing time stamp is two words.
func inferred(words []string) columns {
	if stamped(words) {
		words = words[:len(words)-2]
	}
	halves := 2 * half
	if len(words) >= 5+2*fullHalf {
		halves = 2 * fullHalf
	}
	c := columns{"size", "count", "type"}
	switch len(words) - halves {
	case 3:
	case 4:
		if _, err := strconv.Atoi(words[3]); err == nil {
			c = append(c, "root")
		} else {
			c = append(c, "redop")
		}
	case 5:
		c = append(c, "redop", "root")
	default:
		return nil
	}
	one := []string{"time", "algbw", "busbw", "#wrong"}
	if halves == 2*fullHalf {
		one = append(one, "i_min", "i_max", "i_p99", "i_cv%")
	}
	return append(append(c, one...), one...)
}

// stamped reports whether a row ends in the date and time of nccl-tests' -S.
func stamped(words []string) bool {
	n := len(words)
	return n > 2 && strings.Count(words[n-2], "-") == 2 && strings.Count(words[n-1], ":") == 2
}

// row adds a row of the table, and ignores other lines.
func (t *NCCLTest) row(line string) {
	words := strings.Fields(line)
	if len(words) < 3 || !digits(words[0]) || !digits(words[1]) || !typeName(words[2]) {
		return
	}
	names := t.columns
	if names == nil {
		names = inferred(words)
	}
	names = slices.DeleteFunc(slices.Clone(names), func(s string) bool { return s == "timestamp" })
	if stamped(words) {
		words = words[:len(words)-2]
	}
	r, ok := rowOf(names, words)
	if !ok {
		t.Torn++
		return
	}
	t.Rows = append(t.Rows, r)
}

// rowOf reads words by the names of their columns. It is false if they are not a row of such a table.
func rowOf(names columns, words []string) (NCCLRow, bool) {
	if len(names) == 0 || len(names) != len(words) {
		return NCCLRow{}, false
	}
	size, wrongSize := strconv.ParseInt(words[0], 10, 64)
	elements, wrongCount := strconv.ParseInt(words[1], 10, 64)
	if wrongSize != nil || wrongCount != nil {
		return NCCLRow{}, false
	}
	r := NCCLRow{Bytes: size, Count: elements, Type: words[2]}
	halves := []*host.Fact[NCCLTime]{&r.OutOfPlace, &r.InPlace}
	for i := 3; i < len(names); i++ {
		switch names[i] {
		case "redop":
			r.RedOp = words[i]
		case "root":
			root, err := strconv.Atoi(words[i])
			if err != nil {
				return r, false
			}
			r.Root = host.Know(root)
		case "time":
			if len(halves) == 0 || i+half > len(words) {
				return r, false
			}
			var ok bool
			if *halves[0], ok = halfOf(words[i : i+half]); !ok {
				return r, false
			}
			halves = halves[1:]
		}
	}
	return r, len(halves) == 0
}

// halfOf reads time, algbw, busbw and #wrong. They are absent if they were not measured.
func halfOf(words []string) (host.Fact[NCCLTime], bool) {
	const none = "N/A"
	if words[0] == none {
		return host.Fact[NCCLTime]{}, true
	}
	var f [3]float64
	for i := range f {
		var ok bool
		if f[i], ok = number(words[i]); !ok {
			return host.Fact[NCCLTime]{}, false
		}
	}
	t := NCCLTime{Micros: f[0], Algbw: GBps(f[1]), Busbw: GBps(f[2])}
	if words[3] != none {
		wrong, ok := number(words[3]) // printed with %g: 1e+06
		if !ok || wrong > math.MaxInt32*1e6 {
			return host.Fact[NCCLTime]{}, false
		}
		t.Wrong = host.Know(int64(wrong))
	}
	return host.Know(t), true
}

// number reads a finite number that is not negative.
func number(s string) (float64, bool) {
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil && f >= 0 && !math.IsInf(f, 0)
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// typeName reports whether s can be a type of NCCL: float, bfloat16, uint8, f8e4m3.
func typeName(s string) bool {
	return s[0] >= 'a' && s[0] <= 'z' && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}
