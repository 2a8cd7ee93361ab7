package kube

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/decode"
)

// ErrCutShort means that the output of a command in a pod lacks its end. An API server or a kubelet may close the
// streams of an exec early, and client-go then reports exit code 0: it takes an error stream without a status for
// success (client-go v0.36 tools/remotecommand/errorstream.go watchErrorStream). Logs may end early, too.
var ErrCutShort = errors.New("the output was cut short")

// AskAgain calls ask, and calls it once more if the output was cut short. What ask runs in a pod must change nothing
// there.
func AskAgain[T any](ask func() (T, error)) (T, error) {
	answer, err := ask()
	if !errors.Is(err, ErrCutShort) {
		return answer, err
	}
	if answer, err = ask(); errors.Is(err, ErrCutShort) {
		err = fmt.Errorf("%w, also when asked again", err)
	}
	return answer, err
}

// DecodeSnapshot decodes the snapshot that a command wrote. It returns ErrCutShort if the JSON has no end.
func DecodeSnapshot(r io.Reader, s *host.Snapshot) error {
	err := decode.First(r, s)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrCutShort
	}
	return err
}

// endMark is the last line of the output of a framed script.
const endMark = "railhead-end-of-output"

// Framed returns a shell script that runs another one and, if it succeeds, marks the end of its output.
func Framed(script string) string {
	return "(\n" + strings.TrimSpace(script) + "\n) && echo " + endMark
}

// Unframed returns the output of a framed script without its mark. If there is no mark, it returns the output that
// arrived, and ErrCutShort.
func Unframed(output string) (string, error) {
	text, complete := strings.CutSuffix(output, endMark+"\n")
	if !complete {
		return text, ErrCutShort
	}
	return text, nil
}
