// Command site builds the documentation as a static site: the pages of docs with navigation and search. The site loads
// nothing from a network and can be read from files.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	root := flag.String("root", ".", "`folder` of the repository")
	out := flag.String("out", "build/site", "`folder` of the site, which is replaced")
	version := flag.String("version", "devel", "version in the footer")
	flag.Parse()
	pages, err := build(*root, *out, *version)
	if err != nil {
		fmt.Fprintf(os.Stderr, "site: %v\n", err)
		os.Exit(1)
	}
	fmt.Printf("%d pages: %s/index.html\n", pages, *out)
}

// build writes the site of the repository in root to a folder, and returns the number of pages.
func build(root, out, version string) (int, error) {
	s, err := read(os.DirFS(root))
	if err != nil {
		return 0, err
	}
	files, err := s.render(version)
	if err != nil {
		return 0, err
	}
	return len(s.pages), write(out, files)
}
