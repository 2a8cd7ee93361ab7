package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"
)

const description = `railhead prepares clusters and namespaces for RDMA, deploys and starts training
jobs, proves from the kernel which network a job uses, and names the root cause
of what fails. It is also kubectl railhead. railhead-pod does the part inside a
pod: it finds the RDMA devices of the pod and sets NCCL's environment from them.`

// writePackages writes the deb and the rpm of one architecture.
func (r release) writePackages(out string, p platform) error {
	stage, err := os.MkdirTemp("", "release-") // nfpm reads files only
	if err != nil {
		return err
	}
	defer os.RemoveAll(stage)
	for format, packager := range map[string]nfpm.Packager{"deb": deb.Default, "rpm": rpm.DefaultRPM} {
		contents, err := r.installed(filepath.Join(stage, format), p, format)
		if err != nil {
			return err
		}
		info := nfpm.WithDefaults(&nfpm.Info{
			Name:            "railhead",
			Arch:            p.arch,
			Platform:        "linux",
			Version:         r.version,
			Release:         "1",
			Section:         "admin",
			Priority:        "optional",
			Maintainer:      "Railhead maintainers <railhead@users.noreply.github.com>",
			Description:     summary + "\n" + description,
			Homepage:        r.home,
			License:         licence,
			DisableGlobbing: true,
			MTime:           r.at,
			Overridables: nfpm.Overridables{
				Contents: contents,
				// the name of the machine would be in the package otherwise
				RPM: nfpm.RPM{BuildHost: "release", Summary: summary, Group: "Unspecified"},
			},
		})
		if err := nfpm.PrepareForPackager(info, format); err != nil {
			return err
		}
		name := "railhead_" + r.number() + "_linux_" + p.arch + "." + format
		var packed bytes.Buffer
		if err := packager.Package(info, &packed); err != nil {
			return err
		}
		if err := write(filepath.Join(out, name), packed.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// completions returns the files for shells by the folder in which a package of a format installs them.
func (r release) completions(format string) map[string][]file {
	places := map[string][]file{}
	for _, f := range r.shell {
		switch {
		case f.name == "railhead.bash":
			places["/usr/share/bash-completion/completions/"] = []file{{"railhead", f.mode, f.data}}
		case f.name == "railhead.fish":
			places["/usr/share/fish/vendor_completions.d/"] = []file{f}
		case f.name == "_railhead" && format == "deb":
			places["/usr/share/zsh/vendor-completions/"] = []file{f}
		case f.name == "_railhead":
			places["/usr/share/zsh/site-functions/"] = []file{f}
		case strings.HasPrefix(f.name, "kubectl_complete"):
			places["/usr/bin/"] = append(places["/usr/bin/"], f)
		}
	}
	return places
}

// installed returns the contents of a package, from files that it writes to folder.
func (r release) installed(folder string, p platform, format string) (files.Contents, error) {
	places := r.completions(format)
	places["/usr/bin/"] = append(places["/usr/bin/"], p.programs...)
	for _, f := range r.manual {
		var packed bytes.Buffer
		err := writeGzip(&packed, func(w io.Writer) error { _, err := w.Write(f.data); return err })
		if err != nil {
			return nil, err
		}
		places["/usr/share/man/man1/"] = append(places["/usr/share/man/man1/"],
			file{f.name + ".gz", f.mode, packed.Bytes()})
	}
	for _, f := range r.documents {
		if f.name == "LICENSE" && format == "deb" {
			f.name = "copyright" // as Debian's policy names it
		}
		places["/usr/share/doc/railhead/"] = append(places["/usr/share/doc/railhead/"], f)
	}
	contents := files.Contents{{Source: "railhead", Destination: "/usr/bin/kubectl-railhead", Type: files.TypeSymlink}}
	for place, some := range places {
		for _, f := range some {
			source := filepath.Join(folder, place, f.name)
			if err := write(source, f.data); err != nil {
				return nil, err
			}
			contents = append(contents, &files.Content{Source: source, Destination: place + f.name,
				FileInfo: &files.ContentFileInfo{Mode: f.mode, MTime: r.at, Owner: "root", Group: "root"}})
		}
	}
	return contents, nil
}
