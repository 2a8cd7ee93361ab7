package nccl

import (
	"fmt"
	"strings"

	"github.com/railhead/railhead/internal/check"
)

// network makes mode RDMA fail closed: with NCCL_NET set, NCCL aborts instead of falling back to TCP.
func (c *computation) network() {
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

// sockets keeps NCCL, and the HPC-X plugin that ignores NCCL_IB_DISABLE, off the HCAs. If the user did not request TCP,
// his choice of a network is kept.
func (c *computation) sockets() {
	source, why := Decided, "TCP: "
	if c.policy.Mode != TCP {
		source, why = Computed, "no rail, so TCP: "
	}
	c.set("NCCL_NET", "Socket", socketNet(c, source), why+"sockets and nothing else")
	c.set("NCCL_IB_DISABLE", "1", source, why+"NCCL's own InfiniBand transport off")
	c.set("NCCL_IBEXT_DISABLE", "1", source, why+"the HPC-X plugin ignores NCCL_IB_DISABLE")
	if c.ifname != "" {
		c.set(ucxList, c.ifname, source, why+"UCX on the bootstrap interface only")
	}
	if source == Computed {
		sayStrangers(c, ucxList, nil)
	}
}

// socketNet returns the source of NCCL_NET=Socket, which replaces a setting of the user that needs a rail.
func socketNet(c *computation, source Source) Source {
	value, set := c.value("NCCL_NET")
	verbs := strings.EqualFold(value, "IB") || strings.HasPrefix(strings.ToLower(value), "ibext")
	switch {
	case source == Decided || !set || isSocket(value):
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
