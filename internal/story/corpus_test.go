package story

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/corpustest"
)

// transports lists the logs of the corpus that show a transport.
var transports = map[string]Transport{
	"004-create-cq.log":                          RDMA,
	"008-a100pcie-single-node-roce-2.27.7.log":   NoTransport,
	"009-a100pcie-single-node-roce-2.27.7-b.log": NoTransport,
	"015-ib-not-provisioned-err12.log":           RDMA,
	"022-ibdisable-not-applied.log":              Unconnected,
	"023-docker-shm-too-small-2.7.8.log":         TCP,
	"030-createqp-memlock-containerd.log":        Unconnected,
	"031-modifyqp61-gid-index5-empty.log":        Unconnected,
	"033-modifyqp61-gid-table-renumbered.log":    Unconnected,
	"034-retryexc-linklocal-gids.log":            RDMA,
	"036-modifyqp22-gid-per-node.log":            Unconnected,
	"038-modifyqp-invalid-mixed-ib-roce.log":     Unconnected,
	"041-err12-129-claimed-memlock.log":          RDMA,
	"050-no-socket-interface-eno1.log":           Unconnected,
	"073-openshift-8roce-1rank.log":              NoTransport,
	"081-socket-24gpu-2.22.3.log":                TCP,
	"082-socket-2node.log":                       TCP,
	"083-socket-hca-name-is-netdev.log":          TCP,
	"085-socket-ib-disabled-by-env.log":          TCP,
	"087-socket-multi-node-eno1.log":             TCP,
	"090-ibext-nodevice-socket-garbled.log":      TCP,
	"091-h20-ib-gdrdma-2node.log":                RDMA,
}

func TestTransports(t *testing.T) {
	dir := corpustest.Folder(t, "nccl")
	got := map[string]Transport{}
	for _, row := range corpustest.Index(t, dir) {
		if run := read(t, filepath.Join(dir, row["file"])).Last(); run.Network.Transport != UnknownTransport {
			got[row["file"]] = run.Network.Transport
		}
	}
	if diff := cmp.Diff(transports, got); diff != "" {
		t.Error(diff)
	}
}
