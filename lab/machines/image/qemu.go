package image

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/railhead/railhead/lab/machines/debian"
)

// QEMUVariable names another qemu-system-x86_64 than the lab's own. It must know igb, so be 8.0 or later.
const QEMUVariable = "RAILHEAD_QEMU"

// emulation has the command that runs QEMU.
type emulation struct {
	argv, env []string
	version   string
}

// qemu is the QEMU that QEMUVariable names, else the lab's own.
func qemu(ctx context.Context, progress func(string)) (emulation, error) {
	if named := os.Getenv(QEMUVariable); named != "" {
		return namedQEMU(ctx, named)
	}
	tree, err := emulator().Tree(ctx, progress)
	return emulation{
		argv: tree.Argv("usr/bin/qemu-system-x86_64", firmware(tree)...),
		// QEMU looks for its modules here, else where it was installed to: util/module.c of its source.
		env:     []string{"QEMU_MODULE_DIR=" + tree.Path(library+"qemu")},
		version: tree.Version("qemu-system-x86"),
	}, err
}

// namedQEMU is a QEMU of the host's own.
func namedQEMU(ctx context.Context, named string) (emulation, error) {
	program, err := exec.LookPath(named)
	if err != nil {
		return emulation{}, fmt.Errorf("find the QEMU that %s names: %w", QEMUVariable, err)
	}
	out, err := exec.CommandContext(ctx, program, "-device", "help").CombinedOutput()
	if err != nil {
		return emulation{}, fmt.Errorf("ask %s for its devices: %w\n%s", program, err, out)
	}
	if !strings.Contains(string(out), `name "igb"`) {
		return emulation{}, fmt.Errorf("%s knows no card igb: use QEMU 8.0 or later, or unset %s", program,
			QEMUVariable)
	}
	return emulation{argv: []string{program}, version: "of " + program}, nil
}

// firmware returns the arguments by which QEMU finds its firmware.
func firmware(tree debian.Tree) []string {
	return []string{"-L", tree.Path("usr/share/qemu"), "-L", tree.Path("usr/share/seabios")}
}
