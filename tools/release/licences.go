package main

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// allowed are the licences of modules that the programs may contain, by their names in licensecheck. They ask for no
// more than to be passed on; the last two are a grant of patents and a licence of documentation.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "GooglePatentsFile", "CC-BY-4.0"}

// minCoverage is how many percent of a file must be the text of a licence, as on pkg.go.dev.
const minCoverage = 75

// module is a module that a program contains, and where its files are.
type module struct{ path, version, folder string }

// modulesIn returns the modules in the programs, and the Go standard library.
func modulesIn(root string, platforms []platform) ([]module, error) {
	versions := map[string]string{} // of modules, by path
	compiler := ""
	for _, p := range platforms {
		for _, program := range p.programs {
			info, err := buildinfo.Read(bytes.NewReader(program.data))
			if err != nil {
				return nil, fmt.Errorf("modules of %s for %s/%s: %w", program.name, p.os, p.arch, err)
			}
			compiler = info.GoVersion
			for _, m := range info.Deps {
				versions[m.Path] = m.Version
			}
		}
	}
	paths := slices.Sorted(maps.Keys(versions))
	folders, err := goCommand(root, nil, append([]string{"list", "-m", "-f", "{{.Dir}}"}, paths...)...)
	if err != nil {
		return nil, err
	}
	standard, err := goCommand(root, nil, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	all := []module{{"The Go standard library", compiler, standard[0]}}
	for i, path := range paths {
		all = append(all, module{path, versions[path], folders[i]})
	}
	return all, nil
}

// modulesOf returns what modulesIn returns once packages are built for platforms such as linux/amd64.
func modulesOf(root string, platforms []string, packages ...string) ([]module, error) {
	standard, err := goCommand(root, nil, "env", "GOVERSION", "GOROOT")
	if err != nil {
		return nil, err
	}
	const format = "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}{{end}}"
	found := map[module]bool{}
	for _, p := range platforms {
		system, arch, _ := strings.Cut(p, "/")
		env := []string{"CGO_ENABLED=0", "GOOS=" + system, "GOARCH=" + arch}
		lines, err := goCommand(root, env, append([]string{"list", "-deps", "-f", format}, packages...)...)
		if err != nil {
			return nil, err
		}
		for _, line := range lines {
			if fields := strings.Split(line, "\t"); len(fields) == 3 {
				found[module{fields[0], fields[1], fields[2]}] = true
			}
		}
	}
	all := slices.SortedFunc(maps.Keys(found), func(a, b module) int { return strings.Compare(a.path, b.path) })
	return append([]module{{"The Go standard library", standard[0], standard[1]}}, all...), nil
}

// goCommand returns the lines that the go command prints.
func goCommand(folder string, env []string, args ...string) ([]string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%v: %w", cmd.Args, err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n"), nil
}

// licences returns the licences of modules, which ask to be passed on. It refuses modules without a licence, and those
// with one that is not allowed.
func licences(modules []module) ([]byte, error) {
	var text strings.Builder
	const begin = "The programs are compiled by %s and contain the Go standard library and these modules.\n"
	fmt.Fprintf(&text, begin, modules[0].version)
	var refused []error
	for _, m := range modules {
		refused = append(refused, m.appendLicences(&text))
	}
	return []byte(text.String()), errors.Join(refused...)
}

// licenceFile and noticeFile match the names of files that are passed on. Only the first must be licences.
var (
	licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|patents)([.-]|$)`)
	noticeFile  = regexp.MustCompile(`(?i)^notice([.-]|$)`)
)

func (m module) appendLicences(b *strings.Builder) error {
	entries, err := os.ReadDir(m.folder)
	if err != nil {
		return err
	}
	found := false
	for _, e := range entries {
		isLicence := licenceFile.MatchString(e.Name())
		if e.IsDir() || !isLicence && !noticeFile.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(m.folder, e.Name()))
		if err != nil {
			return err
		}
		names, percent := scan(text)
		for _, name := range names {
			if !slices.Contains(allowed, name) {
				return fmt.Errorf("%s %s: %s has the licence %s, which is not in the list of allowed ones in "+
					"tools/release/licences.go: use another module", m.path, m.version, e.Name(), name)
			}
		}
		if isLicence && percent < minCoverage {
			return fmt.Errorf("%s %s: %.0f %% of %s is the text of a known licence, want %d %%: use another module",
				m.path, m.version, percent, e.Name(), minCoverage)
		}
		line := strings.Repeat("=", 80)
		fmt.Fprintf(b, "\n%s\n%s %s: %s\n\n%s\n", line, m.path, m.version, e.Name(), strings.TrimSpace(string(text)))
		found = found || isLicence && !slices.Equal(names, []string{"GooglePatentsFile"})
	}
	if !found {
		return fmt.Errorf("%s %s has no file with a licence in %s: use another module", m.path, m.version, m.folder)
	}
	return nil
}

// scan returns the names of the licences in a text, and how many percent of it they are.
func scan(text []byte) (names []string, percent float64) {
	coverage := licensecheck.Scan(text)
	for _, m := range coverage.Match {
		names = append(names, m.ID)
	}
	return names, coverage.Percent
}
