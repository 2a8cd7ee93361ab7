// In-cluster runs a program that only knows the configuration of a pod, outside of a cluster:
//
//	in-cluster FOLDER PROGRAM ARGUMENT...
//
// It puts the files of FOLDER where a pod has its token and where controllers look for their certificate, for the
// program alone: it must be started in a mount namespace of its own, and has its own /tmp. KUBERNETES_SERVICE_HOST and
// KUBERNETES_SERVICE_PORT come from the environment.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

const (
	serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"
	certificates   = "/tmp/k8s-webhook-server/serving-certs"
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
	// The mounts below may hide both.
	folder, err := os.Open(args[0])
	if err != nil {
		return err
	}
	program, err := os.Open(args[1])
	if err != nil {
		return err
	}
	files := os.DirFS(fmt.Sprintf("/proc/self/fd/%d", folder.Fd()))
	// Else the mounts below would be seen outside.
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	for _, dir := range []string{"/run", "/var/run", "/tmp"} {
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
			continue // /var/run is a link to /run
		}
		if err := syscall.Mount("none", dir, "tmpfs", 0, "mode=0755"); err != nil {
			return fmt.Errorf("mount a file system on %s: %w", dir, err)
		}
	}
	for _, dir := range []string{serviceAccount, certificates} {
		if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
			return err
		}
		if err := os.CopyFS(dir, files); err != nil {
			return err
		}
	}
	path := fmt.Sprintf("/proc/self/fd/%d", program.Fd())
	return fmt.Errorf("run %s: %w", args[1], syscall.Exec(path, args[1:], os.Environ()))
}
