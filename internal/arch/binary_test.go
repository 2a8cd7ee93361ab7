package arch

import (
	"debug/elf"
	"debug/gosym"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// maxBytes is the size budget of railhead-pod: it is copied into every pod.
const maxBytes = 4_500_000

// binary describes a program that was built.
type binary struct {
	name        string
	bytes       int64
	interpreter bool // asks for a dynamic loader
	functions   []string
}

// build builds railhead-pod for Linux as `make build` does, but without -trimpath: so it needs to compile for this
// machine only what the tests were not compiled from. The longer paths add a few thousand bytes.
func build(root, folder, arch string) (binary, error) {
	out := filepath.Join(folder, "railhead-pod-"+arch)
	cmd := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", out,
		"./cmd/railhead-pod")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
	if text, err := cmd.CombinedOutput(); err != nil {
		return binary{}, fmt.Errorf("%v: %w\n%s", cmd.Args, err, text)
	}
	return inspect(out)
}

func inspect(name string) (binary, error) {
	info, err := os.Stat(name)
	if err != nil {
		return binary{}, err
	}
	b := binary{name: filepath.Base(name), bytes: info.Size()}
	f, err := elf.Open(name)
	if err != nil {
		return binary{}, err
	}
	defer f.Close()
	for _, p := range f.Progs {
		b.interpreter = b.interpreter || p.Type == elf.PT_INTERP
	}
	b.functions, err = functions(f)
	return b, err
}

// functions returns the names of the linked functions, which -s keeps: the runtime needs them to print a stack.
func functions(f *elf.File) ([]string, error) {
	text, lines := f.Section(".text"), f.Section(".gopclntab")
	if text == nil || lines == nil {
		return nil, fmt.Errorf("no section .text or .gopclntab: not a Go program")
	}
	data, err := lines.Data()
	if err != nil {
		return nil, err
	}
	table, err := gosym.NewTable(nil, gosym.NewLineTable(data, text.Addr))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, fn := range table.Funcs {
		names = append(names, fn.Name)
	}
	return names, nil
}

// unlinked are functions that the linker drops as long as nothing can reach them. They all appear at once when
// something looks methods up by name, as templates do: the linker must then keep every exported method.
var unlinked = []string{"net.(*Dialer).", "net.(*Resolver).", "net/http.", "text/template.(*Template)."}

// linked asserts that the program is small, needs nothing from its image and can open no connection.
func linked(b binary) []string {
	var broken []string
	if b.bytes > maxBytes {
		broken = append(broken, fmt.Sprintf("%s has %d bytes, the budget is %d: it is copied into every training pod",
			b.name, b.bytes, maxBytes))
	}
	if b.interpreter {
		broken = append(broken, b.name+" asks for a dynamic loader: it must run in images without libc")
	}
	if !slices.Contains(b.functions, "main.main") {
		broken = append(broken, b.name+" does not name its functions, so what is linked is not known")
	}
	for _, prefix := range unlinked {
		i := slices.IndexFunc(b.functions, func(name string) bool { return strings.HasPrefix(name, prefix) })
		if i >= 0 {
			broken = append(broken, b.name+" holds "+b.functions[i]+
				": the pod side opens no connection and renders no template; look for what calls it or uses "+
				"reflect's Method")
		}
	}
	return broken
}
