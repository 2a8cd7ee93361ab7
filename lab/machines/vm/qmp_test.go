package vm

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestOrder: what is said to QEMU, and what is made of its answers.
func TestOrder(t *testing.T) {
	const greeting = `{"QMP": {"version": {"qemu": {"micro": 13, "minor": 0, "major": 10}, "package": ""}, ` +
		`"capabilities": ["oob"]}}`
	for name, test := range map[string]struct {
		answers []string // the first one is the greeting
		wrong   string
	}{
		"done": {[]string{greeting, `{"return": {}}`, `{"return": {}}`}, ""},
		"an event in between": {
			[]string{
				greeting,
				`{"return": {}}`,
				`{"timestamp": {"seconds": 1}, "event": "NIC_RX_FILTER_CHANGED"}` + "\n" + `{"return": {}}`,
			},
			"",
		},
		"no such card": {
			[]string{
				greeting,
				`{"return": {}}`,
				`{"error": {"class": "DeviceNotFound", "desc": "Device 'card7' not found"}}`,
			},
			"DeviceNotFound: Device 'card7' not found",
		},
		"something else is there":   {[]string{`{"hello": "world"}`}, "no greeting of QEMU's"},
		"it ends before it answers": {[]string{greeting, `{"return": {}}`}, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := net.Pipe()
			defer ours.Close()
			said := make(chan []string, 1)
			go func() { said <- answerWith(theirs, test.answers) }()
			err := order(ours, "set_link", map[string]any{"name": "card7", "up": false})
			if text := fmt.Sprint(err); test.wrong == "" && err != nil || !strings.Contains(text, test.wrong) {
				t.Errorf("%v, want %q", err, test.wrong)
			}
			want := []string{
				`{"execute":"qmp_capabilities"}`,
				`{"arguments":{"name":"card7","up":false},"execute":"set_link"}`,
			}
			if diff := cmp.Diff(want[:len(test.answers)-1], (<-said)[:len(test.answers)-1],
				cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("orders (-want +got):\n%s", diff)
			}
		})
	}
}

// answerWith plays answers to what it is told, and returns that.
func answerWith(conn net.Conn, answers []string) (said []string) {
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	for i, a := range answers {
		if i > 0 && lines.Scan() {
			said = append(said, lines.Text())
		}
		fmt.Fprintln(conn, a)
	}
	if len(answers) == 2 && lines.Scan() { // an order that gets no answer
		said = append(said, lines.Text())
	}
	return said
}
