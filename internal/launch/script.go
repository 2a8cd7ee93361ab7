package launch

import (
	"slices"
	"strings"
)

// Paths in a pod of a job.
const (
	PodProgram = "/railhead/bin/railhead-pod"
	SharedDir  = "/dev/shm" // writable in every pod of a job
)

// MarkVariable marks the processes of a launch in a pod.
const MarkVariable = "RAILHEAD_LAUNCH"

// InsistVariable makes NCCL log even if the pod sets NCCL_DEBUG: a bench needs the log as proof.
const InsistVariable = "RAILHEAD_INSIST"

// MarkedFunction is a shell function that prints the ids of processes with the mark $1, a regular expression of grep.
const MarkedFunction = `
marked() {
	for e in $(grep -ls "` + MarkVariable + `=$1" /proc/[0-9]*/environ 2>/dev/null); do
		e=${e#/proc/}
		printf ' %s' "${e%/environ}"
	done
}
`

// The scripts that a launch runs in a pod, for dash, bash and busybox. $1 is the launch's id, $2 its mark, $3 the
// shared directory; the other arguments follow.
const (
	// prepareScript checks whether a command can start. $4 is railhead-pod, $5 is not empty if files will be copied. It
	// answers with KEY=VALUE lines. An earlier launch that was cut off has left its pid file. Its processes are found
	// by their environment, even those that left its process group.
	prepareScript = MarkedFunction + `
[ -x "$4" ] || { echo "$4 is missing: 'railhead deploy' and 'railhead inject' give it to pods" >&2; exit 1; }
for f in "$3"/railhead-*.pid; do
	[ -e "$f" ] || continue
	other=${f##*/railhead-}
	other=${other%.pid}
	alive=$(marked "$other.")
	if [ -z "$alive" ]; then
		rm -f "$3/railhead-$other".*
	else
		echo "running=$alive"
		[ ! -e "$3/railhead-$other.run" ] || echo "detached=$other"
	fi
done
: > "$3/railhead-$1.pid" || exit 1
echo "debug=${NCCL_DEBUG-}"
echo "file=${NCCL_DEBUG_FILE-}"
echo "subsys=${NCCL_DEBUG_SUBSYS-INIT}"
echo "mode=${RAILHEAD_MODE-}"
[ -z "$5" ] && exit 0
dir=${TMPDIR:-/tmp}/railhead-$1
mkdir -p "${TMPDIR:-/tmp}" 2>/dev/null
mkdir -m 700 "$dir" || exit 1
echo "dir=$dir"
`
	// sumFunction prints a checksum, a number or nothing, and the name of file $1. Debian's busybox has no cksum.
	sumFunction = `
sum() { cksum "$1" 2>/dev/null || sha256sum "$1"; }
`
	// copyScript writes its input to $4/$5 with the permissions $6. It answers with the size and, if the image has
	// sha256sum, the hash. The checksum is kept for finishScript.
	copyScript = sumFunction + `
cd "$4" && cat > "$5" && chmod "$6" "$5" && sum "$5" >> "$3/railhead-$1.sums" || exit 1
wc -c < "$5"
if command -v sha256sum > /dev/null; then sha256sum < "$5"; fi
`
	// startScript executes the command. $4 is railhead-pod, $5 the directory. The variables of the user follow, --,
	// names and values for variables that are not set, -- and the command. PET_* are the defaults of the flags of
	// torchrun; a controller may set one form alone. The process keeps its id through both execs.
	startScript = `
default() {
	eval "export $1=\"\${$1-\${PET_$1-\$2}}\""
	eval "export PET_$1=\"\${PET_$1-\$$1}\""
}
id=$1 mark=$2 shared=$3 program=$4 dir=$5
shift 5
while [ "$1" != -- ]; do export "$1"; shift; done
shift
while [ "$1" != -- ]; do default "$1" "$2"; shift 2; done
shift
export ` + MarkVariable + `="$mark" PYTHONUNBUFFERED="${PYTHONUNBUFFERED-1}"
if [ -z "${NCCL_DEBUG+set}" ] || [ -n "${` + InsistVariable + `-}" ]; then
	export NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV,NET NCCL_DEBUG_FILE="$shared/railhead-$id.nccl.%h.%p"
fi
[ -z "$dir" ] || cd "$dir" || exit 125
echo $$ > "$shared/railhead-$id.pid" || exit 125
exec "$program" run -- "$@"
`
	// signalScript sends $4 to the command's process group, as a terminal does. Under crun the command leads no group:
	// the leader is a process outside the pod that has exited (crun src/libcrun/linux.c, join_process: setsid, then
	// fork), so the members are signalled one by one. SIGKILL goes to all marked processes: torchrun starts its workers
	// in sessions of their own.
	signalScript = MarkedFunction + `
[ -s "$3/railhead-$1.pid" ] || exit 3
read -r pid < "$3/railhead-$1.pid"
group() {
	read -r stat < "/proc/$1/stat" || return
	set -- ${stat##*) }
	echo "$3"
}
own=$(group "$pid" 2>/dev/null)
if [ "$own" = "$pid" ]; then
	kill "-$4" "-$pid"
elif [ -n "$own" ]; then
	others=$(marked "$2")
	kill "-$4" "$pid"
	for p in $others; do
		[ "$p" = "$pid" ] || [ "$(group "$p" 2>/dev/null)" != "$own" ] || kill "-$4" "$p" 2>/dev/null
	done
fi
[ "$4" != KILL ] || kill -KILL $(marked "$2") 2>/dev/null
exit 0
`
	// detachScript starts a script with its arguments, which begin with $1 to $4, and leaves it running. $5 is a note,
	// $6 the script.
	detachScript = `
id=$1 mark=$2 shared=$3 program=$4 note=$5 script=$6
shift 6
set -- railhead "$id" "$mark" "$shared" "$program" "$@"
exec "$program" detach --note "$note" "$shared" "$id" -- sh -c "$script" "$@"
`
	// followScript shows the output of a detached command. $4 is railhead-pod; flags follow.
	followScript = `
id=$1 shared=$3 program=$4
shift 4
exec "$program" follow "$shared" "$id" "$@"
`
	// runsScript answers with KEY=VALUE lines about each command that launch left in the pod. id= is the first.
	runsScript = MarkedFunction + `
for f in "$3"/railhead-*.pid; do
	[ -e "$f" ] || continue
	id=${f##*/railhead-}
	id=${id%.pid}
	echo "id=$id"
	alive=$(marked "$id.")
	[ -z "$alive" ] || echo "running=$alive"
	dir=${TMPDIR:-/tmp}/railhead-$id
	[ ! -d "$dir" ] || echo "dir=$dir"
	[ ! -e "${f%.pid}.run" ] || cat "${f%.pid}.run"
	[ ! -e "${f%.pid}.exit" ] || echo "exit=$(cat "${f%.pid}.exit")"
done
`
	// finishScript prints the lines of NCCL's log that match $7, at most $6 bytes, and removes the launch's files,
	// unless $8 is not empty. $4 is the directory; if $5 is not empty, remaining processes of the command are killed.
	// On stderr it prints left=PIDS of processes that it leaves running, kept=DIR if the command wrote files there,
	// unstarted=yes if startScript never came to write the pid file, which prepareScript left empty, and finished=yes
	// at the end.
	finishScript = MarkedFunction + sumFunction + `
pid=$3/railhead-$1.pid
[ ! -e "$pid" ] || [ -s "$pid" ] || echo "unstarted=yes" >&2
left=$(marked "$2")
if [ -n "$left" ] && [ -z "$5" ]; then
	sleep 1
	left=$(marked "$2")
	[ -z "$left" ] || echo "left=$left" >&2
elif [ -n "$left" ]; then
	kill -KILL $left 2>/dev/null
fi
if [ -n "$4" ] && cd "$4"; then
	rm -rf __pycache__
	while IFS= read -r line; do
		file=${line#* }
		file=${file#* }
		[ "$(sum "$file" 2>/dev/null)" != "$line" ] || rm -f "$file"
	done < "$3/railhead-$1.sums"
	cd /
	rmdir "$4" 2>/dev/null || echo "kept=$4" >&2
fi
most=$6 lines=$7 keep=$8
id=$1 shared=$3
set -- "$shared/railhead-$id.nccl."*
if [ -e "$1" ]; then
	{ grep -hE "$lines" "$@" 2>/dev/null || cat "$@"; } | head -c "$most"
fi
[ -n "$keep" ] || rm -f "$shared/railhead-$id".* || exit
echo "finished=yes" >&2
`
	// wireScript prints the processes of the command, and a snapshot with two readings of the queue pairs. $4 is
	// railhead-pod. If NCCL's log names a channel of its own networks, it prints logTells alone.
	wireScript = MarkedFunction + `
grep -qsE "via NET/(IB|Socket)" "$3"/railhead-*.nccl.* && { printf ` + logTells + `; exit 0; }
marked "$2"
echo
exec "$4" snapshot --watch=1s
`
	// clearScript removes the files of a launch that did not start; $4 is the directory.
	clearScript = `
[ -z "$4" ] || rm -rf "$4"
rm -f "$3/railhead-$1".*
`
)

// logTells is the answer of wireScript where nothing is to be read.
const logTells = "told"

// networkLines matches the lines of NCCL's log that tell the network and the failures.
const networkLines = `NCCL WARN|Channel .* via |Using network|NET/(IB|Socket) : (Using|Made)|` +
	`comm .* rank |NCCL version`

// notStarted is signalScript's exit code if the command has not written its process id yet.
const notStarted = 3

func trimmed(script string) string { return strings.TrimSpace(script) }

// script returns the command line of a script for a rank.
func (l *Session) script(r *rank, script string, args ...string) []string {
	return append([]string{"sh", "-c", trimmed(script), "railhead", l.ID, l.mark(r), SharedDir}, args...)
}

// startArguments returns the arguments of startScript.
func (l *Session) startArguments(r *rank) []string {
	return slices.Concat([]string{r.dir}, l.Env, []string{"--"}, l.variables(r), []string{"--"}, l.Command)
}

func (l *Session) startCommand(r *rank) []string {
	return l.script(r, startScript, append([]string{PodProgram}, l.startArguments(r)...)...)
}

// parseAnswers parses KEY=VALUE lines.
func parseAnswers(text string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			all[key] = strings.TrimSpace(value)
		}
	}
	return all
}
