"""A Lightning trainer on two nodes that breaks on demand: train_lightning.py [exception|interrupt]."""

import os
import signal
import sys

import lightning
import torch


class Model(lightning.LightningModule):
    def __init__(self, fault):
        super().__init__()
        self.fault = fault
        self.layer = torch.nn.Linear(8, 1)

    def training_step(self, batch, i):
        if i == 5 and self.global_rank == 1:
            if self.fault == "exception":
                raise ValueError("expected 4 channels, got 3")
            if self.fault == "interrupt":
                os.kill(os.getpid(), signal.SIGINT)
        return self.layer(batch).mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


data = torch.utils.data.DataLoader(torch.ones(64, 8), batch_size=2)
trainer = lightning.Trainer(
    accelerator="gpu", devices=1, num_nodes=2, max_epochs=1, logger=False, enable_checkpointing=False, log_every_n_steps=1
)
trainer.fit(Model(sys.argv[1] if len(sys.argv) > 1 else ""), data)
