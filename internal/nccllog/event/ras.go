package event

import (
	"strings"

	"github.com/railhead/railhead/internal/nccllog/find"
	"github.com/railhead/railhead/internal/nccllog/prefix"
)

func readMissing(_ *Event, text, _ string) bool {
	return !strings.Contains(text, `"missing_ranks_count": 0`)
}

// readRankErrors leaves out ncclSuccess and ncclInProgress.
func readRankErrors(_ *Event, text, _ string) bool {
	if code := find.NumberAfter(text, `"async_error": `); code >= 0 {
		return code > 0 && code != 7
	}
	return strings.Contains(text, " rank") && find.NumberAfter(text, " on ") > 0
}

// readAborted reads the status of a group, the last but one of the eight columns "0  1  4  8  32  32  ABORT  OK", and
// the status of ranks.
func readAborted(e *Event, text, _ string) bool {
	e.Number = find.NumberAfter(text, "Rank ")
	fields := strings.Fields(text)
	if e.Number >= 0 || !strings.Contains(text, "  ABORT  ") {
		return true
	}
	n := len(fields) - 2
	_, isNumber := prefix.Whole([]byte(fields[max(n-1, 0)]))
	return n >= 6 && fields[n] == "ABORT" && isNumber
}

// readRankNamed reads "Rank 0 has launched up to operation 66 -- GPU 5 managed by process 42 on node 10.0.0.1" and
// "Process 42 on node 10.0.0.1 managing GPU 5".
func readRankNamed(e *Event, text, _ string) bool {
	e.Number, e.Host = find.NumberAfter(text, "Rank "), find.WordAfter(text, " on node ")
	said, _, _ := strings.Cut(text, " -- ")
	_, said, _ = strings.Cut(strings.TrimSpace(said), " ")
	_, e.Name, _ = strings.Cut(said, " ")
	return e.Host != ""
}
