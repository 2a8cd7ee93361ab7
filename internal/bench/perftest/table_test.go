package perftest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Lines of column names.
const (
	gigabits  = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
	mebibytes = " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
	latency   = " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]\n"
)

func TestRow(t *testing.T) {
	for name, c := range map[string]struct {
		header, line string
		want         Row // zero: no row
	}{
		"gigabits":                     {gigabits, "65536 5000 92.53 92.11 0.17", Row{65536, 5000, 92.11}},
		"MB/sec are of 2^20":           {mebibytes, "65536 1000 1000.00 500.00 0.01", Row{65536, 1000, 4.194304}},
		"with CPU_Util":                {gigabits, "65536 5000 92.53 92.11 0.17 3.14", Row{65536, 5000, 92.11}},
		"no table":                     {"local address: LID 0000 QPN 0x00e7\n", "65536 5000 1 2 3", Row{}},
		"row of latencies":             {latency, "2 1000 1 2 3 4 5 6 7", Row{}},
		"too few columns":              {gigabits, "65536 5000 92.53 92.11", Row{}},
		"no number":                    {gigabits, "65536 5000 92.53 92.11 fast", Row{}},
		"negative":                     {gigabits, "65536 5000 92.53 -92.11 0.17", Row{}},
		"not a number":                 {gigabits, "65536 5000 NaN NaN NaN", Row{}},
		"infinite":                     {gigabits, "65536 5000 Inf Inf Inf", Row{}},
		"more iterations than 64 bits": {gigabits, "65536 99999999999999999999 1 2 3", Row{}},
	} {
		t.Run(name, func(t *testing.T) {
			r, ok := TableOf(c.header).Row(c.line)
			if diff := cmp.Diff(c.want, r); diff != "" || ok != (c.want != Row{}) {
				t.Errorf("ok %v, row (-want +got):\n%s", ok, diff)
			}
		})
	}
}

func TestBandwidth(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want float64
		ok   bool
	}{
		"one size":                   {gigabits + " 65536      200              92.53              92.11\t\t     0.175690\n----\n", 92.11, true},
		"several sizes":              {gigabits + "2 200 0.10 0.09 5.6\n65536 200 92.53 92.11 0.17\n", 92.11, true},
		"0 iterations":               {gigabits + " 65536      0             0.00            0.00\t\t     0.000000\n", 0, true},
		"a rate of no iterations":    {gigabits + " 65536      0             1.00            1.00\t\t     0.000000\n", 0, true},
		"ended before its result":    {" RDMA_Write BW Test\n" + gigabits, 0, false},
		"too little locked memory":   {" Couldn't allocate MR\n failed to create mr\nFailed to create MR\n Couldn't create IB resources\n", 0, false},
		"rows of a latency test":     {latency + "2 1000 1 2 3 4 5 6 7\n", 0, false},
		"nothing":                    {"", 0, false},
		"talk between names and row": {gigabits + "Conflicting CPU frequency values detected: 800.000000 != 3295.212000.\n 65536 200 0.00 391.11 0.7\n", 391.11, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got, ok := Bandwidth(c.text); got != c.want || ok != c.ok {
				t.Errorf("%v, %v, want %v, %v", got, ok, c.want, c.ok)
			}
		})
	}
}

func FuzzBandwidth(f *testing.F) {
	f.Add(gigabits + "65536 1000 92.53 92.11 0.17\n")
	f.Add(mebibytes + "65536 0 0.00 0.00 0.000000\n")
	f.Add(latency + "2 1000 453.06 37330.73 692.41 928.05 2465.901216.65 37330.73\n")
	f.Fuzz(func(t *testing.T, text string) {
		if got, ok := Bandwidth(text); !(got >= 0) || got > 0 && !ok {
			t.Errorf("%v, %v", got, ok)
		}
	})
}
