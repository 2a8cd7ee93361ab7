package delivery

import (
	"strings"
	"testing"
)

// TestInstallFromImage: runtimes make the folder of a mount, which fails below a file of the image.
func TestInstallFromImage(t *testing.T) {
	c := Delivery{By: ByImage, Image: "registry.example.com/railhead:1"}.InitContainer("train:1")
	if c.Image != "registry.example.com/railhead:1" || len(c.VolumeMounts) != 1 {
		t.Fatalf("%+v", c)
	}
	at := c.VolumeMounts[0].MountPath
	for _, program := range []string{"/railhead", "/railhead-pod"} { // in the image of a release
		if at == program || strings.HasPrefix(at, program+"/") {
			t.Errorf("mounted on %s, below the file %s", at, program)
		}
	}
	if last := c.Command[len(c.Command)-1]; last != at {
		t.Errorf("it copies to %s, and the volume is at %s", last, at)
	}
}
