# SPDX-License-Identifier: Apache-2.0
"""pytorch-train.py FOLDER BATCH OUTPUT: trains a small unchanged PyTorch model on samples/pytorch.

Rank r of n takes part r of every global batch of BATCH images; rank 0 writes the weights.
"""
import sys

import torch

sys.path.insert(0, sys.argv[1])
import lockstep_torch  # noqa: E402

STEPS = 12


def main():
    batch, output = int(sys.argv[2]), sys.argv[3]
    torch.set_num_threads(1)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(),
        torch.nn.Linear(8 * 8 * 8, 32), torch.nn.Tanh(), torch.nn.Linear(32, 4)).double()
    job = lockstep_torch.start(model, settings='control=bitvector;grouping=layer')
    torch.manual_seed(1000 + job.rank)  # so that sharing the weights is not for show
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    if job.rank == 0:
        torch.manual_seed(7)
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter, std=0.1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    job.attach(model, optimizer)
    data = torch.Generator().manual_seed(3)
    share = batch // job.size
    for _ in range(STEPS):
        images = torch.randn(batch, 3, 8, 8, generator=data, dtype=torch.float64)
        labels = torch.randint(0, 4, (batch,), generator=data)
        mine = slice(job.rank * share, (job.rank + 1) * share)
        with job.step(samples=share):
            optimizer.zero_grad()
            with job.phase('forward'):
                loss = torch.nn.functional.cross_entropy(model(images[mine]), labels[mine])
            with job.phase('backward'):
                loss.backward()
            optimizer.step()
    if job.rank == 0:
        torch.save([parameter.data for parameter in model.parameters()], output)
    job.stop()


if __name__ == '__main__':
    main()
