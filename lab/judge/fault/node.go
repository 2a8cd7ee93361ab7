package fault

import (
	"context"

	"github.com/railhead/railhead/lab/machines/guest"
)

// nodeFaults are faults of a node of a cluster. They affect pods that are created afterwards.
func nodeFaults() []Fault {
	all := []Fault{
		{
			Name:  "device-plugin-dead",
			Title: "the device plugin of a node is dead, so the node offers no virtual function",
			make:  service(guest.DevicePlugin, false),
			heal:  service(guest.DevicePlugin, true),
		},
		{
			Name: "memlock", Title: "the container runtime of a node lets containers lock 64 KiB of memory",
			make: script(keepLimit, `prlimit --pid "$(pidof containerd)" --memlock=65536:65536`),
			heal: script(`test ! -e /run/memlock || ` +
				`{ prlimit --pid "$(pidof containerd)" --memlock="$(cat /run/memlock)"; rm /run/memlock; }`),
		},
	}
	for i := range all {
		all[i].Nodes = true
	}
	return all
}

// keepLimit keeps the limit as prlimit(1) takes it: soft:hard.
const keepLimit = `test -e /run/memlock || ` +
	`prlimit --pid "$(pidof containerd)" --memlock --noheadings --raw --output SOFT,HARD | tr ' ' ':' > /run/memlock`

func service(name guest.Service, running bool) func(context.Context, *Machine) error {
	return func(ctx context.Context, m *Machine) error {
		return m.Service(ctx, guest.ServiceOrder{Service: name, Running: running})
	}
}
