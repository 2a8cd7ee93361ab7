package debian

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
)

// source is an archive of packages, with the option of sources.list(5) that says why to trust it.
type source struct{ mirror, trust string }

// line is the source in apt's own one-line style.
func (s source) line() string {
	return fmt.Sprintf("deb [arch=amd64 %s] %s %s main\n", s.trust, s.mirror, suite)
}

// ErrOutOfReach means that this host cannot get Debian's packages: the tool or the network is missing.
var ErrOutOfReach = errors.New("the lab's machines are made of Debian packages, which are out of reach here")

// hostSource is the Debian mirror that this host's own packages come from, where they come from one, else Debian's own.
func hostSource(ctx context.Context) (source, error) {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return source{}, fmt.Errorf("%w: there is no apt-get; take Debian or Ubuntu, or one of them in a container",
			ErrOutOfReach)
	}
	keyring, err := keyring()
	if err != nil {
		return source{}, err
	}
	// A host without any source is one without a mirror.
	out, _ := exec.CommandContext(ctx, "apt-get", "indextargets", "--no-release-info",
		"--format", "$(REPO_URI) $(COMPONENT)", "Created-By: Packages").Output()
	return source{mirror: mirror(string(out)), trust: "signed-by=" + keyring}, nil
}

// mirror takes the first mirror of Debian's main component in the output of apt-get indextargets. By convention a
// mirror of Debian ends in /debian: https://www.debian.org/mirror/ftpmirror.
func mirror(targets string) string {
	for line := range strings.Lines(targets) {
		uri, component, _ := strings.Cut(strings.TrimSpace(line), " ")
		if component == "main" && path.Base(uri) == "debian" {
			return uri
		}
	}
	return "http://deb.debian.org/debian"
}

// keyring is the file of the keys that Debian signs its releases with.
func keyring() (string, error) {
	files := []string{
		"/usr/share/keyrings/debian-archive-keyring.gpg",
		"/usr/share/keyrings/debian-archive-keyring.pgp",
	}
	if i := slices.IndexFunc(files, func(f string) bool { _, err := os.Stat(f); return err == nil }); i >= 0 {
		return files[i], nil
	}
	return "", fmt.Errorf("no %s: install Debian's keys, apt-get install debian-archive-keyring", files[0])
}
