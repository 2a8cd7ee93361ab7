package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/railhead/railhead"

// repo is this repository: the law is asserted on it.
type repo struct {
	packages []pkg // this module's and all that they import
	pages    []string
	document string // docs/architecture.md
}

// pkg is one package. Packages of this module have their path in the repository, such as "internal/rail".
type pkg struct {
	path    string
	name    string
	origin  origin
	imports []string // by the files that are built for Linux
	files   []file   // of this module's packages, without tests
}

type origin int

const (
	std origin = iota
	own
	foreign
)

// file describes one source file.
type file struct {
	name       string
	set        *token.FileSet
	tree       *ast.File
	documented bool     // has a package comment
	imports    []string // own ones as in pkg.path
	clock      []string // uses of the clock, as "line 12: time.Now"
	ids        []checkID
}

// load returns this repository, which is read once for all tests.
func load(t *testing.T) repo {
	t.Helper()
	r, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var loaded = sync.OnceValues(func() (repo, error) { return read(root) })

// read reads the repository at root. It opens every file itself, also those that only `go list` is asked about: the
// go command repeats a cached test only when a file changed that the test has opened.
func read(root string) (repo, error) {
	packages, err := list(root)
	if err != nil {
		return repo{}, err
	}
	files, err := sources(root)
	if err != nil {
		return repo{}, err
	}
	for i, p := range packages {
		if p.origin == own {
			packages[i].files = files[p.path+" "+p.name]
		}
	}
	pages, err := pageIDs(filepath.Join(root, "docs/checks"))
	if err != nil {
		return repo{}, err
	}
	document, err := os.ReadFile(filepath.Join(root, "docs/architecture.md"))
	return repo{packages, pages, string(document)}, err
}

// list asks the go command for this module's packages and all that they import, as they are built for pods.
func list(root string) ([]pkg, error) {
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Name,Standard,Imports", "./...")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%v: %w\n%s", cmd.Args, err, stderr.String())
	}
	return parseList(bytes.NewReader(out))
}

func parseList(r io.Reader) ([]pkg, error) {
	var packages []pkg
	d := json.NewDecoder(r)
	for {
		var p struct {
			ImportPath, Name string
			Standard         bool
			Imports          []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		from := foreign
		if p.Standard {
			from = std
		} else if inModule(p.ImportPath) {
			from = own
		}
		packages = append(packages,
			pkg{path: short(p.ImportPath), name: p.Name, origin: from, imports: shortAll(p.Imports)})
	}
}

func inModule(importPath string) bool { return strings.HasPrefix(importPath, module+"/") }

func short(importPath string) string { return strings.TrimPrefix(importPath, module+"/") }

func shortAll(importPaths []string) []string {
	var all []string
	for _, p := range importPaths {
		all = append(all, short(p))
	}
	return all
}

// sources parses all Go files but tests, for every operating system, by "folder package".
func sources(root string) (map[string][]file, error) {
	files, fset := map[string][]file{}, token.NewFileSet()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		if d.IsDir() && rel != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || nested(name)) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(rel, ".go") && rel != "go.mod" {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil || rel == "go.mod" || strings.HasSuffix(rel, "_test.go") {
			return err
		}
		f, in, err := parse(fset, path.Base(filepath.ToSlash(rel)), text)
		key := path.Dir(filepath.ToSlash(rel)) + " " + in
		files[key] = append(files[key], f)
		return err
	})
	return files, err
}

// nested reports whether the folder is a module of its own.
func nested(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil
}

// parse returns the file and the name of its package.
func parse(fset *token.FileSet, name string, text []byte) (file, string, error) {
	tree, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return file{}, "", err
	}
	f := file{name: name, set: fset, tree: tree, documented: tree.Doc != nil}
	names := map[string]string{} // in the file -> path
	for _, spec := range tree.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return file{}, "", err
		}
		f.imports = append(f.imports, short(p))
		as := path.Base(p)
		if spec.Name != nil {
			as = spec.Name.Name
		}
		names[as] = short(p)
	}
	f.clock = clockUses(fset, tree, names)
	f.ids = checkIDs(fset, tree, names)
	return f, tree.Name.Name, nil
}

// clockNames are the functions of package time that read the clock or wait for it.
var clockNames = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

func clockUses(fset *token.FileSet, tree *ast.File, names map[string]string) []string {
	var uses []string
	for n := range ast.Preorder(tree) {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok || !slices.Contains(clockNames, sel.Sel.Name) {
			continue
		}
		if id, ok := sel.X.(*ast.Ident); ok && names[id.Name] == "time" {
			uses = append(uses, fmt.Sprintf("line %d: time.%s", fset.Position(sel.Pos()).Line, sel.Sel.Name))
		}
	}
	if names["."] == "time" {
		uses = append(uses, "dot import of time")
	}
	return uses
}
