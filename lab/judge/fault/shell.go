package fault

import (
	"context"
	"fmt"
	"strings"
)

// script runs lines of shell in the machine.
func script(lines ...string) func(context.Context, *Machine) error {
	return func(ctx context.Context, m *Machine) error {
		_, err := m.command(ctx, "bash", "-c", "set -e\n"+strings.Join(lines, "\n"))
		return err
	}
}

// onCard runs lines of shell in the machine, about its first card. In them CARD stands for the netdev of its physical
// function, MAC0 and MAC1 for the MACs of its virtual functions.
func onCard(lines ...string) func(context.Context, *Machine) error {
	return func(ctx context.Context, m *Machine) error {
		card := m.Config.Cards[0]
		names := []string{"CARD", card.Name}
		for i, vf := range card.VFs {
			names = append(names, fmt.Sprintf("MAC%d", i), vf.MAC)
		}
		return script(strings.NewReplacer(names...).Replace(strings.Join(lines, "\n")))(ctx, m)
	}
}
