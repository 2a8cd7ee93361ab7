package host

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/netip"
	"time"
)

// Probes are the questions to a machine that no file answers. A nil probe was not asked: what it would have told
// is then taken from files where one tells it, and is "not probed" where none does.
type Probes struct {
	Now        func() time.Time
	Environ    func() []string         // NAME=value of this process
	OpenDevice func(path string) error // opens a character device read-write and closes it
	Interfaces func() ([]Link, error)  // of this network namespace that have addresses, by index
	UID        func() int
	ShmBytes   func() (uint64, error) // size of /dev/shm
}

// probesFile is where an Archive keeps what the probes said.
const probesFile = "probes.json"

// answers is the recorded form of Probes; null where a probe was not asked.
type answers struct {
	Taken     time.Time              `json:"taken,omitzero"`
	Environ   map[string]string      `json:"environ"`
	Open      map[string]string      `json:"open"`      // path -> "ok" or the error's name
	Addresses map[int][]netip.Prefix `json:"addresses"` // interface index -> addresses
	ShmBytes  uint64                 `json:"shmBytes,omitempty"`
	UID       int                    `json:"uid"`
}

// recordedProbes answers from the archive's probes.json; without that file nothing was probed.
func recordedProbes(root fs.FS) (Probes, error) {
	data, err := fs.ReadFile(root, probesFile)
	if errors.Is(err, fs.ErrNotExist) {
		return Probes{}, nil
	}
	if err != nil {
		return Probes{}, err
	}
	var a answers
	if err := json.Unmarshal(data, &a); err != nil {
		return Probes{}, err
	}
	p := Probes{Now: func() time.Time { return a.Taken }, UID: func() int { return a.UID }}
	if a.Environ != nil {
		p.Environ = func() []string {
			env := make([]string, 0, len(a.Environ))
			for name, value := range a.Environ {
				env = append(env, name+"="+value)
			}
			return env
		}
	}
	if a.Addresses != nil {
		p.Interfaces = a.interfaces
	}
	if a.ShmBytes != 0 {
		p.ShmBytes = func() (uint64, error) { return a.ShmBytes, nil }
	}
	if a.Open != nil {
		p.OpenDevice = a.open
	}
	return p, nil
}

// interfaces knows the addresses only: the rest is in the recorded files.
func (a *answers) interfaces() ([]Link, error) {
	links := make([]Link, 0, len(a.Addresses))
	for index, prefixes := range a.Addresses {
		links = append(links, Link{Index: Know(index), Addresses: Know(prefixes)})
	}
	return links, nil
}

func (a *answers) open(path string) error {
	switch outcome := a.Open[path]; outcome {
	case "ok":
		return nil
	case "":
		return errNotProbed
	default:
		if errno, ok := errnos[outcome]; ok {
			return errno
		}
		return errors.New(outcome)
	}
}

// errNotProbed is what a recorded OpenDevice says of a device that the recording did not open.
var errNotProbed = errors.New("not probed")
