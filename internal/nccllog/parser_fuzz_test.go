package nccllog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/railhead/railhead/internal/nccllog/event"
)

// FuzzLog reads whole logs: no panic, no event of a rank that is not there, texts that can be shown.
func FuzzLog(f *testing.F) {
	paths, _ := filepath.Glob("../../testdata/logs/*.txtar")
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	f.Add("a:1:2 [0] x.cc:1 NCCL WARN Call to ibv_modify_qp failed with 61 No data available, on dev " +
		"mlx5_0:1,\ncurr state INIT\x80, next state RTR\n")
	f.Add(`"a:1:2 [0] NCCL INFO Using network IB\nb:1:2 [0] x.cc:1 NCCL WARN \u003c"`)
	f.Add(`{"message":"[1,0]<stdout>: a:1:2 [0] NCCL INFO x b:1:2 [0] NCCL INFO y a:1:2 [0] NCCL INFO ` +
		`x [2026-01-02 03:04:05] b:1:2 [0] x.cc:1 NCCL WARN y ValueError: z"}`)
	f.Fuzz(func(t *testing.T, log string) {
		for _, run := range parsed(log).Runs {
			for _, e := range run.Events {
				if e.Rank < -1 || e.Rank >= len(run.Ranks) || e.Kind >= event.Kinds {
					t.Errorf("%+v of %d ranks", e, len(run.Ranks))
				}
				if len(e.Text) > maxText+8 || !utf8.ValidString(e.Text) {
					t.Errorf("text %q", e.Text)
				}
			}
			for _, r := range run.Ranks {
				if r.Number >= r.World && r.World > 0 || len(r.Env) > maxList || len(r.HCAs) > maxList {
					t.Errorf("%+v", r)
				}
			}
		}
	})
}

func FuzzList(f *testing.F) {
	f.Add("[0]={[0] mlx5_2:1/RoCE, [1] mlx5_3:1/RoCE} [RO]; OOB eth0:1.2.3.4<0>")
	f.Add("[0]mlx5_6:1:0:1/RoCE [1]a:2/IB")
	f.Fuzz(func(t *testing.T, list string) {
		var p Parser
		for _, h := range p.ranks.texts.hcas([]byte(list)).devices {
			if h.Name == "" && !strings.Contains(list, "\xff") && utf8.ValidString(list) {
				t.Errorf("%q: %+v", list, h)
			}
		}
	})
}

func FuzzOutside(f *testing.F) {
	for _, s := range []string{"  exitcode  : -9 (pid: 41)", "[rank0]: KeyError: 'x'", "NVRM: Xid (PCI:0): 79, x",
		"NCCL_IB_HCA=mlx5_0 python", "#  Rank  0 Group  0 Pid  6 on mew0 device  0 x", "Last error:\nibv_x failed"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		var p Parser
		p.Line(event.Place{File: "a", Line: 1}, []byte(line))
		if l := p.Log(); len(l.Runs) != 1 {
			t.Errorf("%q: %d runs", line, len(l.Runs))
		}
	})
}
