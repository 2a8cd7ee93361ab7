package machine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/words"
)

// hasVFs reports whether the machine has virtual functions.
func hasVFs(s *host.Snapshot) bool {
	return slices.ContainsFunc(s.Devices, func(d host.Device) bool {
		return d.Function.Value.IsVF() || d.Function.Value.NumVFs.Value > 0
	})
}

// showsVFs reports whether an interface shows the settings of its virtual functions. Otherwise the interfaces are in
// another network namespace, or the kernel did not answer.
func showsVFs(s *host.Snapshot) bool {
	return slices.ContainsFunc(s.Links, func(l host.Link) bool { return len(l.VFs) > 0 })
}

// unseenVFs is the result of a check of settings that cannot be seen.
func unseenVFs(s *host.Snapshot) []check.Finding {
	if !hasVFs(s) || showsVFs(s) {
		return nil
	}
	for _, p := range s.Problems {
		if p.Op == "netlink" {
			return []check.Finding{{
				Status:   check.Unknown,
				Summary:  "the settings of the virtual functions could not be read: " + p.Err,
				Evidence: []check.Evidence{{Source: "ip link show", Got: p.Err, Want: "vf N ... link-state, trust"}},
			}}
		}
	}
	return noData()
}

func vfSettings(t *subject) []check.Finding {
	all := unseenVFs(&t.Snapshot)
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
		if len(disabled) > 0 {
			all = append(all, check.Finding{
				Status: check.Fail, Subject: check.LinkRef(l.Name),
				Summary: fmt.Sprintf("link state of %s of %s is disable: their ports never become ACTIVE",
					strings.Join(disabled, ", "), l.Name),
				Evidence: []check.Evidence{
					{Source: "ip link show " + l.Name, Got: "link-state disable", Want: "auto or enable"},
				},
				Fix: check.ByAdmin("Let it follow the physical function, in the network that pods attach to.",
					"SriovNetwork spec:\n  linkState: auto"),
			})
		}
		if spoof && len(macs) == len(l.VFs) {
			all = append(all, t.blockedMACs(l, macs)...)
		}
	}
	return all
}

// blockedMACs finds virtual functions whose MAC is not one that their physical function permits.
func (t *subject) blockedMACs(pf *host.Link, macs []string) []check.Finding {
	var names, commands []string
	var links []check.Ref
	for i := range t.Devices {
		f := &t.Devices[i].Function.Value
		for k := range t.Links {
			vf := &t.Links[k]
			mac := vf.MAC.Value
			ofPF := f.PhysFn.IsKnown() && f.PhysFn.Value == pf.PCI.Value && vf.PCI.Value == f.Address
			if ofPF && mac != "" && !slices.Contains(macs, mac) {
				links, names = append(links, check.LinkRef(vf.Name)), append(names, vf.Name+" ("+mac+")")
				commands = append(commands, "ip link set "+pf.Name+" vf N mac "+mac)
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []check.Finding{{
		Status: check.Fail, Subject: check.LinkRef(pf.Name), About: links,
		Summary: fmt.Sprintf("physical function %s does not permit the MAC of %s: it drops what they send",
			pf.Name, strings.Join(names, ", ")),
		Evidence: []check.Evidence{{
			Source: "ip link show " + pf.Name, Got: strings.Join(macs, ", "), Want: strings.Join(names, ", "),
		}},
		Fix: check.ByAdmin("Give the virtual function the MAC that its physical function knows. "+
			"A virtual function that must change its MAC, as under a bond, needs trust.",
			append(commands, "SriovNetwork spec:\n  trust: \"on\"")...),
	}}
}

// vfTrust is a remark: RDMA needs no trust, and works with it.
func vfTrust(t *subject) []check.Finding {
	var trusted []string
	unread := false
	for i := range t.Links {
		for _, vf := range t.Links[i].VFs {
			unread = unread || !vf.Trust.IsKnown()
			if vf.Trust.Value {
				trusted = append(trusted, fmt.Sprintf("vf %d of %s", vf.Index, t.Links[i].Name))
			}
		}
	}
	switch {
	case len(trusted) == 0 && unread:
		return noData()
	case len(trusted) == 0:
		return unseenVFs(&t.Snapshot)
	}
	return []check.Finding{{
		Summary: "trusted virtual functions: " + words.Few(trusted, shown) +
			"; a pod can take another pod's MAC and its traffic, and RDMA needs no trust",
		Evidence: []check.Evidence{{Source: "ip link show", Got: "trust on", Want: "trust off"}},
		Fix: check.ByAdmin("If no pod changes the MAC of its rails, turn trust off.",
			"SriovNetwork spec:\n  trust: \"off\""),
	}}
}

// shown is the number of names that a summary lists.
const shown = 6

func vfCount(t *subject) []check.Finding {
	var g group
	var counts, without []string
	for _, d := range physical(&t.Snapshot) {
		f := d.Function.Value
		n, ok := f.NumVFs.Get()
		switch {
		case !ok:
			continue
		case n == 0:
			without = append(without, d.Name)
		default:
			counts = append(counts, fmt.Sprint(n))
		}
		g.see("/sys/bus/pci/devices/"+f.Address.String()+"/sriov_numvfs",
			fmt.Sprintf("%d; sriov_totalvfs %s", n, f.TotalVFs), "the same on every card")
	}
	f := check.Finding{Evidence: g.evidence}
	switch all := distinct(counts); {
	case len(all) > 1:
		f.Status = check.Warn
		f.Summary = fmt.Sprintf("the cards have different numbers of virtual functions (%s): "+
			"only as many pods as the smallest number get a rail of each card", strings.Join(all, ", "))
		f.Fix = check.ByAdmin("Set the same numVfs in the policies of all rails.",
			"SriovNetworkNodePolicy spec:\n  numVfs: 8")
	case len(all) == 1 && len(without) > 0:
		f.Summary = words.Few(without, shown) +
			" have no virtual functions, unlike the other cards: pods get no rail of them"
		f.Fix = check.ByAdmin("To use them as rails, write a policy for them. "+
			"If sriov_totalvfs is 0, SR-IOV is disabled in the firmware.", "mlxconfig -d PCI query SRIOV_EN NUM_OF_VFS")
	default:
		return nil
	}
	return []check.Finding{f}
}
