// Logs writes the log of a training on thousands of GPUs, of any size: the lines of NCCL 2.27 on every rank, the output
// of the training, and at the end one rank that fails and all others that fail with it. The same flags give the same
// bytes.
//
//	go run ./tools/logs -ranks 4096 -size 2GB > train.log
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

func main() {
	os.Exit(logsMain(os.Args[1:], os.Stdout, os.Stderr))
}

func logsMain(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("logs", flag.ContinueOnError)
	flags.SetOutput(stderr)
	j := job{size: 2e9}
	flags.IntVar(&j.ranks, "ranks", 4096, "number of ranks, eight on each node")
	sizes := "bytes, with kB, MB or GB; the start and the end of the job are written in any case (default 2GB)"
	flags.Func("size", sizes, func(text string) (err error) {
		j.size, err = bytesOf(text)
		return err
	})
	flags.IntVar(&j.percent, "nccl", 25, "percentage of the bytes that are lines of NCCL")
	flags.IntVar(&j.lost, "lost", 0, "times that every rank loses a connection at the end; 0: one rank does, once")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if flags.NArg() > 0 || j.ranks < 2 || j.percent < 0 || j.percent > 100 || j.lost < 0 {
		flags.Usage()
		return 2
	}
	if err := j.write(stdout); err != nil {
		fmt.Fprintln(stderr, "logs:", err)
		return 1
	}
	return 0
}

// bytesOf reads a size: 2GB is 2,000,000,000.
func bytesOf(text string) (int64, error) {
	unit := int64(1)
	for _, u := range []struct {
		name  string
		bytes int64
	}{{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}} {
		if number, ok := strings.CutSuffix(text, u.name); ok {
			text, unit = number, u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 {
		return 0, errors.New("want a number of bytes, kB, MB or GB")
	}
	return n * unit, nil
}
