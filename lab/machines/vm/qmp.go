package vm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"
)

// qmpSocket returns the path of QEMU's control socket: next to its folder, because socket names must be short
// (unix(7)).
func (s Spec) qmpSocket() string { return s.Dir + ".qmp" }

// Plug puts the cable of a card in, or pulls it out: nothing in the machine is told but the card, which has a carrier
// or none. A machine that boots anew has all its cables in.
func (v *VM) Plug(ctx context.Context, card int, in bool) error {
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", v.Spec.qmpSocket())
	if err != nil {
		return fmt.Errorf("give QEMU an order: %w", err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if err := order(conn, "set_link", map[string]any{"name": cardID(card), "up": in}); err != nil {
		return errors.Join(fmt.Errorf("set the link of card %d of %s: %w", card, v.Spec.Config.Name, err),
			context.Cause(ctx))
	}
	return nil
}

// order gives QEMU one order, in its own protocol: a greeting, the capabilities, then orders, between whose answers
// there are events (docs/interop/qmp-spec.rst of QEMU).
func order(conn net.Conn, execute string, arguments map[string]any) error {
	in, out := json.NewDecoder(conn), json.NewEncoder(conn)
	var greeting struct {
		QMP *json.RawMessage
	}
	if err := in.Decode(&greeting); err != nil {
		return err
	}
	if greeting.QMP == nil {
		return errors.New("no greeting of QEMU's")
	}
	for _, question := range []any{
		map[string]any{"execute": "qmp_capabilities"},
		map[string]any{"execute": execute, "arguments": arguments},
	} {
		if err := out.Encode(question); err != nil {
			return err
		}
		if err := answered(in); err != nil {
			return err
		}
	}
	return nil
}

// answered reads up to the answer.
func answered(in *json.Decoder) error {
	for {
		var answer struct {
			Event  string
			Return *json.RawMessage
			Error  *struct{ Class, Desc string }
		}
		if err := in.Decode(&answer); err != nil {
			return err
		}
		switch {
		case answer.Error != nil:
			return fmt.Errorf("%s: %s", answer.Error.Class, answer.Error.Desc)
		case answer.Return != nil:
			return nil
		}
	}
}
