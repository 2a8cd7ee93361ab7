package explain

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/corpustest"
	"github.com/railhead/railhead/internal/story"
)

// transports lists the logs of the corpus that show a transport.
var transports = map[string]story.Transport{
	"004-create-cq.log":                          story.RDMA,
	"008-a100pcie-single-node-roce-2.27.7.log":   story.NoTransport,
	"009-a100pcie-single-node-roce-2.27.7-b.log": story.NoTransport,
	"015-ib-not-provisioned-err12.log":           story.RDMA,
	"022-ibdisable-not-applied.log":              story.Unconnected,
	"023-docker-shm-too-small-2.7.8.log":         story.TCP,
	"030-createqp-memlock-containerd.log":        story.Unconnected,
	"031-modifyqp61-gid-index5-empty.log":        story.Unconnected,
	"033-modifyqp61-gid-table-renumbered.log":    story.Unconnected,
	"034-retryexc-linklocal-gids.log":            story.RDMA,
	"036-modifyqp22-gid-per-node.log":            story.Unconnected,
	"038-modifyqp-invalid-mixed-ib-roce.log":     story.Unconnected,
	"041-err12-129-claimed-memlock.log":          story.RDMA,
	"050-no-socket-interface-eno1.log":           story.Unconnected,
	"073-openshift-8roce-1rank.log":              story.NoTransport,
	"081-socket-24gpu-2.22.3.log":                story.TCP,
	"082-socket-2node.log":                       story.TCP,
	"083-socket-hca-name-is-netdev.log":          story.TCP,
	"085-socket-ib-disabled-by-env.log":          story.TCP,
	"087-socket-multi-node-eno1.log":             story.TCP,
	"090-ibext-nodevice-socket-garbled.log":      story.TCP,
	"091-h20-ib-gdrdma-2node.log":                story.RDMA,
}

func TestTransports(t *testing.T) {
	dir := corpustest.Folder(t, "nccl")
	got := map[string]story.Transport{}
	for _, row := range corpustest.Index(t, dir) {
		if run := read(t, filepath.Join(dir, row["file"])).Last(); run.Network.Transport != story.UnknownTransport {
			got[row["file"]] = run.Network.Transport
		}
	}
	if diff := cmp.Diff(transports, got); diff != "" {
		t.Error(diff)
	}
}
