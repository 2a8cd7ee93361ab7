package netlink

import (
	"slices"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/host"
)

// answering returns an Exchange that answers requests with one message each, or refuses them.
func answering(answers map[string][]byte, refused map[string]syscall.Errno) Exchange {
	return func(request []byte, each func(kind uint16, body []byte) (last bool)) error {
		if errno := refused[string(request)]; errno != 0 {
			return errno
		}
		if body, known := answers[string(request)]; known {
			each(0, body)
		}
		return nil
	}
}

// TestInterfaceMTUs: a port has an interface in the network namespace of the sockets, or the kernel names none.
func TestInterfaceMTUs(t *testing.T) {
	name := func(d device) []byte {
		return slices.Concat(about(d), named(attrDevName, d.name), attribute(attrPortIndex, Uint32(d.ports)...))
	}
	here, elsewhere, gone, odd := device{0, "mlx5_0", 2}, device{1, "mlx5_1", 1}, device{2, "mlx5_2", 1}, device{3, "mlx5_3", 1}
	port := func(d device, n uint32) string { return string(Request(portGet, 0, portOf(d, n))) }
	link := func(index uint32) string { return string(Request(linkGet, 0, linkAt(index))) }
	linkBody := func(attributes ...[]byte) []byte {
		return append(make([]byte, linkInfo), slices.Concat(attributes...)...)
	}
	rdma := answering(map[string][]byte{
		port(here, 1):      slices.Concat(portOf(here, 1), attribute(attrInterface, Uint32(9)...), named(51, "net1")),
		port(here, 2):      slices.Concat(portOf(here, 2), attribute(attrInterface, Uint32(10)...)),
		port(elsewhere, 1): portOf(elsewhere, 1),
		port(odd, 1):       attribute(attrInterface, Uint32(11)...),
	}, map[string]syscall.Errno{port(gone, 1): syscall.ENODEV})
	all := func(request []byte, each func(kind uint16, body []byte) (last bool)) error {
		if string(request) != string(Request(deviceGet, flagDump, nil)) {
			return rdma(request, each)
		}
		for _, d := range []device{here, elsewhere, gone, odd} {
			each(deviceGet, name(d))
		}
		return nil
	}
	route := answering(map[string][]byte{
		link(9):  linkBody(named(3, "net1"), attribute(attrLinkMTU, Uint32(1500)...)),
		link(11): linkBody()[:4],
	}, map[string]syscall.Errno{link(10): syscall.EPERM})
	got, err := InterfaceMTUs(all, route)
	if err != nil {
		t.Fatal(err)
	}
	want := map[Port]host.Fact[int]{
		{"mlx5_0", 1}: host.Know(1500),
		{"mlx5_0", 2}: host.Unread[int]("operation not permitted"),
		{"mlx5_2", 1}: host.Unread[int]("no such device"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := InterfaceMTUs(answering(nil, map[string]syscall.Errno{
		string(Request(deviceGet, flagDump, nil)): syscall.EACCES,
	}), route); err == nil {
		t.Error("the devices that were refused are no error")
	}
}
