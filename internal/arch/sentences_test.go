package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sentences are the fields whose text is for people. The reasons of Kubernetes' own objects and of our copies of them
// are words of its API.
var sentences = map[string][]string{
	"internal/check.Finding":  {"Summary"},
	"internal/check.Evidence": {"Got", "Want"},
	"internal/check.Skip":     {"Why"},
	"internal/rail.Rejected":  {"Reason"},
	"internal/cluster.Rail":   {"Reason"},
	"internal/nccl.Var":       {"Reason"},
}

// searches are the functions that decide by what a text says.
var searches = map[string][]string{
	"strings": {
		"Contains", "ContainsAny", "HasPrefix", "HasSuffix", "Cut", "CutPrefix", "CutSuffix", "EqualFold",
		"Index", "LastIndex",
		"Compare", "Count", "Fields", "FieldsFunc", "Split", "SplitN", "TrimPrefix", "TrimSuffix",
	},
	"regexp": {"MatchString"},
}

// TestSentencesDecideNothing: what follows from what is decided by types, since sentences change and names are in
// names.
func TestSentencesDecideNothing(t *testing.T) {
	for _, p := range typed(t, "../..", "./internal/...") {
		for _, where := range p.decisions() {
			t.Errorf("%s: decide by a type, not by a sentence", where)
		}
	}
}

func TestSentencesRule(t *testing.T) {
	const head = `package p
import ("strings"; "regexp"; "github.com/railhead/railhead/internal/check"; "github.com/railhead/railhead/internal/rail")
type event struct{ Reason string }
var _ = strings.Contains
var _ = regexp.MatchString
var _ check.Finding
var _ rail.Rejected
func f(f check.Finding, g *check.Finding, r rail.Rejected, e event, x *regexp.Regexp) bool { `
	imports := exports(t, "../..", "./internal/check", "./internal/rail", "regexp")
	for body, want := range map[string]bool{
		`return strings.Contains(f.Summary, "x")`:                  true,
		`return strings.HasSuffix(r.Reason, "x")`:                  true,
		`return strings.Contains("x "+f.Summary, "x")`:             true,
		`_, _, ok := strings.Cut(g.Summary, "x"); return ok`:       true,
		`return f.Summary == g.Summary`:                            true,
		`return "x" != r.Reason`:                                   true,
		`switch f.Summary { case "x": return true }; return false`: true,
		`return x.MatchString(f.Evidence[0].Got)`:                  true,
		`return r.Reason != ""`:                                    false,
		`return e.Reason == "BackOff"`:                             false,
		`return strings.Contains(e.Reason, "drain")`:               false,
		`return f.Check == g.Check`:                                false,
		`return strings.ToUpper(f.Summary) == ""`:                  false,
	} {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, "p.go", head+body+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		if found := checked(t, set, "p", []*ast.File{file}, imports).decisions(); (len(found) > 0) != want {
			t.Errorf("%s: found %q", body, found)
		}
	}
}

// typedPackage is a package of this module with the types of its expressions.
type typedPackage struct {
	set   *token.FileSet
	files []*ast.File
	info  types.Info
}

// decisions returns the places at which a sentence decides something.
func (p typedPackage) decisions() []string {
	var all []string
	note := func(n ast.Node) { all = append(all, p.set.Position(n.Pos()).String()) }
	for _, file := range p.files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if p.isSearch(n) && slices.ContainsFunc(n.Args, p.hasSentence) {
					note(n)
				}
			case *ast.BinaryExpr:
				comparison := n.Op == token.EQL || n.Op == token.NEQ
				if comparison && !p.isEmpty(n.X) && !p.isEmpty(n.Y) && (p.isSentence(n.X) || p.isSentence(n.Y)) {
					note(n)
				}
			case *ast.SwitchStmt:
				if n.Tag != nil && p.isSentence(n.Tag) {
					note(n)
				}
			case *ast.FuncDecl:
				return n.Name.Name != "Alike" // of check.Finding: people read equal findings once
			}
			return true
		})
	}
	return all
}

func (p typedPackage) isSearch(call *ast.CallExpr) bool {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	object := p.info.Uses[selector.Sel]
	return object != nil && object.Pkg() != nil && slices.Contains(searches[object.Pkg().Path()], object.Name())
}

func (p typedPackage) hasSentence(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		inner, ok := n.(ast.Expr)
		found = found || ok && p.isSentence(inner)
		return true
	})
	return found
}

func (p typedPackage) isSentence(e ast.Expr) bool {
	selector, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	field, ok := p.info.Selections[selector]
	if !ok || field.Kind() != types.FieldVal {
		return false
	}
	for of, names := range sentences {
		dir, name, _ := strings.Cut(of, ".")
		owner := field.Obj().Pkg()
		if owner.Path() != module+"/"+dir || !slices.Contains(names, field.Obj().Name()) {
			continue
		}
		if holder, ok := owner.Scope().Lookup(name).Type().Underlying().(*types.Struct); ok &&
			hasField(holder, field.Obj()) {
			return true
		}
	}
	return false
}

func hasField(holder *types.Struct, field types.Object) bool {
	for i := range holder.NumFields() {
		if holder.Field(i) == field {
			return true
		}
	}
	return false
}

func (p typedPackage) isEmpty(e ast.Expr) bool {
	value := p.info.Types[e].Value
	return value != nil && value.ExactString() == `""`
}

// exports returns the compiled types of packages and of all that they import.
func exports(t *testing.T, root string, patterns ...string) types.Importer {
	t.Helper()
	files := map[string]string{}
	for _, p := range listed(t, root, append([]string{"-deps"}, patterns...)) {
		files[p.ImportPath] = p.Export
	}
	return importer.ForCompiler(token.NewFileSet(), "gc",
		func(path string) (io.ReadCloser, error) { return os.Open(files[path]) })
}

type listedPackage struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

func listed(t *testing.T, root string, args []string) []listedPackage {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-export", "-json=ImportPath,Dir,Export,GoFiles"}, args...)...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(fmt.Errorf("%v: %w", cmd.Args, err))
	}
	var all []listedPackage
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listedPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func typed(t *testing.T, root, pattern string) []typedPackage {
	t.Helper()
	imports := exports(t, root, pattern)
	var all []typedPackage
	for _, p := range listed(t, root, []string{pattern}) {
		set := token.NewFileSet()
		var files []*ast.File
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
		all = append(all, checked(t, set, p.ImportPath, files, imports))
	}
	return all
}

func checked(t *testing.T, set *token.FileSet, path string, files []*ast.File, imports types.Importer) typedPackage {
	t.Helper()
	p := typedPackage{set, files, types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}}
	if _, err := (&types.Config{Importer: imports}).Check(path, set, files, &p.info); err != nil {
		t.Fatal(err)
	}
	return p
}
