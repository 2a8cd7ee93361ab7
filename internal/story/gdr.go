package story

import (
	"fmt"
	"strings"

	"github.com/railhead/railhead/internal/words"
)

// judgeGPUDirect judges by the channels, which prove it; without channels, by the abilities that NCCL printed.
func (run *judged) judgeGPUDirect() {
	t := run.traffic
	run.gpuDirect = GPUDirectUnknown
	switch {
	case run.network.Kind == Socket && t.ends == 0:
		run.gpuDirect, run.gpuReason = GPUDirectNo, "TCP sockets have no GPUDirect RDMA"
	case t.ends > 0 && t.Direct == t.Ends && run.network.Transport == Unconnected:
		run.gpuDirect, run.gpuReason = GPUDirectYes, fmt.Sprintf("all %d ends of channels were planned with GDRDMA",
			t.ends)
	case t.ends > 0 && t.Direct == t.Ends:
		run.gpuDirect, run.gpuReason = GPUDirectYes, fmt.Sprintf("all %d ends of channels have GDRDMA", t.ends)
	case t.ends > 0 && t.Direct > 0:
		run.gpuDirect, run.gpuReason = GPUDirectPartial, fmt.Sprintf("%d of %d ends of channels have GDRDMA%s",
			t.Direct, t.Ends, run.because())
	case t.ends > 0:
		run.gpuDirect, run.gpuReason = GPUDirectNo, "no channel between nodes has GDRDMA"+run.because()
	default:
		run.judgeAbility()
	}
}

// judgeAbility judges a log without channels. A NIC that can use GPUDirect need not use it.
func (run *judged) judgeAbility() {
	enabled, disabled, far := 0, 0, 0
	for _, r := range run.log.Ranks {
		enabled += len(r.GPUDirect.Enabled)
		disabled += len(r.GPUDirect.Disabled)
		far += r.GPUDirect.Far
	}
	if disabled > 0 && enabled == 0 {
		run.gpuDirect, run.gpuReason = GPUDirectNo, strings.TrimPrefix(run.because(), ": ")
	}
}

// because is the reason that the lines give, behind a colon.
func (run *facts) because() string {
	for _, r := range run.log.Ranks {
		if len(r.GPUDirect.Disabled) > 0 {
			return fmt.Sprintf(": NCCL found neither a peer-memory module nor DMA-BUF for %s on %s",
				words.Few(r.GPUDirect.Disabled, mostNames), rankName(r, -1))
		}
	}
	for _, r := range run.log.Ranks {
		if text := r.GPUDirect.FarAt.Text; text != "" {
			_, distance, _ := strings.Cut(text, "(distance ")
			distance, _, _ = strings.Cut(distance, ")")
			return fmt.Sprintf(": the way from GPU to HCA is too long on %s (distance %s)", rankName(r, -1), distance)
		}
	}
	return ""
}
