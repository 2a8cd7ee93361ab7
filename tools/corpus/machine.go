package main

import (
	"archive/tar"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/replay"
	"github.com/railhead/railhead/internal/host/sysfs"
	"github.com/railhead/railhead/internal/rail"
)

// captured is a machine whose files somebody packed.
type captured struct {
	name          string // of its recording
	under         string // where the archive's only directory belongs; "" if it is the root
	shows, source string
}

// archives are the machines, by the names of their archives.
var archives = map[string]captured{
	"gpud-sys-class-infiniband-h100.tar.gz": {
		"h100-ib-bond", "sys/class/infiniband",
		"8 InfiniBand NDR and an Ethernet bond of a host with H100: its RDMA class", "leptonai/gpud",
	},
	"hwloc-32em64t-2n8c+dax+nvme+mic+dimms.tar.bz2": {
		"connectx3-xeon-phi", "", "a ConnectX-3 and a Xeon Phi, whose scif0 is an RDMA device", "open-mpi/hwloc",
	},
	"hwloc-nvidia-dgx-gb10.tar.bz2": {"gb10-no-rdma", "", "a GB10 without the RDMA class", "open-mpi/hwloc"},
	"sysfs-cap-amd-lab.tgz": {
		"rxe-amd-iommu", "", "two NICs with igb VFs under Soft-RoCE, AMD IOMMU: virtual machine of the lab", "-",
	},
	"sysfs-cap-intel-stock.tgz": {
		"rxe-intel-iommu", "", "igb VFs under Soft-RoCE, Intel IOMMU: virtual machine of the lab", "-",
	},
}

const machines = "machines"

// makeMachines writes a recording of each archive below FROM and of those named.
func (m *maker) makeMachines(more []string) error {
	found, err := filepath.Glob(filepath.Join(m.from, "topo", "*.tar.*"))
	if err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(m.to, machines)); err != nil {
		return err
	}
	x := index{columns: []string{"file", "shows", "source"}}
	for _, archive := range append(found, more...) {
		c, ok := archives[filepath.Base(archive)]
		if !ok {
			return fmt.Errorf("%s: no line in the table of archives", archive)
		}
		text, err := m.machine(archive, c.under)
		if err != nil {
			return fmt.Errorf("%s: %w", archive, err)
		}
		if err := m.write(filepath.Join(machines, c.name+".txtar"), text); err != nil {
			return err
		}
		x.rows = append(x.rows, []string{c.name + ".txtar", c.shows, c.source})
	}
	return m.write(filepath.Join(machines, "index.tsv"), x.String())
}

// machine returns the recording of an archive: what Railhead reads of it, without the numbers of its devices.
func (m *maker) machine(archive, under string) (string, error) {
	root, err := os.MkdirTemp("", "corpus")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(root)
	if err := unpack(archive, filepath.Join(root, under)); err != nil {
		return "", err
	}
	source, err := sysfs.Open(root)
	if err != nil {
		return "", err
	}
	s, recording := source.Record()
	text, r := m.words.redactMachine(recording.Format())
	for word, n := range r.unknown {
		m.unknown[word] += n
	}
	again, err := replay.Parse(text)
	if err != nil {
		return "", err
	}
	after, err := sysfs.Recorded(again)
	if err != nil {
		return "", err
	}
	if reason := changed(verdictOfMachine(s), verdictOfMachine(after.Snapshot())); reason != "" {
		return "", errors.New(reason)
	}
	return again.Format(), nil
}

// verdictOfMachine lists the devices, and what is a rail.
func verdictOfMachine(s host.Snapshot) string {
	var all []string
	found := rail.Resolve(s, rail.Host)
	for _, r := range found.Rails {
		all = append(all, r.Name()+" "+r.Netdev)
	}
	for _, r := range found.Rejected {
		all = append(all, r.Name()+" "+r.Reason)
	}
	return fmt.Sprint(len(s.Devices), len(s.Links), len(s.GPUs), len(s.Bridges), len(s.Functions), all)
}

// unpack writes the content of the archive's only directory to a folder.
func unpack(archive, to string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	stream := bzip2.NewReader(f)
	if !strings.HasSuffix(archive, ".bz2") {
		if stream, err = gzip.NewReader(f); err != nil {
			return err
		}
	}
	for tree := tar.NewReader(stream); ; {
		entry, err := tree.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		_, name, _ := strings.Cut(entry.Name, "/")
		if err := extract(filepath.Join(to, filepath.Clean("/"+name)), entry, tree); err != nil {
			return err
		}
	}
}

func extract(path string, entry *tar.Header, content io.Reader) error {
	if entry.Typeflag == tar.TypeDir {
		return os.MkdirAll(path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if entry.Typeflag == tar.TypeSymlink {
		return os.Symlink(entry.Linkname, path)
	}
	data, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}
