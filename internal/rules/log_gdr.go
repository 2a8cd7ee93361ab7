package rules

import (
	"fmt"
	"strings"
)

// judgeGPUDirect says whether NICs read and write the memory of GPUs: by the channels, which prove it; without channels by
// what NCCL said that the NICs cannot.
func (v *view) judgeGPUDirect() {
	t := v.traffic()
	v.gpuDirect = GPUDirectUnknown
	switch {
	case v.network.Kind == Socket && t.rdma == 0:
		v.gpuDirect, v.gpuReason = GPUDirectNo, "TCP sockets have no GPUDirect RDMA"
	case t.rdma > 0 && t.direct == t.rdma && t.socket == 0:
		v.gpuDirect, v.gpuReason = GPUDirectYes, fmt.Sprintf("all %d ends of channels have GDRDMA", t.rdma)
	case t.rdma > 0 && t.direct > 0:
		v.gpuDirect, v.gpuReason = GPUDirectPartial, fmt.Sprintf("%d of %d ends of channels have GDRDMA%s", t.direct, t.rdma+t.socket, v.because())
	case t.rdma > 0:
		v.gpuDirect, v.gpuReason = GPUDirectNo, "no channel between nodes has GDRDMA"+v.because()
	default:
		v.judgeAbility()
	}
}

// judgeAbility judges a log without channels. That a NIC can is no proof that it does.
func (v *view) judgeAbility() {
	enabled, disabled, far := 0, 0, 0
	for _, r := range v.log.Ranks {
		enabled += len(r.GPUDirect.Enabled)
		disabled += len(r.GPUDirect.Disabled)
		far += r.GPUDirect.Far
	}
	if disabled > 0 && enabled == 0 {
		v.gpuDirect, v.gpuReason = GPUDirectNo, strings.TrimPrefix(v.because(), ": ")
	}
}

// because is the reason that the lines give, behind a colon.
func (v *view) because() string {
	for _, r := range v.log.Ranks {
		if len(r.GPUDirect.Disabled) > 0 {
			return fmt.Sprintf(": NCCL found neither a peer-memory module nor DMA-BUF for %s on %s", few(r.GPUDirect.Disabled), rankName(r, -1))
		}
	}
	for _, r := range v.log.Ranks {
		if text := r.GPUDirect.FarAt.Text; text != "" {
			_, distance, _ := strings.Cut(text, "(distance ")
			distance, _, _ = strings.Cut(distance, ")")
			return fmt.Sprintf(": the way from GPU to HCA is too long on %s (distance %s)", rankName(r, -1), distance)
		}
	}
	return ""
}
