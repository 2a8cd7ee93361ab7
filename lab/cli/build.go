package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/lab/controlplane/assets"
	"github.com/railhead/railhead/lab/machines/fabric"
)

func (a *app) build() *cobra.Command {
	var prune bool
	cmd := &cobra.Command{
		Use: "build", Short: "Download and build everything that a lab needs, without starting one",
		Example: "  lab build\n  lab build --prune    # and remove what older versions left in the cache",
		Args:    arguments(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			begun := time.Now()
			parts, err := fabric.Build(cmd.Context(),
				func(line string) { a.say("%4.0f s  %s", time.Since(begun).Seconds(), line) })
			if err != nil {
				return err
			}
			old, err := assets.FindOld(parts.From)
			if err != nil {
				return fmt.Errorf("look for old folders of the cache: %w", err)
			}
			if prune {
				return a.prune(old)
			}
			a.tellOld(old)
			return nil
		},
	}
	cmd.Flags().
		BoolVar(&prune, "prune", false, "remove the folders of the cache that are of other versions than this one")
	return cmd
}

const mega = 1_000_000

// tellOld says how to remove old builds.
func (a *app) tellOld(old []assets.Old) {
	var sum int64
	for _, o := range old {
		sum += o.Bytes
	}
	if len(old) > 0 {
		a.say("%d folders of the cache are of other versions, %d MB: 'lab build --prune' removes them", len(old),
			sum/mega)
	}
}

func (a *app) prune(old []assets.Old) error {
	if len(old) == 0 {
		a.say("nothing in the cache is of another version")
	}
	return assets.Remove(old, func(o assets.Old) { a.say("removed %s, %d MB", o.Path, o.Bytes/mega) })
}
