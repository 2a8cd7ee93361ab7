package event

import (
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/nccllog/find"
)

// OfDiagnosis returns the event of a line of NCCL's own diagnostics (src/diagnostics, src/ras/diagnostics.cc of 2.31
// and later), whose level INFO is the bad news: "gpu-a:41 NCCL DIAG [INFO] ECC: uncorrected volatile errors on rank(s)
// {3}". What ordinary pods cannot read is no finding.
func OfDiagnosis(text string) (Event, bool) {
	said, bad := strings.CutPrefix(strings.TrimSpace(text), "[INFO] ")
	if !bad {
		return Event{}, false
	}
	e, known := recognize(diagSignatures, said, "")
	e.Detail = Diagnosed
	return e, known
}

// OfAttention returns the event of a line of level ATTN (2.32), which is also that of cleanups, overridden settings and
// the steps of errors.
func OfAttention(text string) (Event, bool) { return recognize(attnSignatures, text, "") }

var diagSignatures = []Signature{
	{
		ID: "diag-env", Kind: Listed, What: "a variable is not the same on all ranks",
		Class: Soft, Cause: "env-not-on-all-ranks", Confidence: Possible,
		Words: []string{" in comm for NCCL_"}, Read: readDiagEnv,
		Example: "gpu-a:41 NCCL DIAG [INFO] NCCL_* env vars: mismatch across 16 ranks in comm for NCCL_ALGO",
	},
	{
		ID: "diag-bandwidth", Kind: Listed, What: "the network of a rank is slower than the others'",
		Class: Soft, Cause: "phantom-link", Confidence: Possible,
		Words: []string{">30% off median"}, Read: readDiagHost,
		Example: "gpu-a:41 NCCL DIAG [INFO] net bw: same-nic rank 3 (gpu-b): 97.1 Gbit/s, >30% off median",
	},
	{
		ID: "diag-iommu", Kind: Listed, What: "the IOMMU translates what GPUs and NICs exchange",
		Class: Soft, Cause: "acs-iommu", Confidence: Likely,
		Words: []string{"IOMMU mode: enabled", "IOMMU groups: differ"},
		Example: "gpu-a:41 NCCL DIAG [INFO] IOMMU mode: enabled (DMA remapping) for 16 relevant device(s) across " +
			"2/2 ranks",
	},
	{
		ID: "diag-topology", Kind: Listed, What: "rdma_topo finds a way between GPU and NIC that is slow",
		Class: Soft, Cause: "acs-iommu", Confidence: Possible,
		Words:   []string{"rdma_topo check: failed"},
		Example: "gpu-a:41 NCCL DIAG [INFO] rdma_topo check: failed on rank(s) {0,1}; first rank 0 exit 1: ACS is on",
	},
	{
		ID: "diag-ecc", Kind: Listed, What: "a GPU has uncorrected errors of its memory",
		Class: Soft, Cause: "cuda-error", Confidence: Likely,
		Words:   []string{"ECC: uncorrected volatile errors on rank(s) "},
		Example: "gpu-a:41 NCCL DIAG [INFO] ECC: uncorrected volatile errors on rank(s) {3} (worst=2)",
	},
	{
		ID: "diag-xid", Kind: Listed, What: "the driver reported an error of a GPU",
		Class: Soft, Cause: "cuda-error", Confidence: Likely,
		Words: []string{"Xid "}, Read: readDiagXid,
		Example: "gpu-a:41 NCCL DIAG [INFO] Xid 79 detected 2 time(s) on host gpu-b. GPU has fallen off the bus",
	},
	{
		ID: "diag-nvlink", Kind: Listed, What: "links of NVLink are missing or slow",
		Class: Soft, Cause: "nvls", Confidence: Possible,
		Words: []string{"NVLink: link-count mismatch", "NVLink: inactive link(s)",
			"NVLink: inconsistent link speeds"},
		Example: "gpu-a:41 NCCL DIAG [INFO] NVLink: inactive link(s) on rank(s) {2}",
	},
	{
		ID: "diag-versions", Kind: Listed, What: "nodes have different GPUs or drivers",
		Class: Soft, Cause: "version-mismatch", Confidence: Possible,
		Words: []string{
			"GPU inventory: count mismatch", "GPU inventory: model mismatch", "driver version: mismatch",
		},
		Example: "gpu-a:41 NCCL DIAG [INFO] CUDA driver version: mismatch, rank(s) {8} differ from rank 0 (12.8)",
	},
	{
		ID: "diag-port", Kind: Listed, What: "a port is not active",
		Class: Soft, Cause: "port-error", Confidence: Likely,
		Words:   []string{"(port is not active)"},
		Example: "gpu-a:41 NCCL DIAG [INFO] Net device mlx5_4:1: state=DOWN/Polling (port is not active)",
	},
	{
		ID: "diag-fabric", Kind: Listed, What: "GPUs of different nodes cannot map each other's memory",
		Class: Soft, Cause: "imex", Confidence: Likely,
		Words: []string{"handle=CUMEM_FABRIC"},
		Example: "gpu-a:41 NCCL DIAG [INFO] p2p: srcRank=0 dstRank=4 path=MNNVL handle=CUMEM_FABRIC " +
			"reason=peer-memory import failed",
	},
	{
		ID: "diag-peer", Kind: Listed, What: "GPUs cannot read each other's memory",
		Class: Soft, Cause: "peer-access", Confidence: Likely,
		Words:   []string{"peer accesses passed verification", " srcRank="},
		Example: "gpu-a:41 NCCL DIAG [INFO] p2p: only 54/56 GPU-to-GPU peer accesses passed verification",
	},
}

var attnSignatures = []Signature{
	{ // src/init.cc
		ID: "attn-git", Kind: Listed, What: "ranks run different builds of NCCL",
		Class: Soft, Cause: "version-mismatch", Confidence: Likely,
		Words: []string{"Mismatched NCCL git versions detected"},
		Example: "a:1:9 [0] init.cc:1 (initTransportsRank) NCCL ATTN Mismatched NCCL git versions detected: rank 0 " +
			"fingerprint 0x1, rank 3 fingerprint 0x2",
	},
	{ // src/init.cc
		ID: "attn-fabric", Kind: Listed, What: "the NVLink fabric is degraded",
		Class: Soft, Cause: "imex", Confidence: Possible,
		Words: []string{"NVLink fabric health reports DEGRADED"},
		Example: "a:1:9 [0] init.cc:1 (fillInfo) NCCL ATTN MNNVL busId 0x901000 NVLink fabric health reports " +
			"DEGRADED_BANDWIDTH (healthMask 0x1)",
	},
}

// ownPerPod are variables whose values rightly differ where pods have different devices.
var ownPerPod = []string{
	"NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "NCCL_SOCKET_IFNAME", "NCCL_TOPO_FILE", "NCCL_TOPO_DUMP_FILE",
	"NCCL_DEBUG_FILE", "NCCL_HOSTID", "NCCL_COMM_ID",
}

func readDiagEnv(e *Event, text, _ string) bool {
	e.Name = "NCCL_" + find.WordAfter(text, " in comm for NCCL_")
	return !slices.Contains(ownPerPod, e.Name)
}

func readDiagHost(e *Event, text, _ string) bool {
	e.Number, e.Host = find.NumberAfter(text, " rank "), find.Between(text, "(", ")")
	return true
}

func readDiagXid(e *Event, text, _ string) bool {
	e.Code, e.Host = find.NumberAfter(text, "Xid "), strings.TrimRight(find.WordAfter(text, " on host "), ".")
	return strings.Contains(text, " detected ") && e.Code > 0
}
