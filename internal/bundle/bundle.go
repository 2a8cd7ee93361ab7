// Package bundle is the diagnosis archive: what doctor saw of a cluster and of its pods and nodes, in one file without secrets.
package bundle

import (
	"errors"
	"time"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rules"
)

// SchemaVersion is raised when a reader of older archives must know of the change. Parts that are added do not raise it:
// readers pass over what they do not know.
const SchemaVersion = 1

// Bundle is the content of an archive.
type Bundle struct {
	Manifest Manifest
	State    cluster.State
	Machines []rules.Machine // pods and nodes that were looked at, or could not be
	Logs     []Log
	Bench    *bench.Result // what was measured between the pods; nil: nothing was to be
}

// Manifest says what the archive is and what it holds. It is the first file of it.
type Manifest struct {
	SchemaVersion int       `json:"schemaVersion"`
	Tool          string    `json:"tool"`    // railhead
	Version       string    `json:"version"` // of the tool
	Taken         time.Time `json:"taken"`
	Subject       Subject   `json:"subject"`
	Machines      []Entry   `json:"machines"`
	Logs          []Entry   `json:"logs,omitempty"`
	Files         int       `json:"files"` // in the archive beside this one: a copy that was cut short has fewer
}

// Subject is what was looked at.
type Subject struct {
	Job       string   `json:"job,omitempty"`
	Namespace string   `json:"namespace,omitempty"`
	Pods      []string `json:"pods,omitempty"`
	Nodes     []string `json:"nodes,omitempty"`
	Cluster   bool     `json:"cluster,omitempty"`
	// Passed are the pods of the namespace that have GPUs, have nothing to do with RDMA, and were not looked at.
	Passed []string `json:"passed,omitempty"`
}

// Entry is one pod, node or log.
type Entry struct {
	Name      string `json:"name"` // pod/train/h-kim-0, node/gpu-1
	Node      string `json:"node,omitempty"`
	Group     string `json:"group,omitempty"`     // the job that a pod is of
	Container string `json:"container,omitempty"` // of a log
	File      string `json:"file,omitempty"`
	Unreached string `json:"unreached,omitempty"` // why there is no file
}

// Log is what a container wrote, as far as it may leave the cluster.
type Log struct {
	Name      string // pod/train/h-kim-0
	Container string
	Text      string
}

// What can be wrong with an archive.
var (
	ErrNoBundle  = errors.New("it is no archive of 'railhead doctor --save'")
	ErrTruncated = errors.New("the archive is cut off: copy it again, in binary mode")
	ErrTooLarge  = errors.New("the archive holds more than any cluster gives: it is not read further")
	ErrUnsafe    = errors.New("the archive names a file that no archive of 'railhead doctor --save' has")
	ErrNewer     = errors.New("a newer railhead has written the archive")
)

// Bounds of what is read. A snapshot of a machine with 32 HCAs has about 200 kB, the pods of a cluster of 5,000 nodes 20 MB.
const (
	mostFiles     = 50_000
	mostOfOneFile = 256 << 20
	mostInAll     = 2 << 30
)

const (
	manifestFile = "manifest.json"
	snapshots    = "snapshots/"
	objects      = "objects/"
	eventsFile   = "events.json"
	benchFile    = "bench.json"
	logs         = "logs/"
)

// Files of the objects, by the State's own names of its lists; what is no list is in the last.
const clusterFile = objects + "cluster.json"
