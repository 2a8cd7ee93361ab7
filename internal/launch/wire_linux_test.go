package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/launch/launchtest"
	"github.com/railhead/railhead/internal/wire"
)

// moving returns a pod's snapshot with one queue pair of a process, which sent packets between two readings.
func moving(number, remote uint32, pid int, packets uint32) host.Snapshot {
	taken := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	then, now := launchtest.Moving(taken, "mlx5_6", number, remote, pid, packets)
	return host.Snapshot{SchemaVersion: host.SchemaVersion, Wire: now, Earlier: &host.Snapshot{Wire: then}}
}

// standInSnapshot is a railhead-pod whose snapshot shows a queue pair of the command. The third one ends the command.
const standInSnapshot = `#!/bin/sh
dir=${0%/*}
if [ "$1" != snapshot ]; then shift 2; exec "$@"; fi
echo >> "$dir/readings"
[ "$(wc -l < "$dir/readings")" != 3 ] || { : > "$dir/third"; exec sleep 600; }
until [ -e "$dir/running" ]; do sleep 0.02; done
sed "s/4242/$(cat "$dir"/shm/railhead-*.pid)/g" "$dir/snapshot.json"
`

// TestLaunchReadsTheKernel: without a line of NCCL, the queue pairs of the command prove the network.
func TestLaunchReadsTheKernel(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, 2, `cd "$TMPDIR/.."; : > running; while [ ! -e third ]; do sleep 0.02; done`)
	tr.FirstReading = 50 * time.Millisecond
	for i, s := range []host.Snapshot{moving(17, 42, 4242, 9000), moving(42, 17, 4242, 9000)} {
		dir := tr.local.Pods[fmt.Sprintf("h-kim-%d", i)].Dir
		launchtest.WriteJSON(t, filepath.Join(dir, "snapshot.json"), s)
		launchtest.Executable(t, filepath.Join(dir, "railhead-pod"), standInSnapshot)
	}
	if code := tr.run(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if want := regexp.MustCompile(`\nNetwork: RDMA: 2 processes on 2 rails of 2 pods, 18000 packets/s or more, ` +
		`by the kernel's queue pairs in [12] of 2 readings\n$`); !want.MatchString(tr.err.String()) {
		t.Errorf("the last line is not %s", want)
	}
	if left := tr.local.Left(); len(left) > 0 {
		t.Errorf("left in the pods: %v", left)
	}
}

// TestLaunchReadsNothing where NCCL's log names its network.
func TestLaunchReadsNothing(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, 1, "")
	file := filepath.Join(tr.local.Pods["h-kim-0"].Dir, "shm", "railhead-"+tr.ID+".nccl.a.1")
	for line, want := range map[string]bool{
		"a:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IBext_v11/0":     true,
		"a:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/AWS Libfabric/0": false,
	} {
		if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		if members, told := tr.readPods(tr.ctx); told != want || len(members) != 1 {
			t.Errorf("%s: told %v, %+v", line, told, members)
		}
	}
}

func TestMotionOf(t *testing.T) {
	text, err := json.Marshal(moving(17, 42, 71, 9))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text  string
		proof wire.Proof
		why   string
	}{
		"its own queue pair":       {" 70 71\n" + string(text), wire.RDMA, ""},
		"that of another process":  {" 70 7\n" + string(text), wire.NotProved, "that this launch did not start"},
		"no process of the launch": {"\n" + string(text), wire.NotProved, "that this launch did not start"},
	} {
		m, err := motionOf(c.text)
		if m.Proof != c.proof || !strings.HasSuffix(m.Why, c.why) || err != nil {
			t.Errorf("%s: %s, %q, %v", name, m.Proof, m.Why, err)
		}
	}
	for _, cut := range []string{"", " 71", " 71\n", " 71\n" + string(text[:len(text)/2])} {
		if _, err := motionOf(cut); !errors.Is(err, kube.ErrCutShort) {
			t.Errorf("%q: %v", cut, err)
		}
	}
}

// TestReadings: the reading that shows most counts, wherever it comes.
func TestReadings(t *testing.T) {
	job := func(pods ...host.Snapshot) wire.Job {
		var members []wire.Member
		for i, s := range pods {
			members = append(members, wire.Member{Ref: check.PodRef("train", fmt.Sprint(i)), Motion: wire.Of(s)})
		}
		return wire.Together(members, true)
	}
	a, b := moving(17, 42, 71, 9), moving(42, 17, 71, 9)
	still, storage := moving(17, 42, 71, 0), moving(17, 99, 71, 9000)
	unread := host.Snapshot{Devices: []host.Device{{Name: "mlx5_6"}}}
	for name, c := range map[string]struct {
		jobs   []wire.Job
		moving int
		proof  wire.Proof
		proves bool
	}{
		"RDMA at the end":            {[]wire.Job{job(still, still), job(a, b)}, 1, wire.RDMA, true},
		"RDMA, then unread":          {[]wire.Job{job(a, b), job(unread, unread)}, 1, wire.RDMA, true},
		"to storage, and then idle":  {[]wire.Job{job(storage, still), job(still, still)}, 0, wire.RDMA, false},
		"less than to storage":       {[]wire.Job{job(a, b), job(storage, storage)}, 1, wire.RDMA, true},
		"one pod moves nothing":      {[]wire.Job{job(a, b, host.Snapshot{})}, 1, wire.RDMA, false},
		"one pod was not read":       {[]wire.Job{job(a, b, unread)}, 1, wire.RDMA, false},
		"nothing was read":           {[]wire.Job{job(unread), job(unread)}, 0, wire.NotProved, false},
		"no queue pair, then unread": {[]wire.Job{job(host.Snapshot{}), job(unread)}, 0, wire.NoConnection, false},
	} {
		var r Readings
		for _, j := range c.jobs {
			r.add(j)
		}
		if r.Taken != len(c.jobs) || r.Moving != c.moving || r.Best.Proof != c.proof || r.Proves() != c.proves {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
