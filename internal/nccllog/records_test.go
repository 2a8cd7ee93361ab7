package nccllog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/nccllog/event"
)

// TestJoinedRecords: without line ends, with and without blanks in their place, the values of a log are the same.
func TestJoinedRecords(t *testing.T) {
	var lines []string
	for rank, host := range []string{"wn07", "wn11", "10-0-0-3"} {
		for _, text := range []string{
			"Bootstrap: Using bond0:172.20.3.7<0>",
			"NCCL version 2.28.9+cuda12.9",
			"NCCL_IB_HCA set to =mlx5_4:1,mlx5_5:1",
			"NCCL_SOCKET_IFNAME set by environment to bond0",
			"NET/IB : Using [0]mlx5_4:1/RoCE [1]mlx5_5:1/RoCE [RO]; OOB bond0:172.20.3.7<0>",
			"Using network IB",
			fmt.Sprintf("comm 0x5 rank %d nRanks 3 nNodes 3 localRanks 1 localRank 0 MNNVL 0", rank),
		} {
			lines = append(lines, fmt.Sprintf("%s:41%d:50 [0] NCCL INFO %s", host, rank, text))
		}
	}
	read := func(lines ...string) []string {
		var p Parser
		for i, line := range lines {
			p.Line(event.Place{File: "train.log", Line: i + 1}, []byte(line))
		}
		var found []string
		for _, r := range p.Log().Runs[0].Ranks {
			text := fmt.Sprintf("%s %d of %d: %s, %s, %v", r.Host, r.Number, r.World, r.Version, r.Network, r.HCAs)
			for _, v := range r.Env {
				text += fmt.Sprintf(", %s=%s", v.Name, v.Value)
			}
			found = append(found, text)
		}
		return found
	}
	want := read(lines...)
	for _, end := range []string{" ", ""} {
		if diff := cmp.Diff(want, read(strings.Join(lines, end))); diff != "" {
			t.Errorf("joined by %q (-want +got):\n%s", end, diff)
		}
	}
}

// TestVersion: a version ends where its numbers and those of the toolkit end.
func TestVersion(t *testing.T) {
	for text, want := range map[string]string{
		"2.28.9+cuda12.9":         "2.28.9+cuda12.9",
		"2.28.9+cuda12.9wn07:3:4": "2.28.9+cuda12.9",
		"2.20.5+hip6.2.gpu-0":     "2.20.5+hip6.2",
		"2.29.3gpu-0":             "2.29.3",
		"2.29.3, and":             "2.29.3",
		"2.29.3.":                 "2.29.3",
		"2.29.3+more":             "2.29.3",
		"20.9.8":                  "",
		"":                        "",
	} {
		if got := new(vocabulary).version([]byte(text)); got != want {
			t.Errorf("%q: want %q, got %q", text, want, got)
		}
	}
}
