package main

import (
	"fmt"
	"strings"
)

// training writes some output of the training: the iterations that the last rank prints, the steps of every rank, a
// progress bar that overwrites itself, metrics in JSON, warnings of Python.
func (w *writer) training() {
	switch w.random.IntN(16) {
	case 0:
		w.step++
		w.print(" [2025-11-21 %s] iteration %8d/  500000 | consumed samples: %12d | "+
			"elapsed time per iteration (ms): %s | throughput per GPU (TFLOP/s/GPU): %s | "+
			"learning rate: 1.200000E-04 | global batch size:  4096 | lm loss: %sE+00 | loss scale: 1.0 | "+
			"grad norm: %s | number of skipped iterations:   0 | number of nan iterations:   0 |",
			w.clock(), w.step, w.step*4096, w.decimal(8000, 300), w.decimal(400, 30), w.decimal(2, 1), w.decimal(0, 1))
	case 1:
		var bar strings.Builder
		for range 4 {
			fmt.Fprintf(&bar, "\rTraining:  12%%|█▏        | %d/500000 [2:41:07<19:40:12,  %ss/it, loss=%s]",
				w.step, w.decimal(8, 1), w.decimal(2, 1))
		}
		w.print("%s", bar.String())
	case 2:
		w.print(`{"time": "2025-11-21T%sZ", "level": "INFO", "logger": "trainer.metrics", "step": %d, "rank": %d, `+
			`"loss": %s, "grad_norm": %s, "gpu_util": 97, "dataloader_wait_ms": %s}`,
			w.clock(), w.step, w.random.IntN(w.ranks), w.decimal(2, 1), w.decimal(0, 1), w.decimal(1, 9))
	case 3:
		w.print("/opt/venv/lib/python3.11/site-packages/torch/utils/checkpoint.py:295: FutureWarning: " +
			"`torch.cpu.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('cpu', args...)` instead.")
		w.print("  with torch.enable_grad(), device_autocast_ctx, torch.cpu.amp.autocast(**ctx.cpu_autocast_kwargs):" +
			"  # type: ignore[attr-defined]")
	case 4, 5, 6:
		w.print("INFO:data.loader:worker %d of rank %d opened shard /mnt/datasets/tokens/part-%05d-of-99999.bin in "+
			"%s ms (prefetch 4, pinned)",
			w.random.IntN(16), w.random.IntN(w.ranks), w.random.IntN(100000), w.decimal(0, 40))
	default:
		w.print("[rank%d]: step %d loss %s tokens/s %s memory allocated 61.42 GiB reserved 71.88 GiB forward %s ms "+
			"backward %s ms optimizer %s ms", w.random.IntN(w.ranks), w.step, w.decimal(2, 1),
			w.decimal(3000, 400), w.decimal(2500, 90), w.decimal(5100, 90), w.decimal(210, 30))
	}
}

func (w *writer) clock() string {
	return fmt.Sprintf("%02d:%02d:%02d", w.step/3600%24, w.step/60%60, w.step%60)
}

// decimal returns a number of at least low and less than low + width.
func (w *writer) decimal(low, width int) string {
	return fmt.Sprintf("%d.%04d", low+w.random.IntN(width), w.random.IntN(10000))
}
