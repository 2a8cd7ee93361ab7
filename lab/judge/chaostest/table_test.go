//go:build chaos

package chaostest

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// tally is the summary of the tests, printed when all of them have ended.
type tally struct {
	mu   sync.Mutex
	rows []*row
}

// takenBack is a Ctrl-C after which the command is not run again but undone.
const takenBack way = "taken back"

// row is about one command.
type row struct {
	name           string
	requests       int
	made           map[way]int
	passed, failed int
	lost, doubled  int           // objects
	again          int           // how often the user had to run it again, without a Ctrl-C
	slowest        time.Duration // from Ctrl-C to the end
}

func (r *tally) add(name string) *row {
	r.mu.Lock()
	defer r.mu.Unlock()
	added := &row{name: name, made: map[way]int{}}
	r.rows = append(r.rows, added)
	return added
}

// count counts a disturbance, and whether all was as it should be.
func (r *row) count(w way, wrong error) {
	r.made[w]++
	if wrong != nil {
		r.failed++
		return
	}
	r.passed++
}

// write prints the table in the form of docs/lab.md.
func (r *tally) write(w io.Writer, whole time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	columns := append(ways(), serverKilled, takenBack)
	fmt.Fprint(w, "\n| command | requests |")
	for _, c := range columns {
		fmt.Fprintf(w, " %s |", c)
	}
	fmt.Fprint(w, " passed | failed | objects lost | doubled or left | to be run again | ends after Ctrl-C within |\n|---|---|")
	for range columns {
		fmt.Fprint(w, "---|")
	}
	fmt.Fprintln(w, "---|---|---|---|---|---|")
	for _, x := range r.rows {
		fmt.Fprintf(w, "| %s | %d |", x.name, x.requests)
		for _, c := range columns {
			fmt.Fprintf(w, " %d |", x.made[c])
		}
		fmt.Fprintf(w, " %d | %d | %d | %d | %d | %.1f s |\n", x.passed, x.failed, x.lost, x.doubled, x.again, x.slowest.Seconds())
	}
	fmt.Fprintf(w, "\nwhole run: %.0f s\n", whole.Seconds())
}
