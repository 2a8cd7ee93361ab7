package story

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/host"
)

// machines are snapshots of the machines or pods of the ranks.
type machines []host.Snapshot

// decide compares the candidates with the facts of the machines: a fact proves a candidate, or rules it out.
func (all machines) decide(found []candidate) []candidate {
	if len(all) == 0 {
		return found
	}
	var kept []candidate
	for _, c := range found {
		switch verdict, why := all.weigh(c.id); verdict {
		case weightShown:
			c.confidence, c.summary = Certain, c.summary+"; "+why
			kept = append([]candidate{c}, kept...)
		case weightTold:
			c.summary += "; " + why
			kept = append(kept, c)
		case weightRuledOut:
		case weightSilent:
			kept = append(kept, c)
		}
	}
	if len(kept) == 0 && len(found) > 0 {
		return found
	}
	return kept
}

// weight is the effect of the machines' facts on a candidate.
type weight int

const (
	weightSilent weight = iota
	weightShown
	weightTold // something, but not all
	weightRuledOut
)

func (all machines) weigh(id CauseID) (weight, string) {
	judges := map[CauseID]func() (weight, string){
		Memlock: all.weighMemlock, ShmTooSmall: all.weighShm, ACSIOMMU: all.weighIOMMU,
		PeermemMissing: all.weighPeermem,
		NoIBDevice:     all.weighDevices, HCAFilter: all.weighFilter, DisabledByEnv: all.weighDisabled,
		KernelRegression: all.weighKernel,
	}
	if judge := judges[id]; judge != nil {
		return judge()
	}
	return weightSilent, ""
}

// smallMemlock is less than a rank needs to register its buffers: a few hundred MiB.
const smallMemlock = host.Limit(1 << 30)

func machineName(m host.Snapshot) string { return cmp.Or(m.Pod.Value, m.Node.Value, "a machine") }

// exempt reports that the limit does not count: IPC_LOCK, effective in the initial user namespace.
func exempt(m host.Snapshot) bool {
	const ipcLock = 14
	caps, ok := m.Limits.CapEff.Get()
	return ok && caps&(1<<ipcLock) != 0 && m.Limits.InitialUserNS.Or(true)
}

func (all machines) weighMemlock() (weight, string) {
	known := 0
	for _, m := range all {
		limit, ok := m.Limits.MemlockSoft.Get()
		if !ok {
			continue
		}
		known++
		if limit < smallMemlock && !exempt(m) {
			return weightShown, fmt.Sprintf("the limit on %s is %d KiB", machineName(m), limit>>10)
		}
	}
	if known == len(all) {
		return weightRuledOut, ""
	}
	return weightSilent, ""
}

// weighKernel suspects the kernel where the limit is ruled out.
func (all machines) weighKernel() (weight, string) {
	if w, _ := all.weighMemlock(); w == weightRuledOut {
		return weightTold, fmt.Sprintf("the limit is high enough on every machine (kernel %s)",
			cmp.Or(all[0].Kernel.Value, "not known"))
	}
	return weightSilent, ""
}

func (all machines) weighShm() (weight, string) {
	const small = 1 << 30
	for _, m := range all {
		if size, ok := m.Limits.ShmBytes.Get(); ok && size < small {
			return weightShown, fmt.Sprintf("/dev/shm of %s has %d MiB", machineName(m), size>>20)
		}
	}
	return weightSilent, ""
}

// weighIOMMU: a group of type identity does not translate, so that only ACS is left; that NICs are VFs in a VM or
// that there is no IOMMU says the same.
func (all machines) weighIOMMU() (weight, string) {
	translating, identity := "", 0
	for _, m := range all {
		for _, f := range functions(m) {
			kind, ok := f.IOMMUType.Get()
			switch {
			case !ok:
			case kind == "identity":
				identity++
			case strings.HasPrefix(kind, "DMA"):
				translating = fmt.Sprintf("the IOMMU translates for %s on %s (group type %s)", f.Address,
					machineName(m), kind)
			}
		}
		if groups, ok := m.IOMMU.Groups.Get(); ok && groups == 0 {
			identity++
		}
	}
	switch {
	case translating != "":
		return weightShown, translating + ", so boot with iommu=pt"
	case identity > 0:
		return weightTold, "the IOMMU does not translate there (identity), so it can only be ACS"
	}
	return weightSilent, ""
}

func functions(m host.Snapshot) []host.Function {
	var found []host.Function
	for _, d := range m.Devices {
		if f, ok := d.Function.Get(); ok {
			found = append(found, f)
		}
	}
	for _, g := range m.GPUs {
		found = append(found, g.Function)
	}
	return found
}

func (all machines) weighPeermem() (weight, string) {
	loaded := true
	for _, m := range all {
		if len(m.GPUs) == 0 {
			loaded = false
			continue
		}
		if len(m.GPUDirect.Peermem) > 0 {
			continue
		}
		loaded = false
		if open, ok := m.GPUDirect.OpenModules.Get(); ok && !open {
			return weightShown, fmt.Sprintf("%s has no peer-memory module, and no open kernel modules for DMA-BUF",
				machineName(m))
		}
	}
	if loaded {
		return weightTold, "the module is loaded on every machine, but may be broken or belong to another driver"
	}
	return weightSilent, ""
}

func (all machines) weighDevices() (weight, string) {
	for _, m := range all {
		if usable(m) == 0 {
			return weightShown, fmt.Sprintf("%s has no RDMA device that it may open and whose port is ACTIVE",
				machineName(m))
		}
	}
	return weightRuledOut, ""
}

// usable counts the devices that NCCL can use: hardware with an ACTIVE port and a character device that is not refused.
func usable(m host.Snapshot) int {
	n := 0
	for _, d := range m.Devices {
		active := slices.ContainsFunc(d.Ports, func(p host.Port) bool { return p.State.Value == "ACTIVE" })
		refused := slices.ContainsFunc(m.Uverbs, func(u host.Uverbs) bool {
			return u.Device.Value == d.Name && (u.Access == host.Denied || u.Access == host.Missing ||
				u.Access == host.Broken)
		})
		if active && !refused {
			n++
		}
	}
	return n
}

func (all machines) weighFilter() (weight, string) {
	if w, _ := all.weighDevices(); w == weightShown {
		return weightRuledOut, ""
	}
	for _, m := range all {
		if value, ok := machineEnv(m, "NCCL_IB_HCA"); ok {
			return weightShown, fmt.Sprintf("%s has usable devices, and NCCL_IB_HCA=%s", machineName(m), value)
		}
	}
	return weightTold, "the machines have usable devices, so something hides them"
}

func (all machines) weighDisabled() (weight, string) {
	for _, m := range all {
		if value, ok := machineEnv(m, "NCCL_IB_DISABLE"); ok && value == "1" {
			return weightShown, "NCCL_IB_DISABLE=1 on " + machineName(m)
		}
	}
	return weightSilent, ""
}

// machineEnv returns a variable of the environment, or of NCCL's configuration files.
func machineEnv(m host.Snapshot, name string) (string, bool) {
	if value, ok := m.Env[name]; ok {
		return value, true
	}
	for _, c := range m.NCCL.Config {
		if c.Name == name {
			return c.Value, true
		}
	}
	return "", false
}
