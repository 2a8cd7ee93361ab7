package setup

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rail"
	"github.com/railhead/railhead/internal/words"
)

const (
	defaultMTU = 1500 // of a virtual function whose policy sets none
	minMTU     = 1280 // of IPv6 (RFC 8200)
	maxMTU     = 9978 // of ConnectX
)

func badMTU(o Options) []check.Finding {
	if o.MTU == 0 || (o.MTU >= minMTU && o.MTU <= maxMTU) {
		return nil
	}
	return []check.Finding{{
		Check: SRIOVNICs, Status: check.Fail, Subject: check.Ref{Kind: check.Cluster},
		Summary:  fmt.Sprintf("no RDMA NIC supports an MTU of %d", o.MTU),
		Evidence: check.Observed("--mtu", strconv.Itoa(o.MTU), fmt.Sprintf("%d to %d", minMTU, maxMTU)),
		Fix:      check.ByAdmin("Request one that the switches carry.", "railhead setup cluster --sriov --mtu 9000"),
	}}
}

// mtuFor returns the MTU for a policy: the requested MTU, otherwise the MTU in Railhead's policy, otherwise the MTU of
// the NIC, because virtual functions do not inherit it. On InfiniBand, the mode of IPoIB determines the MTU.
func mtuFor(o Options, n nic) int {
	if o.MTU > 0 && !n.infiniBand() {
		return o.MTU
	}
	if n.own.MTU > 0 {
		return n.own.MTU
	}
	if len(n.mtus) == 1 && n.mtus[0] > defaultMTU {
		return n.mtus[0]
	}
	return 0
}

// otherMTU returns that a policy has another MTU than the requested one; "" if it does not.
func otherMTU(o Options, i cluster.SriovInterface, policy cluster.SriovPolicy) string {
	mtu := cmp.Or(policy.MTU, defaultMTU)
	if o.MTU == 0 || o.MTU == mtu || strings.EqualFold(i.LinkType, "IB") {
		return ""
	}
	return fmt.Sprintf("policy %s sets its MTU, which is %d", policy.Name, mtu)
}

// noteMTUs notes which NICs get a larger MTU, and what a small one costs. The operator raises the MTU of a NIC to that
// of its policies, and never lowers it (sriov-network-operator pkg/host/internal/sriov/sriov.go configSriovPFDevice).
func (p *part) noteMTUs(policies []policy) {
	var small, raised []string
	wanted, least := 0, 0
	for _, policy := range policies {
		if policy.infiniBand() {
			continue
		}
		mtu := cmp.Or(policy.mtu, defaultMTU)
		if share := rateShare(mtu); share < 1 {
			small, least = append(small, policy.name), mtu
		}
		if slices.ContainsFunc(policy.mtus, func(has int) bool { return has < policy.mtu }) {
			raised, wanted = append(raised, policy.name), policy.mtu
		}
	}
	if len(small) > 0 {
		p.Note("The virtual functions of %s get an MTU of %d, which costs RDMA %.1f %% of the rate. "+
			"If the switches carry more, use --mtu 9000.", words.And(small), least, 100*(1-rateShare(least)))
	}
	if len(raised) > 0 {
		p.Note("The SR-IOV operator raises the MTU of %s to %d. "+
			"The switch ports must carry it, or large packets are lost.", words.And(raised), wanted)
	}
}

// rateShare returns the payload that RoCE carries with an MTU, as a share of the payload with RDMA's largest MTU.
func rateShare(mtu int) float64 {
	least, _ := bench.RoCEv2.Efficiency(rail.RDMAMTU(mtu)) // of an MTU above minMTU
	most, _ := bench.RoCEv2.Efficiency(rail.RDMAMTU(maxMTU))
	return least / most
}
