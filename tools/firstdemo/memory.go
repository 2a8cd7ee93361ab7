package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// watchMemory reads twice a second how much memory the processes of a session have, until most is called, which returns
// the highest value.
func watchMemory(session int) (most func() int64) {
	stop, result := make(chan struct{}), make(chan int64)
	go func() {
		ticks := time.NewTicker(500 * time.Millisecond)
		defer ticks.Stop()
		var peak int64
		for {
			select {
			case <-ticks.C:
				peak = max(peak, memoryOf(session))
			case <-stop:
				result <- peak
				return
			}
		}
	}()
	return func() int64 {
		close(stop)
		return <-result
	}
}

// memoryOf returns the bytes of the session's processes: their proportional set size, in which a page that two of them
// share counts once (proc(5), /proc/PID/smaps_rollup).
func memoryOf(session int) int64 {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	var sum int64
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && sessionOf(pid) == session {
			sum += proportional(pid)
		}
	}
	return sum
}

// sessionOf returns the session of a process, the fourth field behind its name in /proc/PID/stat.
func sessionOf(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 4 {
		return 0
	}
	session, _ := strconv.Atoi(fields[3])
	return session
}

func proportional(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "Pss:" {
			kib, _ := strconv.ParseInt(fields[1], 10, 64)
			return kib << 10
		}
	}
	return 0
}
