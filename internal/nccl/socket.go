package nccl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// socketInterface sets the interface of bootstrap and of the libraries' TCP side: exactly one, which every rank can
// reach. Rails often do not reach each other by TCP.
func (c *computation) socketInterface() {
	value, set := c.value("NCCL_SOCKET_IFNAME")
	name, why := c.reachable()
	if name == "" && !set {
		value, _, set = c.s.UserSetting("NCCL_SOCKET_IFNAME") // there is nothing that could replace it
	}
	switch {
	case c.policy.SocketIfname != "":
		c.ifname = c.policy.SocketIfname
		c.checkInterface(check.Fail, "--socket-ifname", c.ifname)
		c.set("NCCL_SOCKET_IFNAME", "="+c.ifname, Decided, "chosen with --socket-ifname")
	case set:
		c.ifname = c.userInterface(value)
		c.set("NCCL_SOCKET_IFNAME", value, UserSet, "")
	case name == "":
		c.say(check.Finding{
			Check: SocketInterface, Status: check.Unknown, Subject: "pod",
			Summary: "no interface for bootstrap found: no default route, and not exactly one interface with an address beside the rails",
			Fix:     &check.Fix{Text: "Name it with --socket-ifname.", Commands: []string{"railhead-pod run --socket-ifname eth0 -- ..."}, Who: check.User},
		})
	default:
		c.ifname = name
		c.set("NCCL_SOCKET_IFNAME", "="+name, Computed, why+": bootstrap and connection set-up run over it; rails often do not reach each other")
	}
	if c.ifname != "" {
		c.set("GLOO_SOCKET_IFNAME", c.ifname, Computed, "PyTorch's Gloo on the bootstrap interface")
		c.set("TP_SOCKET_IFNAME", c.ifname, Computed, "PyTorch's TensorPipe on the bootstrap interface")
	}
	for _, name := range []string{"GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME"} {
		value, _ := c.value(name)
		for entry := range strings.SplitSeq(value, ",") { // PyTorch's Gloo takes a list
			if entry != "" {
				c.checkInterface(check.Warn, name, entry)
			}
		}
	}
}

// reachable is the interface of the default route, IPv4 first; else the cluster's default network; else the only
// interface that has an address and no RDMA device.
func (c *computation) reachable() (name, why string) {
	if len(c.s.Routes) > 0 {
		return c.s.Routes[0].Link, "the default route's interface"
	}
	for _, n := range c.s.NetworkStatus {
		if _, here := c.s.Link(n.Interface); n.Default && here {
			return n.Interface, "the cluster network's interface"
		}
	}
	var candidates []string
	for _, l := range c.s.Links {
		if usable(l) && l.Name != loopback && !c.belongsToHCA(l.Name) {
			candidates = append(candidates, l.Name)
		}
	}
	if len(candidates) == 1 {
		return candidates[0], "the only interface with an address beside the rails"
	}
	return "", ""
}

// usable reports whether NCCL lists the interface: IFF_RUNNING, with an address (src/misc/socket.cc).
func usable(l host.Link) bool { return l.Running.Or(l.Up.Or(true)) && len(l.Addresses.Value) > 0 }

func (c *computation) belongsToHCA(link string) bool {
	return slices.ContainsFunc(c.s.Devices, func(d host.Device) bool { return slices.Contains(d.Netdevs, link) })
}

func (c *computation) checkInterface(status check.Status, source, name string) {
	if c.isInterface(name) {
		return
	}
	c.say(check.Finding{
		Check: SocketInterface, Status: status, Subject: check.Subject("env/" + source),
		Summary:  fmt.Sprintf("%s names %s, which is no interface of this pod with an address", source, name),
		Evidence: []check.Evidence{{Source: "interfaces with an address", Got: c.linkNames()}},
		Fix:      &check.Fix{Text: "Name one of these, or leave the choice to Railhead.", Who: check.User},
	})
}

// isInterface reports whether this namespace has the interface, with an address where those are known: nothing listens
// on one without.
func (c *computation) isInterface(name string) bool {
	l, ok := c.s.Link(name)
	return ok && addressed(l)
}

func addressed(l host.Link) bool { return !l.Addresses.IsKnown() || len(l.Addresses.Value) > 0 }

// userInterface judges a user's NCCL_SOCKET_IFNAME and returns the interface for the libraries beside NCCL: the one that
// NCCL will use, its first match, unless that is lo.
func (c *computation) userInterface(value string) string {
	f := parseFilter(value)
	var matched []string
	for _, l := range c.s.Links {
		known := l.Addresses.IsKnown()
		if f.selects(l.Name, anyPort) && (usable(l) || !known) {
			matched = append(matched, l.Name)
		}
	}
	say := func(status check.Status, format string, args ...any) {
		c.say(check.Finding{
			Check: SocketInterface, Status: status, Subject: "env/NCCL_SOCKET_IFNAME",
			Summary:  fmt.Sprintf("NCCL_SOCKET_IFNAME=%s ", value) + fmt.Sprintf(format, args...),
			Evidence: []check.Evidence{{Source: c.origin("NCCL_SOCKET_IFNAME"), Got: value}, {Source: "interfaces with an address", Got: c.linkNames()}},
			Fix:      &check.Fix{Text: "Unset it, or let Railhead replace it with --override.", Commands: []string{"unset NCCL_SOCKET_IFNAME"}, Who: check.User},
		})
	}
	if len(matched) == 0 {
		say(check.Fail, "matches no interface with an address: NCCL stops with \"no socket interface found\"")
		return ""
	}
	first := matched[0]
	named := func(e entry) bool { return e.name == first }
	switch name, _ := c.reachable(); {
	case first == loopback && !f.exclude && slices.ContainsFunc(f.entries, named):
		say(check.Warn, "puts bootstrap on lo: no rank of another node reaches it")
		return name
	case first == loopback:
		say(check.Fail, "puts bootstrap on lo, which NCCL avoids only when it chooses by itself: no rank of another node reaches it")
		return name
	case name != "" && first != name && c.belongsToHCA(first):
		say(check.Warn, "puts bootstrap on the rail %s; the default route is on %s, and rails often do not reach each other", first, name)
	case len(matched) > 1:
		say(check.Warn, "matches %d interfaces; bootstrap uses %s only", len(matched), first)
	}
	return first
}

// loopback is the interface that every network namespace has.
const loopback = "lo"

func (c *computation) linkNames() string {
	var names []string
	for _, l := range c.s.Links {
		if addressed(l) {
			names = append(names, l.Name)
		}
	}
	return strings.Join(names, ", ")
}
