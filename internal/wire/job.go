package wire

import (
	"cmp"
	"slices"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// Member is a pod or a node of a job, and what it did between its readings.
type Member struct {
	Ref  check.Ref `json:"machine"`
	Node string    `json:"node,omitempty"` // of a pod
	Motion
}

// Job sums up the traffic of all machines of a job.
type Job struct {
	Proof       Proof         `json:"proof"`
	Whole       bool          `json:"whole"`         // all machines of the job were read
	Why         string        `json:"why,omitempty"` // of NotProved
	Machines    int           `json:"machines"`      // that sent or received over RDMA
	Processes   int           `json:"processes"`     // of them
	Rails       int           `json:"rails"`         // of them
	Sent        Amount        `json:"sent"`
	Received    Amount        `json:"received"`
	Seconds     float64       `json:"seconds"`
	Connections map[State]int `json:"connections,omitempty"`
	Links       []LinkRate    `json:"links,omitempty"` // interfaces whose traffic is not RDMA, of all machines
	Unproved    []check.Ref   `json:"unproved,omitempty"`
	Members     []Member      `json:"members"`
	// OutOfSequence counts packets that were lost or reordered; absent if no device counts them.
	OutOfSequence host.Fact[uint64] `json:"outOfSequence,omitzero"`
	// Faults are the connections that are Lost, or whose PeerGone.
	Faults []Connection `json:"faults,omitempty"`
	// Unacknowledged connections are at rest, and their devices repeat packets: of some of them, not always of all.
	Unacknowledged []Connection `json:"unacknowledged,omitempty"`
	// Unconnected counts the queue pairs that were made and not connected.
	Unconnected int      `json:"unconnected,omitempty"`
	Uneven      []Uneven `json:"uneven,omitempty"`
	// IdleRails have no queue pair, though most machines use all their rails. OverTCP carries the data of machines that
	// have rails. Both are known only of a whole job.
	IdleRails []check.Ref `json:"idleRails,omitempty"`
	OverTCP   *LinkRate   `json:"overTCP,omitempty"`
	// MayUseNVLink: no packet moved over RDMA, and every machine has an IMEX channel. Idle rails are right if NVLink
	// carries the data between the nodes (MNNVL), which NCCL's log tells.
	MayUseNVLink bool `json:"mayUseNVLink,omitempty"`
}

// Together judges the machines of a job. whole says that they are all of its machines.
func Together(members []Member, whole bool) Job {
	whole = whole && len(members) > 0 && !slices.ContainsFunc(members, Member.unproved)
	connections := Connections(members, whole)
	members = arrived(members, connections)
	j := Job{Proof: NoConnection, Members: members}
	for _, m := range members {
		j.add(m)
	}
	if len(j.Unproved) > 0 && j.Proof != RDMA || len(members) == 0 {
		j.Proof, j.Why = NotProved, cmp.Or(j.Why, "no machine was read")
	}
	if j.Whole = whole; j.Whole {
		j.IdleRails, j.OverTCP = idleRails(members), j.overTCP()
	}
	apart := func(m Member) bool { return !m.MayUseNVLink }
	j.MayUseNVLink = len(members) > 0 && j.OverTCP == nil && !slices.ContainsFunc(members, apart)
	for _, c := range connections {
		if j.Connections == nil {
			j.Connections = map[State]int{}
		}
		j.Connections[c.State]++
		switch c.State {
		case Lost, PeerGone:
			j.Faults = append(j.Faults, c)
		case Unacknowledged:
			j.Unacknowledged = append(j.Unacknowledged, c)
		case HalfSeen, Moving, Idle, NotReady:
		}
	}
	return j
}

// unproved reports whether a machine was not read, or not all of it.
func (m Member) unproved() bool { return m.Proof == NotProved || len(m.Unread) > 0 }

// arrived returns the members without the packets that both ends of a connection show not to have arrived, if the
// other end was read at the same time.
func arrived(members []Member, connections []Connection) []Member {
	repeated := map[*End]bool{}
	for _, c := range connections {
		for _, p := range []Place{c.A, c.B} {
			if c.State != Moving && p.End != nil && p.Moved() {
				repeated[p.End] = true
			}
		}
	}
	members = slices.Clone(members)
	for i := range members {
		members[i].Motion = members[i].without(repeated)
	}
	return members
}

func (j *Job) add(m Member) {
	switch {
	case m.Proof == RDMA || m.Proof == NoTraffic && j.Proof == NoConnection:
		j.Proof = m.Proof
	case m.Proof == NotProved:
		j.Why = cmp.Or(j.Why, m.Why)
	}
	if m.unproved() {
		j.Unproved = append(j.Unproved, m.Ref)
	}
	processes, rails := map[int]bool{}, map[string]bool{}
	for _, u := range m.Usages {
		j.Sent, j.Received = j.Sent.Plus(u.Sent), j.Received.Plus(u.Got)
		j.Unconnected += u.Made
		if u.Active > 0 {
			processes[u.PID], rails[u.Device] = true, true
		}
	}
	if m.Proof == RDMA {
		j.Machines++
	}
	j.Processes, j.Rails = j.Processes+len(processes), j.Rails+len(rails)
	j.Seconds = max(j.Seconds, m.Seconds)
	if n, counted := m.OutOfSequence.Get(); counted {
		j.OutOfSequence = host.Know(j.OutOfSequence.Value + n)
	}
	j.Uneven = append(j.Uneven, m.uneven()...)
	j.addLinks(m.Links)
}

func (j *Job) addLinks(links []LinkRate) {
next:
	for _, l := range links {
		for i := range j.Links {
			if all := &j.Links[i]; all.Name == l.Name {
				all.Sent, all.Received = all.Sent+l.Sent, all.Received+l.Received
				continue next
			}
		}
		j.Links = append(j.Links, l)
	}
}
