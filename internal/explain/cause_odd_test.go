package explain

import (
	"fmt"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/story"
)

// TestOddOneOut: where a connection fails and one of its hosts alone uses another HCA, link layer or GID index, that is
// the first cause; of two hosts, or where all differ, none is odd.
func TestOddOneOut(t *testing.T) {
	const same = "[0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE"
	const more = same + " [2]mlx5_bond_0:1/RoCE"
	const timeout = "Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_0:1, curr state INIT, " +
		"next state RTR, local GID index 1, local GID ::ffff:10.1.1.4, remote GID ::ffff:10.1.1.1"
	retry := func(peer int, hca string) string {
		return fmt.Sprintf("NET/IB: Got completion from peer 10.0.0.%d<3> with status=12 opcode=0 len=0 vendor err "+
			"129 (Send) hca %s", peer, hca)
	}
	for name, c := range map[string]struct {
		lists   []string // of HCAs, by host
		indexes []string // NCCL_IB_GID_INDEX, by host
		by      int      // host that logs the failure
		failure string
		cause   story.CauseID
		says    string
	}{
		"all alike": {[]string{same, same, same}, nil, 2, retry(0, "mlx5_0"), story.RouteOrARP, ""},
		"another HCA": {[]string{same, same, more}, nil, 2, retry(0, "mlx5_bond_0"),
			story.ExtraHCA, "gpu-2 alone uses mlx5_bond_0"},
		"the peer's other HCA": {[]string{same, same, more}, nil, 0,
			retry(2, "mlx5_bond_0"), story.ExtraHCA, "gpu-2 alone uses mlx5_bond_0"},
		"another HCA, which did not fail": {[]string{same, same, more}, nil, 2,
			retry(0, "mlx5_0"), story.RouteOrARP, ""},
		"another layer": {[]string{same, same, strings.ReplaceAll(same, "RoCE", "IB")}, nil, 2,
			retry(0, "mlx5_0"), story.MixedIBRoCE, "gpu-2 alone uses HCAs of IB, the other hosts RoCE"},
		"another GID index": {[]string{same, same, same}, []string{"3", "3", "1"}, 2, timeout, story.GIDIndex,
			"gpu-2 alone has NCCL_IB_GID_INDEX 1, the other hosts 3"},
		"no GID index": {[]string{same, same, same}, []string{"3", "3", ""}, 2, timeout, story.GIDIndex,
			"(not set)"},
		"three GID indexes": {[]string{same, same, same}, []string{"3", "2", "1"}, 2, timeout, story.RouteOrARP, ""},
		"two hosts":         {[]string{same, same}, []string{"3", "1"}, 1, timeout, story.RouteOrARP, ""},
		"a port that went down": {[]string{same, same, same + " [2]mlx5_9:1/RoCE"}, nil, 2,
			retry(0, "mlx5_9") + "\ngpu-2:42:9 [0] x.cc:1 NCCL WARN NET/IB : mlx5_9:1 Got non-fatal async event: " +
				"port error(10)", story.PortError, ""},
	} {
		var log []string
		for i, list := range c.lists {
			at := fmt.Sprintf("gpu-%d:%d:9 [0] NCCL INFO ", i, 40+i)
			log = append(log, at+fmt.Sprintf("Bootstrap: Using eth0:10.0.0.%d<0>", i), at+"NET/IB : Using "+list+
				"; OOB eth0:10.0.0.1<0>", at+"Using network IB",
				at+fmt.Sprintf("comm 0x5 rank %d nRanks %d nNodes %d", i, len(c.lists), len(c.lists)))
			if c.indexes != nil && c.indexes[i] != "" {
				log = append(log, at+"NCCL_IB_GID_INDEX set by environment to "+c.indexes[i]+".")
			}
		}
		failure := fmt.Sprintf("gpu-%d:%d:9 [0] x.cc:1 NCCL WARN %s", c.by, 40+c.by, c.failure)
		run := ofLines("job.log", append(log, strings.Split(failure, "\n")...)).Last()
		if len(run.Causes) == 0 || run.Causes[0].ID != c.cause || !strings.Contains(run.Causes[0].Summary, c.says) {
			t.Errorf("%s: want %s %q, got %s", name, c.cause, c.says, run.Summary)
		}
	}
}

// TestOddRank: the rank that alone uses another HCA, link layer or GID index is named, whatever the order of the ranks
// on its host. Half of the ranks are not odd, nor are ranks of several hosts, nor one that has no part in the failure.
func TestOddRank(t *testing.T) {
	const (
		same  = "[0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE"
		extra = same + " [2]mlx5_bond_0:1/RoCE"
		ib    = "[0]mlx5_0:1/IB [1]mlx5_1:1/IB"
	)
	for name, c := range map[string]struct {
		hosts int      // of two ranks
		lists []string // of the last ranks
		gids  []int    // of the last ranks; the others have 3
		by    int      // the rank that logs the failure
		to    int      // the host of its peer
		hca   string
		cause story.CauseID
		says  string
	}{
		"first rank of a host": {3, []string{extra, same}, nil, 4, 0, "mlx5_bond_0", story.ExtraHCA,
			"rank 4 on gpu-2"},
		"second rank of a host": {3, []string{extra}, nil, 5, 0, "mlx5_bond_0", story.ExtraHCA,
			"rank 5 on gpu-2 alone uses"},
		"whole host": {3, []string{extra, extra}, nil, 4, 0, "mlx5_bond_0", story.ExtraHCA,
			"gpu-2 alone uses"},
		"two hosts": {2, []string{extra}, nil, 3, 0, "mlx5_bond_0", story.ExtraHCA,
			"which no other rank has"},
		"the peer's": {2, []string{extra}, nil, 0, 1, "mlx5_bond_0", story.ExtraHCA,
			"rank 3 on gpu-1 alone uses"},
		"layer, first rank": {3, []string{ib, same}, nil, 4, 0, "mlx5_0", story.MixedIBRoCE,
			"rank 4 on gpu-2 alone"},
		"layer, second rank": {2, []string{ib}, nil, 3, 0, "mlx5_0", story.MixedIBRoCE, "IB, the other ranks RoCE"},
		"GID index": {2, nil, []int{0}, 3, 0, "mlx5_0", story.GIDIndex,
			"rank 3 on gpu-1 alone uses GID index"},
		"GID index of a host": {3, nil, []int{1, 1}, 4, 0, "mlx5_0", story.GIDIndex, "gpu-2 alone uses GID index 1"},

		"half of the ranks":   {2, []string{extra, extra}, nil, 3, 0, "mlx5_bond_0", story.RouteOrARP, ""},
		"two odd hosts":       {3, []string{extra, same, extra}, nil, 5, 0, "mlx5_bond_0", story.RouteOrARP, ""},
		"three values":        {3, nil, []int{0, 1}, 5, 0, "mlx5_0", story.RouteOrARP, ""},
		"its neighbour fails": {3, nil, []int{0, 3}, 5, 0, "mlx5_0", story.RouteOrARP, ""},
		"another host fails":  {3, nil, []int{0}, 0, 1, "mlx5_0", story.RouteOrARP, ""},
	} {
		var log []string
		ranks := 2 * c.hosts
		for rank := range ranks {
			at := fmt.Sprintf("gpu-%d:%d:9 [%d] NCCL INFO ", rank/2, 40+rank, rank%2)
			list, gid := same, 3
			if i := rank - ranks + len(c.lists); i >= 0 && c.lists != nil {
				list = c.lists[i]
			}
			if i := rank - ranks + len(c.gids); i >= 0 && c.gids != nil {
				gid = c.gids[i]
			}
			log = append(log, at+fmt.Sprintf("Bootstrap: Using eth0:10.0.0.%d<0>", rank/2), at+"NET/IB : Using "+list,
				at+"Using network IB",
				at+fmt.Sprintf("comm 0x5 rank %d nRanks %d nNodes %d", rank, ranks, c.hosts),
				at+fmt.Sprintf("NET/IB: NCCL Dev 0 IbDev 0 Port 1 qpn 36%d mtu 5 GID %d (0/A10B0A0AFFFF0000) "+
					"fifoRkey=0x1 fifoLkey=0x1", rank, gid))
		}
		log = append(log, fmt.Sprintf("gpu-%d:%d:9 [%d] x.cc:1 NCCL WARN NET/IB: Got completion from peer "+
			"10.0.0.%d<3> with status=12 opcode=0 len=0 vendor err 129 (Send) hca %s", c.by/2, 40+c.by, c.by%2, c.to,
			c.hca))
		run := ofLines("job.log", log).Last()
		if len(run.Causes) == 0 || run.Causes[0].ID != c.cause || !strings.Contains(run.Causes[0].Summary, c.says) {
			t.Errorf("%s: want %s %q, got %s", name, c.cause, c.says, run.Summary)
		}
	}
}

// TestOldNCCL: up to 2.4 no line says which network is used, and a failed look-up logs a step of an error.
func TestOldNCCL(t *testing.T) {
	const at = "gpu-a:41:50 [0] NCCL INFO "
	for name, c := range map[string]struct {
		lines   []string
		network story.Kind
		outcome story.Outcome
	}{
		"a provider of libfabric": {[]string{at + "NET/Socket : Using [0]eth0:10.0.0.1<0>",
			at + "NET/OFI Selected Provider is efa"}, story.OFI, story.OutcomeOK},
		"libfabric, but not used": {[]string{at + "NET/OFI Selected Provider is efa", at + "Using network Socket"},
			story.Socket, story.OutcomeFallback},
		"no path in sysfs": {[]string{at + "Could not find real path of /sys/class/net/eth0/device",
			at + "include/net.h:19 -> 2", at + "Ring 00 : 15 -> 0 [send] via NET/Socket/0"}, story.Socket,
			story.OutcomeFallback},
		"HCAs of a GPU": {[]string{"gpu-a:41:50 [0] INFO NET/Socket : 1 interfaces found",
			"gpu-a:41:50 [0] INFO CUDA Dev 0, IB Ports : mlx4_0/1(PHB)"}, story.IB, story.OutcomeOK},
		"interfaces of a GPU": {[]string{"gpu-a:41:50 [0] INFO comm 0x5 rank 0 nranks 2",
			"gpu-a:41:50 [0] INFO CUDA Dev 0, IP Interfaces : eth0(SOC)"}, story.Socket, story.OutcomeFallback},
		"a step of an error": {[]string{at + "include/net.h:19 -> 2"}, story.UnknownNetwork, story.OutcomeFail},
	} {
		if run := ofLines("train.log", c.lines).Last(); run.Network.Kind != c.network || run.Outcome != c.outcome {
			t.Errorf("%s: %s, %s: %s", name, run.Network.Kind, run.Outcome, run.Summary)
		}
	}
}
