package main

// training is some output of the training: the iterations that the last rank prints, what every rank prints for
// itself, a progress bar that overwrites itself, metrics in JSON, warnings of Python.
func (w *writer) training() {
	switch w.random.IntN(16) {
	case 0:
		w.iteration()
	case 1:
		w.progress()
	case 2:
		w.metrics()
	case 3:
		w.warning()
	case 4, 5, 6:
		w.shard()
	default:
		w.ownStep()
	}
}

func (w *writer) iteration() {
	w.step++
	w.text(" [2025-11-21 ")
	w.clock()
	w.text("] iteration ")
	w.padded(w.step, 8, ' ')
	w.text("/  500000 | consumed samples: ")
	w.padded(w.step*4096, 12, ' ')
	w.text(" | elapsed time per iteration (ms): ")
	w.decimal(8000, 300)
	w.text(" | throughput per GPU (TFLOP/s/GPU): ")
	w.decimal(400, 30)
	w.text(" | learning rate: 1.200000E-04 | global batch size:  4096 | lm loss: ")
	w.decimal(2, 1)
	w.text("E+00 | loss scale: 1.0 | grad norm: ")
	w.decimal(0, 1)
	w.text(" | number of skipped iterations:   0 | number of nan iterations:   0 |")
	w.flush()
}

func (w *writer) clock() {
	w.padded(w.step/3600%24, 2, '0')
	w.text(":")
	w.padded(w.step/60%60, 2, '0')
	w.text(":")
	w.padded(w.step%60, 2, '0')
}

// decimal adds a number from low on.
func (w *writer) decimal(low, width int) {
	w.number(low + w.random.IntN(width))
	w.text(".")
	w.padded(w.random.IntN(10000), 4, '0')
}

func (w *writer) ownStep() {
	w.text("[rank")
	w.number(w.random.IntN(w.ranks))
	w.text("]: step ")
	w.number(w.step)
	w.text(" loss ")
	w.decimal(2, 1)
	w.text(" tokens/s ")
	w.decimal(3000, 400)
	w.text(" memory allocated 61.42 GiB reserved 71.88 GiB forward ")
	w.decimal(2500, 90)
	w.text(" ms backward ")
	w.decimal(5100, 90)
	w.text(" ms optimizer ")
	w.decimal(210, 30)
	w.text(" ms")
	w.flush()
}

func (w *writer) progress() {
	for range 4 {
		w.text("\rTraining:  12%|█▏        | ")
		w.number(w.step)
		w.text("/500000 [2:41:07<19:40:12,  ")
		w.decimal(8, 1)
		w.text("s/it, loss=")
		w.decimal(2, 1)
		w.text("]")
	}
	w.flush()
}

func (w *writer) metrics() {
	w.text(`{"time": "2025-11-21T`)
	w.clock()
	w.text(`Z", "level": "INFO", "logger": "trainer.metrics", "step": `)
	w.number(w.step)
	w.text(`, "rank": `)
	w.number(w.random.IntN(w.ranks))
	w.text(`, "loss": `)
	w.decimal(2, 1)
	w.text(`, "grad_norm": `)
	w.decimal(0, 1)
	w.text(`, "gpu_util": 97, "dataloader_wait_ms": `)
	w.decimal(1, 9)
	w.text(`}`)
	w.flush()
}

func (w *writer) warning() {
	w.text("/opt/venv/lib/python3.11/site-packages/torch/utils/checkpoint.py:295: FutureWarning: " +
		"`torch.cpu.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('cpu', args...)` instead.")
	w.flush()
	w.text("  with torch.enable_grad(), device_autocast_ctx, torch.cpu.amp.autocast(**ctx.cpu_autocast_kwargs):  # " +
		"type: ignore[attr-defined]")
	w.flush()
}

func (w *writer) shard() {
	w.text("INFO:data.loader:worker ")
	w.number(w.random.IntN(16))
	w.text(" of rank ")
	w.number(w.random.IntN(w.ranks))
	w.text(" opened shard /mnt/datasets/tokens/part-")
	w.padded(w.random.IntN(100000), 5, '0')
	w.text("-of-99999.bin in ")
	w.decimal(0, 40)
	w.text(" ms (prefetch 4, pinned)")
	w.flush()
}
