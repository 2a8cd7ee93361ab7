package arch

import (
	"fmt"
	"slices"
	"strings"
)

// edges are the packages with side effects.
var edges = []string{
	"internal/podrun", "internal/kube", "internal/bundle", "internal/cli", "internal/podcli", "cmd/*",
	"internal/launch", "internal/logsource", "internal/collect", "internal/apply",
	"internal/saved", "internal/benchrun", "internal/serve", "internal/webhook", "internal/scrape",
}

// atEdge reports whether the file may touch the world; of package sysfs only the root files may.
func atEdge(p pkg, f file) bool {
	return matches(edges, p.path) || p.path == "internal/host/sysfs" && strings.HasPrefix(f.name, "root")
}

// touches reports whether the import reaches files, processes or the network. Addresses and URLs are plain values.
func touches(imported string) bool {
	if imported == "net/netip" || imported == "net/url" {
		return false
	}
	top, _, _ := strings.Cut(imported, "/")
	return top == "os" || top == "net"
}

// sideEffects asserts that only the edge imports os and net and reads the clock.
func sideEffects(packages []pkg) []string {
	var broken []string
	for _, p := range ownPackages(packages) {
		for _, f := range p.files {
			if atEdge(p, f) {
				continue
			}
			where := p.path + "/" + f.name
			for _, imported := range f.imports {
				if touches(imported) {
					broken = append(broken, where+" imports "+imported+": what decides must be testable from a file; "+
						"take an fs.FS, an io.Writer or a value from the edge")
				}
			}
			for _, use := range f.clock {
				broken = append(broken, where+", "+use+": the same input must give the same answer; "+
					"take the time as a value")
			}
		}
	}
	return broken
}

// comments asserts that every package says once what it is.
func comments(packages []pkg) []string {
	var broken []string
	for _, p := range packages {
		if p.origin != own {
			continue
		}
		var in []string
		for _, f := range p.files {
			if f.documented {
				in = append(in, f.name)
			}
		}
		if len(in) != 1 {
			broken = append(broken, fmt.Sprintf("%s has %d package comments %q: one file "+
				"says in one sentence what it is",
				p.path, len(in), in))
		}
	}
	return broken
}

// inPod are the packages outside std and this module that railhead-pod may link; "/..." stands for all below.
var inPod = []string{"github.com/spf13/pflag", "golang.org/x/sys/..."}

func allowedInPod(name string) bool {
	return slices.ContainsFunc(inPod, func(p string) bool {
		tree, all := strings.CutSuffix(p, "/...")
		return name == tree || all && strings.HasPrefix(name, tree+"/")
	})
}

// closure asserts what the program is linked from. pflag itself imports net, for flags that hold addresses, so net is
// banned in our own packages and, by linked, in what the linker keeps of it.
func closure(packages []pkg, program string) []string {
	byPath := map[string]pkg{}
	for _, p := range packages {
		byPath[p.path] = p
	}
	if _, ok := byPath[program]; !ok {
		return []string{program + " is not in this module"}
	}
	var broken []string
	for _, name := range linkedBy(byPath, program) {
		p, listed := byPath[name]
		switch {
		case strings.HasPrefix(name, "k8s.io/"):
			broken = append(broken, program+" links "+name+": the pod side never talks to an API server; the CLI does")
		case name == "net/http":
			broken = append(broken, program+" links net/http: it is megabytes and an attack surface in every "+
				"training pod")
		case (!listed || p.origin == foreign) && !allowedInPod(name):
			broken = append(broken, program+" links "+name+": it starts in every training pod; only "+
				strings.Join(inPod, ", ")+" are worth their size there")
		case p.origin == own && slices.Contains(p.imports, "net"):
			broken = append(broken, name+" imports net, which "+program+
				" links: use net/netip for addresses; the pod side opens no connection")
		}
	}
	return broken
}

// linkedBy returns the program and all packages that it imports, or that these import.
func linkedBy(byPath map[string]pkg, program string) []string {
	all, seen := []string{program}, map[string]bool{program: true}
	for i := 0; i < len(all); i++ {
		for _, name := range byPath[all[i]].imports {
			if !seen[name] {
				all, seen[name] = append(all, name), true
			}
		}
	}
	return all
}
