package podrun

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The output of a detached command is kept in files of limited size. The name of each ends with the place of its first
// byte in the whole output. The oldest is removed when there are more than segmentsKept.
const (
	segmentBytes = 8 << 20
	segmentsKept = 4
)

// timeForm has a fixed width: times in it compare as text.
const timeForm = "2006-01-02T15:04:05.000000000Z"

// recorder writes the output of a command in the format of container runtimes: time, stream, P for a part of a line or
// F for its end, text (Kubernetes pkg/kubelet/kuberuntime/logs).
type recorder struct {
	Detached
	mu    sync.Mutex
	file  *os.File
	first int64 // the place of the file's first byte
	size  int64
}

// copy records a stream until it ends. It goes on if the disk is full: the command must never wait for its output.
func (r *recorder) copy(stream string, from io.Reader) {
	text := make([]byte, 64<<10)
	for {
		n, err := from.Read(text)
		r.record(time.Now(), stream, text[:n])
		if err != nil {
			return
		}
	}
}

func (r *recorder) record(now time.Time, stream string, text []byte) {
	var out []byte
	for line := range bytes.Lines(text) {
		tag, end := "F", ""
		if !bytes.HasSuffix(line, []byte("\n")) {
			tag, end = "P", "\n"
		}
		out = fmt.Appendf(out, "%s %s %s %s%s", now.UTC().Format(timeForm), stream, tag, line, end)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(out) == 0 || (r.file == nil || r.size >= segmentBytes) && r.next() != nil {
		return
	}
	if _, err := r.file.WriteAt(out, r.size); err != nil {
		_ = r.file.Truncate(r.size) // no half records
		return
	}
	r.size += int64(len(out))
}

// next begins the next file.
func (r *recorder) next() error {
	first := r.first + r.size
	file, err := os.OpenFile(r.segment(first), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if r.file != nil {
		_ = r.file.Close() // every write was checked
	}
	r.file, r.first, r.size = file, first, 0
	if all := r.segments(); len(all) > segmentsKept {
		return os.Remove(r.segment(all[0]))
	}
	return nil
}

func (d Detached) segment(first int64) string { return d.path("log." + strconv.FormatInt(first, 10)) }

// segments returns the places of the first bytes of the files, in order.
func (d Detached) segments() []int64 {
	var all []int64
	files, _ := filepath.Glob(d.path("log.*")) // the pattern is well-formed
	for _, name := range files {
		first, err := strconv.ParseInt(strings.TrimPrefix(filepath.Ext(name), "."), 10, 64)
		if err == nil {
			all = append(all, first)
		}
	}
	slices.Sort(all)
	return all
}
