package sysfs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/host"
)

// released are the Snapshots in testdata/snapshots/v<version>/<machine>.json: what a program of that version printed of
// the recorded machine, with fields that this version does not know. They are never rewritten.
func released(tb testing.TB) []string {
	tb.Helper()
	files, err := filepath.Glob("../../../testdata/snapshots/v*/*.json")
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
			var got host.Snapshot
			if err := json.Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			if number := fmt.Sprintf("v%d", got.SchemaVersion); number != version {
				t.Errorf("schemaVersion says %s", number)
			}
			machine, err := Open("../../../testdata/hosts/" + name + ".txtar")
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
		var s host.Snapshot
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
