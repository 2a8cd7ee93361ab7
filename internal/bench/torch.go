package bench

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
)

// TorchLine is the line that PyTorch scripts print for one size:
//
//	[bench] op=all_reduce world=8 bytes=268435456 iters=50 avg_sec=0.006025 approx_alg_BW=41.49 GiB/s
//
// AlgBW is bytes/avg_sec/2^30; Busbw makes it comparable with nccl-tests.
type TorchLine struct {
	Op      Op      `json:"op"`
	World   int     `json:"world"` // ranks
	Bytes   int64   `json:"bytes"`
	Iters   int     `json:"iters"`
	Seconds float64 `json:"avgSec"` // of one iteration
	AlgBW   GiBps   `json:"algGiBps"`
}

// Busbw returns the bus bandwidth.
func (l TorchLine) Busbw() (GBps, error) { return Busbw(l.Op, l.World, l.AlgBW.GBps()) }

// ParseTorchLines reads every "[bench]" line of a log, with or without a prefix. It ignores lines that lack a field,
// moved nothing, or whose rate does not match their bytes and seconds.
func ParseTorchLines(log string) []TorchLine {
	var all []TorchLine
	for line := range strings.Lines(log) {
		_, rest, found := strings.Cut(line, "[bench] ")
		if !found {
			continue
		}
		if l, ok := torchLine(rest); ok {
			all = append(all, l)
		}
	}
	return all
}

func torchLine(text string) (TorchLine, bool) {
	fields := map[string]string{}
	words := strings.Fields(text)
	for i, w := range words {
		key, value, found := strings.Cut(w, "=")
		if !found {
			continue
		}
		fields[key] = value
		if key == "approx_alg_BW" && (i+1 >= len(words) || words[i+1] != "GiB/s") {
			return TorchLine{}, false
		}
	}
	l := TorchLine{Op: Op(fields["op"])}
	var errs [3]error
	l.World, errs[0] = strconv.Atoi(fields["world"])
	l.Bytes, errs[1] = strconv.ParseInt(fields["bytes"], 10, 64)
	l.Iters, errs[2] = strconv.Atoi(fields["iters"])
	seconds, timed := number(fields["avg_sec"])
	bw, rated := number(fields["approx_alg_BW"])
	l.Seconds, l.AlgBW = seconds, GiBps(bw)
	if errors.Join(errs[:]...) != nil || !timed || !rated {
		return TorchLine{}, false
	}
	return l, l.Op != "" && l.World > 0 && l.Bytes > 0 && l.Iters > 0 && l.moved()
}

// moved reports whether the rate matches the bytes and seconds of the line, which are rounded.
func (l TorchLine) moved() bool {
	const decimals, tolerance = 0.5e-6, 0.05
	if l.Seconds <= 0 {
		return false
	}
	rate := float64(l.Bytes) / l.Seconds / gibi
	slack := rate*(tolerance+decimals/l.Seconds) + 0.01
	return float64(l.AlgBW) >= rate-slack && float64(l.AlgBW) <= rate+slack
}

// PayloadRow is one row of the Markdown table of all_reduce_bench.py in stas00/ml-engineering:
//
//	|   32KiB |   0.92GBps |   0.48GBps |
type PayloadRow struct {
	Bytes int64 `json:"bytes"`
	Busbw GBps  `json:"busbw"`
	Algbw GBps  `json:"algbw"`
}

var payloadRow = regexp.MustCompile(`\|\s*(\d{1,6})([KMGT]?i?B)\s*\|\s*(\d{1,6}\.\d+)GBps\s*\|\s*(\d{1,6}\.\d+)GBps\s*\|`)

// ParsePayloads reads every row of such tables in a log.
func ParsePayloads(log string) []PayloadRow {
	shift := map[string]uint{"B": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40}
	var all []PayloadRow
	for line := range strings.Lines(log) {
		m := payloadRow.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		by, known := shift[m[2]]
		size, err := strconv.ParseInt(m[1], 10, 64)
		bus, also := number(m[3])
		alg, too := number(m[4])
		if known && err == nil && also && too {
			all = append(all, PayloadRow{size << by, GBps(bus), GBps(alg)})
		}
	}
	return all
}
