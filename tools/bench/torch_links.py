#!/usr/bin/env python3
"""Times attention over the links of a drawn graph by torch_geometric, forward and backward: TransformerConv without its projections.

The peer of `skein bench --bench.what=links --model.d_model=64 --model.n_heads=8`: 8 heads of 8, f32, 2 threads.

usage: torch_links.py NODES LINKS [cuda]       (needs `pip install torch torch_geometric`)
Prints the seconds of three passes, their median, the seconds of the process in them, and the most memory of the process.
"""

import resource
import statistics
import sys
import time

import torch
from torch_geometric.nn import TransformerConv

HEADS, WIDTH = 8, 8


def main(nodes, links, device="cpu"):
    torch.set_num_threads(2)
    torch.manual_seed(1)
    torch.set_default_device(device)
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    layer = TransformerConv(HEADS * WIDTH, WIDTH, heads=HEADS, root_weight=False)
    edges = torch.randint(nodes, (2, links))
    edges = edges[:, edges[1].argsort(stable=True)]
    q, k, v, dy = (torch.randn(nodes, HEADS, WIDTH) for _ in range(4))
    for x in (q, k, v):
        x.requires_grad_()
    seconds, busy = [], []
    for _ in range(4):
        wait()
        begin, before = time.perf_counter(), time.process_time()
        layer.propagate(edges, query=q, key=k, value=v, edge_attr=None, size=None).backward(dy)
        wait()
        seconds.append(time.perf_counter() - begin)
        busy.append(time.process_time() - before)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    times = " ".join(f"{one:.4f}" for one in seconds[1:])
    print(
        f"{times} median {statistics.median(seconds[1:]):.4f} s, {statistics.median(busy[1:]):.2f} s of both threads, {most} MiB"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
