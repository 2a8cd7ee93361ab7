// Package perftest reads the output of the bandwidth tests of linux-rdma/perftest. railhead-pod links it: regular
// expressions would make that program larger.
package perftest

import (
	"math"
	"strconv"
	"strings"
)

// Refusal is printed by a client that finds no server (src/perftest_communication.c, ethernet_client_connect).
const Refusal = "Couldn't connect to"

// Table is the form of the rows below a line of column names. The zero value has no rows.
//
//	#bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]            or [Gb/sec], [MiB/sec]
//
// Source: src/perftest_parameters.h, RESULT_FMT.
type Table struct{ known, mebibytes bool }

// TableOf reads a line of column names.
func TableOf(header string) Table {
	mebibytes := strings.Contains(header, "average[MB/sec]") || strings.Contains(header, "average[MiB/sec]")
	return Table{mebibytes || strings.Contains(header, "average[Gb/sec]"), mebibytes}
}

// Row is the result for one message size.
type Row struct {
	Bytes, Iterations float64
	Average           float64 // Gb/s
}

// Row reads a line. ok is false if it is not a row of the table. More columns may follow: CPU_Util[%], and the columns
// of a second port.
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
	r = Row{n[0], n[1], n[3]}
	if t.mebibytes { // perftest divides by 0x100000 (src/perftest_resources.c, print_report_bw)
		r.Average = r.Average * (8 << 20) / 1e9
	}
	return r, true
}

// Bandwidth returns the average of the last row that a test printed, in Gb/s. It is 0 for a test that ended without
// moving any data, as with -D on a dead path. ok is false if the test printed no row, because it was killed or did
// not start.
func Bandwidth(text string) (gbps float64, ok bool) {
	var t Table
	for _, line := range strings.Split(text, "\n") {
		if r, is := t.Row(line); is {
			gbps, ok = r.Average, true
			if r.Iterations == 0 {
				gbps = 0
			}
		} else if strings.Contains(line, "#bytes") {
			t = TableOf(line)
		}
	}
	return gbps, ok
}
