// In-cluster runs a program that only knows the configuration of a pod, outside of a cluster:
//
//	in-cluster FOLDER PROGRAM ARGUMENT...
//
// It puts the token and the certificate authority in the folder where a pod has them, for the program alone: it must be
// started in a mount namespace of its own. KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT come from the
// environment.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

const (
	run            = "/run" // what /var/run is, or is linked to
	serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"
)

func main() {
	if err := start(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "in-cluster:", err)
		os.Exit(1)
	}
}

func start(args []string) error {
	if len(args) < 2 {
		return errors.New("usage: in-cluster FOLDER PROGRAM ARGUMENT...")
	}
	files := map[string][]byte{}
	for _, name := range []string{"token", "ca.crt"} {
		text, err := os.ReadFile(filepath.Join(args[0], name))
		if err != nil {
			return err
		}
		files[name] = text
	}
	// Else the mount below would be seen outside.
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	for _, dir := range []string{run, "/var/run"} {
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
			continue // a link to /run
		}
		if err := syscall.Mount("none", dir, "tmpfs", 0, "mode=0755"); err != nil {
			return fmt.Errorf("mount a file system on %s: %w", dir, err)
		}
	}
	if err := os.MkdirAll(serviceAccount, 0o755); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(serviceAccount, name), text, 0o600); err != nil {
			return err
		}
	}
	return fmt.Errorf("run %s: %w", args[1], syscall.Exec(args[1], args[1:], os.Environ()))
}
