package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/wire"
	"github.com/railhead/railhead/internal/words"
)

// Wire writes what the machines of a job do on their rails: a row for each process and device, the connections that are
// broken, and the verdict.
func Wire(w io.Writer, j wire.Job) error {
	table := Table{Columns: slices.Insert(slices.Clone(usageColumns), 0, "POD")}
	for _, m := range j.Members {
		for _, row := range usageRows(m.Motion) {
			table.Rows = append(table.Rows, slices.Insert(row, 0, m.Ref.String()))
		}
	}
	if err := writeUsages(w, table); err != nil {
		return err
	}
	for _, m := range j.Members {
		remarks(w, m)
	}
	readOnNodes(w, j)
	few(w, j.IdleRails, "idle rail", func(r check.Ref) string {
		return fmt.Sprintf("idle rail: %s has no queue pair, and most pods use all their rails", r)
	})
	few(w, j.Uneven, "uneven rail", func(u wire.Uneven) string {
		return fmt.Sprintf("uneven: %s carries %s, the other rails of the pod %s or more", u.Rail, ByteRate(u.Rate),
			ByteRate(u.Others))
	})
	few(w, j.Faults, "broken connection", fault)
	few(w, repeats(j.Unacknowledged), "device", func(line string) string { return line })
	Line(w, "%s", Verdict(j))
	return nil
}

// remarks writes what was not read of a machine, and what it does not use.
func remarks(w io.Writer, m wire.Member) {
	switch {
	case m.Proof == wire.NotProved:
		Line(w, "not read: %s: %s", m.Ref, m.Why)
	case len(m.Unread) > 0:
		Line(w, "not read: %s: %s: %s", m.Ref, m.Unread[0].Source, m.Unread[0].Got)
	}
	if m.Proof == wire.RDMA && len(m.Unused) > 0 {
		Line(w, "%s: nothing on %s", m.Ref, words.Few(m.Unused, 8))
	}
	few(w, m.Openers, "process", func(o wire.Opener) string { return m.Ref.String() + ": " + opened(o) })
	few(w, noRates(m.Motion), "device", func(line string) string { return m.Ref.String() + ": " + line })
}

// readOnNodes writes the command that reads the queue pairs of pods that are not allowed to.
func readOnNodes(w io.Writer, j wire.Job) {
	var nodes []string
	for _, m := range j.Members {
		if m.Refused && m.Node != "" && !slices.Contains(nodes, "node/"+m.Node) {
			nodes = append(nodes, "node/"+m.Node)
		}
	}
	const shown = 8
	if len(nodes) > 0 {
		Line(w, "A privileged pod on their nodes may read them: railhead wire %s",
			strings.Join(nodes[:min(shown, len(nodes))], " "))
	}
}

// few writes the first lines of a long list.
func few[T any](w io.Writer, all []T, noun string, line func(T) string) {
	const shown = 8
	for _, one := range all[:min(shown, len(all))] {
		Line(w, "%s", line(one))
	}
	if more := len(all) - shown; more > 0 {
		Line(w, "and %s more", words.Count(more, noun))
	}
}

func fault(c wire.Connection) string {
	text := string(c.State) + ": " + place(c.A)
	switch {
	case c.B.End == nil && c.A.Broken(): // the other end may be one that was not read
		return text + " is in error"
	case c.B.End == nil:
		return text + " has no other end"
	case c.State == wire.PeerGone:
		return text + " and " + place(c.B) + ": one end is in error"
	}
	var directions []string
	for _, d := range c.Drops {
		what := "acknowledgements"
		if d.Packets > 0 {
			what = words.Count(int(d.Packets), "packet")
		}
		directions = append(directions, fmt.Sprintf("%s from %s to %s", what, place(d.From), place(d.To)))
	}
	return string(c.State) + ": " + words.And(directions)
}

// repeats returns a line for each device that repeats packets which have arrived.
func repeats(all []wire.Connection) (lines []string) {
	type repeating struct {
		connections int
		peers       []string
		duplicates  uint64 // that the peers counted
	}
	var devices []string
	by := map[string]repeating{}
	for _, c := range all {
		for _, d := range c.Drops {
			device, peer := place(d.To), place(d.From)
			r := by[device]
			if r.connections++; r.connections == 1 {
				devices = append(devices, device)
			}
			if !slices.Contains(r.peers, peer) {
				r.peers, r.duplicates = append(r.peers, peer), r.duplicates+d.Duplicates
			}
			by[device] = r
		}
	}
	for _, device := range devices {
		r := by[device]
		which, who := "its connection", r.peers[0]
		if r.connections > 1 {
			which = fmt.Sprintf("at least one of its %d connections", r.connections)
		}
		if len(r.peers) > 1 {
			who = "they"
		}
		line := fmt.Sprintf("unacknowledged: %s repeats packets: of %s with %s, where all had arrived, "+
			"or of a queue pair that the kernel does not list", device, which, words.Few(r.peers, 4))
		if r.duplicates > 0 {
			line += fmt.Sprintf("; %s received %s again", who, words.Count(int(r.duplicates), "packet"))
		}
		lines = append(lines, line)
	}
	return lines
}

func place(p wire.Place) string { return fmt.Sprintf("%s %s", p.Machine, p.Device) }

// noun returns the word for the machines of a job. A node is among them only if it was named.
func noun(j wire.Job) string {
	if slices.ContainsFunc(j.Members, func(m wire.Member) bool { return m.Ref.Kind == check.Node }) {
		return "machine"
	}
	return "pod"
}

// OverTime writes what all readings of a series show together, and in how many of them connections were broken.
func OverTime(w io.Writer, s *wire.Series, lasted time.Duration) {
	var parts []string
	for _, p := range []struct {
		proof wire.Proof
		text  string
	}{
		{wire.RDMA, "RDMA"},
		{wire.NoTraffic, "no traffic"},
		{wire.NoConnection, "not RDMA"},
		{wire.NotProved, "unknown"},
	} {
		if n := s.Proofs[p.proof]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s in %d", p.text, n))
		}
	}
	partial := ""
	if s.Partial > 0 {
		partial = fmt.Sprintf("; %d without some of the machines", s.Partial)
	}
	Line(w, "%s in %v: %s%s", words.Count(s.Readings, "reading"), lasted.Round(time.Second), strings.Join(parts, ", "),
		partial)
	if len(s.Breaks) == 0 {
		return
	}
	parts = nil
	for _, state := range []wire.State{wire.Lost, wire.PeerGone} {
		if n := s.Broken[state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s in %s", state, words.Count(n, "reading")))
		}
	}
	first, other := s.Breaks[0], ""
	if first.B.Specific() {
		other = " and " + first.B.String()
	}
	Line(w, "Broken connections: %s; first at %s UTC: %s%s", strings.Join(parts, ", "),
		first.Since.UTC().Format(time.TimeOnly), first.A, other)
}

// byNVLink says when idle rails are right.
func byNVLink(possible bool) string {
	if !possible {
		return ""
	}
	return "; with its IMEX channel NVLink may carry the data between nodes (MNNVL), and idle rails are right then: " +
		"NCCL's log has MNNVL 1"
}

// Verdict returns the proof of a job in one line.
func Verdict(j wire.Job) string {
	switch j.Proof {
	case wire.RDMA:
		text := fmt.Sprintf("RDMA: %s on %s of %s", words.Count(j.Processes, "process"), words.Count(j.Rails, "rail"),
			words.Count(j.Machines, noun(j)))
		total := j.Sent
		if j.Received.Packets > total.Packets { // the senders were not read
			total = j.Received
		}
		text += ", " + amount(total, wire.Motion{Seconds: j.Seconds})
		if n, counted := j.OutOfSequence.Get(); counted {
			text += fmt.Sprintf(", %d out of sequence", n)
		}
		if n := len(j.Unproved); n > 0 {
			text += "; not read: " + words.Count(n, noun(j))
		}
		return text
	case wire.NoTraffic:
		return fmt.Sprintf("no traffic: no packet moved over RDMA in %.1f s%s", j.Seconds,
			ethernet(wire.Motion{Links: j.Links})) + byNVLink(j.MayUseNVLink)
	case wire.NoConnection:
		return notRDMA(j.Unconnected) + ethernet(wire.Motion{Links: j.Links}) + byNVLink(j.MayUseNVLink)
	case wire.NotProved:
	}
	return "unknown: the queue pairs could not be read: " + j.Why
}
