package wire

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// member returns a pod with one rail whose queue pairs were read twice, a second apart.
func member(name string, pairs ...queuePair) Member { return memberOf(name, machine(pairs...)) }

func memberOf(name string, m Machine) Member {
	motion := Motion{Rails: []string{"mlx5_0"}, ends: m.Ends()}
	motion.Usages = usages(motion.ends, m.Ports)
	motion.judge()
	return Member{Ref: check.PodRef("train", name), Motion: motion}
}

func TestConnections(t *testing.T) {
	const last = 1<<24 - 1
	still := func(n uint32) [2]uint32 { return [2]uint32{n, n} }
	type verdict struct {
		State    State
		ToA, ToB uint32
	}
	for name, c := range map[string]struct {
		machines []Member
		part     bool // not all machines of the job were read
		want     []verdict
	}{
		"data moves": {
			[]Member{
				member("a", queuePair{number: 17, remote: 42, sent: [2]uint32{100, 900}, expected: still(5)}),
				member("b", queuePair{number: 42, remote: 17, sent: still(5), expected: [2]uint32{90, 880}}),
			}, false, []verdict{{State: Moving}},
		},
		"the sequence numbers wrap": {
			[]Member{
				member("a", queuePair{number: 17, remote: 42, sent: [2]uint32{last, 3}, expected: still(5)}),
				member("b", queuePair{number: 42, remote: 17, sent: still(5), expected: [2]uint32{last, 3}}),
			}, false, []verdict{{State: Moving}},
		},
		"what is lost is sent again": {
			[]Member{
				member("a", queuePair{number: 17, remote: 42, sent: [2]uint32{148, 228}, expected: still(7)}),
				member("b", queuePair{number: 42, remote: 17, sent: still(7), expected: still(100)}),
			}, false, []verdict{{State: Lost, ToB: 128}},
		},
		"what is lost is sent again, of machines that were not all read": {
			[]Member{
				member("a", queuePair{number: 17, remote: 42, sent: [2]uint32{148, 228}, expected: still(7)}),
				member("b", queuePair{number: 42, remote: 17, sent: still(7), expected: still(100)}),
			}, true, []verdict{{State: HalfSeen}},
		},
		"a packet was sent between the second readings": {
			[]Member{
				member("a", queuePair{number: 17, remote: 42, sent: [2]uint32{100, 105}, expected: still(7)}),
				member("b", queuePair{number: 42, remote: 17, sent: still(7), expected: still(100)}),
			}, false, []verdict{{State: HalfSeen}},
		},
		"a packet had arrived at the first reading": {
			[]Member{
				member("a", queuePair{number: 17, remote: 42, sent: [2]uint32{100, 105}, expected: still(7)}),
				member("b", queuePair{number: 42, remote: 17, sent: still(7), expected: still(105)}),
			}, false, []verdict{{State: Idle}},
		},
		"the program stopped": {
			[]Member{
				member("a", queuePair{number: 17, remote: 42, sent: still(6065942), expected: still(7)}),
				member("b", queuePair{number: 42, remote: 17, sent: still(7), expected: still(6065942)}),
			}, false, []verdict{{State: Idle}},
		},
		"packets of one direction are lost": {
			[]Member{
				member("a", queuePair{number: 17, remote: 42, sent: still(6077719), expected: still(7)}),
				member("b", queuePair{number: 42, remote: 17, sent: still(7), expected: still(6077591)}),
			}, false, []verdict{{State: Lost, ToB: 128}},
		},
		"packets of both directions are lost": {
			[]Member{
				member("a", queuePair{number: 17, remote: 42, sent: still(10), expected: still(last)}),
				member("b", queuePair{number: 42, remote: 17, sent: still(4), expected: still(8)}),
			}, false, []verdict{{State: Lost, ToA: 5, ToB: 2}},
		},
		"the receiver was read later": {
			[]Member{
				member("a", queuePair{number: 17, remote: 42, sent: still(10), expected: still(7)}),
				member("b", queuePair{number: 42, remote: 17, sent: still(7), expected: still(12)}),
			}, false, []verdict{{State: Idle}},
		},
		"the peer is in error": {
			[]Member{
				member("a", queuePair{number: 17, remote: 42, sent: still(10), expected: still(7)}),
				member("b", queuePair{number: 42, remote: 17, sent: still(7), expected: still(10), state: host.StateError}),
			}, false, []verdict{{State: PeerGone}},
		},
		"the peer was killed": {
			[]Member{member("a", queuePair{number: 17, remote: 42, sent: still(10), expected: still(7)}), member("b")},
			false, []verdict{{State: PeerGone}},
		},
		"the peer is not connected yet": {
			[]Member{member("a", queuePair{number: 17, remote: 42, sent: still(0), expected: still(7), since: 1}), member("b")},
			false, []verdict{{State: HalfSeen}},
		},
		"the receiver never sends, and has no number to send": {
			[]Member{
				member("a", queuePair{number: 17, remote: 42, sent: still(10), expected: still(last - 967804)}),
				member("b", queuePair{number: 42, remote: 17, expected: still(10), state: host.StateRTR}),
			}, false, []verdict{{State: Idle}},
		},
		"packets to a receiver that never sends are lost": {
			[]Member{
				member("a", queuePair{number: 17, remote: 17, sent: still(30), expected: still(last)}),
				member("b", queuePair{number: 17, remote: 17, expected: still(10), state: host.StateRTR}),
			}, false, []verdict{{State: Lost, ToB: 20}},
		},
		"a receiver that never sends is not its own sender": {
			[]Member{
				member("a", queuePair{number: 17, remote: 17, sent: still(0), expected: still(last)}),
				member("b", queuePair{number: 17, remote: 17, expected: still(0), state: host.StateRTR}),
			}, false, []verdict{{State: Idle}},
		},
		"two receivers that never send, of senders with the same numbers": {
			[]Member{
				member("a", queuePair{number: 17, remote: 17, sent: still(30), expected: still(last)}),
				member("b", queuePair{number: 17, remote: 17, sent: still(900), expected: still(5)}),
				member("c", queuePair{number: 17, remote: 17, expected: still(900), state: host.StateRTR}),
				member("d", queuePair{number: 17, remote: 17, expected: still(20), state: host.StateRTR}),
			}, false, []verdict{{State: Idle}, {State: Lost, ToB: 10}},
		},
		"receivers that never send, on the side with the lower number": {
			[]Member{
				member("a", queuePair{number: 17, remote: 42, expected: still(900), state: host.StateRTR}),
				member("b", queuePair{number: 17, remote: 42, expected: still(20), state: host.StateRTR}),
				member("c", queuePair{number: 42, remote: 17, sent: still(30), expected: still(last)}),
				member("d", queuePair{number: 42, remote: 17, sent: still(900), expected: still(5)}),
			}, false, []verdict{{State: Idle}, {State: Lost, ToB: 10}},
		},
		"neither end sends yet": {
			[]Member{
				member("a", queuePair{number: 17, remote: 42, expected: still(900), state: host.StateRTR}),
				member("b", queuePair{number: 42, remote: 17, expected: still(20), state: host.StateRTR}),
				member("c"),
			}, false, []verdict{{State: HalfSeen}, {State: HalfSeen}},
		},
		"the peer may be on a machine that was not read": {
			[]Member{member("a", queuePair{number: 17, remote: 42, sent: still(10), expected: still(7)})},
			true, []verdict{{State: HalfSeen}},
		},
		"a connection that is new": {
			[]Member{
				member("a", queuePair{number: 17, remote: 42, sent: still(10), expected: still(7), since: 1}),
				member("b", queuePair{number: 42, remote: 17, sent: still(7), expected: still(10), since: 1}),
			}, false, []verdict{{State: HalfSeen}},
		},
		"a queue pair that is not connected": {
			[]Member{member("a", queuePair{number: 17, state: host.StateInit})}, false, nil,
		},
		"two pairs of pods with the same numbers": {
			[]Member{
				member("a", queuePair{number: 17, remote: 42, sent: still(1000), expected: still(2000)}),
				member("c", queuePair{number: 17, remote: 42, sent: still(9000000), expected: still(3)}),
				member("d", queuePair{number: 42, remote: 17, sent: still(3), expected: still(8999990)}),
				member("b", queuePair{number: 42, remote: 17, sent: still(2000), expected: still(1000)}),
			}, false, []verdict{{State: Idle}, {State: Lost, ToB: 10}},
		},
		"a sender starts again, and the receiver has all": {
			[]Member{
				member("a", queuePair{number: 17, remote: 42, sent: [2]uint32{100, 90}, expected: still(7)}),
				member("b", queuePair{number: 42, remote: 17, sent: still(7), expected: still(100)}),
			}, false, []verdict{{State: Lost}},
		},
		"the peers of two connections with the same numbers may not have been read": {
			[]Member{
				member("a", queuePair{number: 17, remote: 42, sent: still(100), expected: still(0)}),
				member("b", queuePair{number: 42, remote: 17, sent: still(0), expected: still(90)}),
			}, true, []verdict{{State: HalfSeen}},
		},
		"a queue pair that is connected to itself": {
			[]Member{
				member("a", queuePair{number: 17, remote: 17, sent: still(100), expected: still(100)}),
				member("b", queuePair{number: 17, remote: 17, sent: still(90), expected: still(90)}),
			}, false, []verdict{{State: Idle}, {State: Idle}},
		},
		"storage outside the job": {
			[]Member{
				member("a", queuePair{number: 17, remote: 42, sent: still(10), expected: still(7)}),
				member("b", queuePair{number: 18, remote: 42, sent: still(10), expected: still(7)}),
			}, false, []verdict{{State: HalfSeen}, {State: HalfSeen}},
		},
		"one machine with both ends": {
			[]Member{member("a",
				queuePair{number: 17, remote: 18, sent: still(10), expected: still(7)},
				queuePair{number: 18, remote: 17, sent: still(7), expected: still(10)},
			)}, false, []verdict{{State: Idle}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []verdict
			for _, one := range Connections(c.machines, !c.part) {
				v := verdict{State: one.State}
				for _, d := range one.Drops {
					if d.To.End == one.A.End {
						v.ToA = d.Packets
					} else {
						v.ToB = d.Packets
					}
				}
				got = append(got, v)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRepeatsProveNothing: a sender whose packets do not arrive sends them again and again. Nothing of that is traffic.
func TestRepeatsProveNothing(t *testing.T) {
	a := queuePair{number: 17, remote: 42, expected: [2]uint32{7, 7}, pid: 1}
	b := queuePair{number: 42, remote: 17, sent: [2]uint32{7, 7}, expected: [2]uint32{100, 100}, pid: 1}
	for name, sent := range map[string][2]uint32{
		"all of it is outstanding":       {148, 228},
		"it begins again between them":   {100, 123},
		"up to what the receiver has":    {90, 100},
		"it begins again, and goes back": {148, 120},
	} {
		a.sent = sent
		j := Together([]Member{member("a", a), member("b", b)}, true)
		if j.Proof != NoTraffic || j.Sent.Packets > 0 || j.Members[0].Usages[0].Active > 0 || j.Connections[Moving] > 0 {
			t.Errorf("%s: %+v", name, j)
		}
	}
	a.sent = [2]uint32{100, 228}
	b.expected = [2]uint32{100, 101}
	if j := Together([]Member{member("a", a), member("b", b)}, true); j.Proof != RDMA || j.Connections[Moving] != 1 {
		t.Errorf("a packet that arrives: %+v", j)
	}
}

// TestReadAtDifferentTimes: packets may have arrived after one end was read, and before the other one was.
func TestReadAtDifferentTimes(t *testing.T) {
	a := machine(queuePair{number: 17, remote: 42, sent: [2]uint32{9, 9}, expected: [2]uint32{5, 5}})
	b := machine(queuePair{number: 42, remote: 17, sent: [2]uint32{5, 5}, expected: [2]uint32{2, 2}})
	for _, w := range []*host.Wire{&b.Before, &b.After} {
		w.Devices[0].Taken = w.Devices[0].Taken.Add(time.Minute)
	}
	if got := Connections([]Member{memberOf("a", a), memberOf("b", b)}, true); got[0].State != HalfSeen {
		t.Errorf("%+v", got)
	}
}

// TestCounters: the network is not blamed while a device counts receivers without a buffer, and no connection is called
// idle while one of its devices repeats packets whose acknowledgements do not arrive.
func TestCounters(t *testing.T) {
	for name, c := range map[string]struct {
		counter  string
		before   uint32 // packets sent at the first reading, of nine
		expected uint32 // by the receiver
		want     State
	}{
		"a receiver is not ready":        {"send_rnr_err", 9, 2, NotReady},
		"... and the sender tries again": {"send_rnr_err", 7, 2, NotReady},
		"acknowledgements of rxe":        {"completer_retry_err", 9, 9, Unacknowledged},
		"acknowledgements of mlx5":       {"local_ack_timeout_err", 9, 9, Unacknowledged},
		"all that is lost is sent again": {"completer_retry_err", 2, 2, HalfSeen},
		"what is sent may be under way":  {"sent_pkts", 2, 2, HalfSeen},
		"another counter":                {"sent_pkts", 9, 9, Idle},
		"nothing tells of the receivers": {"sent_pkts", 9, 2, HalfSeen},
	} {
		a := machine(queuePair{number: 17, remote: 42, sent: [2]uint32{c.before, 9}, expected: [2]uint32{5, 5}})
		expected := [2]uint32{c.expected, c.expected}
		b := machine(queuePair{number: 42, remote: 17, sent: [2]uint32{5, 5}, expected: expected})
		for i, w := range []*host.Wire{&a.Before, &b.Before, &a.After, &b.After} {
			counters := host.Know(map[string]uint64{c.counter: uint64(i / 2)})
			w.Devices[0].Ports = []host.WirePort{{Number: 1, Counters: counters}}
		}
		if got := Connections([]Member{memberOf("a", a), memberOf("b", b)}, true); got[0].State != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// ring returns pods with 64 queue pairs each, numbered alike in every pod as NCCL's are. Pod i is connected to pod i+1.
func ring(pods int) []Member {
	members := make([]Member, pods)
	for i := range members {
		var pairs []queuePair
		for q := range uint32(eachPod / 2) {
			at := uint32(1000 * i)
			before := uint32(1000 * ((i + pods - 1) % pods))
			pairs = append(pairs,
				queuePair{number: 100 + q, remote: 200 + q, sent: [2]uint32{at, at}, expected: [2]uint32{q, q}, pid: 1},
				queuePair{
					number: 200 + q, remote: 100 + q, pid: 1,
					sent: [2]uint32{q, q}, expected: [2]uint32{before, before},
				})
		}
		members[i] = member(strconv.Itoa(i), pairs...)
	}
	return members
}

// eachPod is the number of queue pairs of a pod.
const eachPod = 64

// largeJob is the number of pods of a large job.
const largeJob = 1000

func TestLargeJob(t *testing.T) {
	const pods = largeJob
	members := ring(pods)
	members[7].ends[0].Next += 5
	j := Together(members, true)
	want := map[State]int{Idle: pods*eachPod/2 - 1, Lost: 1}
	if diff := cmp.Diff(want, j.Connections); diff != "" || j.Faults[0].A.Machine.Name != "7" {
		t.Errorf("%s %+v", diff, j.Faults)
	}
}

// BenchmarkSnapshots judges 1,000 pods with 64 queue pairs each from the JSON that railhead-pod writes.
func BenchmarkSnapshots(b *testing.B) {
	const pods = 1000
	var pairs []queuePair
	for q := range uint32(eachPod) {
		pairs = append(pairs, queuePair{number: 100 + q, remote: 100 + eachPod - 1 - q, sent: [2]uint32{q, q + 9}, pid: 7})
	}
	m := machine(pairs...)
	s := host.Snapshot{Wire: host.Know(m.After), Earlier: &host.Snapshot{Wire: host.Know(m.Before)}}
	s.Devices = []host.Device{{Name: "mlx5_0"}}
	text, err := json.Marshal(s)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		members := make([]Member, pods)
		for i := range members {
			var read host.Snapshot
			if err := json.Unmarshal(text, &read); err != nil {
				b.Fatal(err)
			}
			members[i] = Member{Ref: check.PodRef("train", strconv.Itoa(i)), Motion: Of(read)}
		}
		if j := Together(members, true); j.Connections[Moving] == 0 {
			b.Fatalf("%+v", j.Connections)
		}
	}
}
