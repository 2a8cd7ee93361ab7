package prefix

import (
	"strings"
	"time"
)

// TimeOf returns the time at the beginning of a line. It knows NCCL's form in brackets (2.26 and later), the forms of
// Python's logging, kubectl, SLURM and mpirun, and glog's, "E1218 20:27:21.426415540", which has no year.
func TimeOf(line string) time.Time {
	head := line[:min(len(line), 120)]
	if len(head) > len(time.ANSIC) && (head[len(time.ANSIC)] == '[' || head[len(time.ANSIC)] == '<') {
		if t, err := time.Parse(time.ANSIC, head[:len(time.ANSIC)]); err == nil { // of mpirun --timestamp-output
			return t
		}
	}
	for i := range len(head) {
		if t, ok := dateTime(head[i:]); ok {
			return t
		}
	}
	for i := range len(head) {
		if i == 0 || head[i-1] == '[' || head[i-1] == ' ' {
			if t, ok := glogTime(head[i:]); ok {
				return t
			}
		}
	}
	return time.Time{}
}

// dateTime reads "2026-03-02T10:00:05.5".
func dateTime(text string) (time.Time, bool) {
	if len(text) < 19 || text[0] != '2' || text[4] != '-' || text[7] != '-' || text[13] != ':' || text[16] != ':' {
		return time.Time{}, false
	}
	t, err := time.Parse(time.DateTime, text[:10]+" "+text[11:19])
	return t.Add(fraction(text[19:])), err == nil
}

func glogTime(text string) (time.Time, bool) {
	if len(text) < 14 || strings.IndexByte("EWIF", text[0]) < 0 || text[5] != ' ' || text[8] != ':' ||
		text[11] != ':' {
		return time.Time{}, false
	}
	t, err := time.Parse("0102 15:04:05", text[1:14])
	return t.Add(fraction(text[14:])), err == nil
}

// fraction reads the digits after the seconds: ".426415" or ",426".
func fraction(text string) time.Duration {
	if text == "" || text[0] != '.' && text[0] != ',' {
		return 0
	}
	value, unit := time.Duration(0), 100*time.Millisecond
	for i := 1; i < min(len(text), 10) && IsDigit(text[i]); i++ {
		value += time.Duration(text[i]-'0') * unit
		unit /= 10
	}
	return value
}
