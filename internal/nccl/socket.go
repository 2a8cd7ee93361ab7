package nccl

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// socketInterface sets the interface for bootstrap and for TCP of the libraries: exactly one, which every rank can
// reach. Rails often cannot reach each other by TCP.
func (c *computation) socketInterface() {
	value, set := c.value("NCCL_SOCKET_IFNAME")
	name, why := reachable(c.s)
	if name == "" && !set {
		value, _, set = c.s.UserSetting("NCCL_SOCKET_IFNAME") // nothing could replace it
	}
	switch {
	case c.policy.SocketIfname != "":
		c.ifname = c.policy.SocketIfname
		checkInterface(c, check.Fail, "--socket-ifname", c.ifname)
		c.set("NCCL_SOCKET_IFNAME", "="+c.ifname, Decided, "chosen with --socket-ifname")
	case set && keepsInterface(c, value, name):
	case name == "":
		c.say(check.Finding{
			Check: SocketInterface, Status: check.Unknown, Subject: check.Ref{Kind: check.Pod},
			Summary: "no interface for bootstrap found: no default route, " +
				"and not exactly one interface with an address besides the rails",
			Fix: check.ByUser("Name it with --socket-ifname.", "railhead-pod run --socket-ifname eth0 -- ..."),
		})
	default:
		c.ifname = name
		c.set("NCCL_SOCKET_IFNAME", "="+name, Computed,
			why+": bootstrap and connection set-up run over it; rails often cannot reach each other")
	}
	if c.ifname != "" {
		checkFamily(c)
		c.set("GLOO_SOCKET_IFNAME", c.ifname, Computed, "PyTorch's Gloo on the bootstrap interface")
		c.set("TP_SOCKET_IFNAME", c.ifname, Computed, "PyTorch's TensorPipe on the bootstrap interface")
	}
	for _, name := range []string{"GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME"} {
		value, _ := c.value(name)
		for entry := range strings.SplitSeq(value, ",") { // PyTorch's Gloo takes a list
			if entry != "" {
				checkInterface(c, check.Warn, name, entry)
			}
		}
	}
	const uid = "NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME" // written as NCCL_SOCKET_IFNAME is
	if value, set := c.value(uid); set && len(interfaceFilter(value).selected(c.s, "")) == 0 {
		checkInterface(c, check.Warn, uid, value)
	}
}

// reachable returns the interface of the default route, IPv4 first; otherwise of the cluster's default network;
// otherwise the only interface with an address and without an RDMA device.
func reachable(s *host.Snapshot) (name, why string) {
	if len(s.Routes) > 0 {
		return s.Routes[0].Link, "the default route's interface"
	}
	for _, n := range s.NetworkStatus {
		if _, here := s.Link(n.Interface); n.Default && here {
			return n.Interface, "the cluster network's interface"
		}
	}
	var candidates []string
	for i := range s.Links {
		l := &s.Links[i]
		if usable(l) && l.Name != loopback && !belongsToHCA(s, l.Name) {
			candidates = append(candidates, l.Name)
		}
	}
	if len(candidates) == 1 {
		return candidates[0], "the only interface with an address besides the rails"
	}
	return "", ""
}

// usable reports whether NCCL lists the interface: IFF_RUNNING, with an address (src/misc/socket.cc).
func usable(l *host.Link) bool { return l.Running.Or(l.Up.Or(true)) && len(l.Addresses.Value) > 0 }

func belongsToHCA(s *host.Snapshot, link string) bool {
	return slices.ContainsFunc(s.Devices, func(d host.Device) bool { return slices.Contains(d.Netdevs, link) })
}

// checkFamily reports an interface for bootstrap whose addresses are all of another family than the user wants.
func checkFamily(c *computation) {
	family, origin, _ := c.s.UserSetting(socketFamily)
	if l, _ := c.s.Link(c.ifname); !addressed(&l, "") || addressed(&l, family) {
		return
	}
	c.say(check.Finding{
		Check: SocketInterface, Status: check.Fail, Subject: check.EnvRef(socketFamily),
		Summary:  socketFamily + "=" + family + ", and " + c.ifname + " has no such address: NCCL stops",
		Evidence: []check.Evidence{{Source: origin, Got: family}},
		Fix:      check.ByUser("Unset it: NCCL then takes either family.", "unset "+socketFamily),
	})
}

func checkInterface(c *computation, status check.Status, source, name string) {
	if isInterface(c.s, name) {
		return
	}
	c.say(check.Finding{
		Check: SocketInterface, Status: status, Subject: check.EnvRef(source),
		Summary:  fmt.Sprintf("%s names %s, which is not an interface of this pod with an address", source, name),
		Evidence: []check.Evidence{{Source: "interfaces with an address", Got: linkNames(c.s)}},
		Fix:      check.ByUser("Name one of these, or leave the choice to Railhead."),
	})
}

// isInterface reports whether this namespace has the interface, with an address if addresses are known: a server cannot
// listen on an interface without one.
func isInterface(s *host.Snapshot, name string) bool {
	l, ok := s.Link(name)
	return ok && addressed(&l, "")
}

// keepsInterface judges a user's NCCL_SOCKET_IFNAME. If this run keeps it, it sets the interface for other libraries.
func keepsInterface(c *computation, value, instead string) bool {
	const name = "NCCL_SOCKET_IFNAME"
	ifname, wrong := userInterface(c, value)
	switch {
	case wrong == nil:
	case instead == "":
		c.say(*wrong) // nothing could replace it
	case c.contradicts(name, *wrong):
		return false
	}
	c.ifname = ifname
	c.set(name, value, UserSet, "")
	return true
}

// userInterface returns the interface for other libraries: the first match of a user's NCCL_SOCKET_IFNAME, which NCCL
// uses, unless that is lo. wrong is a setting that contradicts the machine.
func userInterface(c *computation, value string) (ifname string, wrong *check.Finding) {
	f := interfaceFilter(value)
	family, _, _ := c.s.UserSetting(socketFamily)
	matched := f.selected(c.s, family)
	fault := func(status check.Status, format string, args ...any) *check.Finding {
		return &check.Finding{
			Check: SocketInterface, Status: status, Subject: check.EnvRef("NCCL_SOCKET_IFNAME"),
			Summary: fmt.Sprintf("NCCL_SOCKET_IFNAME=%s ", value) + fmt.Sprintf(format, args...),
			Evidence: []check.Evidence{
				{Source: c.origin("NCCL_SOCKET_IFNAME"), Got: value},
				{Source: "interfaces with an address", Got: linkNames(c.s)},
			},
			Fix: unsetFix("NCCL_SOCKET_IFNAME"),
		}
	}
	if len(matched) == 0 {
		return "", fault(check.Fail, "matches no interface with an address: "+
			"NCCL stops with \"no socket interface found\"")
	}
	first := matched[0]
	named := func(e entry) bool { return e.name == first }
	switch name, _ := reachable(c.s); {
	case first == loopback && !f.exclude && slices.ContainsFunc(f.entries, named):
		return name, fault(check.Warn, "puts bootstrap on lo: no rank on another node can reach it")
	case first == loopback:
		return name, fault(check.Fail, "puts bootstrap on lo, because NCCL avoids lo only if the variable is not set: "+
			"no rank on another node can reach it")
	case name != "" && first != name && belongsToHCA(c.s, first):
		return first, fault(check.Warn, "puts bootstrap on the rail %s; the default route is on %s, "+
			"and rails often cannot reach each other", first, name)
	case len(matched) > 1:
		c.say(*fault(check.Warn, "matches %d interfaces; bootstrap uses %s only", len(matched), first))
	}
	return first, nil
}

// addressed reports whether an interface has an address that NCCL takes with NCCL_SOCKET_FAMILY; ::1 is none for
// AF_INET6. Any other value than the two stands for both families (src/misc/socket.cc ncclFindInterfaces).
func addressed(l *host.Link, family string) bool {
	return !l.Addresses.IsKnown() || slices.ContainsFunc(l.Addresses.Value, func(p netip.Prefix) bool {
		switch family {
		case inet:
			return p.Addr().Is4()
		case inet6:
			return !p.Addr().Is4() && !p.Addr().IsLoopback()
		}
		return true
	})
}

const (
	socketFamily = "NCCL_SOCKET_FAMILY"
	inet         = "AF_INET" // also of NCCL_IB_ADDR_FAMILY
	inet6        = "AF_INET6"
)

// selected returns the interfaces that a filter selects, of those that NCCL lists, or might if their addresses are not
// known. Interfaces with an IPv4 address come first, as in glibc's getifaddrs.
func (f filter) selected(s *host.Snapshot, family string) (names []string) {
	for _, first := range []bool{true, false} {
		for i := range s.Links {
			l := &s.Links[i]
			listed := usable(l) || !l.Addresses.IsKnown()
			if listed && addressed(l, inet) == first && addressed(l, family) && f.selects(l.Name, anyPort) {
				names = append(names, l.Name)
			}
		}
	}
	return names
}

const loopback = "lo"

func linkNames(s *host.Snapshot) string {
	var names []string
	for i := range s.Links {
		if addressed(&s.Links[i], "") {
			names = append(names, s.Links[i].Name)
		}
	}
	return strings.Join(names, ", ")
}
