//go:build vm

package fabrictest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/rules"
	"github.com/railhead/railhead/internal/rules/fleet"
	"github.com/railhead/railhead/internal/rules/machine"
	"github.com/railhead/railhead/internal/wire"
	"github.com/railhead/railhead/lab/judge/fault"
	"github.com/railhead/railhead/lab/machines/fabric"
	"github.com/railhead/railhead/lab/machines/guest"
	"github.com/railhead/railhead/lab/machines/vm"
)

// wireFault is a fault of a connection that carries data from the machine with the fault to the other one.
type wireFault struct {
	name, title      string
	program          string // of perftest; "": ib_write_bw
	rails            int    // that it uses
	sender, receiver string // lines of shell that make the fault there
	heal             string // on both machines
	want, or         wire.State
	says             string   // by railhead wire
	named            check.ID // by doctor; "": it finds nothing
	also             check.ID // that doctor may name
}

const (
	dropsArriving = "nft add table inet wire; nft add chain inet wire in '{ type filter hook input priority 0; }'; " +
		"nft add rule inet wire in udp dport 4791 drop"
	dropsNothing = "nft delete table inet wire 2> /dev/null || true"
	slowsRail    = "tc qdisc replace dev eno5np0v0 root tbf rate 8mbit burst 64kb latency 400ms"
	healsRail    = "tc qdisc del dev eno5np0v0 root 2> /dev/null || true"
)

// wireFaults returns what the program does first, then what the network does.
func wireFaults() []wireFault {
	return []wireFault{
		{name: "healthy", title: "nothing is wrong", rails: 2, want: wire.Moving},
		{
			name: "sender-stopped", title: "the sending program is stopped", rails: 1,
			sender: signals("STOP", "ib_write_bw"), want: wire.Idle,
		}, {
			name: "receiver-stopped", title: "the receiving program is stopped, as RDMA writes allow", rails: 1,
			receiver: signals("STOP", "ib_write_bw"), want: wire.Moving,
		}, {
			name: "receiver-not-ready", title: "the receiving program is stopped and offers no buffers", rails: 1,
			program: "ib_send_bw", receiver: signals("STOP", "ib_send_bw"), want: wire.NotReady,
		}, {
			name: "no-queue-pair", title: "a process opened the device and makes no queue pair",
			sender: "setsid ib_write_bw -d mlx5_0 > /dev/null 2>&1 & sleep 1", // it waits for a client
			heal:   signals("KILL", "ib_write_bw"), says: "ib_write_bw opened mlx5_0",
		}, {
			name: "peer-killed", title: "the receiving program is killed", rails: 1,
			receiver: signals("KILL", "ib_write_bw"), want: wire.PeerGone, named: fleet.WirePeerGone,
		}, {
			name: "data-dropped", title: "UDP port 4791 is dropped on the way to the receiver", rails: 1,
			receiver: dropsArriving, heal: dropsNothing, want: wire.Lost, named: fleet.WireLost,
		}, {
			name: "answers-dropped", title: "UDP port 4791 is dropped on the way back", rails: 1,
			sender: dropsArriving, heal: dropsNothing,
			want: wire.Unacknowledged, says: "packets again",
		}, {
			name: "both-dropped", rails: 1,
			title:  "UDP port 4791 is dropped on the way back, and then on the way to the receiver",
			sender: dropsArriving, receiver: dropsArriving, heal: dropsNothing,
			want: wire.Unacknowledged, says: "pod/train/node-a mlx5_0 repeats packets",
		}, {
			name: "rail-down", title: "the receiver's rail is down", rails: 1,
			receiver: "ip link set eno5np0 down", heal: "ip link set eno5np0 up",
			want: wire.Lost, or: wire.Unacknowledged, // if only acknowledgements were on their way
			named: machine.PhysicalUp, also: machine.LinkStable,
		}, {
			name: "slow-rail", title: "one of two rails carries no more than 8 Mbit/s", rails: 2,
			sender: slowsRail, heal: healsRail,
			want: wire.Moving, says: "uneven: pod/train/node-a mlx5_0",
		},
	}
}

// unprivileged runs a command as a user without capabilities, as in a pod.
const unprivileged = "setpriv --reuid=1000 --regid=1000 --clear-groups --bounding-set=-all --inh-caps=-all "

// signals returns lines of shell that send a signal to all processes of a program.
func signals(name, program string) string {
	return fmt.Sprintf(`for p in /proc/[0-9]*; do
if [ "$(cat $p/comm)" = %s ]; then kill -%s ${p#/proc/}; fi
done 2> /dev/null`, program, name)
}

// wires wants the faults of connections to be told from each other, and nothing healthy to be called broken.
func (p pair) wires(t *testing.T) {
	before := p.readsWire(t).found
	for _, x := range wireFaults() {
		t.Run(x.name, func(t *testing.T) {
			row := tellsWire(t, x)
			defer p.sends(t, x)()
			defer func() {
				script(t, p.broken, x.heal)
				script(t, p.other, x.heal)
			}()
			script(t, p.broken, x.sender)
			script(t, p.other, x.receiver)
			p.tellsConnection(t, before, row)
			if x.name == "healthy" {
				recordsNetlink(t, p.broken)
			}
		})
	}
	p.heals(t)
}

func script(t *testing.T, v *vm.VM, lines string) {
	t.Helper()
	output(t, fault.In(v), "bash", "-c", lines)
}

// sends starts a program of perftest that sends over the rails, and returns what ends it. It sends again
// after 1 s without an answer, for ever: Soft-RoCE does not count seven retries (rxe_comp.c).
func (p pair) sends(t *testing.T, x wireFault) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	run := func(v *vm.VM, rail int, more string) {
		const lines = "until %s -d %s -p %d -x 1 -s 65536 -D 120 -F -u 18 %s; do sleep 0.3; done"
		hca := v.Spec.Config.Cards[rail].VFs[0].HCA
		text := fmt.Sprintf(lines, cmp.Or(x.program, "ib_write_bw"), hca, 18515+rail, more)
		running.Go(func() { _, _ = fault.In(v)(ctx, "bash", "-c", text) }) // it ends when it is killed
	}
	for rail := range x.rails {
		run(p.other, rail, "")
		run(p.broken, rail, p.meetingPlace())
	}
	const moving = `for try in $(seq 40); do
%s wire --every 300ms | awk '$3 ~ /^ib_/ && $5 == 1 { n++ } END { exit n != %d }' && exit
done; exit 1`
	if x.rails > 0 {
		script(t, p.broken, fmt.Sprintf(moving, program, x.rails))
	}
	return func() {
		cancel()
		running.Wait()
	}
}

// tellsConnection wants `railhead wire` to say what the connection does, and doctor to name a fault and nothing else.
// What was on its way when the fault was made may need a moment.
func (p pair) tellsConnection(t *testing.T, before []finding, row *wireStory) {
	t.Helper()
	want := row.fault
	const tries = 4
	for range tries {
		now := p.readsWire(t)
		job, found := now.job, beside(now.found, before)
		t.Logf("%v; doctor: %v", job.Connections, found)
		row.ends, row.said = job.Connections, connectionLines(t, job)
		for _, f := range found {
			if f.Check != want.named && f.Check != want.also && f.Check != machine.PacketsInTurn {
				row.alarms = append(row.alarms, string(f.Check))
			}
		}
		named := want.named == "" || slices.ContainsFunc(found, func(f finding) bool { return f.Check == want.named })
		moves := want.want == "" || job.Connections[want.want] == want.rails ||
			want.or != "" && job.Connections[want.or] == want.rails
		if row.right = named && moves && strings.Contains(row.said, want.says); row.right {
			now.record(t, want.name)
			break
		}
	}
	if row.right = row.right && len(row.alarms) == 0; !row.right {
		t.Errorf("said: %s; false alarms: %v", row.said, row.alarms)
	}
}

// connectionLines returns what `railhead wire` says below its table.
func connectionLines(t *testing.T, job wire.Job) string {
	t.Helper()
	var text bytes.Buffer
	if err := report.Wire(&text, job); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool {
		return !strings.Contains(line, ": ") || strings.Contains(line, ": nothing on ")
	}), "; ")
}

// wireReading has both machines, read at the same time, and the answers about them as pods of one job.
type wireReading struct {
	machines []rules.Machine
	job      wire.Job
	found    []finding
}

// record keeps the reading with -update, for the fast tests.
func (r wireReading) record(t *testing.T, name string) {
	t.Helper()
	if !*update {
		return
	}
	pods := map[string]host.Snapshot{}
	for _, m := range r.machines {
		pods[m.Node] = m.Snapshot
	}
	text, err := json.Marshal(pods)
	if err == nil {
		err = os.WriteFile(filepath.Join("../../../testdata/wire", name+".json"), append(text, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// recordsNetlink keeps what the kernel of a machine answers while a program sends, with -update, for the fast tests.
func recordsNetlink(t *testing.T, v *vm.VM) {
	t.Helper()
	if !*update {
		return
	}
	text := output(t, fault.In(v), guest.Init, guest.RecordRDMANetlink)
	const file = "../../../internal/host/netlink/testdata/soft-roce.netlink.json"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// readsWire reads both machines at the same time, as a user without capabilities.
func (p pair) readsWire(t *testing.T) wireReading {
	t.Helper()
	var reading sync.WaitGroup
	both := []*vm.VM{p.broken, p.other}
	machines := make([]rules.Machine, len(both))
	for i, v := range both {
		node := v.Spec.Config.Name
		machines[i] = rules.Machine{Ref: check.PodRef("train", node), Node: node, Group: "job/train"}
		reading.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			run := fault.In(v, fabric.Allocation(v)...)
			r, err := run(ctx, "bash", "-c", unprivileged+program+" snapshot --watch 2s")
			if err = errors.Join(err, json.Unmarshal([]byte(r.Stdout), &machines[i].Snapshot)); err != nil {
				t.Errorf("%s: %v: %s", node, err, r.Stderr)
			}
		})
	}
	reading.Wait()
	var members []wire.Member
	judged := rules.JudgeAll(machines)
	for i, m := range machines {
		members = append(members, wire.Member{Ref: m.Ref, Node: m.Node, Motion: wire.Of(m.Snapshot)})
		judged[i].Whole = true
	}
	return wireReading{machines, wire.Together(members, true), problems(rules.Diagnose(rules.Case{Machines: judged}))}
}

// wireStory is the row of a fault of a connection.
type wireStory struct {
	fault  wireFault
	ends   map[wire.State]int // their number
	said   string             // by `railhead wire`
	alarms []string
	right  bool
	took   time.Duration
}

// connections says how many connections are in which state.
func (s *wireStory) connections() string {
	var all []string
	for _, state := range slices.Sorted(maps.Keys(s.ends)) {
		all = append(all, fmt.Sprintf("%d %s", s.ends[state], state))
	}
	return cmp.Or(strings.Join(all, ", "), "none")
}

// tellsWire begins the row of a fault.
func tellsWire(t *testing.T, x wireFault) *wireStory {
	s := &wireStory{fault: x}
	results.mu.Lock()
	defer results.mu.Unlock()
	results.wires = append(results.wires, s)
	begun := time.Now()
	t.Cleanup(func() {
		results.mu.Lock()
		defer results.mu.Unlock()
		s.took = time.Since(begun)
	})
	return s
}
