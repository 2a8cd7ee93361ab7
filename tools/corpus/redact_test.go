package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRedact(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a host in two formats": {
			"acme7:41:42 [0] NCCL INFO init.cc:1 -> 2\nsrun: error: acme7: task 0: Out Of Memory",
			"node-1:41:42 [0] NCCL INFO init.cc:1 -> 2\nsrun: error: node-1: task 0: Out Of Memory",
		},
		"a name glued to the line before": {
			"acme7:41:42 [0] NCCL INFO Using network IB\n  8  2  float  sumacme7:41:42 [0] NCCL INFO Using network IB",
			"node-1:41:42 [0] NCCL INFO Using network IB\n  8  2  float  sumnode-1:41:42 [0] NCCL INFO Using network IB",
		},
		"lines that are torn before the thread": {
			"acme7:4141:42 [0] NCCL INFO closed by lacme7:4141acme7:4143:44 [1] NCCL INFO init.cc:1 -> 2",
			"node-1:4141:42 [0] NCCL INFO closed by lnode-1:4141node-1:4143:44 [1] NCCL INFO init.cc:1 -> 2",
		},
		"the number of a pod stays": {
			"acme-llm-worker-1:41:42 [0] NCCL INFO init.cc:1 -> 2",
			"train-worker-1:41:42 [0] NCCL INFO init.cc:1 -> 2",
		},
		"an address in a name": {
			"ip-10-36-29-253:7:7 [0] NCCL INFO Bootstrap : Using eth0:10.36.29.253<0>",
			"ip-10-20-11-101:7:7 [0] NCCL INFO Bootstrap : Using eth0:10.20.11.101<0>",
		},
		"addresses of one network": {
			"peer 192.168.50.7<1> peer 192.168.50.9<1> peer 172.17.0.1<1> peer 8.8.4.4<1> key=2F10.6.1.6_x",
			"peer 192.168.11.1<1> peer 192.168.11.2<1> peer 172.17.0.1<1> peer 203.0.113.1<1> key=2F10.20.1.1_x",
		},
		"versions are no addresses": {"NCCL version 2.22.3+cuda12.6", "NCCL version 2.22.3+cuda12.6"},
		"a MAC address and its GID": {
			"rmac 50:6b:4b:12:34:ce dgid fe80::526b:4bff:fe12:34ce",
			"rmac 50:6b:4b:99:49:ce dgid fe80::526b:4bff:fe99:49ce",
		},
		"a path": {
			`/home/jdoe/acme/train.py, /usr/lib/python3.10/threading.py, /home/jdoe/x`,
			`/home/alpha/bravo/train.py, /usr/lib/python3.10/threading.py, /home/alpha/x`,
		},
		"the case of a name": {"AcmeTrainer ACMETRAINER acmetrainer", "Alpha ALPHA alpha"},
		"a user at a prompt": {
			"jdoe@acme:~# NCCL_DEBUG=INFO python /home/jdoe/secret.py --token hf_x",
			"user@node-1:~# NCCL_DEBUG=INFO",
		},
		"code": {
			"  File \"/opt/train.py\", line 3, in main\n    acme = secret(7)\nRuntimeError: error",
			"  File \"/opt/train.py\", line 3, in main\nRuntimeError: error",
		},
		"code behind the number of a rank": {
			"3:   File \"/opt/train.py\", line 3, in main\n3:     acme = secret(7)\n3: RuntimeError: error",
			"3:   File \"/opt/train.py\", line 3, in main\n3: RuntimeError: error",
		},
		"a remark of a person": {
			"NCCL INFO NET/IB : No device found.  # ← 없음",
			"NCCL INFO NET/IB : No device found.",
		},
		"dates, the first is 2 March 2026": {
			"2025-04-02 23:59:59 step 1\nE403 00:00:01.5 step 2\n[1743638401.5] step 3\ntrain_20250404-000001.log",
			"2026-03-02 23:59:59 step 1\nE303 00:00:01.5 step 2\n[1772496001.5] step 3\ntrain_20260304-000001.log",
		},
		"pointers and masks stay": {
			"comm 0x7fee11400000 GPU 0 to ffff,fff00000,00ffffff,f0000000",
			"comm 0x7fee11400000 GPU 0 to ffff,fff00000,00ffffff,f0000000",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := knownWords().redact(c.text)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestIdentifiers: the replacement of a hash has its form, is always the same, and is another one.
func TestIdentifiers(t *testing.T) {
	const text = "commId 0xdf5506ed2c65f234 - 58f33e4e-7c3e-443f-97b8-ec267c066c4f"
	one, _ := knownWords().redact(text)
	two, _ := knownWords().redact(text)
	if one != two || one == text || len(one) != len(text) || strings.Contains(one, "df5506ed") {
		t.Errorf("%q, then %q", one, two)
	}
}

func TestStandIn(t *testing.T) {
	seen := map[string]bool{}
	for n := range 1000 {
		word := standIn(n)
		if seen[word] || !isStandIn(word) {
			t.Errorf("word %d is %q", n, word)
		}
		seen[word] = true
	}
}

// TestWords: the list is sorted and has no word of the spelling alphabet, which would look like a replacement.
func TestWords(t *testing.T) {
	before := ""
	for word := range strings.FieldsSeq(wordList) {
		if word <= before || word != strings.ToLower(word) || isStandIn(word) {
			t.Errorf("%q after %q", word, before)
		}
		before = word
	}
}

func TestFileName(t *testing.T) {
	for file, want := range map[string]string{
		"031-modifyqp61-gid-index5-empty.log":              "031-modifyqp61-gid-index5-empty.log",
		"004-acmesite-create-cq.log":                       "004-create-cq.log",
		"025-nccl2428-erdma-unable-to-open-device.log":     "025-erdma-unable-to-open-device.log",
		"160-nccl1000-bootstrap-connect-ib-sharp-list.log": "160-bootstrap-connect-ib-sharp-list.log",
	} {
		if got := knownWords().fileName(file); got != want {
			t.Errorf("%s: got %s, want %s", file, got, want)
		}
	}
}

// TestMake: a log is written under a name that names nobody, with its labels; a file without a verdict is left out.
func TestMake(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"index.tsv":              "file\tsource\toutcome\tfamily\tcopy\n001-acme-no-device.log\tacme/x#7 (copy)\tfallback\t-\texact\n",
		"001-acme-no-device.log": "acme7:1:1 [0] NCCL INFO NET/IB : No device found.\n",
	} {
		put(t, filepath.Join(from, "nccl", name), text)
	}
	put(t, filepath.Join(from, "bench", "index.tsv"), "file\nempty.txt\n")
	put(t, filepath.Join(from, "bench", "empty.txt"), "nothing\n")
	m := maker{from: from, to: to, words: knownWords(), unknown: map[string]int{}}
	for _, k := range kinds {
		if k.folder != "nccl" && k.folder != "bench" {
			continue
		}
		if err := m.make(k); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"nccl/001-no-device.log": "node-1:1:1 [0] NCCL INFO NET/IB : No device found.\n",
		"nccl/index.tsv":         "file\toutcome\tfamily\tsource\n001-no-device.log\tfallback\t-\tacme/x#7\n",
		"bench/index.tsv":        "file\tsource\n",
	} {
		got, err := os.ReadFile(filepath.Join(to, name))
		if err != nil || string(got) != want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	if want := []string{"bench/empty.txt: Railhead reads nothing in it"}; !slices.Equal(m.left, want) {
		t.Errorf("left out: %q, want %q", m.left, want)
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
