package text

import (
	"fmt"
	"io"
	"strings"

	"github.com/railhead/railhead/internal/report"
)

// maxEvidence bounds the lines of evidence below each statement, and the statements of a kind, unless wide.
const maxEvidence = 3

// writer writes diagnoses and stories as lines without terminal escapes, until an error.
type writer struct {
	out  io.Writer
	wide bool
	err  error
}

func (w *writer) line(format string, args ...any) {
	if w.err == nil {
		var b strings.Builder
		report.Line(&b, format, args...)
		_, w.err = fmt.Fprint(w.out, b.String())
	}
}
