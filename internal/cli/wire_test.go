package cli

import (
	"errors"
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/wire"
)

func TestWireSubject(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		ok   bool
	}{
		"a job":           {[]string{"trainjob/llama"}, true},
		"pods":            {[]string{"pod/a", "pod/b"}, true},
		"nodes":           {[]string{"node/gpu-0", "node/gpu-1"}, true},
		"a node and pods": {[]string{"node/gpu-0", "pod/a"}, false},
		"a job on a node": {[]string{"llama", "node/gpu-0"}, false},
		"a job and a pod": {[]string{"llama", "pod/a"}, false},
		"two jobs":        {[]string{"llama", "other"}, false},
		"nothing":         {nil, false},
	} {
		if _, err := wireSubject(c.args); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestExitOfWire: a job with a broken connection is not healthy, whatever else moves.
func TestExitOfWire(t *testing.T) {
	broken := []wire.Connection{{State: wire.Lost}}
	pod := []check.Ref{check.PodRef("train", "h-kim-0")}
	for name, c := range map[string]struct {
		job  wire.Job
		want exit.Code
	}{
		"RDMA":                          {wire.Job{Proof: wire.RDMA}, exit.OK},
		"RDMA, and a broken connection": {wire.Job{Proof: wire.RDMA, Faults: broken}, exit.Fault},
		"no traffic":                    {wire.Job{Proof: wire.NoTraffic}, exit.Fault},
		"TCP":                           {wire.Job{Proof: wire.NoConnection}, exit.Fault},
		"not read":                      {wire.Job{Proof: wire.NotProved}, exit.Unknown},
		"RDMA, and a pod not read":      {wire.Job{Proof: wire.RDMA, Unproved: pod}, exit.Unknown},
		"broken, and a pod not read":    {wire.Job{Proof: wire.RDMA, Unproved: pod, Faults: broken}, exit.Fault},
	} {
		var coded exit.Error
		if err := exitOfWire(c.job); errors.As(err, &coded) != (c.want != exit.OK) || coded.Code != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
