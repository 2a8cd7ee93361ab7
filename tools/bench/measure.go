package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// measureMode is the argument with which bench starts itself on the stage: the timing loop runs there.
const measureMode = "measure-on-stage"

// command is a program to measure.
type command struct {
	Name  string   `json:"name"`
	Argv  []string `json:"argv"`  // in front of the command that it starts
	Every int      `json:"every"` // takes part in every n-th round
}

// result holds the times of the runs of one command, sorted.
type result struct {
	Name  string          `json:"name"`
	Times []time.Duration `json:"times"`
}

func (r result) median() time.Duration { return r.Times[len(r.Times)/2] }

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// job is the order for the process on the stage.
type job struct {
	Commands []command `json:"commands"`
	Rounds   int       `json:"rounds"`
	WarmUps  int       `json:"warmUps"`
	Want     []string  `json:"want"` // the devices that NCCL_IB_HCA must name
}

// bashRuns bounds the runs of the wrapper, each of which takes as long as dozens of the others.
const bashRuns = 30

func (p programs) podCommand() command {
	return command{Name: "railhead-pod run -q", Argv: []string{p.pod, "run", "-q", "--"}, Every: 1}
}

func (p programs) bashCommand(runs int) command {
	return command{Name: "bash wrapper.sh", Argv: []string{"bash", p.sh}, Every: (runs + bashRuns - 1) / bashRuns}
}

func (p programs) execCommand() command {
	return command{Name: "exec-only", Argv: []string{p.bare}, Every: 1}
}

// measure runs the commands on the machine.
func (p programs) measure(m spec, rounds int, commands []command) ([]result, error) {
	text, err := m.archive()
	if err != nil {
		return nil, err
	}
	place := filepath.Join(p.dir, "machine.txtar")
	if err := os.WriteFile(place, []byte(text), 0o644); err != nil {
		return nil, err
	}
	order, err := json.Marshal(
		job{Commands: commands, Rounds: rounds, WarmUps: min(10, rounds), Want: m.ownedDevices()},
	)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(p.stage, place, "--", p.self, measureMode, string(order))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m, err)
	}
	var results []result
	return results, json.Unmarshal(out, &results)
}

// measureMain is the process on the stage.
func measureMain(order string, stdout, stderr io.Writer) int {
	var j job
	results, err := []result(nil), json.Unmarshal([]byte(order), &j)
	if err == nil {
		results, err = j.run()
	}
	if err == nil {
		err = json.NewEncoder(stdout).Encode(results)
	}
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
	return 0
}

func (j job) run() ([]result, error) {
	for _, c := range j.Commands {
		if err := c.verify(j.Want); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	results := make([]result, len(j.Commands))
	for round := -j.WarmUps; round < j.Rounds; round++ {
		for i, c := range j.Commands { // taking turns, so that all see the same disturbances
			if round%c.Every != 0 {
				continue
			}
			took, err := c.time(null)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.Name, err)
			}
			if round >= 0 {
				results[i].Times = append(results[i].Times, took)
			}
		}
	}
	for i, c := range j.Commands {
		results[i].Name = c.Name
		slices.Sort(results[i].Times)
	}
	return results, nil
}

// verify runs the command once and compares the devices that it chose: a wrong answer needs no measuring. exec-only
// chooses none.
func (c command) verify(want []string) error {
	cmd := exec.Command(
		c.Argv[0],
		append(slices.Clone(c.Argv[1:]), "/bin/sh", "-c", "echo NCCL_IB_HCA=$NCCL_IB_HCA")...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	value, ok := strings.CutPrefix(lines[len(lines)-1], "NCCL_IB_HCA=")
	if !ok {
		return errors.New("did not start its command")
	}
	if c.Name == "exec-only" {
		return nil
	}
	if got := devices(value); !slices.Equal(got, want) {
		return fmt.Errorf("chose NCCL_IB_HCA=%q, want the devices %s", value, strings.Join(want, ","))
	}
	return nil
}

// devices returns the sorted names in a value of NCCL_IB_HCA such as "=mlx5_0:1,mlx5_1:1".
func devices(value string) []string {
	var names []string
	for item := range strings.SplitSeq(strings.TrimLeft(value, "=^"), ",") {
		name, _, _ := strings.Cut(item, ":")
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// time returns the time of one run, from fork to the end of /bin/true.
func (c command) time(null *os.File) (time.Duration, error) {
	path, err := exec.LookPath(c.Argv[0])
	if err != nil {
		return 0, err
	}
	argv := append(slices.Clone(c.Argv), "/bin/true")
	attributes := &os.ProcAttr{Env: os.Environ(), Files: []*os.File{null, null, null}}
	begin := time.Now()
	process, err := os.StartProcess(path, argv, attributes)
	if err != nil {
		return 0, err
	}
	state, err := process.Wait()
	took := time.Since(begin)
	if err == nil && !state.Success() {
		err = errors.New(state.String())
	}
	return took, err
}
