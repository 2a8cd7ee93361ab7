package nccl

import (
	"fmt"
	"slices"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// socketInterface sets the interface of bootstrap and of the libraries' TCP side: exactly one, which every rank can
// reach. Rails often do not reach each other by TCP.
func (c *computation) socketInterface() {
	value, set := c.value("NCCL_SOCKET_IFNAME")
	switch {
	case c.policy.SocketIfname != "":
		c.ifname = c.policy.SocketIfname
		c.checkInterface("--socket-ifname", c.ifname)
		c.set("NCCL_SOCKET_IFNAME", "="+c.ifname, Decided, "chosen with --socket-ifname")
	case set && len(value) > 1: // NCCL ignores shorter ones (src/misc/socket.cc)
		c.ifname = c.userInterface(value)
		c.set("NCCL_SOCKET_IFNAME", value, UserSet, "")
	default:
		name, why := c.reachable()
		if name == "" {
			c.say(check.Finding{
				Check: SocketInterface, Status: check.Unknown, Subject: "pod",
				Summary: "no interface for bootstrap found: no default route, and not exactly one interface with an address beside the rails",
				Fix:     &check.Fix{Text: "Name it.", Commands: []string{"railhead-pod run --socket-ifname eth0 -- ..."}, Who: check.User},
			})
			return
		}
		c.ifname = name
		c.set("NCCL_SOCKET_IFNAME", "="+name, Computed, why+": bootstrap and connection set-up run over it; rails often do not reach each other")
	}
	if c.ifname != "" {
		c.set("GLOO_SOCKET_IFNAME", c.ifname, Computed, "PyTorch's Gloo on the bootstrap interface")
		c.set("TP_SOCKET_IFNAME", c.ifname, Computed, "PyTorch's TensorPipe on the bootstrap interface")
	}
	for _, name := range []string{"GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME"} {
		if value, set := c.value(name); set {
			c.checkInterface(name, value)
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
		if usable(l) && l.Name != "lo" && !c.belongsToHCA(l.Name) {
			candidates = append(candidates, l.Name)
		}
	}
	if len(candidates) == 1 {
		return candidates[0], "the only interface with an address beside the rails"
	}
	return "", ""
}

// usable reports whether NCCL lists the interface: up, with an address.
func usable(l host.Link) bool { return l.Up.Or(true) && len(l.Addresses.Value) > 0 }

func (c *computation) belongsToHCA(link string) bool {
	return slices.ContainsFunc(c.s.Devices, func(d host.Device) bool { return slices.Contains(d.Netdevs, link) })
}

func (c *computation) checkInterface(source, name string) {
	if _, ok := c.s.Link(name); ok {
		return
	}
	c.say(check.Finding{
		Check: SocketInterface, Status: check.Fail, Subject: check.Subject("env/" + source),
		Summary:  fmt.Sprintf("%s names %s, which is no interface of this pod", source, name),
		Evidence: []check.Evidence{{Source: "/sys/class/net", Got: c.linkNames()}},
		Fix:      &check.Fix{Text: "Name one of these, or leave the choice to Railhead.", Who: check.User},
	})
}

// userInterface judges a user's NCCL_SOCKET_IFNAME and returns the interface that NCCL will use: the first match.
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
			Evidence: []check.Evidence{{Source: c.origin("NCCL_SOCKET_IFNAME"), Got: value}, {Source: "/sys/class/net", Got: c.linkNames()}},
			Fix:      &check.Fix{Text: "Unset it, or let Railhead replace it with --override.", Commands: []string{"unset NCCL_SOCKET_IFNAME"}, Who: check.User},
		})
	}
	if len(matched) == 0 {
		say(check.Fail, "matches no interface with an address: NCCL stops with \"no socket interface found\"")
		return ""
	}
	first := matched[0]
	switch name, _ := c.reachable(); {
	case name != "" && first != name && c.belongsToHCA(first):
		say(check.Warn, "puts bootstrap on the rail %s; the default route is on %s, and rails often do not reach each other", first, name)
	case len(matched) > 1:
		say(check.Warn, "matches %d interfaces; bootstrap uses %s only", len(matched), first)
	}
	return first
}

func (c *computation) linkNames() string {
	text := ""
	for _, l := range c.s.Links {
		if text != "" {
			text += ", "
		}
		text += l.Name
	}
	return text
}
