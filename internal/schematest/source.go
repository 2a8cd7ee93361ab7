package schematest

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
)

const module = "github.com/railhead/railhead"

// source knows the comments and constants of the module's types, which reflection does not show.
type source struct {
	root  string
	types map[string]*typeSource // by package and name
	read  map[string]bool        // packages
}

// typeSource is a type in the source.
type typeSource struct {
	doc    string
	fields map[string]string // their comments
	values []string          // the constants of a string type, in their order
}

func newSource(root string) *source {
	return &source{root: root, types: map[string]*typeSource{}, read: map[string]bool{}}
}

// of returns a type of the module.
func (s *source) of(t reflect.Type) (*typeSource, error) {
	folder, own := strings.CutPrefix(t.PkgPath(), module)
	if !own {
		return nil, fmt.Errorf("%v is of no package of this module: give its JSON form in kind.go", t)
	}
	if !s.read[t.PkgPath()] {
		s.read[t.PkgPath()] = true
		if err := s.parse(t.PkgPath(), filepath.Join(s.root, filepath.FromSlash(folder))); err != nil {
			return nil, err
		}
	}
	if found := s.types[t.PkgPath()+"."+t.Name()]; found != nil {
		return found, nil
	}
	return nil, fmt.Errorf("%v is not in the source", t)
}

func (s *source) parse(pkg, folder string) error {
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(names) == 0 {
		return errors.Join(err, fmt.Errorf("no source in %s", folder))
	}
	var consts []*ast.ValueSpec
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					s.types[pkg+"."+spec.Name.Name] = newType(decl, spec)
				case *ast.ValueSpec:
					if decl.Tok == token.CONST {
						consts = append(consts, spec)
					}
				}
			}
		}
	}
	for _, c := range consts {
		s.addConstant(pkg, c)
	}
	return nil
}

func newType(decl *ast.GenDecl, spec *ast.TypeSpec) *typeSource {
	t := &typeSource{doc: comment(spec.Doc, decl.Doc), fields: map[string]string{}}
	structure, ok := spec.Type.(*ast.StructType)
	if !ok {
		return t
	}
	for _, f := range structure.Fields.List {
		for _, name := range f.Names {
			t.fields[name.Name] = comment(f.Doc, f.Comment)
		}
	}
	return t
}

// addConstant adds a string constant to the values of its type.
func (s *source) addConstant(pkg string, spec *ast.ValueSpec) {
	name, named := spec.Type.(*ast.Ident)
	if !named || s.types[pkg+"."+name.Name] == nil {
		return
	}
	t := s.types[pkg+"."+name.Name]
	for _, v := range spec.Values {
		if literal, ok := v.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			text, _ := strconv.Unquote(literal.Value) // the file was parsed
			t.values = append(t.values, text)
		}
	}
}

// comment returns the first comment that has a text, on one line.
func comment(groups ...*ast.CommentGroup) string {
	for _, g := range groups {
		if text := strings.Join(strings.Fields(g.Text()), " "); text != "" {
			return text
		}
	}
	return ""
}
