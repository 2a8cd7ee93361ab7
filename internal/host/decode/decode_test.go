package decode

import (
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/hosttest"
)

// TestSnapshotOfEveryMachine asserts that each recorded machine is read as encoding/json reads it.
func TestSnapshotOfEveryMachine(t *testing.T) {
	texts := map[string][]byte{"{}": []byte("{}")}
	files, err := filepath.Glob("../../../testdata/snapshots/*/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d snapshots: %v", len(files), err)
	}
	for _, file := range files {
		if texts[file], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	machines, err := filepath.Glob("../../../testdata/hosts/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range machines {
		machine := hosttest.Read(t, strings.TrimSuffix(filepath.Base(file), ".txtar"))
		if texts[file], err = json.Marshal(machine); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range texts {
		var want, got host.Snapshot
		if err := json.Unmarshal(text, &want); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := Snapshot(text, &got); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got, same[netip.Addr](), same[netip.Prefix]()); diff != "" {
			t.Errorf("%s (-encoding/json +Snapshot):\n%s", name, diff)
		}
	}
}

func same[T comparable]() cmp.Option { return cmp.Comparer(func(a, b T) bool { return a == b }) }

// TestEveryFactHasItsFunction asserts that facts has the type of each fact. Another one is read by the method of Fact,
// which takes twice as long.
func TestEveryFactHasItsFunction(t *testing.T) {
	known, seen := map[reflect.Type]bool{}, map[reflect.Type]bool{}
	for _, f := range facts {
		known[f.fact] = true
	}
	var visit func(reflect.Type)
	visit = func(of reflect.Type) {
		if seen[of] {
			return
		}
		seen[of] = true
		if strings.HasPrefix(of.Name(), "Fact[") && !known[of] {
			t.Errorf("%v is not in facts", of)
		}
		switch of.Kind() {
		case reflect.Slice, reflect.Pointer, reflect.Map:
			visit(of.Elem())
		case reflect.Struct:
			for i := range of.NumField() {
				visit(of.Field(i).Type)
			}
		default:
		}
	}
	visit(reflect.TypeFor[host.Snapshot]())
	for of := range known {
		if !seen[of] {
			t.Errorf("no snapshot has a %v", of)
		}
	}
}

func TestFactForms(t *testing.T) {
	for _, text := range []string{
		`{"kernel":null,"wire":null}`,
		`{"kernel":{"unreadable":"permission denied"},"wire":{"unreadable":""}}`,
		`{"kernel":"\ud800 \u0041","wire":{"devices":[],"unreadable":null}}`,
		`{"kernel":1}`, `{"kernel":{"a":1}}`, `{"wire":"x"}`, `{"devices":{}}`, `{`,
	} {
		var want, got host.Snapshot
		wantErr, gotErr := json.Unmarshal([]byte(text), &want), Snapshot([]byte(text), &got)
		if (wantErr == nil) != (gotErr == nil) {
			t.Errorf("%s: %v, encoding/json: %v", text, gotErr, wantErr)
		}
		if diff := cmp.Diff(want, got); wantErr == nil && diff != "" {
			t.Errorf("%s (-encoding/json +Snapshot):\n%s", text, diff)
		}
	}
}

func BenchmarkSnapshot(b *testing.B) {
	text, err := os.ReadFile("../../../testdata/snapshots/v1/pod-roce-4vf.json")
	if err != nil {
		b.Fatal(err)
	}
	for name, read := range map[string]func([]byte, *host.Snapshot) error{
		"encoding-json": func(text []byte, s *host.Snapshot) error { return json.Unmarshal(text, s) },
		"decode":        Snapshot,
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				var s host.Snapshot
				if err := read(text, &s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
