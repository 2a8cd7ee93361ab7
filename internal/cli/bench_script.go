package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/railhead/railhead/internal/bench"
)

// benchScript runs processes at the same time, which the lines behind it name. It keeps to what dash, bash and busybox have.
// Each is ended by timeout(1), so that none is left behind when the streams break. Each line that one writes gets its number
// in front; how it ended is NUMBER=CODE. A client that nobody listens to yet tries again. The variables of railhead-pod are
// not needed: perftest is told which device to take. The shell itself has the mark, too.
const benchScript = `
limit=%s patience=%d
bounded() {
	numa=$1
	shift
	list=$(cat "/sys/devices/system/node/node$numa/cpulist" 2>/dev/null)
	if [ -n "$list" ] && taskset -c "$list" true 2>/dev/null; then set -- taskset -c "$list" "$@"; fi
	timeout -s KILL "$limit" "$@" < /dev/null 2>&1
}
run() {
	number=$1 left=$patience
	shift
	while :; do
		text=$(bounded "$@")
		code=$?
		case $text in
		*"Couldn't connect to"* | *"Connection refused"*)
			if [ "$left" -gt 0 ]; then
				left=$((left - 1))
				sleep 0.3 2>/dev/null || sleep 1
				continue
			fi
			;;
		esac
		break
	done
	printf '%%s\n' "$text" | while IFS= read -r line; do printf '%%s\n' "$number $line"; done
	printf '%%s\n' "$number=$code"
}
`

// killScript ends the processes of a mark; $1 is it.
const killScript = markedFunction + `
left=$(marked "$1")
[ -z "$left" ] || kill -KILL $left 2>/dev/null
exit 0
`

// runningScript writes the ids of the processes of launches that run in the pod; $1 is the shared directory.
const runningScript = markedFunction + `
for f in "$1"/railhead-*.pid; do
	[ -e "$f" ] || continue
	id=${f##*/railhead-}
	marked "${id%.pid}."
done
`

// clientTries are how often a client comes again, at about three a second: its server's exec goes through another kubelet.
const clientTries = 40

// batchScript is the script that runs processes in one pod.
func batchScript(limit time.Duration, processes []bench.Process) string {
	var b strings.Builder
	fmt.Fprintf(&b, strings.TrimSpace(benchScript)+"\n", strconv.Itoa(int(limit/time.Second)), clientTries)
	for i, p := range processes {
		numa := "-"
		if n, known := p.NUMA.Get(); known {
			numa = strconv.Itoa(n)
		}
		fmt.Fprintf(&b, "run %d %s", i, numa)
		for _, word := range p.Argv {
			b.WriteString(" " + quoted(word))
		}
		b.WriteString(" &\n")
	}
	b.WriteString("wait\n")
	return b.String()
}

// quoted is a word as every shell takes it literally.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// readBatch takes the output of a batch of n processes apart. One that did not say how it ended was lost.
func readBatch(output string, n int, lost string) []bench.Said {
	said := make([]bench.Said, n)
	texts := make([]strings.Builder, n)
	ended := make([]bool, n)
	for line := range strings.Lines(output) {
		line = strings.TrimRight(line, "\r\n")
		at := strings.IndexAny(line, " =")
		if at < 0 {
			continue
		}
		number, err := strconv.Atoi(line[:at])
		if err != nil || number < 0 || number >= n {
			continue
		}
		if line[at] == '=' {
			if said[number].Code, err = strconv.Atoi(line[at+1:]); err == nil {
				ended[number] = true
			}
			continue
		}
		texts[number].WriteString(line[at+1:] + "\n")
	}
	for i := range said {
		said[i].Text = texts[i].String()
		if !ended[i] {
			said[i].Lost = lost
			if lost == "" {
				said[i].Lost = "it did not say how it ended"
			}
		}
	}
	return said
}
