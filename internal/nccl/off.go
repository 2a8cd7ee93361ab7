package nccl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/rail"
	"github.com/railhead/railhead/internal/words"
)

// offSwitch is a variable that can keep a library off RDMA: the library then uses TCP, or stops without naming it.
type offSwitch struct {
	name     string
	library  string // "" is NCCL, without which training does not start
	effect   string // on the library
	replaced bool   // with --override another rule sets it; the others are removed
	remark   bool   // it concerns some versions of the library, and which one is there is unknown
	off      func(c settings, value string, rails []rail.Rail) bool
}

const (
	ucxList     = "UCX_NET_DEVICES"
	nvshmemList = "NVSHMEM_HCA_LIST"

	ucx       = "UCX (MPI, NIXL)"
	overTCP   = "it uses TCP, or stops"
	reachNone = "it reaches no other node"
)

// offSwitches are read by NCCL and, under the same names, by RCCL (src/init.cc, src/transport/net_ib.cc); by UCX
// (src/ucp/core/ucp_context.c); by NVSHMEM (src/host/transport/transport.cpp, src/modules/transport); and by libfabric
// (fabric(7)). Which rails NCCL_IB_HCA selects is judged by filtered.
var offSwitches = []offSwitch{
	{name: "NCCL_NET", replaced: true, off: byValue(isSocket)},
	{name: "NCCL_IB_DISABLE", off: byValue(Disables)},
	{name: "UCX_TLS", library: ucx, effect: overTCP, off: byValue(leavesNone)},
	{name: ucxList, library: ucx, effect: overTCP, replaced: true, off: selectsNone(ucxDevices)},
	{
		name: ucxList, library: "UCX up to 1.20", replaced: true, remark: true, off: olderUCXSelectsNone,
		effect: "it knows neither ^ nor ranges, and a device only with its port, as mlx5_0:1",
	},
	{name: nvshmemList, library: "NVSHMEM", effect: reachNone, replaced: true, off: selectsNone(nvshmemDevices)},
	{name: "NVSHMEM_REMOTE_TRANSPORT", library: "NVSHMEM", effect: reachNone, off: noTransport},
	{
		name: ibgda, library: "NVSHMEM", off: prefixOfNone,
		effect: "it finds HCAs by the prefix NVSHMEM_HCA_PREFIX of their names, mlx5 if that is not set",
	},
	{name: "FI_PROVIDER", library: "libfabric", effect: overTCP, off: byValue(withoutVerbs)},
}

// byValue is for a variable whose value alone decides.
func byValue(off func(value string) bool) func(settings, string, []rail.Rail) bool {
	return func(_ settings, value string, _ []rail.Rail) bool { return off(value) }
}

// isSocket reports whether a network of NCCL is TCP: its own, or Google's plugin.
func isSocket(net string) bool {
	return strings.EqualFold(net, "Socket") || strings.EqualFold(net, "FastSocket")
}

// Disables reports whether NCCL takes the value of one of its switches for yes.
func Disables(value string) bool {
	n, ok := number(value)
	return ok && n != 0
}

// ibgda switches on NVSHMEM's GPU-initiated transport, which works without another one.
const ibgda = "NVSHMEM_IB_ENABLE_IBGDA"

// isTrue reads a switch that is set as NVSHMEM does (nvshmemi_getenv_bool): only these first letters mean no.
func isTrue(value string) bool { return value == "" || !strings.ContainsAny(value[:1], "0NnFf") }

func noTransport(c settings, value string, _ []rail.Rail) bool {
	gpuInitiated, set := c.value(ibgda)
	transports := []string{"ibrc", "ucx", "ibdevx", "libfabric"}
	return !slices.Contains(transports, strings.ToLower(value)) && !(set && isTrue(gpuInitiated))
}

func prefixOfNone(c settings, value string, rails []rail.Rail) bool {
	prefix, set := c.value("NVSHMEM_HCA_PREFIX")
	if !set {
		prefix = "mlx5"
	}
	fits := func(p port) bool { return strings.HasPrefix(p.device, prefix) }
	return isTrue(value) && !slices.ContainsFunc(portsOf(rails), fits)
}

// selectsNone is for a list of devices as a library reads it.
func selectsNone(devices func(value string) list) func(settings, string, []rail.Rail) bool {
	return func(_ settings, value string, rails []rail.Rail) bool { return !devices(value).selectsAny(rails) }
}

func olderUCXSelectsNone(_ settings, value string, rails []rail.Rail) bool {
	return ucxDevices(value).selectsAny(rails) && !olderUCXDevices(value).selectsAny(rails)
}

func forcesSockets(name, value string) bool {
	return slices.ContainsFunc(offSwitches, func(o offSwitch) bool {
		return o.name == name && o.library == "" && o.off(settings{}, value, nil)
	})
}

// switchedOff reports settings of the user that keep libraries from using the rails.
func (c *computation) switchedOff(rails []rail.Rail) {
	for _, o := range offSwitches {
		value, origin, set := c.s.UserSetting(o.name)
		if !set || !o.off(c.settings, value, rails) {
			continue
		}
		if c.policy.Override {
			if !o.replaced {
				c.leave(o.name, "it would disable RDMA")
			}
			continue
		}
		f := check.Finding{
			Check: NetworkChoice, Status: check.Fail, Subject: check.EnvRef(o.name),
			Summary: fmt.Sprintf("%s=%s forces TCP although the pod has %s", o.name, value,
				words.Count(len(c.rails), "usable rail")),
			Evidence: []check.Evidence{{Source: origin, Got: o.name + "=" + value}},
			Fix: check.ByUser("Unset it, or let Railhead replace it with --override; to use TCP, pass --mode tcp.",
				"unset "+o.name),
		}
		if o.library != "" {
			f.Check, f.Status, f.Fix = LibraryDevices, check.Warn, unsetFix(o.name)
			f.Summary = fmt.Sprintf("%s=%s keeps %s off the rails %s: %s", o.name, value, o.library, names(rails),
				o.effect)
			switch {
			case o.remark:
				f.Status = check.Pass
			case o.replaced:
				c.contradicts(o.name, f)
				continue
			}
		}
		c.say(f)
	}
}
