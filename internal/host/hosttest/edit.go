// Package hosttest has the recorded machines of testdata, also with changes, for tests.
package hosttest

import (
	"encoding/json"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/replay"
	"github.com/railhead/railhead/internal/host/sysfs"
)

// Edit is a change of a recorded machine, as a kernel or a container runtime makes it: the reader of real machines
// reads the changed files, so that no snapshot is judged that no machine gives.
type Edit struct {
	// Files are new contents by the end of the name, which only one file has, or by the whole name of a new file. Gone
	// removes a file, "! EACCES" makes reading it fail, "-> target" makes it a link.
	Files map[string]string
	// Probes is merged into probes.json, which has the answers of system calls, as by RFC 7396: nil removes a member.
	Probes map[string]any
}

// Gone removes a file.
const Gone = "\x00"

// Env sets a variable of the environment; nil removes it.
func Env(name string, value any) Edit {
	return Edit{Probes: map[string]any{"environ": map[string]any{name: value}}}
}

// And joins two edits.
func (e Edit) And(o Edit) Edit {
	files := maps.Clone(e.Files)
	if files == nil {
		files = map[string]string{}
	}
	maps.Copy(files, o.Files)
	return Edit{Files: files, Probes: merged(e.Probes, o.Probes)}
}

// Edited returns the snapshot of a machine in testdata/hosts with a change.
func Edited(t testing.TB, name string, e Edit) host.Snapshot {
	t.Helper()
	text, err := os.ReadFile(Testdata(t, "hosts/"+name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	a, err := replay.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for end, content := range e.Files {
		replace(t, a, end, content)
	}
	if e.Probes != nil {
		recorded, err := a.ReadFile("probes.json")
		if err != nil {
			t.Fatal(err)
		}
		var probes map[string]any
		if err := json.Unmarshal(recorded, &probes); err != nil {
			t.Fatal(err)
		}
		changed, err := json.Marshal(withoutNulls(merged(probes, e.Probes)))
		if err != nil {
			t.Fatal(err)
		}
		replace(t, a, "probes.json", string(changed))
	}
	edited := filepath.Join(t.TempDir(), name+".txtar")
	if err := os.WriteFile(edited, []byte(a.Format()), 0o600); err != nil {
		t.Fatal(err)
	}
	return open(t, edited)
}

// Read returns the snapshot of a machine in testdata/hosts.
func Read(t testing.TB, name string) host.Snapshot {
	t.Helper()
	return open(t, Testdata(t, "hosts/"+name+".txtar"))
}

func open(t testing.TB, path string) host.Snapshot {
	t.Helper()
	machine, err := sysfs.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return machine.Snapshot()
}

// Testdata returns the path of a file below testdata, from whatever package the test is in.
func Testdata(t testing.TB, name string) string {
	t.Helper()
	for dir := "."; len(dir) < 20; dir += "/.." {
		if _, err := os.Stat(dir + "/go.mod"); err == nil {
			return filepath.Join(dir, "testdata", name)
		}
	}
	t.Fatal("no go.mod above the test")
	return ""
}

// replace replaces the file whose name has the end, or adds it.
func replace(t testing.TB, a *replay.Archive, end, content string) {
	t.Helper()
	name := nameOf(t, a, end)
	a.Remove(name)
	var err error
	target, isLink := strings.CutPrefix(content, "-> ")
	code, isError := strings.CutPrefix(content, "! ")
	switch {
	case content == Gone:
	case isLink:
		err = a.AddLink(name, target)
	case isError:
		errno, known := replay.Errno(code)
		if !known {
			t.Fatalf("%s: no error %s", name, code)
		}
		err = a.AddError(name, errno)
	default:
		err = a.AddFile(name, content+"\n")
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// nameOf returns the name of the only file that has the end. A new file is put into the only folder whose name has the
// end's beginning; if there is none, the end is the whole name.
func nameOf(t testing.TB, a *replay.Archive, end string) string {
	t.Helper()
	if strings.Contains(path.Base(end), "..") {
		t.Fatalf("%s: name each file of a range", end)
	}
	if a.Has(end) {
		return end
	}
	for begin, rest := end, ""; begin != "."; begin, rest = path.Dir(begin), path.Join(path.Base(begin), rest) {
		names := slices.DeleteFunc(a.Names(), func(n string) bool {
			return n != begin && !strings.HasSuffix(n, "/"+begin)
		})
		names = slices.DeleteFunc(names, func(n string) bool { // a link to the folder
			_, err := a.ReadLink(n)
			return rest != "" && err == nil
		})
		switch {
		case slices.Contains(names, begin):
			return path.Join(begin, rest)
		case len(names) == 1:
			return path.Join(names[0], rest)
		case len(names) > 1:
			t.Fatalf("%d files end in %s: %q", len(names), begin, names)
		}
	}
	return end
}

// merged returns the members of both objects; the second wins.
func merged(a, b map[string]any) map[string]any {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]any{}
	}
	for key, value := range b {
		inner, isObject := value.(map[string]any)
		outer, wasObject := all[key].(map[string]any)
		if isObject && wasObject {
			value = merged(outer, inner)
		}
		all[key] = value
	}
	return all
}

// withoutNulls removes the members that are nil.
func withoutNulls(object map[string]any) map[string]any {
	maps.DeleteFunc(object, func(_ string, value any) bool { return value == nil })
	for _, value := range object {
		if inner, isObject := value.(map[string]any); isObject {
			withoutNulls(inner)
		}
	}
	return object
}
