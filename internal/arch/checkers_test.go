package arch

import (
	"fmt"
	"go/token"
	"strings"
	"testing"
)

// world is a small module that keeps the law.
func world() []pkg {
	return []pkg{
		{path: "os", origin: std}, {path: "net", origin: std},
		{path: "k8s.io/api/core/v1", origin: foreign}, {path: "k8s.io/client-go/rest", origin: foreign},
		{path: "github.com/spf13/pflag", origin: foreign, imports: []string{"net"}},
		{path: "example.org/big", origin: foreign},
		{path: "internal/check", origin: own}, {path: "internal/host", origin: own},
		{path: "internal/host/replay", origin: own, imports: []string{"internal/host"}},
		{path: "internal/host/sysfs", origin: own, imports: []string{"os", "internal/host/replay"}},
		{path: "internal/rail", origin: own, imports: []string{"internal/host", "internal/check"}},
		{path: "internal/nccl", origin: own, imports: []string{"internal/rail"}},
		{path: "internal/plan", origin: own, imports: []string{"k8s.io/api/core/v1"}},
		{path: "internal/kube", origin: own, imports: []string{"internal/plan", "k8s.io/client-go/rest"}},
		{path: "internal/report", origin: own}, {
			path:    "internal/report/html",
			origin:  own,
			imports: []string{"internal/report"},
		},
		{path: "internal/podrun", origin: own, imports: []string{"internal/report", "internal/nccl"}},
		{path: "internal/podcli", origin: own, imports: []string{"internal/podrun", "github.com/spf13/pflag"}},
		{path: "internal/cli", origin: own, imports: []string{"internal/kube"}},
		{path: "cmd/railhead-pod", origin: own, imports: []string{"internal/podcli"}},
		{path: "tools/stage", origin: own, imports: []string{"internal/cli", "internal/host"}},
	}
}

// with returns the world with one package changed or added.
func with(path string, change func(*pkg)) []pkg {
	all := world()
	for i := range all {
		if all[i].path == path {
			change(&all[i])
			return all
		}
	}
	p := pkg{path: path, origin: own}
	change(&p)
	return append(all, p)
}

// importing returns the world in which from imports to.
func importing(from, to string) []pkg {
	return with(from, func(p *pkg) { p.imports = append(p.imports, to) })
}

// linking returns the world in which railhead-pod links name.
func linking(name string) []pkg { return importing("internal/rail", name) }

// source returns the world in which the package at path is this one file.
func source(t *testing.T, path, name, text string) []pkg {
	t.Helper()
	f, _, err := parse(token.NewFileSet(), name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return with(path, func(p *pkg) { p.files = []file{f} })
}

func podClosure(packages []pkg) []string { return closure(packages, "cmd/railhead-pod") }

func TestCheckers(t *testing.T) {
	for name, test := range map[string]struct {
		checker func([]pkg) []string
		in      []pkg
		want    string // in the one violation; "": none
	}{
		"arrows kept": {arrows, world(), ""},
		"arrow upwards": {
			arrows,
			importing("internal/rail", "internal/nccl"),
			"internal/rail imports internal/nccl: which rails",
		},
		"arrow sideways": {
			arrows,
			importing("internal/podcli", "internal/cli"),
			"the two programs meet only in JSON",
		},
		"host and check": {
			arrows,
			importing("internal/host", "internal/check"),
			"the vocabulary stands alone",
		},
		"package without a line":  {arrows, with("internal/util", func(*pkg) {}), "internal/util has no line"},
		"program below a program": {arrows, with("cmd/a/b", func(*pkg) {}), "cmd/a/b has no line"},
		"tool imported": {
			arrows,
			importing("internal/report", "tools/stage"),
			"internal/report imports tools/stage",
		},

		"kubernetes kept": {kubernetes, world(), ""},
		"kubernetes in podrun": {
			kubernetes,
			importing("internal/podrun", "k8s.io/api/core/v1"),
			"only kube, plan and workload do",
		},
		"client in plan": {kubernetes, importing("internal/plan", "k8s.io/client-go/rest"), "a plan is a value"},

		"vocabulary kept": {vocabulary, world(), ""},
		"foreign vocabulary": {
			vocabulary,
			importing("internal/check", "example.org/big"),
			"the vocabulary is std only",
		},

		"closure kept":    {podClosure, world(), ""},
		"program is gone": {podClosure, world()[:5], "cmd/railhead-pod is not in this module"},
		"big dependency linked": {
			podClosure,
			linking("example.org/big"),
			"cmd/railhead-pod links example.org/big: it starts in every",
		},
		"unlisted dependency": {podClosure, linking("example.org/unlisted"), "links example.org/unlisted"},
		"part of pflag": {
			podClosure,
			linking("github.com/spf13/pflag/verify"),
			"links github.com/spf13/pflag/verify",
		},
		"part of x/sys":     {podClosure, linking("golang.org/x/sys/unix"), ""},
		"http linked":       {podClosure, linking("net/http"), "links net/http: it is megabytes"},
		"kubernetes linked": {podClosure, linking("k8s.io/api/core/v1"), "never talks to an API server"},
		"net in a pod's package": {
			podClosure,
			importing("internal/podrun", "net"),
			"internal/podrun imports net, which cmd/railhead-pod links",
		},
	} {
		t.Run(name, func(t *testing.T) { expect(t, test.checker(test.in), test.want) })
	}
}

func TestSideEffects(t *testing.T) {
	for name, test := range map[string]struct{ path, file, text, want string }{
		"os in the pure core":     {"internal/rail", "a.go", `import "os"`, "internal/rail/a.go imports os:"},
		"exec in the pure core":   {"internal/rail", "a.go", `import "os/exec"`, "imports os/exec:"},
		"net in the pure core":    {"internal/rail", "a.go", `import "net"`, "imports net:"},
		"http in the pure core":   {"internal/rail", "a.go", `import "net/http"`, "imports net/http:"},
		"addresses are values":    {"internal/rail", "a.go", `import "net/netip"`, ""},
		"os in the root of sysfs": {"internal/host/sysfs", "root_linux.go", `import "os"`, ""},
		"os elsewhere in sysfs": {
			"internal/host/sysfs",
			"gpu.go",
			`import "os"`,
			"internal/host/sysfs/gpu.go imports os",
		},
		"os in the value": {"internal/host", "root.go", `import "os"`, "internal/host/root.go imports os"},
		"os in an edge":   {"internal/podrun", "a.go", `import "os"`, ""},
		"os in main":      {"cmd/railhead-pod", "main.go", `import "os"`, ""},
		"os in a tool":    {"tools/stage", "main.go", `import "os"`, ""},
		"the clock": {
			"internal/rail",
			"a.go",
			`import "time"; var t = time.Now()`,
			"a.go, line 2: time.Now: the same",
		},
		"the clock as a value":   {"internal/rail", "a.go", `import "time"; var f = time.Now`, "time.Now"},
		"the clock under a name": {"internal/rail", "a.go", `import c "time"; var f = c.Since`, "time.Since"},
		"the clock in all names": {"internal/rail", "a.go", `import . "time"; var f = Now`, "dot import of time"},
		"a duration is a value":  {"internal/rail", "a.go", `import "time"; var d = time.Second`, ""},
		"the clock in an edge":   {"internal/podcli", "a.go", `import "time"; var f = time.Now`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, sideEffects(source(t, test.path, test.file, "package x\n"+test.text)), test.want)
		})
	}
}

func TestComments(t *testing.T) {
	files := func(texts ...string) []pkg {
		p := pkg{path: "tools/stage", origin: own}
		for i, text := range texts {
			f, _, err := parse(token.NewFileSet(), string(rune('a'+i))+".go", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			p.files = append(p.files, f)
		}
		return []pkg{p}
	}
	const bare, comment = "//go:build linux\n\npackage main", "// Stage is.\npackage main"
	expect(t, comments(files(bare, comment)), "")
	expect(t, comments(files(bare)), "tools/stage has 0 package comments")
	expect(t, comments(files(comment, bare, comment)), `tools/stage has 2 package comments ["a.go" "c.go"]`)
}

// expect wants one violation that contains the text, or none when it is empty.
func expect(t *testing.T, broken []string, want string) {
	t.Helper()
	switch {
	case want == "" && len(broken) > 0:
		t.Errorf("got %q, want no violation", broken)
	case want != "" && (len(broken) != 1 || !strings.Contains(broken[0], want)):
		t.Errorf("got %q, want one violation with %q", broken, want)
	}
}

func TestPages(t *testing.T) {
	const imports = "package rail\nimport \"" + module + "/internal/check\"\n"
	for name, test := range map[string]struct {
		text  string
		pages []string
		want  string
	}{
		"page for the ID": {imports + `const A check.ID = "a-b"`, []string{"a-b"}, ""},
		"no page":         {imports + `const A check.ID = "a-b"`, nil, "write docs/checks/a-b.md"},
		"page without ID": {imports, []string{"old"}, "docs/checks/old is the page of no check"},
		"same ID twice": {
			imports + "const A, B check.ID = `a`, \"a\"",
			[]string{"a"},
			`the check ID "a" is that of internal/rail/a.go:3`,
		},
		"converted":          {imports + `const A = check.ID("a")`, nil, "write docs/checks/a.md"},
		"in a function":      {imports + `func f() { const a check.ID = "a" }`, nil, "write docs/checks/a.md"},
		"no literal":         {imports + `const A check.ID = "a" + "b"`, nil, "A is no string literal"},
		"other constant":     {imports + `const A string = "a"`, nil, ""},
		"variable":           {imports + `var A check.ID = "a"`, nil, ""},
		"ID of another kind": {"package rail\ntype ID string\nconst A ID = \"a\"", nil, ""},
		"in package check":   {"package check\nconst A ID = \"a\"", nil, "write docs/checks/a.md"},
		"under another name": {
			"package rail\nimport c \"" + module + "/internal/check\"\nconst A c.ID = \"a\"",
			nil,
			"write docs/checks/a.md",
		},
		"page of another type": {
			imports + `const A check.ID = "a"`,
			[]string{"a", "a.txt"},
			"docs/checks/a.txt is the page of no check",
		},
	} {
		t.Run(name, func(t *testing.T) {
			packages := source(t, "internal/rail", "a.go", test.text)
			expect(t, pages(packages, test.pages), test.want)
		})
	}
}

func TestDocumented(t *testing.T) {
	var lines []string
	for _, l := range law {
		lines = append(lines, strings.ReplaceAll(strings.Join(l.packages, "  "), "internal/", ""))
	}
	block := func(lines []string) string {
		return "# A\n\n## Arrows\n\nWords.\n\n```text\n" + strings.Join(lines, "\n") + "\n```\n"
	}
	expect(t, documented(block(lines)), "")
	expect(t, documented(block(lines[1:])), "change both in one commit")
	expect(t, documented("# A\n"), "readers look for the law there")
}

func TestLinked(t *testing.T) {
	for name, test := range map[string]struct {
		in   binary
		want string
	}{
		"good": {binary{bytes: maxBytes, functions: []string{"main.main", "net.init"}}, ""},
		"too large": {
			binary{name: "p", bytes: maxBytes + 1, functions: []string{"main.main"}},
			"p has 4500001 bytes, the budget is 4500000",
		},
		"dynamic":           {binary{interpreter: true, functions: []string{"main.main"}}, "asks for a dynamic loader"},
		"no function names": {binary{}, "does not name its functions"},
		"can dial": {
			binary{functions: []string{"main.main", "net.(*Dialer).DialContext"}},
			"holds net.(*Dialer).DialContext",
		},
		"templates": {
			binary{functions: []string{"main.main", "text/template.(*Template).Execute"}},
			"renders no template",
		},
	} {
		t.Run(name, func(t *testing.T) { expect(t, linked(test.in), test.want) })
	}
}

// A type has the methods that its embedded fields give it, and those of their embedded fields.
func TestMethodSets(t *testing.T) {
	declared := func(of string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "func (x *%s) %c%d() {}\n", of, of[0], i)
		}
		return b.String()
	}
	tooMany := func(name string) string { return fmt.Sprintf("internal/rail.%s has 26 methods", name) }
	for text, want := range map[string]string{
		"type a struct{}\n" + declared("a", mostMethods):   "",
		"type a struct{}\n" + declared("a", mostMethods+1): tooMany("a"),

		"type a struct{ b b }\ntype b struct{ a }\n" + declared("a", 13) + declared("b", 13): tooMany("b"),
		"type b struct{}\ntype a struct{ *b }\n" + declared("a", 25) + declared("b", 1):      tooMany("a"),
	} {
		expect(t, methodSets(source(t, "internal/rail", "a.go", "package rail\n"+text)), want)
	}
}
