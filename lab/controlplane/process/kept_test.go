package process

import "testing"

// TestKept ends a kept process twice by itself; it is there again each time, until it is killed.
func TestKept(t *testing.T) {
	g := NewGroup(t.TempDir())
	defer g.Close()
	k, err := g.Keep(Command{Name: "server", Program: "sleep", Args: []string{"600"}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		crashed := k.Process()
		crashed.Kill()
		for k.Process() == crashed {
			if err := t.Context().Err(); err != nil {
				t.Fatal(err)
			}
		}
		if err := k.Process().Err(); err != nil {
			t.Fatal(err)
		}
	}
	last := k.Process()
	k.Kill()
	if last.Err() == nil {
		t.Error("the killed process runs")
	}
	if k.Process() != last {
		t.Error("the killed process was started again")
	}
}
