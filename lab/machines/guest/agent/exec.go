package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/railhead/railhead/lab/machines/guest"
)

// exec runs a command and streams its output.
func (a *Agent) exec(w http.ResponseWriter, r *http.Request) {
	var e guest.Exec
	question, err := io.ReadAll(
		r.Body,
	) // to its end: only then does the server watch whether the connection is still there
	if err == nil {
		err = json.Unmarshal(question, &e)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if len(e.Argv) == 0 {
		http.Error(w, "no command", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	out := &frames{w: w, flush: http.NewResponseController(w).Flush}
	exit := a.run(r, e, out)
	if text, err := json.Marshal(exit); err == nil {
		_, _ = stream{out, guest.Exited}.Write(text)
	}
}

// run runs a command until it ends, or until who asked for it is gone.
func (a *Agent) run(r *http.Request, e guest.Exec, out *frames) guest.Exit {
	env := append(slices.Clone(a.Env), e.Env...)
	cmd := exec.CommandContext(r.Context(), lookUp(e.Argv[0], env), e.Argv[1:]...)
	cmd.Args[0] = e.Argv[0]
	cmd.Env = env
	cmd.Stdin = bytes.NewReader(e.Input)
	cmd.Stdout, cmd.Stderr = stream{out, guest.Stdout}, stream{out, guest.Stderr}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// Who still has the command's output open a second after its end does not keep its caller waiting.
	cmd.WaitDelay = time.Second
	cage, err := newCage(a.Cgroups)
	if err != nil {
		return guest.Exit{Code: 126, Error: err.Error()}
	}
	defer cage.close()
	cage.lock(cmd.SysProcAttr)
	cmd.Cancel = func() error {
		return errors.Join(cage.kill(), syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL))
	}
	if err := cmd.Start(); err != nil {
		return guest.Exit{Code: 127, Error: err.Error()}
	}
	if err := cmd.Wait(); cmd.ProcessState == nil {
		return guest.Exit{Code: 126, Error: err.Error()}
	}
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return guest.Exit{Code: 128 + int(status.Signal())}
	}
	return guest.Exit{Code: status.ExitStatus()}
}

// lookUp finds a program in the PATH of the environment that it will have: os/exec would take this process's own.
func lookUp(name string, env []string) string {
	if strings.Contains(name, "/") {
		return name
	}
	var path string
	for _, v := range env {
		if after, ok := strings.CutPrefix(v, "PATH="); ok {
			path = after
		}
	}
	for _, folder := range filepath.SplitList(path) {
		file := filepath.Join(folder, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file
		}
	}
	return name
}

// frames is the answer to an Exec.
type frames struct {
	mu    sync.Mutex
	w     http.ResponseWriter
	flush func() error
}

// stream is one kind of frames.
type stream struct {
	to   *frames
	kind byte
}

func (s stream) Write(p []byte) (int, error) {
	s.to.mu.Lock()
	defer s.to.mu.Unlock()
	if err := guest.WriteFrame(s.to.w, s.kind, p); err != nil {
		return 0, err
	}
	return len(p), s.to.flush()
}
