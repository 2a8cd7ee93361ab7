package benchrun

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/launch"
	"github.com/railhead/railhead/internal/launch/launchtest"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/report/text"
	"github.com/railhead/railhead/internal/rules/benchrules"
	"github.com/railhead/railhead/internal/rules/rulestest"
	"github.com/railhead/railhead/internal/schematest"
)

// standInPod is a railhead-pod that prints the snapshot of a recorded machine, and becomes the command of run.
const standInPod = `#!/bin/sh
[ "$1" != snapshot ] || exec cat "${0%/*}/snapshot.json"
shift 2
exec "$@"
`

// standInPerftest replays what ib_write_bw of perftest 6.06 printed between two machines with Soft-RoCE, with the rate
// that the file rate.DEVICE, rate.DEVICE.POD_IP or rate.DEVICE.POD_IP.SERVER of the fabric says, else 391.11. A server
// leaves a file for its port until its client has come. A rate of "hang" waits, one of "limit" ends as if its limit were
// over: timeout is killed. One of "nothing" ends well with 0 iterations, one of "dead" refuses at the server.
const standInPerftest = `#!/bin/sh
fabric=$FABRIC device= port= client=
while [ $# -gt 0 ]; do
	case $1 in
	--help) echo "  -F, --CPU-freq  Do not show a warning"; exit 0 ;;
	-d) device=$2; shift ;;
	-p) port=$2; shift ;;
	-i | -x | -s | -q | -D | -n) shift ;;
	-F | --report_gbits) ;;
	-*) echo "no such option here: $1"; exit 1 ;;
	*) client=$1 ;;
	esac
	shift
done
rate=391.11
for file in "$fabric/rate.$device" "$fabric/rate.$device.$POD_IP" "$fabric/rate.$device.$POD_IP.$client"; do
	[ ! -e "$file" ] || rate=$(cat "$file")
done
if [ -z "$client" ]; then
	[ "$rate" != dead ] || { echo " Port number 1 state is Down"; echo " Couldn't set the link layer"; exit 1; }
	echo $$ > "$fabric/$POD_IP:$port"
	while [ -e "$fabric/$POD_IP:$port" ]; do sleep 0.05; done
	exit 0
fi
[ -e "$fabric/$client:$port" ] || { echo "Couldn't connect to $client:$port"; echo " Unable to open file descriptor for socket connection Unable to init the socket connection"; exit 1; }
echo "$device $client" >> "$fabric/met"
[ "$rate" != hang ] || exec sleep 600
rm "$fabric/$client:$port"
[ "$rate" != limit ] || { kill -KILL $PPID; exit; }
iterations=11190400
[ "$rate" != nothing ] || { rate=0.00 iterations=0; }
echo "---------------------------------------------------------------------------------------"
case ${0##*/} in
ib_write_lat)
	echo "                    RDMA_Write Latency Test"
	echo " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]"
	echo " 2       1000          1.40           5.10         1.47               1.50           0.10            1.70                    5.10"
	;;
*)
	echo "                    RDMA_Write BW Test"
	echo " Dual-port       : OFF		Device         : $device"
	echo " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]"
	echo " 65536      $iterations         0.00               $rate		     0.745983"
	;;
esac
echo "---------------------------------------------------------------------------------------"
`

// patience is a limit that only a process reaches that hangs.
const patience = 5 * time.Minute

// benchTrial is a bench between local pods with recorded machines.
type benchTrial struct {
	*Bench
	local  *launchtest.Pods
	fabric string // where the stand-ins meet
	tools  string // the programs of all images
}

// newBenchTrial makes n pods, in turn with the devices of two recorded ones, whose images have perftest and no Python.
func newBenchTrial(t *testing.T, n int) *benchTrial {
	t.Helper()
	local, pods := launchtest.New(t, n)
	var targets []launch.Target
	for i, p := range pods {
		targets = append(targets, launch.Target{Rank: i, Pod: p, Container: "train"})
	}
	fabric := t.TempDir()
	tools := t.TempDir()
	for name, text := range map[string]string{"ib_write_bw": standInPerftest, "ib_write_lat": standInPerftest} {
		launchtest.Executable(t, filepath.Join(tools, name), text)
	}
	for i := range targets {
		targets[i].Pod.Node, targets[i].Pod.IP = fmt.Sprintf("gpu-%d", i+1), fmt.Sprintf("10.128.2.%d", i+10)
		name := targets[i].Pod.Name
		p := local.Pods[name]
		s := rulestest.Recorded(t, []string{"pod-roce-4vf", "pod-roce-4vf-node-b"}[i%2])
		data, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(p.Dir, "snapshot.json"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		launchtest.Executable(t, filepath.Join(p.Dir, "railhead-pod"), standInPod)
		p.Env = append(p.Env, "FABRIC="+fabric, "POD_IP="+targets[i].Pod.IP, "PATH="+tools)
		local.Pods[name] = p
	}
	o := Defaults()
	o.Duration = time.Second
	b := New(local, targets, o, &report.Live{W: io.Discard})
	trial := &benchTrial{Bench: b, local: local, fabric: fabric, tools: tools}
	for _, name := range []string{"sh", "timeout", "sleep", "cat", "rm", "grep", "head", "cksum", "mkdir", "rmdir"} {
		trial.link(t, name)
	}
	b.fleet.Spare, b.grace, b.daemonTime = patience, patience, patience
	return trial
}

// link puts a program of this machine into the images.
func (b *benchTrial) link(t *testing.T, name string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skip(err)
	}
	if err := os.Symlink(path, filepath.Join(b.tools, name)); err != nil {
		t.Fatal(err)
	}
}

// rate sets the rate that a device reaches from now on.
func (b *benchTrial) rate(t *testing.T, device, rate string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(b.fabric, "rate."+device), []byte(rate), 0o600); err != nil {
		t.Fatal(err)
	}
}

// rateOf sets the rate that a device of one pod reaches.
func (b *benchTrial) rateOf(t *testing.T, pod int, device, rate string) {
	t.Helper()
	b.rate(t, device+"."+b.targets[pod].Pod.IP, rate)
}

// tool puts another program into the images.
func (b *benchTrial) tool(t *testing.T, name, text string) {
	t.Helper()
	launchtest.Executable(t, filepath.Join(b.tools, name), text)
}

// lacks takes a program out of the images.
func (b *benchTrial) lacks(t *testing.T, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(b.tools, name)); err != nil {
		t.Fatal(err)
	}
}

// carry measures, and returns the result with its findings, the text that people read, and the exit code of bench.
func (b *benchTrial) carry(t *testing.T) (bench.Result, string, int) {
	t.Helper()
	r, err := b.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.Job = "h-kim"
	r.Findings = benchrules.Judge(r)
	schematest.Open(t, "railhead-bench").HoldsValue(t, "the result", r)
	var out strings.Builder
	if err := text.Bench(&out, r, false); err != nil {
		t.Fatal(err)
	}
	code := map[check.Status]int{check.Fail: 1, check.Unknown: 3}[check.Worst(r.Findings)]
	t.Logf("exit code %d\n%s", code, out.String())
	launchtest.WaitGone(t, b.id)
	return r, out.String(), code
}
