package rules

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rail"
	"github.com/railhead/railhead/internal/rules/machine"
	"github.com/railhead/railhead/internal/words"
)

// Facts that the pods of a job, or its nodes, must share.
const (
	MachineReached   check.ID = "machine-reached"
	FleetRails       check.ID = "fleet-rails"
	FleetLinkLayer   check.ID = "fleet-link-layer"
	FleetGIDType     check.ID = "fleet-gid-type"
	FleetMTU         check.ID = "fleet-mtu"
	FleetRate        check.ID = "fleet-rate"
	FleetFirmware    check.ID = "fleet-firmware"
	FleetNCCL        check.ID = "fleet-nccl-version"
	FleetVerbs       check.ID = "fleet-rdma-core"
	FleetMemlock     check.ID = "fleet-memlock"
	FleetGPUDirect   check.ID = "fleet-gpudirect"
	RailSubnet       check.ID = "rail-subnet"
	DuplicateAddress check.ID = "duplicate-address"
)

// Machine is one pod or node that was looked at, or could not be.
type Machine struct {
	Ref       check.Ref // of the pod or the node
	Node      string    // that the pod is on; "" where it is not known
	Group     string    // the job that the pod is of: those of one are compared with each other
	Snapshot  host.Snapshot
	Unreached string // why there is no snapshot; "": there is
}

// IsNode reports whether it is a node rather than a pod.
func (m Machine) IsNode() bool { return m.Ref.Kind == check.Node }

// Fleet compares machines with each other: what most have is the norm, and those that differ are named. Pods are
// compared with pods of their group and nodes with nodes. The cost grows with the number of machines, not with that
// of their pairs.
func Fleet(machines []Machine) check.Report {
	f := fleet{}
	at := map[string]int{}
	for _, m := range machines {
		switch {
		case m.Unreached != "":
			f.unreached = append(f.unreached, m)
		case m.IsNode():
			f.nodes = append(f.nodes, look(m, rail.Host))
		default:
			i, known := at[m.Group]
			if !known {
				i = len(f.jobs)
				at[m.Group] = i
				f.jobs = append(f.jobs, nil)
			}
			pod := look(m, rail.Pod)
			f.jobs[i], f.pods = append(f.jobs[i], pod), append(f.pods, pod)
		}
	}
	return check.Run(fleetChecks(), f)
}

// fleet is the machines of a job, with their rails.
type fleet struct {
	unreached   []Machine
	pods, nodes []member
	jobs        [][]member // the pods by the job that they are of
}

// member is one machine of a fleet.
type member struct {
	ref   check.Ref
	node  string
	s     *host.Snapshot
	rails []rail.Rail
}

func look(m Machine, scope rail.Scope) member {
	s := m.Snapshot
	return member{ref: m.Ref, node: m.Node, s: &s, rails: rail.Resolve(s, scope).Rails}
}

// place names a pod with its node.
func (m member) place() string {
	if m.node == "" || m.ref.Kind == check.Node {
		return m.ref.String()
	}
	return m.ref.String() + " on " + m.node
}

// fleetChecks are the catalogue. What hangs training comes before what slows it down.
func fleetChecks() []check.Check[fleet] {
	checks := []check.Check[fleet]{
		{ID: MachineReached, Title: "every pod and node could be looked at", Run: unreached},
		{ID: DuplicateAddress, Title: "every address of a rail is that of one pod", Run: func(f fleet) []check.Finding {
			return append(duplicates(f.pods), duplicates(f.nodes)...) // whatever job a pod is of
		}},
		{
			ID: RailSubnet, Title: "each rail is in the same subnet on all nodes", Needs: []check.ID{DuplicateAddress},
			ExplainedBy: []check.ID{rail.GIDUsable}, Run: ofEach(subnets),
		},
	}
	for _, t := range traits {
		checks = append(checks, check.Check[fleet]{ID: t.id, Title: t.title, Needs: t.needs, ExplainedBy: t.causes, Run: ofEach(t.compare)})
	}
	return append(checks, check.Check[fleet]{
		ID: FleetFirmware, Title: "all NICs of one kind have the same firmware",
		ExplainedBy: []check.ID{machine.FirmwareUniform}, Run: ofEach(firmware),
	})
}

// ofEach judges the pods of each job, and the nodes, by themselves.
func ofEach(judge func([]member) []check.Finding) func(fleet) []check.Finding {
	return func(f fleet) []check.Finding {
		var findings []check.Finding
		for _, pods := range f.jobs {
			findings = append(findings, judge(pods)...)
		}
		return append(findings, judge(f.nodes)...)
	}
}

// unreached are the machines that could not be looked at, those for one reason together.
func unreached(f fleet) []check.Finding {
	var reasons []string
	of := map[string][]Machine{}
	for _, m := range f.unreached {
		if of[m.Unreached] == nil {
			reasons = append(reasons, m.Unreached)
		}
		of[m.Unreached] = append(of[m.Unreached], m)
	}
	var findings []check.Finding
	for _, reason := range reasons {
		findings = append(findings, f.notSeen(of[reason], reason))
	}
	return findings
}

func (f fleet) notSeen(machines []Machine, reason string) check.Finding {
	var places []string
	for _, m := range machines {
		places = append(places, member{ref: m.Ref, node: m.Node}.place())
	}
	finding := check.Finding{
		Check: MachineReached, Status: check.Unknown, Subject: machines[0].Ref,
		Summary:  "could not be looked at: " + reason,
		Evidence: []check.Evidence{{Source: "railhead-pod snapshot in " + words.Few(places, 6), Got: reason, Want: "a snapshot"}},
		Fix:      &check.Fix{Text: "See whether it runs and may be entered, then run this again.", Who: check.User},
	}
	if len(machines) > 1 {
		finding.Subject = check.Ref{Kind: check.Pods}
		for _, m := range machines {
			finding.About = append(finding.About, m.Ref)
		}
		finding.Summary = fmt.Sprintf("%d of %d could not be looked at: %s (%s)", len(machines), len(f.unreached)+len(f.pods)+len(f.nodes), reason, words.Few(places, 6))
	}
	command := "kubectl describe node " + machines[0].Ref.Name
	if first := machines[0].Ref; first.Kind == check.Pod {
		command = fmt.Sprintf("kubectl -n %s describe pod %s", first.Namespace, first.Name)
	}
	finding.Fix.Commands = []string{command}
	return finding
}

// duplicates are addresses that two machines have: IPAM that counts on each node by itself, mostly. Those of the same
// machines are one finding.
func duplicates(members []member) []check.Finding {
	type holder struct {
		member     check.Ref
		link       check.Ref
		place, mac string
	}
	first := map[netip.Addr]holder{}
	holders, owners := map[netip.Addr][]string{}, map[netip.Addr]string{}
	links := map[netip.Addr][]check.Ref{}
	var order []netip.Addr
	for _, m := range members {
		for _, r := range m.rails {
			link, _ := m.s.Link(r.Netdev)
			for _, p := range link.Addresses.Value {
				a, mine := p.Addr(), holder{m.ref, check.LinkRef(r.Netdev).On(m.ref), m.place() + " " + r.Netdev, link.MAC.Value}
				other, twice := first[a]
				switch {
				case !a.IsGlobalUnicast():
				case !twice:
					first[a] = mine
				case other.mac != "" && other.mac == mine.mac || other.member == m.ref: // the node's own interface, seen by pods of its network
				default:
					if holders[a] == nil {
						order = append(order, a)
						holders[a], owners[a] = []string{other.place}, other.member.String()
						links[a] = []check.Ref{other.member, other.link}
					}
					holders[a], owners[a] = append(holders[a], mine.place), owners[a]+" "+m.ref.String()
					links[a] = append(links[a], m.ref, mine.link)
				}
			}
		}
	}
	var all []sharing
	at := map[string]int{}
	for _, a := range order {
		i, known := at[owners[a]]
		if !known {
			i = len(all)
			at[owners[a]], all = i, append(all, sharing{})
		}
		all[i].addresses, all[i].holders = append(all[i].addresses, a), append(all[i].holders, words.Few(holders[a], 6))
		all[i].about = append(all[i].about, links[a]...)
	}
	var findings []check.Finding
	for _, s := range all {
		findings = append(findings, s.finding())
	}
	return findings
}

// sharing is the addresses that the same machines have, and who has each.
type sharing struct {
	addresses []netip.Addr
	holders   []string
	about     []check.Ref // machines and interfaces
}

func (s sharing) finding() check.Finding {
	const shown = 8
	more := ""
	if n := len(s.addresses) - 1; n > 0 {
		more = fmt.Sprintf(", and so are %d more of theirs", n)
	}
	f := check.Finding{
		Check: DuplicateAddress, Status: check.Fail, Subject: check.Named(check.Address, s.addresses[0].String()), About: s.about,
		Summary: fmt.Sprintf("%s is the address of %s%s: what is sent to one arrives at another", s.addresses[0], s.holders[0], more),
		Fix: &check.Fix{
			Text: "Let one address management serve all nodes (whereabouts): host-local counts on each node by itself.", Who: check.Admin,
			Commands: []string{"kubectl get network-attachment-definitions -A -o jsonpath='{range .items[*]}{.metadata.namespace}/{.metadata.name} {.spec.config}{\"\\n\"}{end}'"},
		},
	}
	for i, a := range s.addresses[:min(len(s.addresses), shown)] {
		f.Evidence = append(f.Evidence, check.Evidence{Source: "addresses of the rails", Got: a.String() + " of " + s.holders[i], Want: "one owner"})
	}
	return f
}

// distinct are the values of a list, each once, sorted and joined; ok is false when there is none.
func distinct(values []string) (joined string, ok bool) {
	values = slices.Clone(values)
	slices.Sort(values)
	values = slices.Compact(values)
	return strings.Join(values, ", "), len(values) > 0
}
