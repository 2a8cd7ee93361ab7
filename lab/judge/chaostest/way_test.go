//go:build chaos

package chaostest

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// way is a way to disturb a request.
type way string

const (
	interruptBefore way = "Ctrl-C before"
	interruptAfter  way = "Ctrl-C after"
	connectionCut   way = "cut"
	unavailable     way = "503"
	answerLost      way = "answer lost"
	serverKilled    way = "server killed"
)

// ways returns the ways that need no new API server.
func ways() []way {
	return []way{interruptBefore, interruptAfter, connectionCut, unavailable, answerLost}
}

func (w way) interrupts() bool { return w == interruptBefore || w == interruptAfter }

// dryRun is in the names of requests that the API server checks and does not carry out.
const dryRun = " dry run"

// writes reports whether a request changes objects. Reviews and dry runs are questions.
func writes(request string) bool {
	method, path, _ := strings.Cut(request, " ")
	return method != http.MethodGet && !strings.Contains(path, "reviews ") && !strings.Contains(path, dryRun)
}

// connects reports whether a request is one of the first, which are not repeated.
func connects(request string) bool { return request == "GET /version #1" || request == "GET /apis #1" }

// again is the name of a request that is repeated so many times.
func again(request string, times int) string {
	name, count, _ := strings.Cut(request, " #")
	n, _ := strconv.Atoi(count) // written by the proxy
	return fmt.Sprintf("%s #%d", name, n+times)
}
