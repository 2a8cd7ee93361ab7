package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/railhead/railhead/internal/bench"
)

// page prints the cost of writing the page of a matrix, and its size.
func (p programs) page(stdout io.Writer) error {
	fmt.Fprintf(stdout, "\nrailhead report bench.json -o report.html\n  %-32s %8s %8s %8s %8s\n", "pods x rails", "s",
		"CPU s", "MB", "MB HTML")
	for _, size := range [][2]int{{64, 8}, {1024, 8}} {
		file, html := filepath.Join(p.dir, "bench.json"), filepath.Join(p.dir, "report.html")
		if err := writeResult(file, planted(size[0], size[1])); err != nil {
			return err
		}
		c, err := p.cost(p.railhead, "report", file, "-o", html)
		if err != nil {
			return fmt.Errorf("page of %d pods: %w", size[0], err)
		}
		about, err := os.Stat(html)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("%d x %d", size[0], size[1])
		fmt.Fprintf(stdout, "  %-32s %8.2f %8.2f %8d %8.2f\n",
			name, c.wall.Seconds(), c.cpu.Seconds(), c.peak/1e6, float64(about.Size())/1e6)
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
