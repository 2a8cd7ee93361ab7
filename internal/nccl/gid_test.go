package nccl

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rail"
)

// TestPick compares the choice of a GID with the answers of NCCL's own code for random tables and settings.
// tools/ncclgid wrote them with the sources of NCCL 2.30.7; those of 2.26.2 and 2.28.9 give the same.
func TestPick(t *testing.T) {
	file, err := os.Open("testdata/gid.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows := bufio.NewScanner(file)
	for rows.Scan(); rows.Scan(); {
		row := strings.Split(rows.Text(), "\t")
		slots := strings.Fields(row[3])
		got := rulesOf(row[0], row[1], row[2]).pick(table(t, slots), len(slots))
		if got != host.Atoi(row[4]) {
			t.Errorf("family %q, version %q, range %q, table %s: slot %d, NCCL takes %s",
				row[0], row[1], row[2], row[3], got, row[4])
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

// table returns the slots that are filled: each is an address and a version of RoCE, or "-".
func table(t *testing.T, slots []string) []host.GID {
	t.Helper()
	var gids []host.GID
	for i, slot := range slots {
		if slot == "-" {
			continue
		}
		address, version, _ := strings.Cut(slot, "/")
		if !strings.Contains(address, ":") {
			address = "::ffff:" + address
		}
		kinds := map[string]string{"v1": "IB/RoCE v1", "v2": "RoCE v2"}
		gids = append(gids, gid(i, address, kinds[version]))
	}
	return gids
}

// TestIPv4LinkLocal: NCCL takes 169.254.0.0/16 for an address like any other, and it comes first in the table.
func TestIPv4LinkLocal(t *testing.T) {
	s, _ := pod(t, "pod-roce-4vf")
	for i := range s.Devices {
		p := &s.Devices[i].Ports[0]
		own := p.GIDs[len(p.GIDs)-1].Addr.String()
		p.GIDs = nil
		for _, address := range []string{"fe80::1", "::ffff:169.254.3.4", own} {
			for _, kind := range []string{"IB/RoCE v1", "RoCE v2"} {
				p.GIDs = append(p.GIDs, gid(len(p.GIDs), address, kind))
			}
		}
	}
	vars, _ := Compute(rail.Resolve(s, rail.Pod).Rails, s, Policy{})
	got := find(vars, "NCCL_IB_GID_INDEX")
	const why = "slot 3 of mlx5_6:1, which is link-local (169.254.3.4)"
	if got.Value != "5" || got.Source != Computed || !strings.Contains(got.Reason, why) {
		t.Errorf("%+v", got)
	}
}
