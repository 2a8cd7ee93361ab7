package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"

	"go.yaml.in/yaml/v3"
)

// The manifest of a plugin of krew: https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/
type plugin struct {
	APIVersion string            `yaml:"apiVersion"`
	Kind       string            `yaml:"kind"`
	Metadata   map[string]string `yaml:"metadata"`
	Spec       pluginSpec        `yaml:"spec"`
}

type pluginSpec struct {
	Version          string           `yaml:"version"`
	Homepage         string           `yaml:"homepage"`
	ShortDescription string           `yaml:"shortDescription"`
	Description      string           `yaml:"description"`
	Platforms        []pluginPlatform `yaml:"platforms"`
}

type pluginPlatform struct {
	Selector struct {
		MatchLabels map[string]string `yaml:"matchLabels"`
	} `yaml:"selector"`
	URI    string       `yaml:"uri"`
	SHA256 string       `yaml:"sha256"`
	Files  []pluginFile `yaml:"files"`
	Bin    string       `yaml:"bin"`
}

type pluginFile struct {
	From string `yaml:"from"`
	To   string `yaml:"to"`
}

// writeKrew writes the manifest for `kubectl krew install railhead`.
func (r release) writeKrew(name string, archives, sums map[string]string) error {
	p := plugin{
		APIVersion: "krew.googlecontainertools.github.com/v1alpha2",
		Kind:       "Plugin",
		Metadata:   map[string]string{"name": "railhead"},
		Spec: pluginSpec{
			Version: r.version, Homepage: r.home, Description: description + "\n",
			ShortDescription: "Set up, prove and debug RDMA for GPU training",
		},
	}
	for _, system := range slices.Sorted(maps.Keys(archives)) {
		archive := archives[system]
		sum, err := sumOf(sums, archive)
		if err != nil {
			return err
		}
		at := pluginPlatform{URI: r.url(archive), SHA256: sum, Bin: "railhead"}
		folder := strings.TrimSuffix(strings.TrimSuffix(archive, ".tar.gz"), ".zip")
		if strings.HasPrefix(system, "windows") {
			at.Bin += ".exe"
		}
		for _, f := range []string{at.Bin, "LICENSE", "LICENSES-OF-MODULES"} {
			at.Files = append(at.Files, pluginFile{From: folder + "/" + f, To: "."})
		}
		osName, arch, _ := strings.Cut(system, "-")
		at.Selector.MatchLabels = map[string]string{"os": osName, "arch": arch}
		p.Spec.Platforms = append(p.Spec.Platforms, at)
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(p); err != nil {
		return err
	}
	return write(name, b.Bytes())
}

var formula = template.Must(template.New("formula").Parse(`class Railhead < Formula
  desc "{{.Summary}}"
  homepage "{{.Home}}"
  version "{{.Number}}"
  license "{{.Licence}}"
{{range .Systems}}
  on_{{.Name}} do
{{- range .CPUs}}
    on_{{.Name}} do
      url "{{.URL}}"
      sha256 "{{.SHA256}}"
    end
{{- end}}
  end
{{end}}
  def install
    bin.install "railhead"
    bin.install "railhead-pod" if OS.linux?
    bin.install "completions/kubectl_complete-railhead"
    bin.install_symlink "railhead" => "kubectl-railhead"
    bash_completion.install "completions/railhead.bash" => "railhead"
    fish_completion.install "completions/railhead.fish"
    zsh_completion.install "completions/_railhead"
    man1.install Dir["man/man1/*.1"]
  end

  test do
    assert_match "v#{version}", shell_output("#{bin}/railhead --version")
  end
end
`))

// writeFormula writes the formula of Homebrew, for a tap.
func (r release) writeFormula(name string, archives, sums map[string]string) error {
	type cpu struct{ Name, URL, SHA256 string }
	type system struct {
		Name string
		CPUs []cpu
	}
	var systems []system
	for _, s := range []struct{ homebrew, os string }{{"macos", "darwin"}, {"linux", "linux"}} {
		var cpus []cpu
		for _, c := range []struct{ homebrew, arch string }{{"arm", "arm64"}, {"intel", "amd64"}} {
			archive := archives[s.os+"-"+c.arch]
			sum, err := sumOf(sums, archive)
			if err != nil {
				return fmt.Errorf("formula for %s on %s: %w", s.os, c.arch, err)
			}
			cpus = append(cpus, cpu{c.homebrew, r.url(archive), sum})
		}
		systems = append(systems, system{s.homebrew, cpus})
	}
	var b bytes.Buffer
	err := formula.Execute(&b, map[string]any{
		"Summary": summary, "Home": r.home, "Number": r.number(), "Licence": licence, "Systems": systems,
	})
	if err != nil {
		return err
	}
	return write(name, b.Bytes())
}
