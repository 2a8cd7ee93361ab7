package nccllog

import (
	"strings"
	"time"
)

// timeOf finds the time that stands in the beginning of a line: NCCL's own in brackets (2.26 and later), that of Python's
// logging, of kubectl, of SLURM, and the one of glog, "E1218 20:27:21.426415540", which has no year.
func timeOf(line string) time.Time {
	head := line[:min(len(line), 120)]
	for i := 0; i+19 <= len(head); i++ {
		if head[i] != '2' || head[i+4] != '-' || head[i+7] != '-' || head[i+13] != ':' || head[i+16] != ':' {
			continue
		}
		text := head[i:i+10] + " " + head[i+11:i+19]
		if t, err := time.Parse("2006-01-02 15:04:05", text); err == nil {
			return t.Add(fraction(head[i+19:]))
		}
	}
	for i := 0; i+14 <= len(head); i++ {
		if !strings.ContainsRune("EWIF", rune(head[i])) || head[i+5] != ' ' || head[i+8] != ':' || head[i+11] != ':' || i > 0 && head[i-1] != '[' && head[i-1] != ' ' {
			continue
		}
		if t, err := time.Parse("0102 15:04:05", head[i+1:i+14]); err == nil {
			return t.Add(fraction(head[i+14:]))
		}
	}
	return time.Time{}
}

// fraction is what follows the seconds: .426415 or ,426.
func fraction(text string) time.Duration {
	if len(text) < 2 || text[0] != '.' && text[0] != ',' {
		return 0
	}
	value, unit := time.Duration(0), 100*time.Millisecond
	for _, c := range text[1:min(len(text), 10)] {
		if c < '0' || c > '9' {
			break
		}
		value += time.Duration(c-'0') * unit
		unit /= 10
	}
	return value
}
