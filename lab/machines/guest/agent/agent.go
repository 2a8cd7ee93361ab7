// Package agent serves a machine's side of the contract of package guest: HTTP, for the lab on the host.
package agent

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"

	"github.com/railhead/railhead/lab/machines/guest"
)

// Machine is served by the agent.
type Machine interface {
	// Status returns when there are more stages than seen, when nothing more will come, or when the context ends.
	Status(ctx context.Context, seen int) guest.Status
	// Order returns when the order is carried out; fs.ErrNotExist where there is no such service.
	Order(guest.ServiceOrder) error
	PowerOff()
}

// Agent is the agent of one machine.
type Agent struct {
	Machine Machine
	Token   string
	// Root is the folder that the paths of files begin in; "": that of the machine.
	Root string
	// Env is added to the environment of every command.
	Env []string
	// Cgroups is a folder of the cgroup file system in which each command has a cgroup of its own, so that whatever it
	// started can be killed with it. "": only its process group is killed.
	Cgroups string
}

// Handler serves the agent's paths to clients that have the token.
func (a *Agent) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+guest.StatusPath, a.status)
	mux.HandleFunc("POST "+guest.ExecPath, a.exec)
	mux.HandleFunc("PUT "+guest.FilePath+"{path...}", a.put)
	mux.HandleFunc("GET "+guest.FilePath+"{path...}", a.get)
	mux.HandleFunc("POST "+guest.ServicePath, a.service)
	mux.HandleFunc("POST "+guest.PowerOffPath, a.powerOff)
	want := []byte("Bearer " + a.Token)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
			http.Error(w, "wrong token", http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func (a *Agent) status(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), guest.StatusPatience)
	defer cancel()
	seen := -1
	if text := r.FormValue("stages"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		seen = n
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(a.Machine.Status(ctx, seen))
}

func (a *Agent) service(w http.ResponseWriter, r *http.Request) {
	var order guest.ServiceOrder
	if err := json.NewDecoder(r.Body).Decode(&order); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if err := a.Machine.Order(order); err != nil {
		refuse(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (a *Agent) powerOff(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusNoContent)
	if err := http.NewResponseController(w).Flush(); err != nil {
		return
	}
	a.Machine.PowerOff()
}

// put writes the file aside and renames it, so that no reader gets half of it, and so that a program that runs can be
// replaced.
func (a *Agent) put(w http.ResponseWriter, r *http.Request) {
	mode, err := strconv.ParseUint(r.FormValue("mode"), 8, 32)
	if err != nil {
		http.Error(w, "mode: "+err.Error(), http.StatusBadRequest)
		return
	}
	if err := write(a.path(r), fs.FileMode(mode).Perm(), r.Body); err != nil {
		refuse(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func write(path string, mode fs.FileMode, content io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".part-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err := io.Copy(f, content); err != nil {
		return err
	}
	if err := f.Chmod(mode); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// get sends the content of a file; a file of /proc or /sys does not report its length.
func (a *Agent) get(w http.ResponseWriter, r *http.Request) {
	f, err := os.Open(a.path(r))
	if err != nil {
		refuse(w, err)
		return
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		http.Error(w, "a folder", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = io.Copy(w, f)
}

func (a *Agent) path(r *http.Request) string {
	return filepath.Join(a.Root, filepath.Clean("/"+r.PathValue("path")))
}

func refuse(w http.ResponseWriter, err error) {
	code := http.StatusInternalServerError
	if errors.Is(err, fs.ErrNotExist) {
		code = http.StatusNotFound
	}
	http.Error(w, err.Error(), code)
}
