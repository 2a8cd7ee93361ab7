package arch

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

// checkID is a constant of type check.ID.
type checkID struct {
	constant string
	id       string // "" when the value is no string literal
	line     int
}

// checkIDs returns the constants that are declared as check.ID, or as ID inside package check.
func checkIDs(fset *token.FileSet, tree *ast.File, names map[string]string) []checkID {
	isID := func(e ast.Expr) bool {
		if id, ok := e.(*ast.Ident); ok {
			return id.Name == "ID" && tree.Name.Name == "check"
		}
		sel, ok := e.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "ID" {
			return false
		}
		id, ok := sel.X.(*ast.Ident)
		return ok && names[id.Name] == "internal/check"
	}
	var ids []checkID
	for n := range ast.Preorder(tree) {
		decl, ok := n.(*ast.GenDecl)
		if !ok || decl.Tok != token.CONST {
			continue
		}
		for _, s := range decl.Specs {
			spec := s.(*ast.ValueSpec) // all that a const declaration has
			for i, name := range spec.Names {
				value, typed := constant(spec, i, isID)
				if typed {
					ids = append(ids, checkID{name.Name, value, fset.Position(name.Pos()).Line})
				}
			}
		}
	}
	return ids
}

// constant returns the literal of a constant and whether it is an ID, by its type or by a conversion.
func constant(spec *ast.ValueSpec, i int, isID func(ast.Expr) bool) (literal string, typed bool) {
	var value ast.Expr
	if i < len(spec.Values) {
		value = spec.Values[i]
	}
	typed = isID(spec.Type)
	if call, ok := value.(*ast.CallExpr); ok && len(call.Args) == 1 && isID(call.Fun) {
		value, typed = call.Args[0], true
	}
	if lit, ok := value.(*ast.BasicLit); ok && lit.Kind == token.STRING {
		literal, _ = strconv.Unquote(lit.Value) // the parser has accepted it
	}
	return literal, typed
}

// pageIDs returns the names of the pages in docs/checks, without ".md".
func pageIDs(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // no check has a page
	}
	var ids []string
	for _, e := range entries {
		ids = append(ids, strings.TrimSuffix(e.Name(), ".md"))
	}
	return ids, err
}

// pages asserts that check IDs and pages are the same set.
func pages(packages []pkg, pages []string) []string {
	var broken []string
	declared := map[string]string{} // ID -> where
	for _, p := range packages {
		for _, f := range p.files {
			for _, id := range f.ids {
				where := fmt.Sprintf("%s/%s:%d", p.path, f.name, id.line)
				switch first, twice := declared[id.id]; {
				case id.id == "":
					broken = append(broken, where+": the check ID "+id.constant+" is no string literal: it is also "+
						"the name of a page, which people search for")
				case twice:
					broken = append(broken, fmt.Sprintf("%s: the check ID %q is that of %s, too: "+
						"one ID is one check", where, id.id, first))
				default:
					declared[id.id] = where
				}
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(declared)) {
		if !slices.Contains(pages, id) {
			broken = append(broken, fmt.Sprintf("%s: the check ID %q has no page: write docs/checks/%s.md, which its "+
				"findings name",
				declared[id], id, id))
		}
	}
	for _, id := range pages {
		if _, ok := declared[id]; !ok {
			broken = append(broken, "docs/checks/"+id+" is the page of no check: delete it, or correct its name")
		}
	}
	return broken
}
