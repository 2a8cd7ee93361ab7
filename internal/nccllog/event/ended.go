package event

import (
	"cmp"
	"regexp"
	"strconv"
)

// These are the forms in which a line names a process that ended, and its host:
//
//	failed (exitcode: -9) local_rank: 3 (pid: 41)               torchrun
//	Out of memory: Killed process 41 (python)                   the kernel
//	Process 41 got signal: 15                                   torchrun
//	train.sh: line 12: 41 Killed                                bash
//	[gpu-a:41:0:41] Caught signal 11, [gpu-a:41] Signal: ...    UCX, Open MPI
//	srun: error: gpu-a: task 2: Killed                          Slurm
//	PID 41 RUNNING AT gpu-a                                     MPICH
var (
	namedPID = regexp.MustCompile(`(?i)\bpid[ :=]+(\d{1,9})\b|\bKilled process (\d{1,9})\b|` +
		`\bProcess (\d{1,9}) got signal|: line \d+: +(\d{1,9}) `)
	namedProcess = regexp.MustCompile(`\[([\w.-]+):(\d{1,9})(?::\d+:\d+)?\] .*[Ss]ignal`)
	namedHost    = regexp.MustCompile(`srun: error: ([\w.-]+): |RUNNING AT ([\w.-]+)|([\w.-]+) kernel: `)
)

// ReadProcess reads which process ended, and its host, from a line of a launcher, a shell or the kernel.
func (e *Event) ReadProcess(text string) {
	switch e.Kind {
	case Exit, OOMKill, Xid:
	default:
		return
	}
	if m := namedProcess.FindStringSubmatch(text); m != nil {
		e.Host = cmp.Or(e.Host, m[1])
		e.PID, _ = strconv.Atoi(m[2])
		return
	}
	if m := namedPID.FindStringSubmatch(text); m != nil {
		e.PID, _ = strconv.Atoi(cmp.Or(m[1:]...))
	}
	if m := namedHost.FindStringSubmatch(text); m != nil {
		e.Host = cmp.Or(e.Host, cmp.Or(m[1:]...))
	}
}
