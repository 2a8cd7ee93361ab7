package machine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// unseenVFs is the outcome of a check of what physical functions permit their virtual ones, where there are some and
// nothing tells: their interfaces are of another network namespace, or the kernel did not answer.
func (t *subject) unseenVFs(id check.ID) []check.Finding {
	has := false
	for i := range t.Devices {
		f := &t.Devices[i].Function.Value
		has = has || f.PhysFn.IsKnown() || f.NumVFs.Value > 0
	}
	for i := range t.Links {
		has = has && len(t.Links[i].VFs) == 0
	}
	if !has {
		return nil
	}
	for _, p := range t.Problems {
		if p.Op == "netlink" {
			return one(id, check.Unknown, check.Ref{Kind: check.Node}, "what the physical functions permit their virtual functions could not be read: "+p.Err, nil,
				check.Evidence{Source: "ip link show", Got: p.Err, Want: "vf N ... link-state, trust"})
		}
	}
	return notLooked(id)
}

func vfSettings(t *subject) []check.Finding {
	all := t.unseenVFs(VFSettings)
	for i := range t.Links {
		l := &t.Links[i]
		var macs, disabled []string
		spoof := false
		for k := range l.VFs {
			vf := &l.VFs[k]
			if vf.MAC != "" {
				macs = append(macs, vf.MAC)
			}
			if vf.LinkState == "disable" {
				disabled = append(disabled, fmt.Sprintf("vf %d", vf.Index))
			}
			spoof = spoof || vf.SpoofChk
		}
		source := "ip link show " + l.Name
		if len(disabled) > 0 {
			all = append(all, one(VFSettings, check.Fail, check.LinkRef(l.Name), fmt.Sprintf("%s of %s have the link state disable: their ports never become ACTIVE", strings.Join(disabled, ", "), l.Name),
				forAdmin("Let it follow the physical function, in the network that pods attach to.", "SriovNetwork spec:\n  linkState: auto"),
				check.Evidence{Source: source, Got: "link-state disable", Want: "auto or enable"})...)
		}
		if spoof && len(macs) == len(l.VFs) {
			all = append(all, t.notPermitted(l, macs)...)
		}
	}
	return all
}

// notPermitted are the virtual functions seen here whose MAC is none of those that their physical function gave out.
func (t *subject) notPermitted(pf *host.Link, macs []string) []check.Finding {
	var names, commands []string
	var refs []check.Ref
	for i := range t.Devices {
		f := &t.Devices[i].Function.Value
		for k := range t.Links {
			vf := &t.Links[k]
			mac := vf.MAC.Value
			if f.PhysFn.IsKnown() && f.PhysFn.Value == pf.PCI.Value && vf.PCI.Value == f.Address && mac != "" && !slices.Contains(macs, mac) {
				refs = append(refs, check.LinkRef(vf.Name))
				names, commands = append(names, vf.Name+" ("+mac+")"), append(commands, "ip link set "+pf.Name+" vf N mac "+mac)
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	return about(one(VFSettings, check.Fail, check.LinkRef(pf.Name), fmt.Sprintf("the physical function %s does not permit the MAC of %s: what is sent with it is dropped", pf.Name, strings.Join(names, ", ")),
		forAdmin("Give the virtual function the MAC that its physical function knows. One that has to change it, as under a bond, needs to be trusted.",
			append(commands, "SriovNetwork spec:\n  trust: \"on\"")...),
		check.Evidence{Source: "ip link show " + pf.Name, Got: strings.Join(macs, ", "), Want: strings.Join(names, ", ")}), refs)
}

// vfTrust is a remark: RDMA needs no trust, and works with it.
func vfTrust(t *subject) []check.Finding {
	var trusted []string
	for i := range t.Links {
		for _, vf := range t.Links[i].VFs {
			if vf.Trust.Value {
				trusted = append(trusted, fmt.Sprintf("vf %d of %s", vf.Index, t.Links[i].Name))
			}
		}
	}
	if len(trusted) == 0 {
		return t.unseenVFs(VFTrust)
	}
	return one(VFTrust, check.Pass, check.Ref{Kind: check.Node}, shorten(trusted)+" are trusted: a pod that has one may take another's MAC and receive what is not for it, and RDMA needs neither",
		forAdmin("Where no pod changes the MAC of its rails, trust none.", "SriovNetwork spec:\n  trust: \"off\""),
		check.Evidence{Source: "ip link show", Got: "trust on", Want: "trust off"})
}

func vfCount(t *subject) []check.Finding {
	var counts, without []string
	var evidence []check.Evidence
	for _, d := range physical(&t.Snapshot) {
		f := d.Function.Value
		n, ok := f.NumVFs.Get()
		if !ok {
			continue
		}
		if n == 0 {
			without = append(without, d.Name)
		} else {
			counts = append(counts, fmt.Sprint(n))
		}
		evidence = append(evidence, check.Evidence{Source: "/sys/bus/pci/devices/" + f.Address.String() + "/sriov_numvfs", Got: fmt.Sprintf("%d; sriov_totalvfs %s", n, f.TotalVFs), Want: "the same on every card"})
	}
	switch all := distinct(counts); {
	case len(all) > 1:
		return one(VFCount, check.Warn, check.Ref{Kind: check.Node}, fmt.Sprintf("the cards have different numbers of virtual functions (%s): only as many pods as the smallest number get a rail of each", strings.Join(all, ", ")),
			forAdmin("Set one numVfs in the policies of all rails.", "SriovNetworkNodePolicy spec:\n  numVfs: 8"), evidence...)
	case len(all) == 1 && len(without) > 0:
		return one(VFCount, check.Pass, check.Ref{Kind: check.Node}, shorten(without)+" have no virtual functions, and other cards have: no pod gets a rail of them",
			forAdmin("If they are to be rails, write a policy for them; where sriov_totalvfs is 0, SR-IOV is off in the firmware.", "mlxconfig -d PCI query SRIOV_EN NUM_OF_VFS"), evidence...)
	}
	return nil
}

// shorten lists few names and counts many.
func shorten(names []string) string {
	const shown = 6
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}
