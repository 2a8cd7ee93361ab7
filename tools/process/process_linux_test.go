package process

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// slowly is a writer that takes longer than outliveTime for the output of a command.
type slowly struct {
	bytes.Buffer
	once bool
}

func (s *slowly) Write(p []byte) (int, error) {
	if !s.once {
		s.once = true
		<-time.After(outliveTime * 3 / 2)
	}
	return s.Buffer.Write(p)
}

// TestStart: no output of a command is lost, even if it is passed on late and another process holds the stream.
func TestStart(t *testing.T) {
	for name, script := range map[string]string{
		"streams end":           "head -c 60000 /dev/zero; head -c 60000 /dev/zero",
		"a process outlives it": "sleep 600 & echo $! >&2; head -c 60000 /dev/zero; head -c 60000 /dev/zero",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out slowly
			var left bytes.Buffer
			wait, err := Start(exec.Command("sh", "-c", script), &out, &left)
			if err != nil {
				t.Fatal(err)
			}
			if err := wait(); err != nil || out.Len() != 120000 {
				t.Errorf("%d bytes, %v", out.Len(), err)
			}
			if pid := strings.TrimSpace(left.String()); pid != "" {
				if err := exec.Command("kill", pid).Run(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
