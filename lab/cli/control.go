package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/railhead/railhead/lab/judge/fault"
	"github.com/railhead/railhead/lab/machines/fabric"
)

// controlSocket is the socket at which the process that serves a lab takes requests for faults.
const controlSocket = "control.sock"

// madeFault is a fault that was made, and on which machine.
type madeFault struct {
	Name    string `json:"name"`
	Machine string `json:"machine"`
}

// control makes and heals faults in the process that serves the lab, one at a time: some boot machines anew.
type control struct {
	lab  *fabric.Fabric
	mu   sync.Mutex
	made []madeFault
}

// listen serves until the listener is closed.
func (c *control) listen(f folder) (io.Closer, error) {
	l, err := net.Listen("unix", f.file(controlSocket))
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /fault", answer(c.make))
	mux.HandleFunc("POST /heal", answer(c.heal))
	server := &http.Server{Handler: mux}
	go func() { _ = server.Serve(l) }() // ends by Close
	return server, nil
}

// answer hands the fault that is asked about to do, and its result back.
func answer(do func(context.Context, madeFault) ([]madeFault, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var asked madeFault
		err := json.NewDecoder(r.Body).Decode(&asked)
		var done []madeFault
		if err == nil {
			done, err = do(r.Context(), asked)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		_ = json.NewEncoder(w).Encode(done) // the client may have gone
	}
}

func (c *control) make(ctx context.Context, asked madeFault) ([]madeFault, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do, err := fault.Find(asked.Name)
	if err != nil {
		return nil, err
	}
	v, err := c.lab.Machine(asked.Machine)
	if err != nil {
		return nil, err
	}
	c.made = append(c.made, asked) // a fault that is half made must be healed, too
	return []madeFault{asked}, do.Make(ctx, fault.On(c.lab, v))
}

// heal heals all that was made, the last one first, and waits for the RDMA ports of all machines.
func (c *control) heal(ctx context.Context, _ madeFault) (healed []madeFault, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.made) > 0 {
		last := c.made[len(c.made)-1]
		do, err := fault.Find(last.Name)
		if err != nil {
			return healed, err
		}
		v, err := c.lab.Machine(last.Machine)
		if err != nil {
			return healed, err
		}
		if err := do.Heal(ctx, fault.On(c.lab, v)); err != nil {
			return healed, err
		}
		c.made = c.made[:len(c.made)-1]
		healed = append(healed, last)
	}
	for _, v := range c.lab.Machines {
		if err := fault.On(c.lab, v).AwaitPorts(ctx); err != nil {
			return healed, fmt.Errorf("wait for the RDMA ports of %s: %w", v.Spec.Config.Name, err)
		}
	}
	return healed, nil
}

// ask asks the process that serves a lab.
func (f folder) ask(ctx context.Context, what string, about madeFault) ([]madeFault, error) {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", f.file(controlSocket))
	}}
	defer transport.CloseIdleConnections()
	question, err := json.Marshal(about)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://lab/"+what, bytes.NewReader(question))
	if err != nil {
		return nil, err
	}
	reply, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		return nil, fmt.Errorf("ask the lab: %w", err)
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		words, err := io.ReadAll(reply.Body)
		return nil, errors.Join(errors.New(strings.TrimSpace(string(words))), err)
	}
	var done []madeFault
	return done, json.NewDecoder(reply.Body).Decode(&done)
}
