#!/usr/bin/env python3
"""Makes tests/golden/*.h5: logits, loss and gradients of small GPTs by PyTorch, to hold Skein's against.

    python3 tools/make_golden.py tests/golden

Needs Debian's python3-torch and python3-h5py. The network below is written from the formulas, on its own: it
shares nothing with Skein but the names of tensors. Weights are f32 numbers; everything is computed from them
in f64 and stored as f32. Run again on one machine, it writes the same bytes.
"""
import argparse
import pathlib

import h5py
import numpy
import torch
import torch.nn.functional as F

VOCAB, WIDTH, HEADS, LENGTH, BATCH = 67, 16, 4, 24, 3

CASES = {
    "gpt2": {},
    "gpt_post_erf": dict(positions="sinusoidal", norm_placement="post", activation="gelu_erf",
                         tie_embeddings=False),
    "llama": dict(positions="rotary", norm="rms", activation="swiglu", n_kv_heads=2, bias=False,
                  tie_embeddings=False, d_ff=44, rope_theta=500.0, norm_epsilon=1e-6),
    "relu_rms": dict(norm="rms", activation="relu", d_head=6, n_kv_heads=2),
    # Positions by a table: rotary ones are relative, so whether they restart would not show.
    "documents": dict(documents=True),
}
DEFAULTS = dict(positions="learned", norm="layer", norm_placement="pre", activation="gelu_tanh",
                n_kv_heads=HEADS, d_head=WIDTH // HEADS, d_ff=4 * WIDTH, bias=True, tie_embeddings=True,
                rope_theta=10000.0, norm_epsilon=1e-5, n_layers=2, documents=False)


def tensors(c):
    """Name -> shape, in Skein's names."""
    q, kv, f = HEADS * c["d_head"], c["n_kv_heads"] * c["d_head"], c["d_ff"]
    shapes = {"embedding.tokens.weight": (VOCAB, WIDTH)}
    if c["positions"] == "learned":
        shapes["embedding.positions.weight"] = (LENGTH, WIDTH)

    def linear(name, outputs, inputs):
        shapes[name + ".weight"] = (outputs, inputs)
        if c["bias"]:
            shapes[name + ".bias"] = (outputs,)

    def norm(name):
        shapes[name + ".gain"] = (WIDTH,)
        if c["bias"] and c["norm"] == "layer":
            shapes[name + ".bias"] = (WIDTH,)

    for i in range(c["n_layers"]):
        block = f"block.{i}"
        norm(block + ".norm_1")
        linear(block + ".attention.q", q, WIDTH)
        linear(block + ".attention.k", kv, WIDTH)
        linear(block + ".attention.v", kv, WIDTH)
        linear(block + ".attention.out", WIDTH, q)
        norm(block + ".norm_2")
        linear(block + ".mlp.up", f, WIDTH)
        if c["activation"] == "swiglu":
            linear(block + ".mlp.gate", f, WIDTH)
        linear(block + ".mlp.down", WIDTH, f)
    if c["norm_placement"] == "pre":
        norm("final_norm")
    if not c["tie_embeddings"]:
        shapes["head.weight"] = (VOCAB, WIDTH)
    return shapes


def batch(c, random):
    tokens = random.integers(0, VOCAB, (BATCH, LENGTH + 1))
    positions = numpy.tile(numpy.arange(LENGTH), (BATCH, 1))
    segments = numpy.zeros((BATCH, LENGTH), int)
    weights = numpy.ones((BATCH, LENGTH))
    if c["documents"]:
        for row, border in enumerate((7, 12, 20)):
            segments[row, border:] = 1
            positions[row, border:] -= border
            weights[row, border - 1] = 0
    return tokens[:, :-1], tokens[:, 1:], positions, segments, weights


def normalise(c, w, name, x):
    if c["norm"] == "rms":
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + c["norm_epsilon"]) * w[name + ".gain"]
    return F.layer_norm(x, (WIDTH,), w[name + ".gain"], w.get(name + ".bias"), c["norm_epsilon"])


def affine(w, name, x):
    return F.linear(x, w[name + ".weight"], w.get(name + ".bias"))


def rotate(c, x, positions):
    half = x.shape[-1] // 2
    frequency = c["rope_theta"] ** (-torch.arange(half, dtype=torch.float64) / half)
    angle = positions[:, None, :, None].double() * frequency
    a, b = x[..., :half], x[..., half:]
    return torch.cat((a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()), -1)


def attention(c, w, name, x, positions, segments):
    def heads(part, count):
        return affine(w, f"{name}.{part}", x).view(BATCH, LENGTH, count, c["d_head"]).transpose(1, 2)

    q, k, v = heads("q", HEADS), heads("k", c["n_kv_heads"]), heads("v", c["n_kv_heads"])
    if c["positions"] == "rotary":
        q, k = rotate(c, q, positions), rotate(c, k, positions)
    shared = HEADS // c["n_kv_heads"]
    k, v = k.repeat_interleave(shared, 1), v.repeat_interleave(shared, 1)
    scores = q @ k.transpose(-1, -2) / c["d_head"] ** 0.5
    same_document = segments[:, None, :, None] == segments[:, None, None, :]
    visible = torch.tril(torch.ones(LENGTH, LENGTH, dtype=torch.bool)) & same_document
    y = scores.masked_fill(~visible, float("-inf")).softmax(-1) @ v
    return affine(w, name + ".out", y.transpose(1, 2).reshape(BATCH, LENGTH, -1))


def feed_forward(c, w, name, x):
    up = affine(w, name + ".up", x)
    if c["activation"] == "swiglu":
        return affine(w, name + ".down", F.silu(affine(w, name + ".gate", x)) * up)
    # Written out: PyTorch 1.13 has gelu(approximate="tanh"), older ones do not.
    act = {"gelu_tanh": lambda t: 0.5 * t * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (t + 0.044715 * t ** 3))),
           "gelu_erf": F.gelu, "relu": F.relu}[c["activation"]]
    return affine(w, name + ".down", act(up))


def waves(positions):
    half = WIDTH // 2
    frequency = 10000.0 ** (-torch.arange(half, dtype=torch.float64) / half)
    angle = positions[:, :, None].double() * frequency
    return torch.cat((angle.sin(), angle.cos()), -1)


def network(c, w, tokens, positions, segments):
    x = w["embedding.tokens.weight"][tokens]
    if c["positions"] == "learned":
        x = x + w["embedding.positions.weight"][positions]
    if c["positions"] == "sinusoidal":
        x = x + waves(positions)
    for i in range(c["n_layers"]):
        block = f"block.{i}"
        if c["norm_placement"] == "pre":
            entered = normalise(c, w, block + ".norm_1", x)
            x = x + attention(c, w, block + ".attention", entered, positions, segments)
            x = x + feed_forward(c, w, block + ".mlp", normalise(c, w, block + ".norm_2", x))
        else:
            attended = attention(c, w, block + ".attention", x, positions, segments)
            x = normalise(c, w, block + ".norm_1", x + attended)
            x = normalise(c, w, block + ".norm_2", x + feed_forward(c, w, block + ".mlp", x))
    if c["norm_placement"] == "pre":
        x = normalise(c, w, "final_norm", x)
    return F.linear(x, w["embedding.tokens.weight" if c["tie_embeddings"] else "head.weight"])


def start_weights(c, random):
    weights = {}
    for name, shape in tensors(c).items():
        values = 0.15 * random.standard_normal(shape)
        if name.endswith(".gain"):
            values += 1
        weights[name] = torch.tensor(values.astype(numpy.float32).astype(numpy.float64), requires_grad=True)
    return weights


def timeless_file(path):
    """A new HDF5 file whose root group holds no times, which h5py.File cannot be asked for."""
    creation, access = h5py.h5p.create(h5py.h5p.FILE_CREATE), h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    creation.set_obj_track_times(False)
    access.set_libver_bounds(h5py.h5f.LIBVER_LATEST, h5py.h5f.LIBVER_LATEST)
    return h5py.File(h5py.h5f.create(bytes(path), h5py.h5f.ACC_TRUNC, creation, access))


def write(path, c, arrays):
    with timeless_file(path) as file:
        file.attrs["context"] = LENGTH
        file.attrs["vocab_size"], file.attrs["d_model"], file.attrs["n_heads"] = VOCAB, WIDTH, HEADS
        for key, value in c.items():
            file.attrs[key] = int(value) if isinstance(value, bool) else value
        for name, array in arrays.items():
            file.create_dataset(name, data=array, track_times=False)


def make(folder, name, seed):
    c = {**DEFAULTS, **CASES[name]}
    random = numpy.random.Generator(numpy.random.PCG64(seed))
    weights = start_weights(c, random)
    tokens, targets, positions, segments, counted = batch(c, random)
    logits = network(c, weights, *(torch.tensor(a) for a in (tokens, positions, segments)))
    nats = F.cross_entropy(logits.reshape(-1, VOCAB), torch.tensor(targets).reshape(-1), reduction="none")
    loss = (nats * torch.tensor(counted).reshape(-1)).sum() / counted.sum()
    loss.backward()
    integers = dict(tokens=tokens, targets=targets, positions=positions, segments=segments)
    arrays = {key: value.astype(numpy.int32) for key, value in integers.items()}
    arrays["weights"] = counted.astype(numpy.float32)
    arrays["logits"] = logits.detach().numpy().astype(numpy.float32)
    arrays["loss"] = loss.detach().numpy()
    for key, value in weights.items():
        arrays["value:" + key] = value.detach().numpy().astype(numpy.float32)
        arrays["gradient:" + key] = value.grad.numpy().astype(numpy.float32)
    write(folder / f"{name}.h5", c, arrays)
    print(f"{folder / name}.h5: loss {loss.item():.6f}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="existing folder that receives the files")
    folder = parser.parse_args().folder
    if not folder.is_dir():
        parser.error(f"{folder} is not a folder; make it first")
    torch.set_num_threads(1)
    for number, case in enumerate(CASES):
        make(folder, case, 100 + number)


if __name__ == "__main__":
    main()
