package nccl

import (
	"fmt"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/words"
)

// network makes mode RDMA fail closed: with NCCL_NET set, NCCL aborts instead of falling back to TCP.
func (c *computation) network() {
	c.forcedSockets()
	if c.policy.Mode == Auto {
		c.leave("NCCL_NET", "mode auto lets NCCL fall back to TCP; --mode rdma forbids it")
		return
	}
	reason := "RDMA or an error: without it NCCL silently falls back to TCP"
	if plugins := c.s.NCCL.Plugins; len(plugins) > 0 {
		// NCCL_NET is compared with the whole name (NCCL 2.18 to 2.30), so that IB excludes IBext_v*.
		reason += "; " + plugins[0] + " names its network differently (HPC-X: IBext_v*) and is not used: " +
			"set NCCL_NET to that name to use it"
	}
	c.set("NCCL_NET", "IB", Computed, reason)
}

// forcesSockets reports whether a setting keeps NCCL off RDMA.
func forcesSockets(name, value string) bool {
	if name == "NCCL_NET" {
		return strings.EqualFold(value, "Socket")
	}
	n, ok := number(value)
	return name == "NCCL_IB_DISABLE" && ok && n != 0
}

// forcedSockets reports settings of the user that keep NCCL from using RDMA.
func (c *computation) forcedSockets() {
	for _, name := range []string{"NCCL_NET", "NCCL_IB_DISABLE"} {
		value, origin, set := c.s.UserSetting(name)
		switch {
		case !set || !forcesSockets(name, value):
		case c.policy.Override && name == "NCCL_IB_DISABLE":
			c.leave(name, "it would disable RDMA")
		case !c.policy.Override:
			c.say(check.Finding{
				Check: NetworkChoice, Status: check.Fail, Subject: check.EnvRef(name),
				Summary: fmt.Sprintf("%s=%s forces TCP although the pod has %s", name, value,
					words.Count(len(c.rails), "usable rail")),
				Evidence: []check.Evidence{{Source: origin, Got: name + "=" + value}},
				Fix: check.ByUser("Unset it, or let Railhead replace it with --override; to use TCP, pass --mode tcp.",
					"unset "+name),
			})
		}
	}
}

// sockets keeps NCCL, and the HPC-X plugin that ignores NCCL_IB_DISABLE, off the HCAs. If the user did not request TCP,
// his choice of a network is kept.
func (c *computation) sockets() {
	source, why := Decided, "TCP: "
	if c.policy.Mode != TCP {
		source, why = Computed, "no rail, so TCP: "
	}
	c.set("NCCL_NET", "Socket", c.socketNet(source), why+"sockets and nothing else")
	c.set("NCCL_IB_DISABLE", "1", source, why+"NCCL's own InfiniBand transport off")
	c.set("NCCL_IBEXT_DISABLE", "1", source, why+"the HPC-X plugin ignores NCCL_IB_DISABLE")
	if c.ifname != "" {
		c.set("UCX_NET_DEVICES", c.ifname, source, why+"UCX on the bootstrap interface only")
	}
	if source == Computed {
		c.deviceList("UCX_NET_DEVICES", nil)
	}
}

// socketNet returns the source of NCCL_NET=Socket, which replaces a setting of the user that needs a rail.
func (c *computation) socketNet(source Source) Source {
	value, set := c.value("NCCL_NET")
	verbs := strings.EqualFold(value, "IB") || strings.HasPrefix(strings.ToLower(value), "ibext")
	switch {
	case source == Decided || !set || strings.EqualFold(value, "Socket"):
		return source
	case verbs:
		return Decided
	}
	c.say(check.Finding{
		Check: NetworkChoice, Status: check.Warn, Subject: check.EnvRef("NCCL_NET"),
		Summary: fmt.Sprintf("NCCL_NET=%s selects an external plugin and is kept: NCCL uses that plugin or stops; "+
			"whether it works here is unknown", value),
		Evidence: []check.Evidence{{Source: c.origin("NCCL_NET"), Got: value}},
		Fix:      check.ByUser("To use TCP, unset it or use --override.", "unset NCCL_NET"),
	})
	return source
}
