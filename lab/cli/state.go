package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"

	"github.com/railhead/railhead/lab/controlplane/assets"
	"github.com/railhead/railhead/lab/machines/vm"
)

// state is a running lab's description of itself.
type state struct {
	Kubeconfig string         `json:"kubeconfig,omitempty"`
	RunBy      vm.Choice      `json:"runBy"`
	Machines   []machineState `json:"machines"`
}

// machineState says how to reach a machine.
type machineState struct {
	Name    string `json:"name"`
	Agent   string `json:"agent"` // address of the host's
	Token   string `json:"token"`
	Console string `json:"console"`
	// Allocation is the environment of the pod that the machine stands for; none for a node.
	Allocation []string `json:"allocation,omitempty"`
}

// folder is the working folder of a running lab.
type folder string

// longest is the limit for the name of a unix socket (unix(7)), less the longest name that the lab gives one.
const longest = 107 - len("/eno5np0.sock")

var validName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,30}$`)

func (a *app) folder() (folder, error) {
	if !validName.MatchString(a.name) {
		return "", usageError{
			fmt.Errorf("--name is %q, and must be of small letters, digits and hyphens, at most 31", a.name),
		}
	}
	cache, err := assets.Cache()
	if err != nil {
		return "", err
	}
	f := filepath.Join(cache, "run", a.name)
	if len(f) > longest {
		return "", fmt.Errorf(
			"%s is too long for the names of sockets in it: let XDG_CACHE_HOME be a folder with a shorter name",
			f,
		)
	}
	return folder(f), nil
}

func (f folder) file(name string) string { return filepath.Join(string(f), name) }

// Files of a lab.
const (
	lockFile  = "lock" // the process that serves the lab holds it
	stateFile = "state.json"
	logFile   = "lab.log"
)

// errRuns means that a lab of this name is already running.
var errRuns = errors.New("it runs already")

// lock takes the folder until the file is closed or this process ends.
func (f folder) lock() (*os.File, error) {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return nil, err
	}
	held, err := os.OpenFile(f.file(lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(held.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		held.Close()
		return nil, errRuns
	}
	if err := held.Truncate(0); err != nil {
		return held, err
	}
	_, err = fmt.Fprint(held, os.Getpid())
	return held, err
}

// pid is the process that serves the lab.
func (f folder) pid() (int, error) {
	text, err := os.ReadFile(f.file(lockFile))
	if err != nil || !f.runs() {
		return 0, f.none()
	}
	return strconv.Atoi(string(text))
}

var errNone = errors.New("no lab runs here")

func (f folder) none() error {
	return fmt.Errorf("%w by the name %s: 'lab up' starts one", errNone, filepath.Base(string(f)))
}

// runs reports whether somebody serves the lab.
func (f folder) runs() bool {
	held, err := os.OpenFile(f.file(lockFile), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer held.Close()
	return errors.Is(syscall.Flock(int(held.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// exists reports whether the lab has a folder: it takes it away when it ends, which is the last that it does.
func (f folder) exists() bool {
	_, err := os.Stat(string(f))
	return err == nil
}

// state reads the lab's state.
func (f folder) state() (state, error) {
	var s state
	if !f.runs() {
		return s, f.none()
	}
	text, err := os.ReadFile(f.file(stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return s, errors.New("the lab is on its way up: try again when 'lab up' has ended")
	}
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(text, &s)
}

func (s state) machine(name string) (machineState, error) {
	var names []string
	for _, m := range s.Machines {
		if m.Name == name {
			return m, nil
		}
		names = append(names, m.Name)
	}
	return machineState{}, usageError{fmt.Errorf("there is no machine %s; there are %q", name, names)}
}
