package debian

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// apt is apt-get with a state of its own, as if nothing were installed. The host's settings of proxies and of
// credentials hold.
type apt struct {
	dir    string
	source string // where from, for people
}

// newApt makes the state in the folder, or takes the one that is there.
func newApt(dir string, from source) (apt, error) {
	a := apt{dir: dir, source: from.mirror}
	for _, sub := range []string{"lists/partial", "archives/partial", "none/partial", "parts"} {
		if err := os.MkdirAll(a.path(sub), 0o755); err != nil {
			return apt{}, err
		}
	}
	for name, text := range map[string]string{
		"apt.conf": a.conf(), "sources.list": from.line(), "status": "", "preferences": "",
	} {
		if err := os.WriteFile(a.path(name), []byte(text), 0o644); err != nil {
			return apt{}, err
		}
	}
	return a, nil
}

func (a apt) path(name string) string { return filepath.Join(a.dir, name) }

// conf is read after the host's configuration, so it has the last word (apt.conf(5)). The host's hooks belong to the
// host, and of its downloads only the lists of packages are needed here.
func (a apt) conf() string {
	return fmt.Sprintf(`#clear APT::Update;
#clear DPkg;
#clear Acquire::IndexTargets::deb;
Acquire::IndexTargets::deb::Packages {
  MetaKey "$(COMPONENT)/binary-$(ARCHITECTURE)/Packages";
  flatMetaKey "Packages";
  ShortDescription "Packages";
  Description "$(RELEASE)/$(COMPONENT) $(ARCHITECTURE) Packages";
  Optional "no";
};
APT::Architecture "amd64";
APT::Architectures { "amd64"; };
APT::Install-Recommends "false";
APT::Sandbox::User "root";
APT::Update::Error-Mode "any";
Acquire::Languages "none";
Acquire::Retries "3";
Debug::NoLocking "true";
Dir::State "%[1]s";
Dir::State::lists "%[1]s/lists";
Dir::State::status "%[1]s/status";
Dir::State::extended_states "%[1]s/extended_states";
Dir::Cache "%[1]s";
Dir::Cache::archives "%[1]s/none";
Dir::Etc::sourcelist "%[1]s/sources.list";
Dir::Etc::sourceparts "%[1]s/parts";
Dir::Etc::preferences "%[1]s/preferences";
Dir::Etc::preferencesparts "%[1]s/parts";
`, a.dir)
}

// run runs apt-get in the folder of the downloads.
func (a apt) run(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "apt-get", append([]string{"-q", "-y", "-c", a.path("apt.conf")}, args...)...)
	cmd.Dir = a.path("archives")
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = 5 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("apt-get %s: %w\n%s", args[0], err, lastLines(stderr.Bytes(), 10))
	}
	return stdout.Bytes(), nil
}

// fetch downloads the archives of a set and of its dependencies, and returns their files.
func (a apt) fetch(ctx context.Context, s Set, progress func(string)) ([]string, error) {
	if _, err := a.run(ctx, "update"); err != nil {
		return nil, fmt.Errorf(
			"%w: download the package lists of Debian %s from %s: is there a network? does apt-get need a proxy? %w",
			ErrOutOfReach,
			suite,
			a.source,
			err,
		)
	}
	out, err := a.run(ctx, append([]string{"install", "--print-uris"}, s.Packages...)...)
	if err != nil {
		return nil, fmt.Errorf("find the packages of %s: %w", s.What, err)
	}
	all, err := parseArchives(string(out))
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(r archive) bool { return matches(s.Without, r.name) })
	var size int64
	var names, files []string
	for _, r := range all {
		size += r.size
		names = append(names, r.name+"="+r.version)
		files = append(files, a.path(filepath.Join("archives", r.file)))
	}
	progress(fmt.Sprintf("downloading %d packages for %s, %d MB", len(all), s.What, (size+999_999)/1_000_000))
	if _, err := a.run(ctx, append([]string{"download"}, names...)...); err != nil {
		return nil, fmt.Errorf("download packages from %s; what is there is used the next time: %w", a.source, err)
	}
	return files, nil
}

// clean removes the downloads.
func (a apt) clean() error { return os.RemoveAll(a.path("archives")) }

// archive is a package to download.
type archive struct {
	file          string // that apt-get writes: name, version and architecture; a colon in the version is %3a
	name, version string
	size          int64
}

// parseArchives reads the output of apt-get --print-uris: 'URI' FILE SIZE CHECKSUM.
func parseArchives(text string) ([]archive, error) {
	var all []archive
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "'") {
			continue // apt-get's own talk
		}
		fields := strings.Fields(line)
		if len(fields) < 3 {
			return nil, fmt.Errorf("apt-get --print-uris says %q", strings.TrimSpace(line))
		}
		parts := strings.Split(strings.TrimSuffix(fields[1], ".deb"), "_")
		size, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil || len(parts) != 3 {
			return nil, fmt.Errorf("apt-get --print-uris says %q", strings.TrimSpace(line))
		}
		version, err := url.PathUnescape(parts[1])
		if err != nil {
			return nil, fmt.Errorf("version of %s: %w", fields[1], err)
		}
		all = append(all, archive{file: fields[1], name: parts[0], version: version, size: size})
	}
	if len(all) == 0 {
		return nil, errors.New("apt-get --print-uris names no package")
	}
	return all, nil
}
