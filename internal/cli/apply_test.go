package cli

import (
	"testing"
	"time"

	"github.com/spf13/cobra"
)

func TestPatience(t *testing.T) {
	for text, want := range map[string]time.Duration{"90s": 90 * time.Second, "0": 0, "1h": time.Hour} {
		cmd, got := &cobra.Command{}, (*time.Duration)(nil)
		patienceFlag(cmd, &got)
		if err := cmd.Flags().Set("patience", text); err != nil || got == nil || *got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "ten", "-1s", "5"} {
		cmd, got := &cobra.Command{}, (*time.Duration)(nil)
		patienceFlag(cmd, &got)
		if err := cmd.Flags().Set("patience", text); err == nil || got != nil {
			t.Errorf("%q is taken as %v", text, got)
		}
	}
}
