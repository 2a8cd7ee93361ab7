// Package bundle writes and reads diagnosis archives: the state of a cluster, its pods and nodes in one file, without
// secrets.
package bundle

import (
	"errors"
	"time"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rules"
	"github.com/railhead/railhead/internal/workload"
)

// SchemaVersion changes when readers of older archives must know of a change. New parts do not change it: readers
// ignore parts that they do not know.
const SchemaVersion = 1

// Bundle is the content of an archive.
type Bundle struct {
	Manifest Manifest
	State    cluster.State
	Machines []rules.Machine // visited pods and nodes, with those that could not be reached
	Logs     []Log
	Bench    *bench.Result // measurements between the pods; nil: none were requested
}

// Manifest describes the archive and lists its contents. It is the first file of the archive.
type Manifest struct {
	SchemaVersion int              `json:"schemaVersion"`
	Tool          string           `json:"tool"`    // railhead
	Version       string           `json:"version"` // of the tool
	Taken         time.Time        `json:"taken"`
	Subject       workload.Subject `json:"subject"`
	Machines      []Entry          `json:"machines"`
	Logs          []Entry          `json:"logs,omitempty"`
	Files         int              `json:"files"` // other files in the archive: a truncated copy has fewer
}

// Entry is one pod, node or log.
type Entry struct {
	Name      string `json:"name"` // pod/train/h-kim-0, node/gpu-1
	Node      string `json:"node,omitempty"`
	Group     string `json:"group,omitempty"`     // the job of a pod
	Container string `json:"container,omitempty"` // of a log
	File      string `json:"file,omitempty"`
	Unreached string `json:"unreached,omitempty"` // why there is no file
}

// Log is the part of a container's output that may leave the cluster.
type Log struct {
	Name      string // pod/train/h-kim-0
	Container string
	Text      string
}

// The errors of reading an archive.
var (
	ErrNoBundle  = errors.New("not an archive of 'railhead doctor --save'")
	ErrTruncated = errors.New("the archive is truncated: copy it again, in binary mode")
	ErrTooLarge  = errors.New("the archive is larger than any cluster produces")
	ErrUnsafe    = errors.New("the archive has a file that 'railhead doctor --save' does not write")
	ErrNewer     = errors.New("the archive was written by a newer railhead")
)

// Bounds for reading. A snapshot of a machine with 32 HCAs has about 200 kB, the pods of a cluster of 5,000 nodes 20
// MB.
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

// clusterFile has the fields of a State that are not lists. Each list is a file, named as in the JSON of the State.
const clusterFile = objects + "cluster.json"
