package boot

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseDependencies(t *testing.T) {
	tests := []struct {
		name, text string
		want       dependencies
		err        bool
	}{
		{
			name: "as depmod writes it",
			text: `kernel/drivers/infiniband/core/ib_core.ko:
kernel/drivers/infiniband/core/rdma_cm.ko: kernel/fs/configfs/configfs.ko kernel/drivers/infiniband/core/iw_cm.ko kernel/drivers/infiniband/core/ib_core.ko
kernel/drivers/i2c/algos/i2c-algo-bit.ko.xz:
`,
			want: dependencies{
				"ib_core": {"kernel/drivers/infiniband/core/ib_core.ko"},
				"rdma_cm": {
					"kernel/drivers/infiniband/core/ib_core.ko", "kernel/drivers/infiniband/core/iw_cm.ko",
					"kernel/fs/configfs/configfs.ko", "kernel/drivers/infiniband/core/rdma_cm.ko",
				},
				"i2c_algo_bit": {"kernel/drivers/i2c/algos/i2c-algo-bit.ko.xz"},
			},
		},
		{name: "nothing", want: dependencies{}},
		{name: "no colon", text: "kernel/x.ko\n", err: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseDependencies(strings.NewReader(tt.text))
			if (err != nil) != tt.err {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzParseDependencies(f *testing.F) {
	f.Add("kernel/a.ko: kernel/b.ko kernel/c.ko\nkernel/b.ko:\n")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := parseDependencies(strings.NewReader(text))
		for name, files := range all {
			if err == nil && (len(files) == 0 || moduleName(files[len(files)-1]) != name) {
				t.Errorf("module %q is loaded by %q", name, files)
			}
		}
	})
}

func TestLoadWhatIsThereAlready(t *testing.T) {
	builtin, err := parseBuiltin(strings.NewReader("kernel/drivers/virtio/virtio_pci.ko\nkernel/net/ipv6/ipv6.ko\n"))
	if err != nil {
		t.Fatal(err)
	}
	m := &Modules{
		folder:  "/none",
		builtin: builtin,
		depends: dependencies{"veth": {"veth.ko"}},
		loaded:  map[string]bool{"/none/veth.ko": true},
	}
	if err := m.Load("virtio_pci", "ipv6", "veth"); err != nil {
		t.Error(err)
	}
	if err := m.Load("nosuch"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a module that is not there: %v", err)
	}
	if err := m.Replace("rdma_rxe", "/none/rdma_rxe_lab.ko"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an unknown module: %v", err)
	}
}
