package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/railhead/railhead/internal/bench"
)

// page shows what the page of a matrix costs: to write, and to send.
func (p programs) page(stdout io.Writer) error {
	fmt.Fprintf(stdout, "\nrailhead report bench.json -o report.html\n  %-32s %8s %8s %8s %8s\n", "pods x rails", "s",
		"CPU s", "MB", "MB HTML")
	for _, size := range [][2]int{{64, 8}, {1024, 8}} {
		file, html := filepath.Join(p.dir, "bench.json"), filepath.Join(p.dir, "report.html")
		if err := writeResult(file, planted(size[0], size[1])); err != nil {
			return err
		}
		out, err := exec.Command(p.self, costMode, p.railhead, "report", file, "-o", html).CombinedOutput()
		var wall, worked time.Duration
		var bytes int64
		if err == nil {
			_, err = fmt.Sscan(string(out), &wall, &worked, &bytes)
		}
		if err != nil {
			return fmt.Errorf("page of %d pods: %w\n%s", size[0], err, out)
		}
		about, err := os.Stat(html)
		if err != nil {
			return err
		}
		fmt.Fprintf(stdout, "  %-32s %8.2f %8.2f %8d %8.2f\n", fmt.Sprintf("%d x %d", size[0], size[1]), wall.Seconds(),
			worked.Seconds(), bytes/1e6, float64(about.Size())/1e6)
	}
	return nil
}

// writeResult keeps a matrix as `railhead bench --save` does.
func writeResult(name string, m *bench.Matrix) error {
	found := m.Attribute(0.9)
	r := bench.Result{
		SchemaVersion: bench.ResultVersion,
		Job:           "simulated",
		MinEfficiency: 0.9,
		Matrix:        m,
		Attribution:   &found,
	}
	for _, pod := range m.Pods {
		r.Pods = append(r.Pods, bench.Pod{Name: pod.Name, Node: pod.Node})
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o600)
}
