package bench

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// gpuRun is ib_write_bw with GPU memory over RoCE for a duration, by DMA-BUF.
const gpuRun = ` WARNING: BW peak won't be measured in this run.
Perftest doesn't supports CUDA tests with inline messages: inline size set to 0
initializing CUDA
Listing all CUDA devices in system:
CUDA device 0: PCIe address is E1:00

Picking device No. 0
[pid = 4101, dev = 0] device name = [NVIDIA H200]
creating CUDA Ctx
making it the current CUDA Ctx
CUDA device integrated: 0
cuMemAlloc() of a 2097152 bytes GPU buffer
allocated GPU buffer address at 00007f3dfa600000 pointer=0x7f3dfa600000
---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF		Device         : mlx5_1
 Number of qps   : 16		Transport type : IB
 Connection type : RC		Using SRQ      : OFF
 PCIe relax order: Unsupported
 ibv_wr* API     : ON		Using DDP      : OFF
 TX depth        : 128
 CQ Moderation   : 1
 Mtu             : 4096[B]
 Link type       : Ethernet
 GID index       : 3
 Max inline data : 0[B]
 rdma_cm QPs	 : ON
 Data ex. method : rdma_cm 	TOS    : 41
---------------------------------------------------------------------------------------
 local address: LID 0000 QPN 0x00e7 PSN 0xe6b9a2
 GID: 00:00:00:00:00:00:00:00:00:00:255:255:192:168:02:02
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
Conflicting CPU frequency values detected: 800.000000 != 3295.212000. CPU Frequency is not max.
 65536      11190400         0.00               391.11		     0.745983
---------------------------------------------------------------------------------------
deallocating GPU buffer 00007f3dfa600000
destroying current CUDA Ctx
`

const latencyRun = `                    RDMA_Write Latency Test
 Dual-port       : OFF          Device         : rxe0
 Mtu             : 1024[B]
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]
 2       1000          453.06         37330.73     692.41            928.05           2465.901216.65                 37330.73
`

const bwHeader = " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"

func TestParsePerftest(t *testing.T) {
	const megabytes = 11030.45 * (8 << 20) / 1e9
	const row = " 65536      5000             11030.78            11030.45\t\t     0.176487\n"
	for name, c := range map[string]struct {
		text   string
		gbps   Gbps
		micros float64
		errors []string
	}{
		"GPU memory for a duration":   {text: gpuRun, gbps: 391.11},
		"latency whose columns touch": {text: latencyRun, micros: 692.41},
		"latency for a duration": {
			text:   " #bytes        #iterations       t_avg[usec]    tps average\n 2  50000  1.47  340136.05\n",
			micros: 1.47,
		},
		"MB/sec are of 2^20 bytes":    {text: bwHeader + row, gbps: megabytes},
		"MiB/sec of newer ones":       {text: strings.ReplaceAll(bwHeader, "MB/sec", "MiB/sec") + row, gbps: megabytes},
		"with CPU_Util of --cpu_util": {text: bwHeader + "65536  5000  11030.78  11030.45  0.176487  3.14\n", gbps: megabytes},
		"too little locked memory": {
			text: " Couldn't allocate MR\n failed to create mr\nFailed to create MR\n Couldn't create IB resources\n",
			errors: []string{
				"Couldn't allocate MR", "failed to create mr", "Failed to create MR", "Couldn't create IB resources",
			},
		},
		"port down": {
			text:   "------\n Port number 1 state is Down\n Couldn't set the link layer\n",
			errors: []string{"Port number 1 state is Down", "Couldn't set the link layer"},
		},
		"the path is dead": {
			text:   " Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81\nscnt=128, ccnt=0\n",
			errors: []string{"Completion with error at client", "Failed status 12: wr_id 0 syndrom 0x81"},
		},
		"no table of its own": {text: "65536 5000 1 2 3\n"},
	} {
		p := ParsePerftest(c.text)
		gbps, slow := p.Best()
		micros, late := p.Smallest()
		d := cmp.Diff(c.errors, p.Errors)
		if d != "" || math.Abs(float64(gbps-c.gbps)) > 1e-9 || micros != c.micros ||
			(slow == nil) != (c.gbps > 0) || (late == nil) != (c.micros > 0) {
			t.Errorf("%s: %v, %v; %v us, %v %s", name, gbps, slow, micros, late, d)
		}
	}
}

func TestPerftestMeasuredNothing(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		is   error
		says string
	}{
		"0 iterations and exit code 0": {
			bwHeader + " 65536      0             0.00            0.00\t\t     0.000000\n", ErrNothingMoved,
			"it ended without moving any data",
		},
		"ended by a timeout": {bwHeader, ErrNoTable, "it printed no result"},
		"refused to begin": {
			" Couldn't allocate MR\n", ErrNoTable, "it printed no result: Couldn't allocate MR",
		},
	} {
		_, err := ParsePerftest(c.text).Best()
		if !errors.Is(err, c.is) || err.Error() != c.says {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ParsePerftest(gpuRun).Smallest(); !errors.Is(err, ErrNoTable) {
		t.Errorf("latency of a bandwidth test: %v", err)
	}
}

func FuzzParsePerftest(f *testing.F) {
	f.Add(gpuRun)
	f.Add(latencyRun)
	f.Add(bwHeader + " 65536 0 0.00 0.00 0.000000\n")
	f.Fuzz(func(t *testing.T, text string) {
		p := ParsePerftest(text)
		if best, err := p.Best(); err == nil && !(best > 0) {
			t.Errorf("%v", best)
		}
		if least, err := p.Smallest(); err == nil && !(least > 0) {
			t.Errorf("%v", least)
		}
	})
}

func BenchmarkParsePerftest(b *testing.B) {
	b.SetBytes(int64(len(gpuRun)))
	for b.Loop() {
		if _, err := ParsePerftest(gpuRun).Best(); err != nil {
			b.Fatal(err)
		}
	}
}
