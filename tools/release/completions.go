package main

import (
	"fmt"
	"os/exec"
)

// completeScript lets kubectl complete the plugin: kubectl runs kubectl_complete-NAME for it (Kubernetes 1.26).
const completeScript = `#!/bin/sh
exec railhead __complete "$@"
`

// completions asks the program for the completions of every shell.
func completions(program string) ([]file, error) {
	shells := []struct{ shell, name string }{
		{"bash", "railhead.bash"}, {"fish", "railhead.fish"}, {"powershell", "railhead.ps1"}, {"zsh", "_railhead"},
	}
	all := []file{{"kubectl_complete-railhead", 0o755, []byte(completeScript)}}
	for _, s := range shells {
		text, err := exec.Command(program, "completion", s.shell).Output()
		if err != nil {
			return nil, fmt.Errorf("railhead completion %s: %w", s.shell, err)
		}
		all = append(all, file{s.name, 0o644, text})
	}
	return all, nil
}
