// Bench measures the time that railhead-pod adds to the start of a command, compared with a bash wrapper that does the
// same and with a program that only execs. The processes run on recordings that bench makes up and tools/stage sets up;
// the times do not include the setup. It also measures the matrix of `railhead bench` and `railhead doctor`, and
// compares `railhead explain` with grep on a log that tools/logs makes up. It prints times and ratios, and fails if
// doctor needs too much memory.
//
//	go run ./tools/bench -n 0              explain alone
//	go run ./tools/bench -log 0            railhead-pod alone
package main

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
)

// exitNotPermitted is the exit code of tools/stage if namespaces are not permitted; test drivers skip the test.
const exitNotPermitted = 77

func main() {
	if len(os.Args) == 3 && os.Args[1] == measureMode {
		os.Exit(measureMain(os.Args[2], os.Stdout, os.Stderr))
	}
	if len(os.Args) == 4 && os.Args[1] == scheduleMode {
		pods, err := strconv.Atoi(os.Args[2])
		rails, also := strconv.Atoi(os.Args[3])
		if errors.Join(err, also) != nil {
			os.Exit(2)
		}
		os.Exit(scheduleMain(pods, rails, os.Stderr))
	}
	if len(os.Args) > 2 && os.Args[1] == costMode {
		os.Exit(costMain(os.Args[2:], os.Stdout, os.Stderr))
	}
	os.Exit(benchMain(os.Args[1:], os.Stdout, os.Stderr))
}

func benchMain(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	runs := flags.Int("n", 200,
		"timed runs of each Go program; bash runs at most 30 times; 0: neither it nor doctor is measured")
	log := flags.Int("log", 2000, "MB of the log that railhead explain and grep read; 0: explain is not measured")
	pod := flags.String("pod", "", "measure this railhead-pod instead of building ./cmd/railhead-pod")
	railhead := flags.String("railhead", "",
		"measure doctor and explain of this railhead instead of building ./cmd/railhead")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if flags.NArg() > 0 || *runs < 0 || *log < 0 {
		flags.Usage()
		return 2
	}
	var err error
	if *runs > 0 {
		err = measureAll(*runs, *pod, *railhead, stdout)
	}
	if *log > 0 {
		err = errors.Join(explain(*log, *railhead, stdout), err)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == exitNotPermitted {
		return exitNotPermitted // stage printed the reason
	}
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
	return 0
}

func measureAll(runs int, pod, railhead string, stdout io.Writer) error {
	dir, err := os.MkdirTemp("", "railhead-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// Ctrl-C also interrupts the processes that this one waits for: they end, and the folder is removed.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	p, err := buildPrograms(dir, pod, railhead)
	if err != nil {
		return err
	}
	if err := errors.Join(p.doctor(stdout), p.schedule(stdout), p.page(stdout)); err != nil { // which need no stage
		return err
	}
	fmt.Fprintln(stdout)
	if err := p.compare(runs, stdout); err != nil {
		return err
	}
	return p.scale(runs, stdout)
}

// compare compares railhead-pod with the bash wrapper and with bare exec, on the machine that most pods run on.
func (p programs) compare(runs int, stdout io.Writer) error {
	m := spec{hcas: 8, owned: 8, gids: 256}
	results, err := p.measure(m, runs, []command{p.podCommand(), p.bashCommand(runs), p.execCommand()})
	if err != nil {
		return err
	}
	fmt.Fprintln(stdout, m)
	printTimes(stdout, results)
	pod, bash, bare := results[0].median(), results[1].median(), results[2].median()
	fmt.Fprintf(stdout, "  %-32s %8.1f\n", "wrapper.sh / railhead-pod", float64(bash)/float64(pod))
	fmt.Fprintf(stdout, "  %-32s %8.2f\n", "railhead-pod / exec-only", float64(pod)/float64(bare))
	return nil
}

// scale shows how railhead-pod's time grows with the machine.
func (p programs) scale(runs int, stdout io.Writer) error {
	for _, m := range []spec{
		{hcas: 32, owned: 32, gids: 256},
		{hcas: 32, owned: 32, gids: 256, crowded: true},
		{hcas: 32, owned: 4, gids: 256, privileged: true},
		{hcas: 32, owned: 4, gids: 256, privileged: true, crowded: true},
	} {
		results, err := p.measure(m, runs, []command{p.podCommand()})
		if err != nil {
			return err
		}
		fmt.Fprintf(stdout, "\n%s\n", m)
		printTimes(stdout, results)
	}
	return nil
}

func printTimes(stdout io.Writer, results []result) {
	fmt.Fprintf(stdout, "  %-32s %8s %8s %8s %8s\n", "ms", "min", "median", "max", "runs")
	for _, r := range results {
		fmt.Fprintf(stdout, "  %-32s %8.3f %8.3f %8.3f %8d\n", r.Name, ms(r.Times[0]), ms(r.median()),
			ms(r.Times[len(r.Times)-1]), len(r.Times))
	}
}

// programs are the executables.
type programs struct {
	dir                                  string
	self, stage, pod, bare, sh, railhead string
}

//go:embed wrapper.sh
var wrapper []byte

const module = "github.com/railhead/railhead"

func buildPrograms(dir, pod, railhead string) (p programs, err error) {
	p = programs{dir: dir, sh: filepath.Join(dir, "wrapper.sh")}
	if p.self, err = os.Executable(); err != nil {
		return p, err
	}
	if err := os.WriteFile(p.sh, wrapper, 0o644); err != nil {
		return p, err
	}
	if p.stage, err = build(dir, "tools/stage"); err != nil {
		return p, err
	}
	if p.bare, err = build(dir, "tools/exec-only"); err != nil {
		return p, err
	}
	if p.pod, err = given(pod, dir, "cmd/railhead-pod"); err != nil {
		return p, err
	}
	p.railhead, err = given(railhead, dir, "cmd/railhead")
	return p, err
}

// given returns the path of a program, or builds it.
func given(program, dir, name string) (string, error) {
	if program == "" {
		return build(dir, name)
	}
	return filepath.Abs(program)
}

// build compiles a command of this module as it is released: static and stripped.
func build(dir, name string) (string, error) {
	to := filepath.Join(dir, filepath.Base(name))
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", to, module+"/"+name)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return to, nil
}
