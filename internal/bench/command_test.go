package bench

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/host"
)

// pairOf is a fleet of two pods on two nodes where the one rail has other names.
func pairOf(tools ...Tool) Fleet {
	tools = append(tools, Timeout)
	return Fleet{
		Duration: 5 * time.Second, Spare: 15 * time.Second, Size: 65536, QPs: 4,
		Pods: []Pod{
			{Name: "h-kim-0", Node: "gpu-1", IP: "10.128.2.10", Tools: tools, Rails: []PodRail{
				{Name: "eno5np0", Device: "mlx5_6", Port: 1, GID: 3, Address: "192.168.1.10", NUMA: host.Know(1), GPU: host.Know(4), Ceiling: Ceiling{Rate: 392, By: ByLink}},
			}},
			{Name: "h-kim-1", Node: "gpu-2", IP: "10.128.3.11", Tools: tools, Rails: []PodRail{
				{Name: "eno5np0", Device: "mlx5_2", Port: 2, GID: -1, Address: "192.168.1.11", GPU: host.Know(0), Ceiling: Ceiling{Rate: 212, By: ByPCIe}},
			}},
		},
	}
}

var oneLink = Link{End{0, 0}, End{1, 0}}

func TestCommands(t *testing.T) {
	for name, c := range map[string]struct {
		measure        Measure
		tools          []Tool
		server, client string
		limit          time.Duration
	}{
		"bandwidth": {
			Write, nil,
			"ib_write_bw -d mlx5_2 -i 2 -p 20001 -F --report_gbits -s 65536 -q 4 -D 5",
			"ib_write_bw -d mlx5_6 -i 1 -p 20001 -F -x 3 --report_gbits -s 65536 -q 4 -D 5 10.128.3.11", 20 * time.Second,
		},
		"bandwidth of GPU memory": {
			WriteOfGPU, nil,
			"env CUDA_DEVICE_ORDER=PCI_BUS_ID ib_write_bw -d mlx5_2 -i 2 -p 20001 -F --use_cuda=0 --report_gbits -s 65536 -q 4 -D 5",
			"env CUDA_DEVICE_ORDER=PCI_BUS_ID ib_write_bw -d mlx5_6 -i 1 -p 20001 -F -x 3 --use_cuda=4 --report_gbits -s 65536 -q 4 -D 5 10.128.3.11", 40 * time.Second,
		},
		"latency": {
			Latency, nil, "ib_write_lat -d mlx5_2 -i 2 -p 20001 -F -n 1000", "ib_write_lat -d mlx5_6 -i 1 -p 20001 -F -x 3 -n 1000 10.128.3.11", 20 * time.Second,
		},
		"whether anything comes through": {
			Reach, nil,
			"ib_write_bw -d mlx5_2 -i 2 -p 20001 -F --report_gbits -s 4096 -n 20", "ib_write_bw -d mlx5_6 -i 1 -p 20001 -F -x 3 --report_gbits -s 4096 -n 20 10.128.3.11", 15 * time.Second,
		},
		"TCP of the pod network": {
			TCPOfPod, []Tool{Iperf3}, "iperf3 -s -1 -p 20001", "iperf3 -c 10.128.3.11 -p 20001 -t 5 -P 4 -J", 20 * time.Second,
		},
		"TCP of the rail": {
			TCPOfRail, []Tool{Iperf3, Python3}, "iperf3 -s -1 -p 20001", "iperf3 -c 192.168.1.11 -p 20001 -t 5 -P 4 -J", 20 * time.Second,
		},
		"TCP without iperf3": {
			TCPOfPod, []Tool{Python3}, "python3 -c SCRIPT serve 20001", "python3 -c SCRIPT send 10.128.3.11 20001 5 4", 20 * time.Second,
		},
	} {
		got := pairOf(c.tools...).Test(c.measure, oneLink, 20001)
		words := func(p Process) string { return strings.ReplaceAll(strings.Join(p.Argv, " "), tcpScript, "SCRIPT") }
		if d := cmp.Diff([]string{c.server, c.client}, []string{words(got.Server), words(got.Client)}); d != "" || got.Limit != c.limit || got.Server.Pod != 1 || got.Client.Pod != 0 {
			t.Errorf("%s: limit %v, pods %d, %d: %s", name, got.Limit, got.Server.Pod, got.Client.Pod, d)
		}
	}
}

func TestCommandIPv6(t *testing.T) {
	f := pairOf(IBWriteBW)
	f.Pods[1].IP = "fd00::11"
	got := f.Test(Latency, oneLink, 20001)
	if s, c := strings.Join(got.Server.Argv, " "), strings.Join(got.Client.Argv, " "); !strings.HasSuffix(s, " --ipv6-addr") || !strings.HasSuffix(c, " --ipv6-addr fd00::11") {
		t.Errorf("%s\n%s", s, c)
	}
}

// Without a peer-memory module GPU memory is registered by DMA-BUF, where the tool can.
func TestCommandDMABUF(t *testing.T) {
	f := pairOf(IBWriteBW, PerftestCUDA, PerftestDMABUF)
	f.Pods[0].NoPeermem = true
	got := f.Test(WriteOfGPU, oneLink, 20001)
	for end, want := range map[string]bool{strings.Join(got.Client.Argv, " "): true, strings.Join(got.Server.Argv, " "): false} {
		if strings.Contains(end, " --use_cuda_dmabuf ") != want {
			t.Errorf("%s", end)
		}
	}
}

func TestMissing(t *testing.T) {
	for name, c := range map[string]struct {
		tools []Tool
		of    Measure
		want  string
	}{
		"perftest is there":          {[]Tool{IBWriteBW}, Write, ""},
		"perftest is not":            {[]Tool{Iperf3}, Write, "the image of h-kim-0 has no ib_write_bw (perftest)"},
		"perftest without CUDA":      {[]Tool{IBWriteBW}, WriteOfGPU, "the image of h-kim-0 has no perftest built with CUDA"},
		"Python instead of iperf3":   {[]Tool{Python3}, TCPOfPod, ""},
		"neither Python nor iperf3":  {nil, TCPOfRail, "the image of h-kim-0 has no iperf3, and not both pods have python3"},
		"no latency test in the set": {[]Tool{IBWriteBW}, Latency, "the image of h-kim-0 has no ib_write_lat (perftest)"},
	} {
		if got := pairOf(c.tools...).Missing(c.of, 0, 1); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	f := pairOf(IBWriteBW)
	f.Pods[1].Tools = Tools{IBWriteBW}
	if got := f.Missing(Write, 0, 1); got != "the image of h-kim-1 has no timeout, which is needed to end every process" {
		t.Error(got)
	}
}

func TestParseTools(t *testing.T) {
	got := ParseTools("ib_write_bw\nrm -rf /\niperf3\niperf3\n\ntimeout\nperftest-cuda\n")
	if d := cmp.Diff(Tools{IBWriteBW, Iperf3, Timeout, PerftestCUDA}, got); d != "" {
		t.Error(d)
	}
}

func TestTorchAllReduce(t *testing.T) {
	argv := TorchAllReduce()
	if d := cmp.Diff([]string{"torchrun", "--no-python", "python3", "-c"}, argv[:4]); d != "" {
		t.Error(d)
	}
	if got := strings.Join(argv[5:], " "); got != "20 5 1048576 8388608 67108864 268435456 1073741824 2147483648" {
		t.Error(got)
	}
	// The code reads exactly the output of the script.
	format := `"[bench] op=all_reduce world=%d bytes=%d iters=%d avg_sec=%.6f approx_alg_BW=%.2f GiB/s"`
	if !strings.Contains(argv[4], format) {
		t.Errorf("the script does not print %s", format)
	}
}

func TestRead(t *testing.T) {
	const table = bwHeaderGbps + " 65536      11190400         0.00               391.11		     0.745983\n"
	const nothing = bwHeaderGbps + " 65536      0         0.00               0.00		     0.000000\n"
	const refused = "Couldn't connect to 10.128.3.11:20001\n Unable to open file descriptor for socket connection Unable to init the socket connection\n"
	const interrupted = "ethernet_read_keys: Couldn't read remote address\n Unable to read to socket/rdma_cm\n" +
		"Failed to exchange data between server and clients\n"
	const unconnected = "the test did not finish connecting within its limit of 20s"
	write, lat, tcp := Test{Tool: IBWriteBW, Limit: 20 * time.Second}, Test{Tool: IBWriteLat}, Test{Tool: Python3}
	for name, c := range map[string]struct {
		test           Test
		server, client Output
		want           Reading
	}{
		"a rate":    {write, Output{Text: table}, Output{Text: table}, Reading{Rate: 391.11}},
		"a latency": {lat, Output{}, Output{Text: latencyRun}, Reading{Micros: 692.41}},
		"TCP":       {tcp, Output{}, Output{Text: "[tcp] bytes=5000000000 seconds=4.000000 streams=4\n"}, Reading{Rate: 10}},
		"no number of TCP": {
			tcp, Output{Code: 1, Text: "x"}, Output{Text: "Traceback\nTimeoutError: timed out", Code: 1}, Reading{Failed: "it printed no result: TimeoutError: timed out"},
		},
		"0 iterations and exit 0": {write, Output{}, Output{Text: nothing}, Reading{Failed: "it ended without moving any data"}},
		"ended by timeout(1)":     {write, Output{Code: 137}, Output{Code: 137}, Reading{Failed: "it hangs: no data within 20s"}},
		"the server refused": {
			write, Output{Text: " Port number 1 state is Down\n Couldn't set the link layer\n", Code: 1}, Output{Text: refused, Code: 1},
			Reading{Failed: "the server failed: Port number 1 state is Down; Couldn't set the link layer"},
		},
		"the server's port is not reached": {
			write, Output{Code: 137}, Output{Text: refused, Code: 1},
			Reading{Failed: "the client cannot reach the server's TCP port: a NetworkPolicy, a firewall, or no route"},
		},
		"the client's own fault, of which the server only hears": {
			write, Output{Text: "ethernet_read_keys: Couldn't read remote address\n", Code: 1}, Output{Text: "Couldn't allocate MR\nfailed to create mr\n", Code: 1},
			Reading{Failed: "it printed no result: Couldn't allocate MR; failed to create mr"},
		},
		"the client was killed while the two exchanged their parameters": {
			write, Output{Text: interrupted, Code: 1}, Output{Code: 137}, Reading{Failed: unconnected},
		},
		"the server was killed while the two exchanged their parameters": {
			write, Output{Code: 137}, Output{Text: interrupted, Code: 1}, Reading{Failed: unconnected},
		},
		"the server's own fault, of which the client only hears": {
			write, Output{Text: "Couldn't allocate MR\n", Code: 1}, Output{Text: interrupted, Code: 1},
			Reading{Failed: "the server failed: Couldn't allocate MR"},
		},
		"the server left without a word": {
			write, Output{}, Output{Text: interrupted, Code: 1},
			Reading{Failed: "the other end left while the two exchanged their parameters"},
		},
		"the server's pod is gone":  {write, Output{Lost: "pods \"h-kim-1\" not found"}, Output{Text: refused, Code: 1}, Reading{Failed: "the server was lost: pods \"h-kim-1\" not found"}},
		"the client's pod is gone":  {write, Output{}, Output{Lost: "connection reset"}, Reading{Failed: "the client was lost: connection reset"}},
		"no such program":           {write, Output{}, Output{Code: 127, Text: "timeout: failed to run command 'ib_write_bw'"}, Reading{Failed: "ib_write_bw not found"}},
		"no such program there":     {write, Output{Code: 127}, Output{Code: 1, Text: refused}, Reading{Failed: "the server has no ib_write_bw"}},
		"a server without complain": {write, Output{Code: 3, Text: "a\nb\n"}, Output{Code: 1, Text: refused}, Reading{Failed: "the server ended with exit code 3: b"}},
	} {
		if d := cmp.Diff(c.want, c.test.Read(c.server, c.client)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

const bwHeaderGbps = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"

func TestParseTCPLine(t *testing.T) {
	for text, want := range map[string]Gbps{
		"x [tcp] bytes=5000000000 seconds=4.0 streams=4\n": 10,
		"[tcp] bytes=0 seconds=4.0 streams=4":              0,
		"[tcp] bytes=1 seconds=0 streams=4":                0,
		"[tcp] bytes=1":                                    0,
		"":                                                 0,
	} {
		if got, err := parseTCPLine(text); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func FuzzParseTCPLine(f *testing.F) {
	f.Add("[tcp] bytes=5000000000 seconds=4.0 streams=4\n")
	f.Fuzz(func(t *testing.T, text string) {
		if r, err := parseTCPLine(text); err == nil && !(r > 0) {
			t.Errorf("%+v", r)
		}
	})
}
