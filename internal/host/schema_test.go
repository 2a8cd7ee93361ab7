package host

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// released are the Snapshots in testdata/snapshots/v<version>/<machine>.json: what a program of that version printed of
// the recorded machine, with fields that this version does not know. They are never rewritten.
func released(tb testing.TB) []string {
	tb.Helper()
	files, err := filepath.Glob("../../testdata/snapshots/v*/*.json")
	if err != nil || len(files) == 0 {
		tb.Fatalf("no released snapshots: %v", err)
	}
	return files
}

func TestReleasedSnapshotsAreRead(t *testing.T) {
	for _, file := range released(t) {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		version := filepath.Base(filepath.Dir(file))
		t.Run(version+" "+name, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got Snapshot
			if err := json.Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			if number := fmt.Sprintf("v%d", got.SchemaVersion); number != version {
				t.Errorf("schemaVersion says %s", number)
			}
			machine, err := Open("../../testdata/hosts/" + name + ".txtar")
			if err != nil {
				t.Fatal(err)
			}
			held, today := generic(t, got), machine.Snapshot()
			today.SchemaVersion = got.SchemaVersion
			if diff := cmp.Diff(restrict(generic(t, today), held), held); diff != "" {
				t.Errorf("(-recorded machine +released snapshot):\n%s", diff)
			}
		})
	}
}

// generic is the JSON form of a value.
func generic(t *testing.T, value any) any {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	reader := json.NewDecoder(bytes.NewReader(data))
	reader.UseNumber() // a counter is larger than what a float64 holds
	if err := reader.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// restrict leaves out of value the fields that like does not have: a later version may read more of the same machine.
func restrict(value, like any) any {
	switch v := value.(type) {
	case map[string]any:
		l, _ := like.(map[string]any)
		for name := range v {
			if _, ok := l[name]; !ok {
				delete(v, name)
				continue
			}
			v[name] = restrict(v[name], l[name])
		}
	case []any:
		if l, _ := like.([]any); len(l) == len(v) {
			for i := range v {
				v[i] = restrict(v[i], l[i])
			}
		}
	}
	return value
}

// TestReleasedFieldsAreKept: a field that is read into nothing would be lost without a word.
func TestReleasedFieldsAreKept(t *testing.T) {
	for _, file := range released(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var s Snapshot
		if err := json.Unmarshal(data, &s); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(known(generic(t, json.RawMessage(data))), generic(t, s)); diff != "" {
			t.Errorf("%s (-released +written again):\n%s", file, diff)
		}
	}
}

// known is a JSON value without the fields of a later version.
func known(value any) any {
	switch v := value.(type) {
	case map[string]any:
		delete(v, "fieldOfALaterVersion")
		for _, member := range v {
			known(member)
		}
	case []any:
		for _, item := range v {
			known(item)
		}
	}
	return value
}

// TestLaterVersion: the number survives, so that a reader can say that it may not understand everything.
func TestLaterVersion(t *testing.T) {
	var s Snapshot
	if err := json.Unmarshal([]byte(`{"schemaVersion": 99, "kernel": "7.0", "quantum": {"rails": 8}}`), &s); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Snapshot{SchemaVersion: 99, Kernel: Know("7.0")}, s, comparer...); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFactJSON(t *testing.T) {
	type facts struct {
		Text Fact[string]   `json:"text,omitzero"`
		List Fact[[]string] `json:"list,omitzero"`
		Link Fact[PCILink]  `json:"link,omitzero"`
	}
	for name, test := range map[string]struct {
		in   string
		want facts
		err  string
	}{
		"absent":                  {`{}`, facts{}, ""},
		"null":                    {`{"text": null, "list": null, "link": null}`, facts{}, ""},
		"zero is a value":         {`{"text": "", "list": []}`, facts{Text: Know(""), List: Know([]string{})}, ""},
		"unreadable":              {`{"text": {"unreadable": "EIO"}, "link": {"unreadable": ""}}`, facts{Text: Unread[string]("EIO"), Link: Unread[PCILink]("")}, ""},
		"an object":               {`{"link": {"width": 8, "lanes": 1}}`, facts{Link: Know(PCILink{Width: 8})}, ""},
		"an object for a text":    {`{"text": {"value": "x"}}`, facts{}, "cannot unmarshal object"},
		"a reason that is no one": {`{"text": {"unreadable": null}}`, facts{}, "cannot unmarshal object"},
		"a number for a text":     {`{"text": 1}`, facts{}, "cannot unmarshal number"},
	} {
		t.Run(name, func(t *testing.T) {
			var got facts
			err := json.Unmarshal([]byte(test.in), &got)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v, want %q", err, test.err)
				}
				return
			}
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			data, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			var again facts
			if err := json.Unmarshal(data, &again); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, again); diff != "" {
				t.Errorf("written again as %s (-want +got):\n%s", data, diff)
			}
		})
	}
}

// FuzzSnapshotJSON: what can be read of a Snapshot can be written and read again.
func FuzzSnapshotJSON(f *testing.F) {
	for _, seed := range []string{
		`{"schemaVersion": 1, "taken": "2026-11-03T14:20:00Z", "node": null, "pod": "trainer-0", "kernel": {"unreadable": "EIO"}}`,
		`{"devices": [{"name": "mlx5_6", "ports": [{"number": 1, "rate": "400 Gb/sec (4X NDR)", "lid": 0, "counters": {"a": 18446744073709551615}}]}]}`,
		`{"devices": [{"function": {"address": "0000:1a:00.2", "present": true, "path": {"hostBridge": "pci0000:15", "hops": ["0000:15:01.0"]}}}]}`,
		`{"devices": [{"ports": [{"gids": [{"index": 3, "addr": "::ffff:10.10.11.161", "type": "RoCE v2"}]}]}], "iommu": {"units": []}}`,
		`{"links": [{"name": "net1", "mtu": 9000, "up": true, "addresses": ["10.10.11.161/24"]}], "env": {"A": ""}, "nccl": {"config": [{"name": "A"}]}}`,
		`{"limits": {"memlockSoft": "unlimited", "memlockHard": 8388608, "capEff": "00000000000005fb", "uid": -1, "shmBytes": 1}}`,
		`{"gpus": [{"function": {"address": "0000:18:00.0", "link": {"gts": 32, "width": 16}}, "minor": 0}], "problems": [{"op": "read"}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var s, again Snapshot
		if json.Unmarshal(data, &s) != nil {
			return
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if diff := cmp.Diff(s, again, comparer...); diff != "" {
			t.Errorf("(-first +second):\n%s", diff)
		}
	})
}
