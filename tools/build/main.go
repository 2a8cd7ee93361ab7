// Build builds a program of this repository with the flags of programs that live for minutes, and says how far it is.
//
//	build [-C FOLDER] -o FILE PACKAGE
//	build [-C FOLDER] -download PACKAGE     only downloads the modules that it needs
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/railhead/railhead/tools/gobuild"
)

func main() {
	var p gobuild.Program
	flag.StringVar(&p.Folder, "C", "", "folder of the module")
	flag.StringVar(&p.Output, "o", "", "file to write")
	download := flag.Bool("download", false, "only download modules")
	flag.Parse()
	if flag.NArg() != 1 || (p.Output == "") != *download {
		flag.Usage()
		os.Exit(2)
	}
	p.Name, p.Package = filepath.Base(p.Output), flag.Arg(0)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx, p, *download)
	interrupted := ctx.Err() != nil
	stop()
	switch {
	case err == nil:
		return
	case interrupted:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(130)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func run(ctx context.Context, p gobuild.Program, download bool) error {
	if download {
		return p.Download(ctx)
	}
	return p.Build(ctx, func(line string) { fmt.Println(line) })
}
