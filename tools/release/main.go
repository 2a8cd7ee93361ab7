// Command release packs the programs that make built into everything that a release publishes.
//
//	release check --version v1.2.3 --commit HASH
//	release pack  --version v1.2.3 --commit HASH --programs DIR --out DIR
//	release image --version v1.2.3 --commit HASH --programs DIR --out DIR
//	release push  --archive FILE --to REGISTRY/NAME:TAG
//	release licenses --platforms "linux/amd64 windows/amd64"
//
// The same programs give the same bytes: every time in the files is that of $SOURCE_DATE_EPOCH.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("which command: check, pack, image, push or licenses?")
	}
	var r release
	flags := flag.NewFlagSet("release "+args[0], flag.ExitOnError)
	flags.StringVar(&r.version, "version", "", "version, such as v1.2.3")
	flags.StringVar(&r.commit, "commit", "", "hash of the commit, with -dirty if the files differ from it")
	flags.StringVar(&r.home, "home", "https://github.com/railhead/railhead", "`URL` of the repository")
	flags.StringVar(&r.image, "image", "ghcr.io/railhead/railhead", "`name` of the image in its registry")
	flags.StringVar(&r.root, "root", ".", "`folder` of the repository")
	programs := flags.String("programs", "", "`folder` with one folder of programs for each platform: linux-amd64")
	out := flags.String("out", "dist", "`folder` for what is published")
	archive := flags.String("archive", "", "`file` with the image, as pack wrote it")
	to := flags.String("to", "", "`reference` to push the image to")
	platforms := flags.String("platforms", "linux/amd64", "`list` of what a release has programs for")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch args[0] {
	case "check":
		return r.check()
	case "pack":
		if err := r.read(*programs); err != nil {
			return err
		}
		return r.pack(*out)
	case "image":
		if err := r.read(*programs); err != nil {
			return err
		}
		return r.writeImage(*out)
	case "push":
		return push(*archive, *to)
	case "licenses":
		return checkLicences(r.root, strings.Fields(*platforms))
	}
	return fmt.Errorf("unknown command %q: check, pack, image, push or licenses", args[0])
}

// checkLicences judges the modules as pack does, without building the programs.
func checkLicences(root string, platforms []string) error {
	modules, err := modulesOf(root, platforms, "./cmd/railhead", "./cmd/railhead-pod")
	if err != nil {
		return err
	}
	_, err = licences(modules)
	return err
}

// read reads what the files are made of.
func (r *release) read(programs string) error {
	if runtime.GOOS != "linux" {
		return errors.New("a release is made on Linux, where railhead-pod runs: it is asked for its help")
	}
	if err := r.check(); err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH must be the time of the commit in seconds: %w", err)
	}
	r.at = time.Unix(seconds, 0).UTC()
	if err := r.readPrograms(programs); err != nil {
		return err
	}
	base := r.home + "/blob/" + r.version + "/"
	if r.documents, err = documents(r.root, base, r.platforms); err != nil {
		return err
	}
	r.imageDocuments, err = documents(r.root, base, r.linux())
	return err
}
