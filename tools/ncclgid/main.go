// Ncclgid asks NCCL's own code which GID it chooses, for random tables and settings, and writes the answers for the
// test of package nccl:
//
//	go run ./tools/ncclgid NCCL/src/transport/net_ib/connect.cc > internal/nccl/testdata/gid.tsv
//
// The argument is the source that has ncclIbGetGidIndex: net_ib.cc before NCCL 2.29. Its functions, from
// envIbAddrFamily to ncclIbGetGidIndex, are compiled as they are; only the devices below them are stand-ins: the table
// of GIDs, and the files of /sys that have their types. It needs c++.
package main

import (
	"bytes"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "ncclgid:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("ncclgid", flag.ContinueOnError)
	seed := flags.Uint64("seed", 1, "of the random tables")
	count := flags.Int("n", 2000, "number of tables")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("name the source that has ncclIbGetGidIndex")
	}
	source, err := os.ReadFile(flags.Arg(0))
	if err != nil {
		return err
	}
	functions, err := choice(string(source))
	if err != nil {
		return fmt.Errorf("%s: %w", flags.Arg(0), err)
	}
	program, remove, err := compile(functions)
	if err != nil {
		return err
	}
	defer remove()
	var tables strings.Builder
	for r := rand.New(rand.NewPCG(*seed, 0)); *count > 0; *count-- {
		fmt.Fprintln(&tables, strings.Join(random(r), "\t"))
	}
	cmd := exec.Command(program)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(tables.String()), stdout, os.Stderr
	fmt.Fprintln(stdout, "family\tversion\trange\ttable\tslot")
	return cmd.Run()
}

// choice cuts the functions of the choice out of the source.
func choice(source string) (string, error) {
	const first, last = "sa_family_t envIbAddrFamily(void) {", "ncclIbGetGidIndex(struct ibv_context"
	_, rest, begins := strings.Cut(source, first)
	head, tail, ends := strings.Cut(rest, last)
	body, _, closed := strings.Cut(tail, "\n}\n")
	if !begins || !ends || !closed {
		return "", errors.New("it has no envIbAddrFamily and, after it, ncclIbGetGidIndex")
	}
	return first + head + last + body + "\n}\n", nil
}

//go:embed devices.cc.txt
var devices string

// compile makes a program of the functions, with stand-ins for what they call.
func compile(functions string) (program string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "ncclgid-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	program = filepath.Join(dir, "choose")
	before, after, _ := strings.Cut(devices, "// NCCL\n")
	cmd := exec.Command("c++", "-w", "-O1", "-x", "c++", "-o", program, "-")
	cmd.Stdin = strings.NewReader(before + functions + after)
	var messages bytes.Buffer
	cmd.Stderr = &messages
	if err := cmd.Run(); err != nil {
		remove()
		return "", nil, fmt.Errorf("c++: %w\n%s", err, messages.String())
	}
	return program, remove, nil
}

// random returns settings and a table: family, version, range, and the slots. A slot is an address and the version of
// RoCE, or "-" if it is empty.
func random(r *rand.Rand) []string {
	oneOf := func(all ...string) string { return all[r.IntN(len(all))] }
	family := oneOf("", "", "", "AF_INET", "AF_INET6", "AF_INET6", "AF_INET6 ", "INET6")
	version := oneOf("", "", "", "2", "1", "1", "v2", "3", "0x2", " 2", "02", "2x", "-1", "0")
	addrRange := oneOf("", "", "10.1.0.0/16", "10.1.0.0/16,10.2.0.0/16", "10.2.0.0/16", "10.0.0.0/8", "10.1.0.7/32",
		"10.1.0.0", "10.1.0.0/33", "10.1.0.0/-1", "10.1.0.0/0",
		"10.1.0.0/16x", "10.1.0.0/ 16", "10.1.0.0/", "/16", "010.1.0.0/16",
		"10.1/16", "169.254.0.0/16", "2001:db8::/32", "2001:db8::/129", "2001:db8::/16", "fe80::/10", "fd00::/8",
		"fe80::1%net1/64", "::ffff:10.1.0.0/112", "10.1.0.0/4294967312", "2001:db8:0:1::/64", "2001:db8:0:1::/33",
		"10.1.0.0/99999999999999999999")
	slots := make([]string, 1+r.IntN(10))
	for i := range slots {
		slots[i] = oneOf("-", "-", "fe80::1", "fe80::1", "fe80:0:0:1::1", "fe80::", "169.254.3.4", "10.1.0.7",
			"10.1.0.7", "10.1.9.9", "10.2.0.7",
			"2001:db8::7", "2001:db8:0:1::7", "fd00::7", "ff0e::ffff:a01:7", "febf::1")
		if slots[i] != "-" {
			slots[i] += "/v" + oneOf("1", "2", "2", "1")
		}
	}
	return []string{family, version, addrRange, strings.Join(slots, " ")}
}
