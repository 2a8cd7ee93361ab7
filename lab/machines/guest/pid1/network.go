package pid1

import (
	"context"
	"errors"
	"io/fs"

	"golang.org/x/sync/errgroup"

	"github.com/railhead/railhead/lab/machines/guest"
	"github.com/railhead/railhead/lab/machines/guest/boot"
)

// network makes the cards and their ports.
func (m *machine) network(context.Context) error {
	return m.run([]step{{"cards", m.cards}, {"ports", m.ports}})
}

// cards makes the cards that carry the nodes' own network and RDMA. Most of that is waiting for a card.
func (m *machine) cards(ctx context.Context) error {
	if pods := m.config.Pods; pods != nil {
		if err := boot.Link(ctx, *pods); err != nil {
			return err
		}
	}
	if err := boot.Routes(m.config.Peers); err != nil {
		return err
	}
	if len(m.config.Cards) == 0 {
		return nil
	}
	if err := m.modules.Load("igb"); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, c := range m.config.Cards {
		g.Go(func() error { return boot.Card(ctx, c) })
	}
	g.Go(m.rdma)
	return g.Wait()
}

// ports makes the RDMA devices, one after the other, so that their character devices are numbered in the order of the
// Config, and waits until they can send.
func (m *machine) ports(ctx context.Context) error {
	if len(m.config.Cards) == 0 {
		return nil
	}
	if err := m.modules.Load("igbvf"); err != nil {
		return err
	}
	for _, c := range m.config.Cards {
		if err := boot.VirtualFunctions(ctx, c); err != nil {
			return err
		}
	}
	return boot.ActivePorts(ctx, m.config.Cards)
}

// rxe is Soft-RoCE with the lab's patch. Without it a device has no link to its card, and does not go with it to a pod.
const rxe = guest.ProgramFolder + "/modules/rdma_rxe_lab.ko"

// rdma loads RDMA's modules. rxe requests crc32_generic by the name of an algorithm, so nothing else loads it; later
// kernels have it built in.
func (m *machine) rdma() error {
	if err := m.modules.Load("crc32_generic"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := m.modules.Replace("rdma_rxe", rxe)
	if errors.Is(err, fs.ErrNotExist) {
		m.say(
			"WARNING: %s is missing. With stock rdma_rxe no RDMA device is linked to its card, and no pod gets one",
			rxe,
		)
		err = m.modules.Load("rdma_rxe")
	}
	if err == nil {
		err = m.modules.Load("rdma_ucm")
	}
	if err == nil {
		err = boot.Configfs()
	}
	if err == nil && !m.config.SharedRDMA {
		err = boot.ExclusiveRDMA()
	}
	return err
}
