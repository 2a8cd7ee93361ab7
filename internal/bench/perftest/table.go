// Package perftest reads what the bandwidth tests of linux-rdma/perftest print. railhead-pod links it: it has no regular
// expression.
package perftest

import (
	"math"
	"strconv"
	"strings"
)

// Refusal is how a client says that it came before its server (src/perftest_communication.c, ethernet_client_connect).
const Refusal = "Couldn't connect to"

// Table is what the line of column names says of the rows below it; the zero value has none.
//
//	#bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]            and [Gb/sec], [MiB/sec]
//
// Source: src/perftest_parameters.h, RESULT_FMT.
type Table struct{ known, mebibytes bool }

// TableOf reads a line of column names.
func TableOf(header string) Table {
	mebibytes := strings.Contains(header, "average[MB/sec]") || strings.Contains(header, "average[MiB/sec]")
	return Table{mebibytes || strings.Contains(header, "average[Gb/sec]"), mebibytes}
}

// Row is what one size of message came to.
type Row struct {
	Bytes, Iterations float64
	Peak, Average     float64 // Gb/s
	Messages          float64 // millions a second
}

// Row reads a line; ok is false where it is no row of the table. More columns may follow (CPU_Util[%], the second port's).
func (t Table) Row(line string) (r Row, ok bool) {
	words := strings.Fields(line)
	var n [5]float64
	if !t.known || len(words) < len(n) {
		return r, false
	}
	for i := range n {
		var err error
		if n[i], err = strconv.ParseFloat(words[i], 64); err != nil || !(n[i] >= 0) || n[i] > math.MaxInt64/2 {
			return r, false
		}
	}
	if t.mebibytes { // perftest divides by 0x100000 (src/perftest_resources.c, print_report_bw)
		n[2], n[3] = n[2]*(8<<20)/1e9, n[3]*(8<<20)/1e9
	}
	return Row{n[0], n[1], n[2], n[3], n[4]}, true
}

// Bandwidth is the average of the last row that a test printed, in Gb/s: 0 where it ended although nothing came through, as
// -D does on a dead path. ok is false where it printed no row: it was ended, or refused to begin.
func Bandwidth(text string) (gbps float64, ok bool) {
	var t Table
	for _, line := range strings.Split(text, "\n") {
		if r, is := t.Row(line); is {
			if gbps, ok = r.Average, true; r.Iterations == 0 {
				gbps = 0
			}
		} else if strings.Contains(line, "#bytes") {
			t = TableOf(line)
		}
	}
	return gbps, ok
}
