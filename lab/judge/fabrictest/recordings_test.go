//go:build vm

package fabrictest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/podcli"
	"github.com/railhead/railhead/lab/machines/fabric"
	"github.com/railhead/railhead/lab/machines/vm"
)

// recording is the file from which the fast tests read a machine of the lab.
func recording(name string) string {
	return filepath.Join("../../../testdata/hosts", "lab-"+name+".txtar")
}

// recorded wants a machine to be what its recording says, as far as railhead-pod tells of it. With -update the
// recording is made anew first. within leads to where railhead-pod runs.
func recorded(t *testing.T, v *vm.VM, name, what string, within []string) {
	t.Helper()
	file := recording(name)
	if *update {
		text := podRun(t, v, within, "snapshot", "--raw")
		if text.Code != 0 {
			t.Fatalf("snapshot ends with %d:\n%s", text.Code, text.Stderr)
		}
		comment := fmt.Sprintf("%s: %s. Recorded in the lab on Linux %s with Soft-RoCE on QEMU's igb (docs/lab.md).\n", v.Spec.Config.Name, what, v.Spec.Parts.KernelRelease)
		if err := os.WriteFile(file, []byte(comment+text.Stdout), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	live := podRun(t, v, within, "detect", "-o", "wide", "--explain")
	var out, errs bytes.Buffer
	code := podcli.Main([]string{"detect", "-o", "wide", "--explain", "--root", file}, "test", podcli.Streams{Out: &out, Err: &errs})
	if diff := cmp.Diff(out.String()+errs.String(), live.Stdout+live.Stderr); diff != "" || code != live.Code {
		t.Errorf("%s: ends with %d, the machine with %d (-recording +machine):\n%s", file, code, live.Code, diff)
	}
}

// healthy wants two machines to be what their recordings say.
func (p pair) healthy(t *testing.T) {
	t.Helper()
	recorded(t, p.broken, "healthy", fmt.Sprintf("a pod with a virtual function on each of %d rails, all well", len(fabric.Rails())), nil)
	recorded(t, p.other, "healthy-peer", "the other end of the rails of lab-healthy, all well", nil)
}
