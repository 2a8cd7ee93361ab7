package benchrun

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/launch"
)

// runScript defines run, which starts one process. It works in dash, bash and busybox. timeout(1) bounds every
// process, so that none remains if the streams break. Output lines start with the number of the process, and
// NUMBER=CODE is its exit code. A client whose server does not listen yet tries again.
const runScript = `
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

// killScript ends the processes of the mark $1.
const killScript = launch.MarkedFunction + `
left=$(marked "$1")
[ -z "$left" ] || kill -KILL $left 2>/dev/null
exit 0
`

// runningScript writes the process IDs of launches in the pod. $1 is the shared directory.
const runningScript = launch.MarkedFunction + `
for f in "$1"/railhead-*.pid; do
	[ -e "$f" ] || continue
	id=${f##*/railhead-}
	marked "${id%.pid}."
done
`

// clientTries bounds the attempts of a client, about three a second: its server is started through another kubelet.
const clientTries = 40

// batchScript returns a script that runs processes in one pod, at the same time.
func batchScript(limit time.Duration, processes []bench.Process) string {
	var b strings.Builder
	fmt.Fprintf(&b, strings.TrimSpace(runScript)+"\n", strconv.Itoa(int(limit/time.Second)), clientTries)
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

func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// readBatch returns the outputs of the n processes of a batch. A process without an exit code was lost.
func readBatch(output string, n int, lost string) []bench.Output {
	all := make([]bench.Output, n)
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
			if all[number].Code, err = strconv.Atoi(line[at+1:]); err == nil {
				ended[number] = true
			}
			continue
		}
		texts[number].WriteString(line[at+1:] + "\n")
	}
	for i := range all {
		all[i].Text = texts[i].String()
		if !ended[i] {
			all[i].Lost = cmp.Or(lost, "its exit code is missing")
		}
	}
	return all
}
