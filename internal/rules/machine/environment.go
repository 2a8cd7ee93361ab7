package machine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/rail"
)

// missing are the variables of a list that NCCL needs here and that nothing sets, as a finding.
func (t *subject) missing(id check.ID, status check.Status, names ...string) []check.Finding {
	var settings, commands []string
	why, first := "", ""
	for _, v := range t.needed {
		if slices.Contains(names, v.Name) {
			first = cmp.Or(first, v.Name)
			settings, commands = append(settings, v.Name+"="+v.Value), append(commands, "export "+v.Name+"="+v.Value)
			why = v.Reason
		}
	}
	if len(settings) == 0 {
		return nil
	}
	return one(id, status, check.EnvRef(first), strings.Join(settings, " ")+" is needed here and not set: "+why,
		forUser("Start the command with railhead-pod run, which sets it, or set it.", append([]string{"railhead-pod run -- ..."}, commands...)...),
		check.Evidence{Source: "environment", Got: "unset", Want: strings.Join(settings, " ")})
}

// gidIndex adds to what is wrong with the user's index that one is needed. Where no libnccl was found it may be.
func gidIndex(t *subject) []check.Finding {
	if all := t.made(nccl.GIDIndex); len(all) > 0 {
		return all
	}
	all := t.missing(nccl.GIDIndex, check.Fail, "NCCL_IB_GID_INDEX", "NCCL_IB_ADDR_RANGE", "NCCL_IB_ADDR_FAMILY", "NCCL_IB_ROCE_VERSION_NUM")
	if len(all) > 0 && len(t.NCCL.Libraries) == 0 {
		all[0].Status = check.Pass
	}
	return all
}

func fusion(t *subject) []check.Finding {
	return t.missing(FusionAvoided, check.Warn, "NCCL_IB_MERGE_VFS", "NCCL_NET_MERGE_LEVEL", "NCCL_IB_MERGE_NICS")
}

// foreignHCAs are graver where nothing keeps NCCL from them.
func foreignHCAs(t *subject) []check.Finding {
	all := t.made(rail.ForeignHCAHidden)
	if _, _, set := t.UserSetting("NCCL_IB_HCA"); set {
		return all
	}
	if !t.strangers() {
		return all
	}
	for i := range all {
		all[i].Status = check.Fail
		all[i].Summary += "; NCCL_IB_HCA is not set, so NCCL takes them, too, and its connections fail or never come"
		all[i].Evidence = append(all[i].Evidence, check.Evidence{Source: "NCCL_IB_HCA", Got: "unset", Want: t.hcas()})
	}
	return all
}

// strangers reports whether a device can be opened that is not this pod's and cannot work here: neither its interface
// nor its address is of this namespace.
func (t *subject) strangers() bool {
	for i := range t.Devices {
		d := &t.Devices[i]
		if t.AccessTo(d.Name) != host.Openable || t.isRail(d.Name) || len(d.Netdevs) > 0 {
			continue
		}
		for k := range d.Ports {
			if p := &d.Ports[k]; p.State.Value == "ACTIVE" && !t.reaches(p) {
				return true
			}
		}
	}
	return false
}

func (t *subject) isRail(device string) bool {
	for i := range t.rails {
		if t.rails[i].Device == device {
			return true
		}
	}
	return false
}

// reaches reports whether a port has an address of this namespace.
func (t *subject) reaches(p *host.Port) bool {
	for _, g := range p.GIDs {
		if link, _ := t.OwnAddress(g.IP()); link != "" {
			return true
		}
	}
	return false
}

// hcas is the filter that selects the rails.
func (t *subject) hcas() string {
	for _, v := range t.needed {
		if v.Name == "NCCL_IB_HCA" {
			return v.Value
		}
	}
	return "the pod's rails"
}

// disableEffective: NCCL_IB_DISABLE is NCCL's own transport's; HPC-X's plugin heeds NCCL_IBEXT_DISABLE
// (nccl-rdma-sharp-plugins src/ib_plugin.c).
func disableEffective(t *subject) []check.Finding {
	value, origin, set := t.UserSetting("NCCL_IB_DISABLE")
	_, _, alsoPlugin := t.UserSetting("NCCL_IBEXT_DISABLE")
	_, _, named := t.UserSetting("NCCL_NET")
	plugin, _, chosen := t.UserSetting("NCCL_NET_PLUGIN")
	found := ""
	for _, path := range t.NCCL.Plugins {
		if strings.Contains(path, "hpcx") || strings.Contains(path, "sharp") {
			found = path
		}
	}
	if !set || value == "0" || alsoPlugin || named || chosen && plugin == "none" || found == "" {
		return nil
	}
	return one(DisableEffective, check.Warn, check.EnvRef("NCCL_IB_DISABLE"),
		fmt.Sprintf("NCCL_IB_DISABLE=%s does not stop the HPC-X plugin %s: it still uses the HCAs", value, found),
		forUser("For TCP switch both off; for RDMA neither.", "export NCCL_IBEXT_DISABLE=1", "unset NCCL_IB_DISABLE"),
		check.Evidence{Source: origin, Got: "NCCL_IB_DISABLE=" + value}, check.Evidence{Source: "NCCL_IBEXT_DISABLE", Got: "unset", Want: "1"})
}

// silentFallback is a remark: all is well now, and would not be noticed if it were not.
func silentFallback(t *subject) []check.Finding {
	if _, _, set := t.UserSetting("NCCL_NET"); set {
		return nil
	}
	return one(SilentFallback, check.Pass, check.EnvRef("NCCL_NET"), "NCCL_NET is not set: where NCCL finds no RDMA it falls back to TCP, about 85 times slower, in silence",
		forUser("Start the command with railhead-pod run, or set it.", "export NCCL_NET=IB"), check.Evidence{Source: "NCCL_NET", Got: "unset", Want: "IB"})
}

// fullShm reports a /dev/shm that is large enough but full.
const fullShm = 64 << 20

// sharedMemory says what NCCL's rules say where there are GPUs that need it, and that it is full.
func sharedMemory(t *subject) []check.Finding {
	all := t.made(nccl.SharedMemory)
	size, free := t.Limits.ShmBytes, t.Limits.ShmFree
	switch {
	case len(all) > 0 && len(t.GPUs) == 0 && size.Value > fullShm:
		all[0].Status = check.Pass // not the default of a runtime, and nothing here that needs more
	case len(all) == 0 && free.IsKnown() && free.Value < fullShm && size.Value > fullShm:
		return one(nccl.SharedMemory, check.Warn, check.Ref{Kind: check.Pod},
			fmt.Sprintf("/dev/shm has %d MiB and only %d MiB of it are free: NCCL's segments of a run that crashed stay in it", size.Value>>20, free.Value>>20),
			forUser("When nothing runs, take the old segments away, or recreate the pod.", "ls -l /dev/shm", "rm /dev/shm/nccl-*"),
			check.Evidence{Source: "statfs of /dev/shm", Got: fmt.Sprintf("%d bytes free", free.Value), Want: "room for NCCL"})
	}
	return all
}
