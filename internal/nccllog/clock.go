package nccllog

import (
	"strings"
	"time"
)

// timeOf finds the time that stands in the beginning of a line: NCCL's own in brackets (2.26 and later), that of
// Python's logging, of kubectl, of SLURM, and the one of glog, "E1218 20:27:21.426415540", which has no year.
func timeOf(line string) time.Time {
	head := line[:min(len(line), 120)]
	for i := 0; i+19 <= len(head); i++ {
		if h := head[i:]; h[0] == '2' && h[4] == '-' && h[7] == '-' && h[13] == ':' && h[16] == ':' {
			if t, err := time.Parse(time.DateTime, h[:10]+" "+h[11:19]); err == nil {
				return t.Add(fraction(h[19:]))
			}
		}
	}
	for i := 0; i+14 <= len(head); i++ {
		if i > 0 && head[i-1] != '[' && head[i-1] != ' ' {
			continue
		}
		if h := head[i:]; strings.IndexByte("EWIF", h[0]) >= 0 && h[5] == ' ' && h[8] == ':' && h[11] == ':' {
			if t, err := time.Parse("0102 15:04:05", h[1:14]); err == nil {
				return t.Add(fraction(h[14:]))
			}
		}
	}
	return time.Time{}
}

// fraction reads the digits after the seconds: .426415 or ,426.
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
