package main

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// documents returns LICENSE and README.md of the repository at root, and the licences of all modules that the programs
// link: they ask to be passed on with them. The page's links lead to base.
func documents(root, base string, platforms []platform) ([]file, error) {
	licence, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	page, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		return nil, err
	}
	linked, err := linkedLicences(root, platforms)
	return []file{
		{"LICENSE", 0o644, licence},
		{"LICENSES-OF-MODULES", 0o644, linked},
		{"README.md", 0o644, absoluteLinks(page, base)},
	}, err
}

var relativeLink = regexp.MustCompile(`\]\(([^):#][^):]*)\)`)

// absoluteLinks lets the links of a page lead to the repository, for readers who have nothing but the page.
func absoluteLinks(page []byte, base string) []byte {
	return relativeLink.ReplaceAll(page, []byte("]("+base+"$1)"))
}

// licenceFile matches the names of files with a licence or a notice.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-]|$)`)

func linkedLicences(root string, platforms []platform) ([]byte, error) {
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
	folders, err := goCommand(root, append([]string{"list", "-m", "-f", "{{.Dir}}"}, paths...)...)
	if err != nil {
		return nil, err
	}
	standard, err := goCommand(root, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	const begin = "The programs are compiled by %s and contain the Go standard library and these modules.\n"
	fmt.Fprintf(&b, begin, compiler)
	if err := appendLicences(&b, "The Go standard library", standard[0]); err != nil {
		return nil, err
	}
	for i, path := range paths {
		if err := appendLicences(&b, path+" "+versions[path], folders[i]); err != nil {
			return nil, err
		}
	}
	return []byte(b.String()), nil
}

// goCommand returns the lines that the go command prints.
func goCommand(folder string, args ...string) ([]string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = folder
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%v: %w", cmd.Args, err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n"), nil
}

func appendLicences(b *strings.Builder, title, folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	found := false
	for _, e := range entries {
		if e.IsDir() || !licenceFile.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return err
		}
		line := strings.Repeat("=", 80)
		fmt.Fprintf(b, "\n%s\n%s: %s\n\n%s\n", line, title, e.Name(), strings.TrimSpace(string(text)))
		found = true
	}
	if !found {
		return fmt.Errorf("%s has no file with a licence in %s", title, folder)
	}
	return nil
}
