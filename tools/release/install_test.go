package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/sassoftware/go-rpmutils"
	"go.yaml.in/yaml/v3"
)

func TestArchive(t *testing.T) {
	folder, version := dist(t)
	root := t.TempDir()
	mustRun(t, nil, "tar", "-xzf", only(t, folder, "railhead_*_"+here()+".tar.gz"), "-C", root)
	at := only(t, root, "*")
	for _, program := range []string{"railhead", "railhead-pod"} {
		wantVersion(t, filepath.Join(at, program), version)
	}
	for _, name := range []string{"LICENSE", "LICENSES-OF-MODULES", "README.md", "completions/railhead.bash",
		"completions/_railhead", "completions/railhead.fish", "completions/railhead.ps1",
		"completions/kubectl_complete-railhead", "man/man1/railhead.1", "man/man1/railhead-pod.1"} {
		if info, err := os.Stat(filepath.Join(at, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	mustRun(t, nil, "sh", "-c", "cd "+folder+" && sha256sum --strict -c SHA256SUMS")
}

// TestManual lets man read every page: it warns of what it does not understand.
func TestManual(t *testing.T) {
	folder, _ := dist(t)
	root := t.TempDir()
	mustRun(t, nil, "tar", "-xzf", only(t, folder, "railhead_*_"+here()+".tar.gz"), "-C", root)
	pages, err := filepath.Glob(filepath.Join(root, "*", "man", "man1", "*.1"))
	if err != nil || len(pages) < 2 {
		t.Fatalf("%q, %v", pages, err)
	}
	for _, page := range pages {
		cmd := exec.Command("man", "--warnings", "-E", "UTF-8", "-l", page)
		cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "MANWIDTH=140")
		var warnings bytes.Buffer
		cmd.Stderr = &warnings
		out, err := cmd.Output()
		if errors.Is(err, exec.ErrNotFound) {
			t.Skip(err)
		}
		if err != nil || warnings.Len() > 0 || !strings.Contains(string(out), "SYNOPSIS") {
			t.Errorf("%s: %v\n%s%s", filepath.Base(page), err, &warnings, out)
		}
	}
}

// TestKrew installs every platform of the manifest by krew's own code, and runs the plugin of this one.
func TestKrew(t *testing.T) {
	folder, version := dist(t)
	krew := filepath.Join(t.TempDir(), "krew")
	mustRun(t, nil, "go", "build", "-C", "../krew", "-o", krew, "sigs.k8s.io/krew/cmd/krew")
	manifest := only(t, folder, "krew/railhead.yaml")
	var p plugin
	text, err := os.ReadFile(manifest)
	if err := errors.Join(err, yaml.Unmarshal(text, &p)); err != nil {
		t.Fatal(err)
	}
	for _, at := range p.Spec.Platforms {
		system, arch := at.Selector.MatchLabels["os"], at.Selector.MatchLabels["arch"]
		t.Run(system+"-"+arch, func(t *testing.T) {
			root := t.TempDir()
			env := []string{"KREW_ROOT=" + root, "KREW_OS=" + system, "KREW_ARCH=" + arch, "KREW_NO_UPGRADE_CHECK=1"}
			archive := filepath.Join(folder, at.URI[strings.LastIndex(at.URI, "/")+1:])
			out := mustRun(t, env, krew, "install", "--manifest", manifest, "--archive", archive)
			if !strings.Contains(out, "Installed plugin: railhead") {
				t.Error(out)
			}
			only(t, root, "store/railhead/"+version+"/LICENSE")
			if system == runtime.GOOS && arch == runtime.GOARCH {
				wantVersion(t, filepath.Join(root, "bin", "kubectl-railhead"), version)
				path := "PATH=" + filepath.Join(root, "bin") + ":" + os.Getenv("PATH")
				if _, err := exec.LookPath("kubectl"); err == nil {
					if got := mustRun(t, []string{path}, "kubectl", "railhead", "--version"); !strings.Contains(got, version) {
						t.Errorf("kubectl railhead --version prints %q", got)
					}
				}
			}
		})
	}
}

func TestFormula(t *testing.T) {
	folder, _ := dist(t)
	formula := only(t, folder, "homebrew/railhead.rb")
	text, err := os.ReadFile(formula)
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(folder, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for line := range strings.Lines(string(sums)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if !strings.HasSuffix(name, ".tar.gz") {
			continue
		}
		checked++
		at := strings.Index(string(text), "/"+name+`"`)
		if at < 0 || !strings.Contains(string(text[at:at+len(name)+100]), `sha256 "`+sum+`"`) {
			t.Errorf("%s with %s is not in\n%s", name, sum, text)
		}
	}
	if checked != 4 {
		t.Errorf("%d archives in\n%s", checked, sums)
	}
	mustRun(t, nil, "ruby", "-wc", formula)
}

// TestDeb installs the package with dpkg into a root of its own.
func TestDeb(t *testing.T) {
	folder, version := dist(t)
	deb := only(t, folder, "railhead_*_"+here()+".deb")
	if info := mustRun(t, nil, "dpkg-deb", "--info", deb); !strings.Contains(info, "Package: railhead") {
		t.Error(info)
	}
	if os.Geteuid() != 0 {
		t.Skip("dpkg --install needs root, also in a folder")
	}
	root := t.TempDir()
	for _, empty := range []string{"info", "updates", "triggers"} {
		if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg", empty), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, empty := range []string{"status", "available"} {
		if err := write(filepath.Join(root, "var/lib/dpkg", empty), nil); err != nil {
			t.Fatal(err)
		}
	}
	mustRun(t, nil, "dpkg", "--root="+root, "--force-script-chrootless", "--install", deb)
	installed(t, root, version)
	mustRun(t, nil, "dpkg", "--root="+root, "--force-script-chrootless", "--purge", "railhead")
	if left, err := filepath.Glob(filepath.Join(root, "usr", "bin", "*")); err != nil || len(left) > 0 {
		t.Errorf("after purge %q, %v", left, err)
	}
}

// TestRPM reads the package with a library, and installs it where rpm is.
func TestRPM(t *testing.T) {
	folder, version := dist(t)
	name := only(t, folder, "railhead_*_"+here()+".rpm")
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	pkg, err := rpmutils.ReadRpm(f)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	if err := pkg.ExpandPayload(root); err != nil {
		t.Fatal(err)
	}
	files, err := pkg.Header.GetFiles()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files { // ExpandPayload leaves the modes out
		if mode := os.FileMode(f.Mode()); f.Linkname() == "" {
			if err := os.Chmod(filepath.Join(root, f.Name()), mode.Perm()); err != nil {
				t.Error(err)
			}
		}
	}
	installed(t, root, version)
	host, err := pkg.Header.GetString(rpmutils.BUILDHOST)
	if err != nil || host != "release" {
		t.Errorf("build host %q, %v", host, err)
	}
	if os.Geteuid() != 0 {
		t.Skip("rpm --install needs root, also in a folder")
	}
	root = t.TempDir()
	mustRun(t, nil, "rpm", "--root", root, "--nodeps", "--install", name)
	mustRun(t, nil, "rpm", "--root", root, "--nodeps", "--verify", "--nouser", "--nogroup", "railhead")
	installed(t, root, version)
}

// installed asserts what both packages install below root.
func installed(t *testing.T, root, version string) {
	t.Helper()
	for _, program := range []string{"railhead", "railhead-pod", "kubectl-railhead"} {
		wantVersion(t, filepath.Join(root, "usr/bin", program), version)
	}
	for _, name := range []string{"bin/kubectl_complete-railhead", "share/bash-completion/completions/railhead",
		"share/fish/vendor_completions.d/railhead.fish", "share/zsh/*/_railhead", "share/man/man1/railhead.1.gz",
		"share/man/man1/railhead-pod.1.gz", "share/doc/railhead/LICENSES-OF-MODULES"} {
		only(t, root, "usr/"+name)
	}
}

// TestImage validates the image, and runs its programs from the layers, as a runtime unpacks them.
func TestImage(t *testing.T) {
	folder, version := dist(t)
	index, err := readIndex(only(t, folder, "railhead_*_image.tar"), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Fatal(err)
	}
	image := platformOf(t, index)
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Config.User != user || config.Config.Labels["org.opencontainers.image.version"] != version {
		t.Errorf("config %+v", config.Config)
	}
	root := t.TempDir()
	unpack(t, image, root)
	for _, program := range []string{"railhead", "railhead-pod"} {
		wantVersion(t, filepath.Join(root, program), version)
	}
	if os.Getenv("RELEASE_DIST") == "" {
		return
	}
	// the command of the init container
	volume := t.TempDir()
	mustRun(t, nil, filepath.Join(root, "railhead-pod"), "install", volume)
	wantVersion(t, filepath.Join(volume, "railhead-pod"), version)
}

func TestPush(t *testing.T) {
	folder, _ := dist(t)
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	to := strings.TrimPrefix(server.URL, "http://") + "/team/railhead:v1"
	if err := push(only(t, folder, "railhead_*_image.tar"), to); err != nil {
		t.Fatal(err)
	}
	reference, err := name.ParseReference(to)
	if err != nil {
		t.Fatal(err)
	}
	for _, arch := range []string{"amd64", "arm64"} {
		image, err := remote.Image(reference, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: arch}))
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Image(image); err != nil {
			t.Error(err)
		}
	}
	for _, wrong := range []string{"", "railhead", "Railhead:v1"} {
		if err := push(only(t, folder, "railhead_*_image.tar"), wrong); err == nil {
			t.Errorf("pushed to %q", wrong)
		}
	}
}

func platformOf(t *testing.T, index v1.ImageIndex) v1.Image {
	t.Helper()
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(manifest.Manifests, func(d v1.Descriptor) bool { return d.Platform.Architecture == runtime.GOARCH })
	if len(manifest.Manifests) != 2 || at < 0 {
		t.Fatalf("%+v", manifest.Manifests)
	}
	image, err := index.Image(manifest.Manifests[at].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

func unpack(t *testing.T, image v1.Image, root string) {
	t.Helper()
	content := mutate.Extract(image)
	defer content.Close()
	for files := tar.NewReader(content); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(files)
		if err := errors.Join(err, write(filepath.Join(root, header.Name), data)); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(root, header.Name), header.FileInfo().Mode()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestProvenance compares the statement with the files that it is about.
func TestProvenance(t *testing.T) {
	folder, _ := dist(t)
	text, err := os.ReadFile(only(t, folder, "railhead_*_provenance.json"))
	if err != nil {
		t.Fatal(err)
	}
	var s statement
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	sums, err := digests(folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Subject) != len(sums)-1 { // itself
		t.Errorf("%d subjects, %d files", len(s.Subject), len(sums))
	}
	for _, f := range s.Subject {
		if f.Digest["sha256"] != sums[f.Name] {
			t.Errorf("%s: %v, want %s", f.Name, f.Digest, sums[f.Name])
		}
	}
}
