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

// missing returns a finding if NCCL needs some of the variables here and nothing sets them.
func (t *subject) missing(status check.Status, names ...string) []check.Finding {
	var settings []string
	var first nccl.Var
	commands, reason := []string{"railhead-pod run -- ..."}, ""
	for _, v := range t.unset {
		if slices.Contains(names, v.Name) {
			first, reason = cmp.Or(first, v), v.Reason
			settings = append(settings, v.Name+"="+v.Value)
			commands = append(commands, "export "+v.Name+"="+v.Value)
		}
	}
	if len(settings) == 0 {
		return nil
	}
	want := strings.Join(settings, " ")
	return []check.Finding{{
		Status: status, Subject: check.EnvRef(first.Name),
		Summary:  want + " is needed here and not set: " + reason,
		Evidence: []check.Evidence{{Source: "environment", Got: "unset", Want: want}},
		Fix:      check.ByUser("Start the command with railhead-pod run, which sets it, or set it.", commands...),
	}}
}

// gidIndex reports a wrong index of the user, or that one is needed. Without a libnccl it is only a remark: the version
// of NCCL is unknown.
func gidIndex(t *subject) []check.Finding {
	if all := t.found(nccl.GIDIndex); len(all) > 0 {
		return all
	}
	status := check.Fail
	if len(t.NCCL.Libraries) == 0 {
		status = check.Pass
	}
	return t.missing(status,
		"NCCL_IB_GID_INDEX", "NCCL_IB_ADDR_RANGE", "NCCL_IB_ADDR_FAMILY", "NCCL_IB_ROCE_VERSION_NUM")
}

func fusion(t *subject) []check.Finding {
	return t.missing(check.Warn, "NCCL_IB_MERGE_VFS", "NCCL_NET_MERGE_LEVEL", "NCCL_IB_MERGE_NICS")
}

// foreignHCAs is a failure if NCCL would use the devices.
func foreignHCAs(t *subject) []check.Finding {
	all := t.found(rail.ForeignHCAHidden)
	_, _, set := t.UserSetting("NCCL_IB_HCA")
	if set || !slices.ContainsFunc(t.Devices, t.opensInVain) {
		return all
	}
	want := "the pod's rails"
	for _, v := range t.unset {
		if v.Name == "NCCL_IB_HCA" {
			want = v.Value
		}
	}
	for i := range all {
		all[i].Status = check.Fail
		all[i].Summary += "; NCCL_IB_HCA is not set, so NCCL also uses them, and its connections fail or hang"
		all[i].Evidence = append(all[i].Evidence, check.Evidence{Source: "NCCL_IB_HCA", Got: "unset", Want: want})
	}
	return all
}

// opensInVain reports whether NCCL would use a device that is not a rail and cannot work: neither its interface nor the
// address of an ACTIVE port is in this namespace.
func (t *subject) opensInVain(d host.Device) bool {
	isRail := slices.ContainsFunc(t.rails, func(r rail.Rail) bool { return r.Device == d.Name })
	if isRail || t.AccessTo(d.Name) != host.Openable || len(d.Netdevs) > 0 {
		return false
	}
	ownAddress := func(g host.GID) bool {
		link, _ := t.OwnAddress(g.IP())
		return link != ""
	}
	return slices.ContainsFunc(d.Ports, func(p host.Port) bool {
		return p.State.Value == "ACTIVE" && !slices.ContainsFunc(p.GIDs, ownAddress)
	})
}

// disableEffective: NCCL_IB_DISABLE is for NCCL's own transport; HPC-X's plugin reads NCCL_IBEXT_DISABLE
// (nccl-rdma-sharp-plugins src/ib_plugin.c).
func disableEffective(t *subject) []check.Finding {
	value, origin, set := t.UserSetting("NCCL_IB_DISABLE")
	plugin := hpcxPlugin(t)
	if !set || !nccl.Disables(value) || plugin == "" {
		return nil
	}
	return []check.Finding{{
		Status: check.Warn, Subject: check.EnvRef("NCCL_IB_DISABLE"),
		Summary: fmt.Sprintf("NCCL_IB_DISABLE=%s does not disable the HPC-X plugin %s: it still uses the HCAs",
			value, plugin),
		Evidence: []check.Evidence{
			{Source: origin, Got: "NCCL_IB_DISABLE=" + value},
			{Source: "NCCL_IBEXT_DISABLE", Got: "unset", Want: "1"},
		},
		Fix: check.ByUser("For TCP, set both variables; for RDMA, set neither.",
			"export NCCL_IBEXT_DISABLE=1", "unset NCCL_IB_DISABLE"),
	}}
}

// hpcxPlugin returns the HPC-X plugin that NCCL loads, unless a setting chooses another network.
func hpcxPlugin(t *subject) string {
	_, _, disabled := t.UserSetting("NCCL_IBEXT_DISABLE")
	_, _, named := t.UserSetting("NCCL_NET")
	plugin, _, _ := t.UserSetting("NCCL_NET_PLUGIN")
	if disabled || named || plugin == "none" {
		return ""
	}
	found := ""
	for _, path := range t.NCCL.Plugins {
		if strings.Contains(path, "hpcx") || strings.Contains(path, "sharp") {
			found = path
		}
	}
	return found
}

// silentFallback is a remark: nothing is wrong yet.
func silentFallback(t *subject) []check.Finding {
	if _, _, set := t.UserSetting("NCCL_NET"); set {
		return nil
	}
	return []check.Finding{{
		Subject: check.EnvRef("NCCL_NET"),
		Summary: "NCCL_NET is not set: if NCCL finds no RDMA, it silently falls back to TCP, which was measured " +
			rail.SlowerOverTCP + " slower than four 400 Gb/s rails",
		Evidence: []check.Evidence{{Source: "NCCL_NET", Got: "unset", Want: "IB"}},
		Fix:      check.ByUser("Start the command with railhead-pod run, or set it.", "export NCCL_NET=IB"),
	}}
}

// fullShm: a /dev/shm with less free space is full, and one of at most this size is a runtime's default.
const fullShm = 64 << 20

// sharedMemory repeats the finding of package nccl as a remark if no GPU needs the space, and reports a full /dev/shm.
func sharedMemory(t *subject) []check.Finding {
	all := t.found(nccl.SharedMemory)
	size, free := t.Limits.ShmBytes.Value, t.Limits.ShmFree
	switch {
	case !t.Limits.ShmBytes.IsKnown():
		return noData()
	case size <= fullShm:
	case len(all) > 0 && len(rail.GPUs(t.Snapshot)) == 0:
		all[0].Status = check.Pass
	case len(all) == 0 && free.IsKnown() && free.Value < fullShm:
		return []check.Finding{{
			Status: check.Warn,
			Summary: fmt.Sprintf("/dev/shm has only %d of %d MiB free: a run that crashed leaves NCCL's segments there",
				free.Value>>20, size>>20),
			Evidence: []check.Evidence{
				{Source: "statfs of /dev/shm", Got: fmt.Sprintf("%d bytes free", free.Value), Want: "room for NCCL"},
			},
			Fix: check.ByUser("While no job runs, remove the old segments, or recreate the pod.",
				"ls -l /dev/shm", "rm /dev/shm/nccl-*"),
		}}
	}
	return all
}

// gpuDirect is skipped without a GPU.
func gpuDirect(t *subject) []check.Finding {
	if len(rail.GPUs(t.Snapshot)) == 0 {
		return noData()
	}
	return t.found(nccl.GPUDirectPossible)
}

// gpuDistance is skipped if the place of a GPU or of the rails is not known.
func gpuDistance(t *subject) []check.Finding {
	all := t.found(nccl.GPUDirectDistance)
	if len(all) > 0 {
		return all
	}
	gpus := rail.GPUs(t.Snapshot)
	for g, row := range rail.Matrix(t.Snapshot, t.rails) {
		nearest := rail.Nearest(row)
		switch {
		case nearest == rail.Unmeasured:
			return noData()
		case nearest.Farther(rail.PXB) && rail.MayBeNearer(t.Snapshot, gpus[g].Function, nearest):
			return []check.Finding{{
				Status: check.Skipped,
				Summary: "NCCL may measure from the NIC's Data Direct function, and /sys does not tell which NIC has " +
					"which: its log says GDRDMA if GPUDirect is on",
			}}
		}
	}
	return nil
}
