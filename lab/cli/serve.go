package cli

import (
	"context"
	"encoding/json"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/lab/machines/fabric"
)

// serve is the process that a lab is: all others are its children, and end with it, however it ends.
func (a *app) serve() *cobra.Command {
	var w wishes
	cmd := &cobra.Command{
		Use: "serve", Hidden: true, Args: arguments(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := w.options()
			if err != nil {
				return err
			}
			f, err := a.folder()
			if err != nil {
				return err
			}
			held, err := f.lock()
			if err != nil {
				return err
			}
			defer held.Close()
			words := json.NewEncoder(os.NewFile(wordsFD, "words"))
			tell := func(w word) { _ = words.Encode(w) } // the process that started this may have gone
			o.Dir = string(f)
			o.Progress = func(line string) { tell(word{Say: line}) }
			err = a.run(cmd.Context(), o, f, func() { tell(word{Ready: true}) })
			if err != nil && cmd.Context().Err() == nil {
				tell(word{Error: err.Error()}) // whose consoles and logs stay until the next lab of this name
				return err
			}
			return errors.Join(err, os.RemoveAll(string(f)))
		},
	}
	w.flags(cmd)
	return cmd
}

// run serves a lab until it is told to end.
func (a *app) run(ctx context.Context, o fabric.Options, f folder, ready func()) (err error) {
	lab, err := fabric.Up(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lab.Down()) }()
	s := state{RunBy: lab.RunBy}
	if lab.ControlPlane != nil {
		if s.Kubeconfig, err = lab.ControlPlane.Users.KubeconfigFile("system:admin", "system:masters"); err != nil {
			return err
		}
	}
	for _, v := range lab.Machines {
		s.Machines = append(s.Machines, machineState{
			Name: v.Spec.Config.Name, Agent: v.Address, Token: v.Spec.Config.Token, Console: v.Console(),
			Allocation: fabric.Allocation(v),
		})
	}
	c, err := (&control{lab: lab}).listen(f)
	if err != nil {
		return err
	}
	defer c.Close()
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	part := f.file(stateFile + ".part")
	if err := os.WriteFile(part, text, 0o600); err != nil {
		return err
	}
	if err := os.Rename(part, f.file(stateFile)); err != nil {
		return err
	}
	ready()
	<-ctx.Done()
	return nil
}
