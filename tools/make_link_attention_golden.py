#!/usr/bin/env python3
"""Makes tests/nn/link_attention.golden.json: layers over a small graph by torch_geometric, with their gradients, in f64.

The graph has self-loops, an edge that is there twice, nodes that nobody leads to and one without edges. An edge [row, column]
is a message from node `column` to node `row`. Of each layer: tensors by our names (scores of heads [H,D], products [outputs,inputs]), numbers of the
edges where it takes some, y, and the gradients of the sum of y times upstream.

    python3 -m venv venv && venv/bin/pip install torch torch_geometric
    venv/bin/python tools/make_link_attention_golden.py
"""

import json
import pathlib

import torch
import torch_geometric
from torch_geometric.nn import GATConv, GATv2Conv, GCNConv, TransformerConv

NODES, INPUTS, HEADS, WIDTH = 7, 4, 2, 3
EDGES = [
    [0, 0],
    [0, 1],
    [0, 2],
    [1, 1],
    [1, 0],
    [1, 0],
    [2, 4],
    [3, 3],
    [3, 5],
    [3, 0],
    [4, 2],
    [4, 1],
    [4, 3],
    [5, 5],
    [5, 3],
]


def gat(merge, edge_dim=None):
    layer = GATConv(
        INPUTS,
        WIDTH,
        heads=HEADS,
        concat=merge == "concatenated",
        add_self_loops=False,
        edge_dim=edge_dim,
    )
    return layer, {
        "v.weight": layer.lin.weight,
        "row_score": layer.att_dst,
        "column_score": layer.att_src,
        "bias": layer.bias,
    }


def gat2(merge):
    layer = GATv2Conv(
        INPUTS, WIDTH, heads=HEADS, concat=merge == "concatenated", add_self_loops=False
    )
    return layer, {
        "q.weight": layer.lin_r.weight,
        "q.bias": layer.lin_r.bias,
        "v.weight": layer.lin_l.weight,
        "v.bias": layer.lin_l.bias,
        "score": layer.att,
        "bias": layer.bias,
    }


def dot():
    layer = TransformerConv(INPUTS, WIDTH, heads=HEADS, root_weight=False)
    named = {"q": layer.lin_query, "k": layer.lin_key, "v": layer.lin_value}
    return layer, {
        f"{name}.{kind}": getattr(one, kind)
        for name, one in named.items()
        for kind in ("weight", "bias")
    }


def gcn():
    layer = GCNConv(INPUTS, HEADS * WIDTH, add_self_loops=False)
    return layer, {"v.weight": layer.lin.weight, "bias": layer.bias}


def numbers_of(tensor):
    return tensor.detach().flatten().tolist()


def case(score, merge, layer, tensors, x, edge_features=None):
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.normal_(0, 0.7)
    extra = {} if edge_features is None else {"edge_attr": edge_features}
    x = x.clone().requires_grad_()
    y = layer(x, torch.tensor(EDGES).T[[1, 0]], **extra)
    upstream = torch.randn(y.shape)
    y.backward(upstream)
    made = {
        "score": score,
        "merge": merge,
        "y": numbers_of(y),
        "upstream": numbers_of(upstream),
        "dx": numbers_of(x.grad),
    }
    made["tensors"] = {name: numbers_of(tensor) for name, tensor in tensors.items()}
    made["gradients"] = {name: numbers_of(tensor.grad) for name, tensor in tensors.items()}
    if edge_features is not None:
        features = layer.lin_edge(edge_features).view(-1, HEADS, WIDTH)
        made["numbers"] = numbers_of((features * layer.att_edge).sum(-1))
    return made


def main():
    torch.manual_seed(5)
    torch.set_default_dtype(torch.float64)
    x = torch.randn(NODES, INPUTS)
    cases = [case("dot", "concatenated", *dot(), x), case("none", "concatenated", *gcn(), x)]
    for merge in ("concatenated", "averaged"):
        cases += [case("gat", merge, *gat(merge), x), case("gat2", merge, *gat2(merge), x)]
    cases.append(
        case("gat", "concatenated", *gat("concatenated", 2), x, torch.randn(len(EDGES), 2))
    )
    made = {
        "torch_geometric": torch_geometric.__version__,
        "nodes": NODES,
        "inputs": INPUTS,
        "heads": HEADS,
        "width": WIDTH,
        "edges": EDGES,
        "x": numbers_of(x),
        "cases": cases,
    }
    path = pathlib.Path(__file__).parent.parent / "tests/nn/link_attention.golden.json"
    path.write_text(json.dumps(made, separators=(",", ":")).replace('{"score', '\n{"score') + "\n")


if __name__ == "__main__":
    main()
