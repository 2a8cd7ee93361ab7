package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
)

// The program in one line, for packages, indexes and the labels of the image.
const (
	summary    = "Make RDMA work for multi-node GPU training on Kubernetes"
	podSummary = "Start training over RDMA in a pod, or explain why not"
	licence    = "Apache-2.0"
)

// release is everything that the published files are made of.
type release struct {
	version, commit   string
	home, image, root string
	at                time.Time // of the commit: every file has it

	platforms      []platform
	documents      []file // LICENSE, README.md, the licences of linked modules
	imageDocuments []file // the same of the programs for Linux
	shell          []file // completions
	manual         []file // pages of section 1
}

// platform is one that the programs were built for.
type platform struct {
	os, arch string
	programs []file
}

// file is one file before it is packed. Its name has slashes.
type file struct {
	name string
	mode fs.FileMode
	data []byte
}

// check refuses a version that packages and indexes would not take, and a release of files that no commit has.
func (r release) check() error {
	v, err := semver.StrictNewVersion(strings.TrimPrefix(r.version, "v"))
	if err != nil || !strings.HasPrefix(r.version, "v") || v.Metadata() != "" {
		return fmt.Errorf("version %q: want vMAJOR.MINOR.PATCH, optionally with -PRERELEASE: VERSION=v1.2.3", r.version)
	}
	hash, dirty := strings.CutSuffix(r.commit, "-dirty")
	if !regexp.MustCompile(`^[0-9a-f]{40}$`).MatchString(hash) {
		return fmt.Errorf("commit %q: want the 40 digits of a commit; a release is made from a git checkout", r.commit)
	}
	if dirty && v.Prerelease() == "" {
		return fmt.Errorf("the files differ from commit %s: commit them, or try with a pre-release such as %s-try",
			hash, r.version)
	}
	return nil
}

// number is the version without its v, as packages and file names have it.
func (r release) number() string { return strings.TrimPrefix(r.version, "v") }

// url returns the address of a published file.
func (r release) url(name string) string {
	return r.home + "/releases/download/" + r.version + "/" + name
}

// readPrograms reads the programs, and asks them for their help and completions.
func (r *release) readPrograms(programs string) error {
	folders, err := os.ReadDir(programs)
	if err != nil {
		return err
	}
	for _, f := range folders {
		system, arch, ok := strings.Cut(f.Name(), "-")
		if !ok || !f.IsDir() {
			return fmt.Errorf("%s: want only folders such as linux-amd64", filepath.Join(programs, f.Name()))
		}
		p := platform{os: system, arch: arch}
		if p.programs, err = readFiles(filepath.Join(programs, f.Name()), 0o755); err != nil {
			return err
		}
		r.platforms = append(r.platforms, p)
	}
	here := filepath.Join(programs, runtime.GOOS+"-"+runtime.GOARCH)
	if r.shell, err = completions(filepath.Join(here, "railhead")); err != nil {
		return err
	}
	r.manual, err = manual(here, r.version, r.at)
	return err
}

func readFiles(folder string, mode fs.FileMode) ([]file, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var all []file
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return nil, err
		}
		all = append(all, file{e.Name(), mode, data})
	}
	return all, nil
}

// linux returns the platforms of packages and the image.
func (r release) linux() []platform {
	return slices.DeleteFunc(slices.Clone(r.platforms), func(p platform) bool { return p.os != "linux" })
}

// pack writes everything to folder out, which may contain SBOMs already.
func (r release) pack(out string) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	archives := map[string]string{} // "linux-amd64" -> file name
	for _, p := range r.platforms {
		name, err := r.writeArchive(out, p)
		if err != nil {
			return err
		}
		archives[p.os+"-"+p.arch] = name
	}
	for _, p := range r.linux() {
		if err := r.writePackages(out, p); err != nil {
			return err
		}
	}
	if err := r.writeImage(out); err != nil {
		return err
	}
	sums, err := digests(out)
	if err != nil {
		return err
	}
	if err := r.writeKrew(filepath.Join(out, "krew", "railhead.yaml"), archives, sums); err != nil {
		return err
	}
	if err := r.writeFormula(filepath.Join(out, "homebrew", "railhead.rb"), archives, sums); err != nil {
		return err
	}
	return r.writeRecords(out, sums)
}

func write(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o644)
}
