package machine

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"strings"

	"github.com/railhead/railhead/lab/debian"
)

// QEMUVariable names another qemu-system-x86_64 than the lab's own. It must know igb, so be 8.0 or later.
const QEMUVariable = "RAILHEAD_QEMU"

// qemu is how to run QEMU, and what it needs in its environment.
func qemu(ctx context.Context, progress func(string)) (argv, env []string, err error) {
	if named := os.Getenv(QEMUVariable); named != "" {
		program, err := exec.LookPath(named)
		if err != nil {
			return nil, nil, fmt.Errorf("find the QEMU that %s names: %w", QEMUVariable, err)
		}
		return []string{program}, nil, knowsCards(exec.CommandContext(ctx, program, "-device", "help"))
	}
	tree, err := emulator().Tree(ctx, progress)
	if err != nil {
		return nil, nil, err
	}
	argv = tree.Argv("usr/bin/qemu-system-x86_64", firmware(tree)...)
	// QEMU looks for its modules where it was installed to, else here: qemu, util/module.c.
	return argv, []string{"QEMU_MODULE_DIR=" + tree.Path(path.Join(library, "qemu"))}, nil
}

// firmware are the arguments by which QEMU finds what it puts into a machine.
func firmware(tree debian.Tree) []string {
	return []string{"-L", tree.Path("usr/share/qemu"), "-L", tree.Path("usr/share/seabios")}
}

// knowsCards returns an error where a QEMU does not know the cards of the machines.
func knowsCards(help *exec.Cmd) error {
	out, err := help.CombinedOutput()
	if err != nil {
		return fmt.Errorf("ask %s for its devices: %w\n%s", help.Path, err, out)
	}
	if !strings.Contains(string(out), `name "igb"`) {
		return fmt.Errorf("%s knows no card igb: use QEMU 8.0 or later, or unset %s", help.Path, QEMUVariable)
	}
	return nil
}
