package podcli

import (
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/railhead/railhead/internal/exit"
)

// TestHelpExitCodes asserts that every command states its exit codes, and only codes of the table.
func TestHelpExitCodes(t *testing.T) {
	listed := regexp.MustCompile(`(?s)Exit status: (.*?)\n\n`)
	for _, command := range []string{"run", "detect", "env", "check", "doctor", "snapshot", "install"} {
		help, _, _ := cli(command, "--help")
		text := listed.FindStringSubmatch(help)
		if text == nil {
			t.Errorf("%s: no exit codes in its help", command)
			continue
		}
		for _, number := range regexp.MustCompile(`\d+`).FindAllString(text[1], -1) {
			code, _ := strconv.Atoi(number)
			if !slices.ContainsFunc(exit.Table(), func(r exit.Row) bool { return r.Code == exit.Code(code) }) {
				t.Errorf("%s: exit code %d is not in the table of package exit", command, code)
			}
		}
	}
}
