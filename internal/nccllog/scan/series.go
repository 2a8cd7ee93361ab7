package scan

import (
	"bytes"
	"regexp"
	"strconv"

	"github.com/railhead/railhead/internal/nccllog/prefix"
)

// series is the last lines of one form: "s:19557 trl:3.2816 norm:0.23", "37697 train 3.826065".
type series struct {
	numbers []int // of the lines
	values  [][]float64
}

const (
	enough  = 8   // lines of a series
	longest = 400 // bytes of a line
)

var number = regexp.MustCompile(`\d+(?:\.\d+)?(?:[eE][-+]\d+)?`)

// waits are words of lines that count how long a program has been waiting, or what it tried.
var waits = []string{"wait", "Wait", "retry", "Retry", "attempt", "Attempt", "timeout", "download", "Download",
	"install"}

// countsInSeries returns the third last line of a series in which a number grows from line to line and a measured value
// goes up and down, as programs print them that name no step; 0: there is none.
func countsInSeries(last int, tail Tail) int {
	labelled := func(line []byte) []byte { return line[len(prefix.Labels(string(line[:min(len(line), longest)]))):] }
	bare := func(line []byte) []byte { // the number of a table's row looks like a label
		if !prefix.TimeOf(string(line[:min(len(line), longest)])).IsZero() {
			return nil
		}
		return line
	}
	return max(seriesIn(last, tail, labelled), seriesIn(last, tail, bare))
}

// seriesIn is countsInSeries for the part of each line that of returns.
func seriesIn(last int, tail Tail, of func([]byte) []byte) int {
	lines := tail.Lines()
	all := map[string]*series{}
	for i, line := range lines {
		line = bytes.TrimSpace(of(line))
		if len(line) == 0 || len(line) > longest || hasAny(line, bad) || hasAny(line, waits) {
			continue
		}
		var values []float64
		form := number.ReplaceAllFunc(line, func(text []byte) []byte {
			v, _ := strconv.ParseFloat(string(text), 64)
			values = append(values, v)
			if bytes.IndexByte(text, '.') >= 0 {
				return []byte("0.0")
			}
			return []byte("0")
		})
		key := string(bytes.Join(bytes.Fields(form), []byte(" "))) // columns are padded
		s := all[key]
		if s == nil {
			s = &series{}
			all[key] = s
		}
		s.numbers, s.values = append(s.numbers, last-(len(lines)-1-i)), append(s.values, values)
	}
	best := 0
	for form, s := range all {
		if len(s.numbers) >= enough && bytes.Contains([]byte(form), []byte("0.0")) && s.counts() {
			best = max(best, s.numbers[len(s.numbers)-steps])
		}
	}
	return best
}

// counts reports whether one number only grows and another one goes up and down.
func (s *series) counts() bool {
	grows, varies := false, false
	for at := range s.values[0] {
		up, down := 0, 0
		for i := 1; i < len(s.values); i++ {
			switch a, b := s.values[i-1][at], s.values[i][at]; {
			case b > a:
				up++
			case b < a:
				down++
			}
		}
		grows = grows || up == len(s.values)-1
		varies = varies || up > 0 && down > 0
	}
	return grows && varies
}

func hasAny(line []byte, words []string) bool {
	for _, word := range words {
		if bytes.Contains(line, []byte(word)) {
			return true
		}
	}
	return false
}
