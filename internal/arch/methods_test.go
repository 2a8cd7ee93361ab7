package arch

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// mostMethods is the most methods of a type, with those that embedded fields give it. Where more are needed, the order
// in which they are called is the program: make it functions that take a value and return one.
const mostMethods = 25

// tooLarge lists the types that have more, with their number. A number may only become smaller, and new rows are
// refused: the test says so in both cases.
var tooLarge = map[string]int{
	"internal/benchrun.Bench": 45,
	"internal/cli.app":        57,
	"internal/cluster.State":  40,
	"internal/kube.Client":    40,
	"internal/launch.Session": 43,
}

// typeName is a type of this module.
type typeName struct{ pkg, name string }

// typeInfo has the methods and the embedded types of a type.
type typeInfo struct {
	methods  []string
	embedded []typeName
}

// methodSets asserts that no type has more methods than fit in a head.
func methodSets(packages []pkg) []string {
	types := map[typeName]*typeInfo{}
	of := func(t typeName) *typeInfo {
		if types[t] == nil {
			types[t] = &typeInfo{}
		}
		return types[t]
	}
	for _, p := range packages {
		for _, f := range p.files {
			names := importNames(f)
			for _, d := range f.tree.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					if d.Recv != nil {
						info := of(typeName{p.path, receiver(d.Recv.List[0].Type)})
						info.methods = append(info.methods, d.Name.Name)
					}
				case *ast.GenDecl:
					for _, spec := range d.Specs {
						if s, ok := spec.(*ast.TypeSpec); ok {
							info := of(typeName{p.path, s.Name.Name})
							info.embedded = append(info.embedded, embedded(s.Type, p.path, names)...)
						}
					}
				}
			}
		}
	}
	var broken []string
	for t := range types {
		name := t.pkg + "." + t.name
		n, most := len(methodsOf(types, t, nil)), max(mostMethods, tooLarge[name])
		switch {
		case n > most:
			broken = append(broken, fmt.Sprintf("%s has %d methods, with those of embedded fields: at most %d",
				name, n, most))
		case n < tooLarge[name]:
			broken = append(broken, fmt.Sprintf("%s has only %d methods now: correct tooLarge", name, n))
		}
	}
	slices.Sort(broken)
	return broken
}

// methodsOf returns the names of all methods of a type.
func methodsOf(types map[typeName]*typeInfo, t typeName, seen []typeName) map[string]bool {
	all := map[string]bool{}
	info := types[t]
	if info == nil || slices.Contains(seen, t) {
		return all
	}
	for _, m := range info.methods {
		all[m] = true
	}
	for _, e := range info.embedded {
		for m := range methodsOf(types, e, append(seen, t)) {
			all[m] = true
		}
	}
	return all
}

// importNames returns this module's packages by the names that a file has for them.
func importNames(f file) map[string]string {
	names := map[string]string{}
	for _, spec := range f.tree.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		name := path[strings.LastIndexByte(path, '/')+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = short(path)
	}
	return names
}

// receiver returns the name of a method's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// embedded returns the types that a struct embeds.
func embedded(e ast.Expr, pkg string, imports map[string]string) []typeName {
	s, ok := e.(*ast.StructType)
	if !ok {
		return nil
	}
	var all []typeName
	for _, field := range s.Fields.List {
		if len(field.Names) > 0 {
			continue
		}
		of := field.Type
		if star, ok := of.(*ast.StarExpr); ok {
			of = star.X
		}
		switch of := of.(type) {
		case *ast.Ident:
			all = append(all, typeName{pkg, of.Name})
		case *ast.SelectorExpr:
			if x, ok := of.X.(*ast.Ident); ok {
				all = append(all, typeName{imports[x.Name], of.Sel.Name})
			}
		}
	}
	return all
}
