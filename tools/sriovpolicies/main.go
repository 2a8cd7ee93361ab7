// Sriovpolicies asks the SR-IOV operator's own code which policies are in force on a card, for random policies, and
// writes the answers for the test of package cluster:
//
//	go run ./tools/sriovpolicies SRIOV-NETWORK-OPERATOR > internal/cluster/testdata/sriov.tsv
//
// The argument is a checkout of the operator, in which apply.go.txt is built in a folder that is removed afterwards.
package main

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

//go:embed apply.go.txt
var program []byte

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sriovpolicies:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("sriovpolicies", flag.ContinueOnError)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("name a checkout of the sriov-network-operator")
	}
	dir, err := os.MkdirTemp(flags.Arg(0), "policies-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), program, 0o600); err != nil {
		return err
	}
	cmd := exec.Command("go", "run", "./"+filepath.Base(dir))
	cmd.Dir, cmd.Stdout, cmd.Stderr = flags.Arg(0), os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod")
	return cmd.Run()
}
