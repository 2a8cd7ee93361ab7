package explain

import (
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/story"
)

// symptoms maps a symptom of broken RDMA to the fixture of testdata/logs that shows it, and its first
// cause; "" where no cause may be made up.
var symptoms = map[string]struct {
	log   string
	cause story.CauseID
}{
	"the job runs on TCP unnoticed: its log":     {"no-ib-device", "no-ib-device"},
	"the log at WARN has no line of the network": {"healthy-version-only", ""},
	"the image's rdma-core is older than the kernel's driver": {"verbs-provider-mismatch",
		"verbs-provider-mismatch"},
	"NCCL finds no interface for its sockets: its log": {"bootstrap-ifname",
		"bootstrap-ifname"},
	"ibv_reg_mr_iova2 cannot allocate memory though limits.conf was edited: its log": {"memlock-reg-mr", "memlock"},
	"no space left on device: its log": {"shm-too-small-2.26",
		"shm-too-small"},
	"ibv_modify_qp: no such device: its log": {"modifyqp-nodev-2.20",
		"modifyqp-nodev"},
	"the GID index is wrong: its log": {"gid-index-empty-slot-2.28",
		"gid-index"},
	"each NIC works alone and two together fail: its log": {"rail-isolation",
		"rail-isolation"},
	"error 12 on one rank, FLUSH_ERR on others: its log": {"route-or-arp-2.30",
		"route-or-arp"},
	"FLUSH_ERR and nothing else: no cause is made up":               {"unknown-flush-only", "unknown"},
	"a hang, or LOC_LEN_ERR, where the nodes' MTUs differ: its log": {"mtu-mismatch", "mtu-mismatch"},
	"LOC_PROT_ERR: its log":                                         {"acs-iommu-2.28", "acs-iommu"},
	"GPUDirect RDMA is off: its log": {"peermem-missing-all",
		"peermem-missing"},
}

func TestSymptoms(t *testing.T) {
	logs := fixtures(t)
	for symptom, s := range symptoms {
		f, there := logs[s.log]
		if !there {
			t.Fatalf("no log %s", s.log)
		}
		var first story.CauseID
		if causes := Log(f.log()).Runs[0].Causes; len(causes) > 0 {
			first = causes[0].ID
		}
		if first != s.cause {
			t.Errorf("%s: want %q, got %q", symptom, s.cause, first)
		}
	}
}

// TestHealthyLogs: a log of a job that is well has no cause, and one that does not tell of the network has no verdict
// on it.
func TestHealthyLogs(t *testing.T) {
	for name, f := range fixtures(t) {
		run := Log(f.log()).Runs[0]
		switch {
		case name == "healthy-version-only" && run.Network.Used != nil:
			t.Errorf("%s: a log at WARN does not tell the network, and it is said to be used: %t", name,
				*run.Network.Used)
		case strings.HasPrefix(name, "healthy-") && len(run.Causes) > 0:
			t.Errorf("%s: %+v", name, run.Causes)
		}
	}
}
