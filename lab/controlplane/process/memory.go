package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// PeakMemory returns how much memory, in bytes, a process and those below it have had at most: the sum of their peaks,
// which is more than they had at one time. The go command and its children are left out.
func PeakMemory(pid int) (int64, error) {
	files, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		return 0, err
	}
	all := map[int]usage{}
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil { // else it has ended
			u := parseUsage(string(text))
			all[u.pid] = u
		}
	}
	if _, ok := all[pid]; !ok {
		return 0, fmt.Errorf("read /proc/%d/status: %w", pid, os.ErrNotExist)
	}
	return below(all, pid), nil
}

// usage has values of /proc/PID/status.
type usage struct {
	name        string
	pid, parent int
	peak        int64
}

// parseUsage reads "VmHWM:     4516 kB" and its like (proc_pid_status(5)).
func parseUsage(text string) usage {
	var u usage
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		number, _ := strconv.ParseInt(strings.TrimSuffix(value, " kB"), 10, 64) // 0 for what is none
		switch key {
		case "Name":
			u.name = value
		case "Pid":
			u.pid = int(number)
		case "PPid":
			u.parent = int(number)
		case "VmHWM":
			u.peak = number * 1024
		}
	}
	return u
}

// below adds up the memory of a process and of its descendants.
func below(all map[int]usage, pid int) int64 {
	sum := all[pid].peak
	for child, u := range all {
		if u.parent == pid && u.name != "go" {
			sum += below(all, child)
		}
	}
	return sum
}
