package arch

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// labRooms are the folders of the lab, the outermost first. A package imports only packages of its own room and of
// those below.
var labRooms = [][]string{
	{"lab", "lab/cli", "lab/cmd/*"},
	{"lab/judge/*"},
	{"lab/machines/*", "lab/machines/*/*", "lab/machines/*/*/*"},
	{"lab/controlplane", "lab/controlplane/*"},
}

// TestLab asserts the arrows between the lab's rooms and one package comment for each package. lab/modules pins
// programs of others.
func TestLab(t *testing.T) {
	files, err := sources(root + "/lab")
	if err != nil {
		t.Fatal(err)
	}
	packages := labPackages(files)
	if len(packages) < 20 {
		t.Fatalf("found %d packages in lab", len(packages))
	}
	report(t, slices.Concat(labArrows(packages), comments(packages)))
}

func TestLabArrows(t *testing.T) {
	for name, test := range map[string]struct {
		from, to, want string
	}{
		"downwards":   {"lab/judge/fault", "lab/machines/vm", ""},
		"in one room": {"lab/machines/fabric", "lab/machines/guest/node", ""},
		"upwards": {
			"lab/controlplane/process",
			"lab/machines/vm",
			"lab/controlplane/process imports lab/machines/vm",
		},
		"without a room": {"lab/util", "lab/machines/vm", "lab/util is in no room of the lab"},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, labArrows([]pkg{{path: test.from, origin: own, imports: []string{test.to}}}), test.want)
		})
	}
}

func labPackages(files map[string][]file) []pkg {
	var packages []pkg
	for key, of := range files {
		folder, name, _ := strings.Cut(key, " ")
		p := pkg{path: path.Join("lab", folder), name: name, origin: own, files: of}
		for _, f := range of {
			p.imports = append(p.imports, f.imports...)
		}
		packages = append(packages, p)
	}
	return packages
}

func labRoom(name string) int {
	return slices.IndexFunc(labRooms, func(room []string) bool { return matches(room, name) })
}

func labArrows(packages []pkg) []string {
	var broken []string
	for _, p := range packages {
		from := labRoom(p.path)
		if from < 0 {
			broken = append(broken, p.path+" is in no room of the lab: the control plane, the machines or the judge")
			continue
		}
		for _, imported := range p.imports {
			if to := labRoom(imported); to >= 0 && to < from {
				broken = append(broken, p.path+" imports "+imported+": the rooms of the lab look downwards only")
			}
		}
	}
	return broken
}
