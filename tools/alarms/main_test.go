package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCount asserts that runs are counted by how they say that they ended, and that misses are listed.
func TestCount(t *testing.T) {
	folder := t.TempDir()
	const steps = "step 1 | loss 3.1\nstep 2 | loss 3.0\nstep 3 | loss 2.9\n"
	for path, text := range map[string]string{
		"a/bert/result_0.txt": steps + `:::MLLOG {"key": "run_stop", "metadata": {"status": "success"}}`,
		"a/bert/result_1.txt": steps + `:::MLLOG {"key": "run_stop", "metadata": {"status": "aborted"}}`,
		"b/bert/result_0.txt": `:::MLLOG {"key": "run_stop", "metadata": {"status": "success"}}` + "\n[rank0]: CUDA error: " +
			"an illegal memory access was encountered",
		"b/bert/other.txt": "no result",
	} {
		path = filepath.Join(folder, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := run([]string{"-list", folder}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"result_0.txt\twith success\tfail\tcuda-error\t2: [rank0]", "50.00 %  ", "with success\n", "0.00 %  ", "aborted\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if err := run([]string{t.TempDir()}, &out); err == nil || !strings.Contains(err.Error(), "result_*.txt") {
		t.Errorf("an empty folder: %v", err)
	}
}

// TestMine asserts that the complaints of runs with success are collected, of ten runs or two systems, and no ends.
func TestMine(t *testing.T) {
	folder := t.TempDir()
	text := `{"framework":"PyTorch 25.09"}` + "\n[gpu-7:4242] PMIX ERROR: ERROR in file lock_pthread.c at line 168\n" +
		"srun: error: gpu-7: task 3: Exited with exit code 1\nstep 1 | loss 3.1\n" +
		`:::MLLOG {"key": "run_stop", "metadata": {"status": "success"}}`
	for _, system := range []string{"a", "b"} {
		path := filepath.Join(folder, system, "bert", "result_0.txt")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := run([]string{"-mine", folder}, &out); err != nil {
		t.Fatal(err)
	}
	if want := "2\t2\tPyTorch 25.09\tPMIX ERROR: ERROR in file lock_pthread.c at line 0\n"; out.String() != want {
		t.Errorf("want %q, got %q", want, out.String())
	}
}
