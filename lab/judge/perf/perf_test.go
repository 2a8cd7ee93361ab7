package perf

import (
	"errors"
	"strings"
	"testing"
)

const table = `---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF		Device         : mlx5_1
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 65536      100              19.24              18.99		   0.000304
---------------------------------------------------------------------------------------
`

func TestParse(t *testing.T) {
	if got, err := Parse(table); err != nil || got != (Bandwidth{100, 18.99}) {
		t.Errorf("%+v, %v", got, err)
	}
	none := strings.NewReplacer("100 ", "0 ", "19.24", "0.00", "18.99", "0.00").Replace(table)
	if _, err := Parse(none); !errors.Is(err, ErrNothingMoved) {
		t.Errorf("0 iterations: %v", err)
	}
	head, _, _ := strings.Cut(table, " 65536")
	for _, cut := range []string{"", head, strings.Replace(table, "18.99", "nan?", 1)} {
		if got, err := Parse(cut); err == nil {
			t.Errorf("%q: %+v", cut, got)
		}
	}
}

func TestFailure(t *testing.T) {
	for words, r := range map[string]Result{
		"it hangs": {Code: 124},
		"exit code 1: Couldn't allocate MR; failed to create mr; Couldn't create IB resources": {
			Code: 1, Stderr: "Couldn't allocate MR\nfailed to create mr\n Couldn't create IB resources\n", Stdout: "-----\n",
		},
		"exit code 1: Port number 1 state is Down": {Code: 1, Stdout: "------\n Port number 1 state is Down\n"},
	} {
		if got := failure(r); got == nil || got.Error() != words {
			t.Errorf("%v, want %s", got, words)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(table)
	f.Fuzz(func(t *testing.T, out string) {
		if b, err := Parse(out); err == nil && b.Iterations == 0 {
			t.Errorf("%+v of %q", b, out)
		}
	})
}
