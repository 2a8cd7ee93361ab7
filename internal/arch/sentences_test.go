package arch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
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
	"internal/plan.Plan":      {"Title", "Closing"},
	"internal/plan.Step":      {"Title"},
	"internal/plan.Progress":  {"Text"},
	"internal/plan.Bar":       {"Text"},
	"internal/rules.Suspect":  {"Why"},
	"internal/story.Cause":    {"Summary"},
	"internal/story.Network":  {"Why"},
	"internal/story.Run":      {"Summary", "GPUReason"},
	"internal/story.Victim":   {"What", "Of"},
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
// names. To know the types of a package takes long, so it is done only where the names look like a decision.
func TestSentencesDecideNothing(t *testing.T) {
	t.Parallel()
	suspects, built := typed(t)
	for _, p := range suspects {
		for _, where := range built.check(t, p.path, p.files).decisions() {
			t.Errorf("%s/%s: decide by a type, not by a sentence", p.path, where)
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
	_, built := typed(t)
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
		f, _, err := parse(token.NewFileSet(), "p.go", []byte(head+body+" }"))
		if err != nil {
			t.Fatal(err)
		}
		if found := built.check(t, "p", []file{f}).decisions(); (len(found) > 0) != want {
			t.Errorf("%s: found %q", body, found)
		}
		if want && len(byNames([]file{f}).decisions()) == 0 {
			t.Errorf("%s: does not look like a decision", body)
		}
	}
}

// code is the source of a package. Without types it counts every function and field as one of searches or sentences
// that has the name of one.
type code struct {
	set   *token.FileSet
	files []*ast.File
	types *types.Info
}

func byNames(files []file) code {
	var c code
	for _, f := range files {
		c.set, c.files = f.set, append(c.files, f.tree)
	}
	return c
}

// decisions returns the places at which a sentence decides something.
func (c code) decisions() []string {
	var all []string
	note := func(n ast.Node) { all = append(all, c.set.Position(n.Pos()).String()) }
	for _, file := range c.files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if c.isSearch(n) && slices.ContainsFunc(n.Args, c.hasSentence) {
					note(n)
				}
			case *ast.BinaryExpr:
				comparison := n.Op == token.EQL || n.Op == token.NEQ
				if comparison && !c.isEmpty(n.X) && !c.isEmpty(n.Y) && (c.isSentence(n.X) || c.isSentence(n.Y)) {
					note(n)
				}
			case *ast.SwitchStmt:
				if n.Tag != nil && c.isSentence(n.Tag) {
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

func (c code) isSearch(call *ast.CallExpr) bool {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !named(searches, selector) {
		return false
	}
	if c.types == nil {
		return true
	}
	object := c.types.Uses[selector.Sel]
	return object != nil && object.Pkg() != nil && slices.Contains(searches[object.Pkg().Path()], object.Name())
}

// named reports whether one of the lists has what is selected.
func named(lists map[string][]string, selector *ast.SelectorExpr) bool {
	for _, list := range lists {
		if slices.Contains(list, selector.Sel.Name) {
			return true
		}
	}
	return false
}

func (c code) hasSentence(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		inner, ok := n.(ast.Expr)
		found = found || ok && c.isSentence(inner)
		return true
	})
	return found
}

func (c code) isSentence(e ast.Expr) bool {
	selector, ok := e.(*ast.SelectorExpr)
	if !ok || !named(sentences, selector) {
		return false
	}
	if c.types == nil {
		return true
	}
	field, ok := c.types.Selections[selector]
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

func (c code) isEmpty(e ast.Expr) bool {
	if c.types == nil {
		literal, ok := e.(*ast.BasicLit)
		return ok && literal.Value == `""`
	}
	value := c.types.Types[e].Value
	return value != nil && value.ExactString() == `""`
}

// suspects returns the packages in which the names look like a decision.
func suspects(packages []pkg) []pkg {
	return slices.DeleteFunc(slices.Clone(packages), func(p pkg) bool {
		return p.origin != own || !strings.HasPrefix(p.path, "internal/") || len(byNames(p.files).decisions()) == 0
	})
}

// built lists the packages that the go command compiled for this machine, with all that they import.
type built struct {
	imports types.Importer
	goFiles map[string][]string // by the path of the package
}

// typed returns the suspects of this repository, compiled once for all tests, with what TestSentencesRule imports.
func typed(t *testing.T) ([]pkg, built) {
	t.Helper()
	suspects := suspects(load(t).packages)
	b, err := compiled()
	if err != nil {
		t.Fatal(err)
	}
	return suspects, b
}

var compiled = sync.OnceValues(func() (built, error) {
	r, err := loaded()
	if err != nil {
		return built{}, err
	}
	patterns := []string{"./internal/check", "./internal/rail", "regexp"}
	for _, p := range suspects(r.packages) {
		patterns = append(patterns, "./"+p.path)
	}
	return compile(root, patterns...)
})

func compile(root string, patterns ...string) (built, error) {
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Export,GoFiles"}
	cmd := exec.Command("go", append(args, patterns...)...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return built{}, fmt.Errorf("%v: %w", cmd.Args, err)
	}
	exports, goFiles := map[string]string{}, map[string][]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p struct {
			ImportPath, Export string
			GoFiles            []string
		}
		if err := d.Decode(&p); err != nil {
			return built{}, err
		}
		exports[p.ImportPath], goFiles[short(p.ImportPath)] = p.Export, p.GoFiles
	}
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	return built{importer.ForCompiler(token.NewFileSet(), "gc", open), goFiles}, nil
}

// check returns the files with their types, of a package of this module without those for other machines.
func (b built) check(t *testing.T, path string, files []file) code {
	t.Helper()
	if names, ok := b.goFiles[path]; ok {
		files = slices.DeleteFunc(slices.Clone(files), func(f file) bool { return !slices.Contains(names, f.name) })
	}
	c := byNames(files)
	c.types = &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	if _, err := (&types.Config{Importer: b.imports}).Check(module+"/"+path, c.set, c.files, c.types); err != nil {
		t.Fatal(err)
	}
	return c
}
