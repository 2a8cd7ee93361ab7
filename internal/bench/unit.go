// Package bench plans measurements of the network of a training job and evaluates them: rounds of pairs, command
// lines and output of the tools, physical ceilings, and the parts of the fabric that are slow.
package bench

import "fmt"

// Gbps is a rate on a wire: 10^9 bits a second, the unit of ports, switches and perftest --report_gbits.
type Gbps float64

// GBps is a rate of payload: 10^9 bytes a second, the unit of nccl-tests (nccl-tests doc/PERFORMANCE.md).
type GBps float64

// GiBps is a rate of payload: 2^30 bytes a second, the unit of PyTorch scripts that divide by 1<<30.
type GiBps float64

const (
	bitsPerByte = 8
	giga        = 1e9
	gibi        = 1 << 30
)

// GBps converts bits to bytes.
func (r Gbps) GBps() GBps { return GBps(r / bitsPerByte) }

func (r Gbps) String() string { return rate(float64(r), "Gb/s") }

// Gbps converts bytes to bits.
func (r GBps) Gbps() Gbps { return Gbps(r * bitsPerByte) }

// GiBps converts decimal to binary units.
func (r GBps) GiBps() GiBps { return GiBps(r * giga / gibi) }

func (r GBps) String() string { return rate(float64(r), "GB/s") }

// GBps converts binary to decimal units.
func (r GiBps) GBps() GBps { return GBps(r * gibi / giga) }

func (r GiBps) String() string { return rate(float64(r), "GiB/s") }

func rate(value float64, unit string) string {
	decimals := 1
	switch {
	case value >= 1000:
		decimals = 0
	case value > 0 && value < 0.1: // as over Soft-RoCE in a virtual machine
		decimals = 3
	case value < 10:
		decimals = 2
	}
	return fmt.Sprintf("%.*f %s", decimals, value, unit)
}
