//go:build vm

package fabrictest

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/railhead/railhead/lab/machines/image"
	"github.com/railhead/railhead/lab/machines/vm"
)

// TestProbe: KVM is taken where it boots a kernel, and trying that tells a kernel that comes up from one that does not.
func TestProbe(t *testing.T) {
	parts, err := image.Build(t.Context(), nil)
	reachable(t, err)
	if took, err := vm.Boots(t.Context(), parts, vm.TCG, patience); err != nil {
		t.Errorf("by emulation: %v", err)
	} else {
		t.Logf("by emulation a kernel is up in %s", took.Round(time.Millisecond))
	}
	other := parts
	other.Kernel = os.Args[0] // no kernel at all
	if _, err := vm.Boots(t.Context(), other, vm.TCG, patience); err == nil {
		t.Error("a file that is no kernel boots")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	chosen, err := vm.Choose(ctx, parts, func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	t.Log(chosen)
	_, kvm := vm.Boots(ctx, parts, vm.KVM, 10*time.Second)
	if (kvm == nil) != (chosen.Accel == vm.KVM) {
		t.Errorf("chosen is %+v, and by KVM a kernel boots: %v", chosen, kvm)
	}
	again, err := vm.Choose(ctx, parts, func(line string) { t.Errorf("it tries again: %s", line) })
	if err != nil || again != chosen {
		t.Errorf("%+v, %v; then %+v", chosen, err, again)
	}
	if chosen.Accel == vm.TCG && !strings.Contains(chosen.Why, "/dev/kvm") {
		t.Errorf("why not KVM: %s", chosen.Why)
	}
}
