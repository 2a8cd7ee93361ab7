package main

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"testing"
)

func written(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	if code := logsMain(args, &out, io.Discard); code != 0 {
		t.Fatalf("%v: exit code %d", args, code)
	}
	return out.String()
}

func TestSizeAndRepetition(t *testing.T) {
	args := []string{"-ranks", "64", "-size", "3MB"}
	text := written(t, args...)
	if len(text) < 3e6 || len(text) > 3.01e6 {
		t.Errorf("%d bytes, want 3 MB", len(text))
	}
	if written(t, args...) != text {
		t.Error("the second log differs from the first")
	}
	nccl := 0
	for line := range strings.Lines(text) {
		if strings.Contains(line, "NCCL") {
			nccl += len(line)
		}
	}
	if percent := 100 * nccl / len(text); percent < 24 || percent > 27 {
		t.Errorf("%d percent are NCCL's, want 25", percent)
	}
}

// TestLines compares the lines with the formats of NCCL 2.27.
func TestLines(t *testing.T) {
	text := written(t, "-ranks", "64", "-size", "1MB")
	const prefix = `(?m)^gpu-\d{4}:\d+:\d+ \[[0-7]\] NCCL INFO `
	for name, form := range map[string]string{
		"init": prefix +
			`ncclCommInitRankConfig comm 0x[0-9a-f]{12} rank 63 nranks 64 cudaDev 7 nvmlDev 7 busId 95000 commId ` +
			`0x[0-9a-f]{12} - Init START$`,
		"nodes": prefix + `comm 0x[0-9a-f]{12} rank 9 nRanks 64 nNodes 8 localRanks 8 localRank 1 MNNVL 0$`,
		"device": prefix +
			`NET/IB: \[3\] mlx5_3:uverbs3:1/RoCE provider=Mlx5 speed=400000 context=0x[0-9a-f]{12} ` +
			`pciPath=/sys/devices/pci0000:13/0000:13:01.0 ar=0$`,
		"using":   prefix + `NET/IB : Using \[0\]mlx5_0:1/RoCE .* \[RO\]; OOB eth0:10\.128\.0\.1<0>$`,
		"inside":  prefix + `Channel 00/0 : 0\[0\] -> 1\[1\] via P2P/CUMEM$`,
		"send":    prefix + `Channel 05/0 : 7\[7\] -> 8\[0\] \[send\] via NET/IB/5/GDRDMA$`,
		"receive": prefix + `Channel 05/0 : 7\[7\] -> 8\[0\] \[receive\] via NET/IB/5/GDRDMA$`,
		"first": `(?m)^\[2025-11-21 13:37:01\] gpu-0002:\d+:\d+ \[5\] transport/net_ib.cc:\d+ NCCL WARN ` +
			`NET/IB: Got completion from peer 10\.105\.0\.4<47812> with status=12 opcode=\d+ len=0 vendor err 129 ` +
			`\(Send\) localGid \S+ remoteGids\S+ hca mlx5_5$`,
		"a victim": `(?m)^\[2025-11-21 13:37:02\] .* with status=5 opcode=0 len=0 vendor err 249 \(Recv\) hca ` +
			`mlx5_5$`,
		"trail": prefix + `transport/net\.cc:1302 -> 6$`,
		"watchdog": `(?m)^\[rank63\]:\[E1121 .* ProcessGroupNCCL\.cpp:632\] \[Rank 63\] Watchdog caught ` +
			`collective operation timeout: `,
		"bar":       `\rTraining:  12%`,
		"iteration": `(?m)^ \[2025-11-21 \d\d:\d\d:\d\d\] iteration +\d+/  500000 \| `,
	} {
		if !regexp.MustCompile(form).MatchString(text) {
			t.Errorf("%s: no line has the form %s", name, form)
		}
	}
}

// TestLost: every rank loses its connections.
func TestLost(t *testing.T) {
	text := written(t, "-ranks", "64", "-size", "1kB", "-lost", "3")
	if lost := strings.Count(text, "with status=12"); lost != 3*64+1 {
		t.Errorf("%d lost connections, want those of all 64 ranks and one more", lost)
	}
}

func TestArguments(t *testing.T) {
	for _, args := range [][]string{{"-size", "x"}, {"-size", "-1"}, {"-ranks", "1"}, {"-nccl", "101"}, {"-lost", "-1"}, {"file"}} {
		if code := logsMain(args, io.Discard, io.Discard); code != 2 {
			t.Errorf("%v: exit code %d", args, code)
		}
	}
}
