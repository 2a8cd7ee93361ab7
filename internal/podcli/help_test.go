package podcli

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestHelpExitCodes asserts that every command states its exit codes, and only codes of docs/exit-codes.md.
func TestHelpExitCodes(t *testing.T) {
	page, err := os.ReadFile("../../docs/exit-codes.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := regexp.MustCompile(`(?s)Exit status: (.*?)\n\n`)
	for _, command := range []string{"run", "detect", "env", "check", "doctor", "snapshot", "install"} {
		help, _, _ := cli(command, "--help")
		text := listed.FindStringSubmatch(help)
		if text == nil {
			t.Errorf("%s: no exit codes in its help", command)
			continue
		}
		for _, number := range regexp.MustCompile(`\d+`).FindAllString(text[1], -1) {
			if !strings.Contains(string(page), "\n| "+number+" | ") {
				t.Errorf("%s: exit code %s is not in docs/exit-codes.md", command, number)
			}
		}
	}
}
