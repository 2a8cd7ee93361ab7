package bench

import (
	"fmt"
	"strings"
)

// ParseTCPLine reads the line of tcp.py, which counts the bytes that the server received:
//
//	[tcp] bytes=11763974144 seconds=5.000312 streams=4
func ParseTCPLine(text string) (TCPRun, bool) {
	for line := range strings.Lines(text) {
		_, rest, found := strings.Cut(line, "[tcp] ")
		if !found {
			continue
		}
		var bytes int64
		var r TCPRun
		n, err := fmt.Sscanf(rest, "bytes=%d seconds=%f streams=%d", &bytes, &r.Seconds, &r.Streams)
		if err == nil && n == 3 && bytes > 0 && r.Seconds > 0 {
			r.Received = Gbps(float64(bytes) * bitsPerByte / r.Seconds / giga)
			return r, true
		}
	}
	return TCPRun{}, false
}
