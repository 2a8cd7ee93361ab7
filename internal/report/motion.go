package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/wire"
	"github.com/railhead/railhead/internal/words"
)

// Motion writes what a machine does on its rails: a row for each process and device, then the proof.
func Motion(w io.Writer, m wire.Motion) error {
	if err := writeUsages(w, Table{Columns: usageColumns, Rows: usageRows(m)}); err != nil {
		return err
	}
	few(w, m.Openers, "process", opened)
	few(w, noRates(m), "device", func(line string) string { return line })
	for _, e := range m.Unread {
		Line(w, "not read: %s: %s", e.Source, e.Got)
	}
	Line(w, "%s", Proved(m))
	return nil
}

var usageColumns = []string{"DEVICE", "PROCESS", "CONNECTED", "MOVING", "SENT", "RECEIVED"}

// usageRows returns a row for each process and device.
func usageRows(m wire.Motion) [][]string {
	var rows [][]string
	for _, u := range m.Usages {
		rows = append(rows, []string{
			u.Device, process(u), strconv.Itoa(u.Pairs), strconv.Itoa(u.Active), amount(u.Sent, m), amount(u.Got, m),
		})
	}
	return rows
}

// writeUsages writes a table unless it is empty.
func writeUsages(w io.Writer, t Table) error {
	if len(t.Rows) == 0 {
		return nil
	}
	return t.Write(w)
}

func process(u wire.Usage) string {
	if u.PID == 0 {
		return "of another PID namespace"
	}
	return named(u.PID, u.Program)
}

// named returns the number of a process, with its program if that is known.
func named(pid int, program string) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", pid, program))
}

func opened(o wire.Opener) string {
	return fmt.Sprintf("no queue pair: %s opened %s", named(o.PID, o.Program), words.Few(o.Devices, 8))
}

// amount writes a rate, or packets where the MTU is not known.
func amount(a wire.Amount, m wire.Motion) string {
	text := ByteRate(a.Rate)
	switch {
	case a.Packets == 0:
		return ""
	case a.Rate == 0:
		text = fmt.Sprintf("%.0f packets/s", float64(a.Packets)/m.Seconds)
	}
	if a.AtLeast {
		return text + " or more"
	}
	return text
}

// noRates returns lines that say why a device has packets per second only.
func noRates(m wire.Motion) (lines []string) {
	for _, u := range m.Usages {
		line := fmt.Sprintf("no byte rate: %s: %s", u.Device, u.NoRate)
		if u.NoRate != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// ByteRate writes bytes per second in decimal units, as links are rated.
func ByteRate(bytes float64) string {
	units := []string{"B/s", "kB/s", "MB/s", "GB/s"}
	i := 0
	for bytes >= 1000 && i < len(units)-1 {
		bytes, i = bytes/1000, i+1
	}
	return fmt.Sprintf("%.3g %s", bytes, units[i])
}

// Proved returns the proof in one line.
func Proved(m wire.Motion) string {
	switch m.Proof {
	case wire.RDMA:
		return moving(m)
	case wire.NoTraffic:
		pairs := 0
		for _, u := range m.Usages {
			pairs += u.Pairs
		}
		return fmt.Sprintf("no traffic: %s, and no packet moved in %.1f s%s",
			connected(pairs), m.Seconds, ethernet(m)+byNVLink(m.MayUseNVLink))
	case wire.NoConnection:
		made := 0
		for _, u := range m.Usages {
			made += u.Made
		}
		return notRDMA(made) + ethernet(m) + byNVLink(m.MayUseNVLink)
	case wire.NotProved:
	}
	return "unknown: the queue pairs could not be read: " + m.Why
}

func moving(m wire.Motion) string {
	processes, devices := map[int]bool{}, map[string]bool{}
	var sent, got wire.Amount
	for _, u := range m.Usages {
		if u.Active == 0 {
			continue
		}
		processes[u.PID], devices[u.Device] = true, true
		sent, got = sent.Plus(u.Sent), got.Plus(u.Got)
	}
	text := fmt.Sprintf("RDMA: %s on %s", words.Count(len(processes), "process"), words.Count(len(devices), "device"))
	text += fmt.Sprintf(", %s sent, %s received", cmp.Or(amount(sent, m), "nothing"), cmp.Or(amount(got, m), "nothing"))
	if len(m.Unused) > 0 {
		text += "; nothing on " + words.Few(m.Unused, 8)
	}
	return text
}

// notRDMA returns the proof of programs without a connection: what they made stayed in state RESET or INIT.
func notRDMA(made int) string {
	if made == 0 {
		return "not RDMA: no queue pair is connected"
	}
	return "not RDMA: " + words.Count(made, "queue pair") + " made, none is connected"
}

func ethernet(m wire.Motion) string {
	var parts []string
	for _, l := range m.Links {
		if most := max(l.Sent, l.Received); most > 0 {
			parts = append(parts, fmt.Sprintf("%s over %s", ByteRate(most), l.Name))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "; " + strings.Join(parts, ", ")
}

func connected(pairs int) string {
	if pairs == 1 {
		return "1 queue pair is connected"
	}
	return words.Count(pairs, "queue pair") + " are connected"
}
