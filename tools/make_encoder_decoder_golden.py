#!/usr/bin/env python3
"""Makes tests/golden/encoder_decoder/*.h5: logits, loss and every gradient of small encoder-decoders by transformers.

    python3 tools/make_encoder_decoder_golden.py tests/golden/encoder_decoder [NAME...]

Needs transformers, torch and h5py from PyPI. Weights are f32 numbers, drawn with a deviation of 0.3 (gains around 1); everything
is computed from them in f64, but for what transformers computes in f32 whatever it is given (T5's mean squares, Marian's
sinusoids), and stored as f32. Run again on one machine, it writes the same bytes.

A file holds the model's options as an ini text (attribute `options`), its tensors by Skein's names and shapes, a line each
(attribute `tensors`; the last ones may be constant, not learnt, and say so), and their numbers one after the other (`values`). Then four pairs of source and target: `sources` and `labels`, one behind the other, their `lengths` [4,2],
`start`, which the decoder is fed first, the `logits` [labels,V], the mean `loss` of all labels, and its `gradients`, in the
order of `values`. transformers is given the pairs as one batch, padded, with its mask, and each alone; both must agree, so that
whoever has several pairs in a row must find the same.
"""
import argparse
import pathlib

import h5py
import numpy
import torch
import torch.nn.functional as F
import transformers as tf

DEVIATION, START, PAD = 0.3, 1, 0
LENGTHS = [(11, 7), (5, 9), (14, 4), (8, 12)]  # of source and target
SIZES = dict(d_model=8, vocab_size=29)
HALVES = dict(encoder_layers=2, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=12,
              decoder_ffn_dim=12, max_position_embeddings=24, pad_token_id=PAD, decoder_start_token_id=START, bos_token_id=None,
              eos_token_id=2, forced_eos_token_id=None)
T5 = dict(SIZES, num_layers=2, num_decoder_layers=2, num_heads=2, d_ff=12, relative_attention_num_buckets=8,
          relative_attention_max_distance=10, decoder_start_token_id=START)


def t5_options(c, scaled, tied):
    return dict(n_layers=c.num_layers + c.num_decoder_layers, encoder_layers=c.num_layers, n_heads=c.num_heads, d_head=c.d_kv,
                d_ff=c.d_ff, positions="distance", norm="rms", norm_placement="pre", norm_epsilon=1e-6, bias=False,
                activation={"relu": "relu", "gated-gelu": "geglu_tanh", "gated-silu": "swiglu"}[c.feed_forward_proj],
                distance_buckets=c.relative_attention_num_buckets, distance_max=c.relative_attention_max_distance,
                scale_scores=False, scale_output=scaled, tie_embeddings=tied, start="fan_in")


def bart_options(c, **more):
    return dict(n_layers=c.encoder_layers + c.decoder_layers, encoder_layers=c.encoder_layers, n_heads=c.encoder_attention_heads,
                d_ff=c.encoder_ffn_dim, norm="layer", norm_placement="post", norm_epsilon=1e-5, bias=True,
                activation={"gelu": "gelu_erf", "relu": "relu", "swish": "silu", "gelu_new": "gelu_tanh"}[c.activation_function],
                scale_embeddings=c.scale_embedding, head_bias="kept", tie_embeddings=True, **more)


def learned(c, **more):
    return bart_options(c, **{**dict(positions="learned", position_offset=2, embedding_norm=True), **more})


def sinusoidal(c, **more):
    return bart_options(c, positions="sinusoidal", sinusoids="halves", **more)


class Case:
    def __init__(self, kind, config, options, own_head=False):
        self.kind, self.config, self.options, self.own_head = kind, config, options, own_head


def cases():
    t5 = tf.T5Config(**T5, d_kv=4, feed_forward_proj="relu")
    v1_1 = tf.T5Config(**T5, d_kv=3, feed_forward_proj="gated-gelu", tie_word_embeddings=False)
    silu = tf.T5Config(**{**T5, "num_decoder_layers": 1}, d_kv=5, feed_forward_proj="gated-silu")
    bart = tf.BartConfig(**SIZES, **HALVES)
    mbart = tf.MBartConfig(**SIZES, **HALVES, activation_function="relu", scale_embedding=True)
    marian = tf.MarianConfig(**SIZES, **HALVES, activation_function="swish", scale_embedding=True)
    two = tf.MarianConfig(**SIZES, **{**HALVES, "decoder_layers": 1}, activation_function="gelu_new", decoder_vocab_size=23,
                          share_encoder_decoder_embeddings=False)
    return {
        "t5": Case(tf.T5ForConditionalGeneration, t5, t5_options(t5, True, True)),
        "t5_v1_1": Case(tf.T5ForConditionalGeneration, v1_1, t5_options(v1_1, False, False), own_head=True),
        "t5_silu": Case(tf.T5ForConditionalGeneration, silu, t5_options(silu, True, True)),
        "bart": Case(tf.BartForConditionalGeneration, bart, learned(bart)),
        "mbart": Case(tf.MBartForConditionalGeneration, mbart, {**learned(mbart), "norm_placement": "pre"}),
        "marian": Case(tf.MarianMTModel, marian, sinusoidal(marian)),
        "marian_two": Case(tf.MarianMTModel, two, {**sinusoidal(two), "share_source": False, "source_vocab_size": two.vocab_size}),
    }


def made_model(case):
    model = case.kind(case.config).eval()
    if case.own_head:
        model.lm_head.weight = torch.nn.Parameter(torch.zeros_like(model.shared.weight))
    with torch.no_grad():
        for name, value in [*model.named_parameters(), *model.named_buffers()]:
            if "embed_positions" in name and case.config.model_type == "marian":
                continue
            value.copy_(DEVIATION * torch.randn_like(value))
            if value.dim() == 1 and "norm" in name and name.endswith("weight"):
                value.add_(1)
    for module in model.modules():  # else the padding token, which begins targets, would not learn
        if isinstance(module, torch.nn.Embedding):
            module.padding_idx = None
    return model.double()


def our_t5(name, config):
    """Skein's name of a tensor of T5."""
    if name in ("shared.weight", "lm_head.weight"):
        return {"shared.weight": "embedding.tokens.weight", "lm_head.weight": "head.weight"}[name]
    half, rest = name.split(".", 1)
    if rest == "final_layer_norm.weight":
        return {"encoder": "encoder_norm.gain", "decoder": "final_norm.gain"}[half]
    if "relative_attention_bias" in rest:
        return half + "_distances.weight"
    _, block, _, layer, *parts = rest.split(".")
    ours = f"block.{int(block) + (config.num_layers if half == 'decoder' else 0)}."
    if parts[0] == "layer_norm":
        return f"{ours}norm_{int(layer) + 1}.gain"
    if parts[0] == "DenseReluDense":
        return f"{ours}mlp.{dict(wi='up', wi_0='gate', wi_1='up', wo='down')[parts[1]]}.weight"
    kind = dict(SelfAttention="attention", EncDecAttention="cross")[parts[0]]
    return f"{ours}{kind}.{'out' if parts[1] == 'o' else parts[1]}.weight"


def our_bart(name, config):
    """Skein's name of a tensor of BART, mBART and Marian."""
    fixed = {"model.shared.weight": "embedding.tokens.weight", "model.encoder.embed_tokens.weight": "embedding.tokens.weight",
             "model.decoder.embed_tokens.weight": "target.tokens.weight", "final_logits_bias": "head.bias"}
    if name in fixed:
        return fixed[name]
    _, half, *parts = name.split(".")
    encodes = half == "encoder"
    leaf = parts[-1]
    gain = "gain" if leaf == "weight" else leaf
    if parts[0] == "embed_positions":
        return ("embedding" if encodes else "target") + ".positions.weight"
    if parts[0] == "layernorm_embedding":
        return ("embedding" if encodes else "target") + f".norm.{gain}"
    if parts[0] == "layer_norm":
        return ("encoder_norm." if encodes else "final_norm.") + gain
    ours = f"block.{int(parts[1]) + (0 if encodes else config.encoder_layers)}."
    norms = dict(self_attn_layer_norm="norm_1", encoder_attn_layer_norm="norm_2", final_layer_norm="norm_2" if encodes else "norm_3")
    if parts[2] in norms:
        return f"{ours}{norms[parts[2]]}.{gain}"
    if parts[2] in ("fc1", "fc2"):
        return f"{ours}mlp.{'up' if parts[2] == 'fc1' else 'down'}.{leaf}"
    kind = "attention" if parts[2] == "self_attn" else "cross"
    return f"{ours}{kind}.{parts[3][:-len('_proj')]}.{leaf}"


def our_name(name, config):
    return our_t5(name, config) if config.model_type == "t5" else our_bart(name, config)


def laid_out(name, array):
    """As Skein has it."""
    if name.endswith("_distances.weight"):
        return array.T
    return array.reshape(-1) if name == "head.bias" else array


def drawn_pairs(config, random):
    target_ids = getattr(config, "decoder_vocab_size", config.vocab_size)
    return [(random.integers(3, config.vocab_size, s), random.integers(3, target_ids, t)) for s, t in LENGTHS]


def fed(labels):
    return numpy.concatenate(([START], labels[:-1]))


def padded(rows):
    made = numpy.full((len(rows), max(map(len, rows)) + 1), PAD)
    for row, tokens in zip(made, rows):
        row[: len(tokens)] = tokens
    return torch.tensor(made)


def logits_together(model, pairs):
    source = padded([s for s, _ in pairs])
    mask = padded([numpy.ones(len(s), int) for s, _ in pairs])
    logits = model(input_ids=source, attention_mask=mask, decoder_input_ids=padded([fed(t) for _, t in pairs]), use_cache=False).logits
    return torch.cat([row[: len(labels)] for row, (_, labels) in zip(logits, pairs)])


def logits_alone(model, pairs):
    return torch.cat([model(input_ids=torch.tensor(s)[None], decoder_input_ids=torch.tensor(fed(t))[None], use_cache=False).logits[0]
                      for s, t in pairs])


def computed(model, pairs):
    logits = logits_together(model, pairs)
    difference = (logits - logits_alone(model, pairs)).abs().max().item()
    if difference > 1e-6:
        raise SystemExit(f"padding changes logits by {difference}")
    labels = numpy.concatenate([t for _, t in pairs])
    loss = F.cross_entropy(logits, torch.tensor(labels))
    loss.backward()
    return {"sources": numpy.concatenate([s for s, _ in pairs]).astype(numpy.int32), "labels": labels.astype(numpy.int32),
            "lengths": numpy.array(LENGTHS, numpy.int32), "start": numpy.int32(START),
            "logits": logits.detach().numpy().astype(numpy.float32), "loss": numpy.float64(loss.item())}


def timeless_file(path):
    """A new HDF5 file whose root group holds no times, which h5py.File cannot be asked for."""
    creation, access = h5py.h5p.create(h5py.h5p.FILE_CREATE), h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    creation.set_obj_track_times(False)
    access.set_libver_bounds(h5py.h5f.LIBVER_LATEST, h5py.h5f.LIBVER_LATEST)
    return h5py.File(h5py.h5f.create(bytes(path), h5py.h5f.ACC_TRUNC, creation, access))


def flat(arrays):
    return numpy.concatenate([a.reshape(-1) for a in arrays]).astype(numpy.float32)


def ini(case):
    c, text = case.config, {True: "true", False: "false"}
    vocab = case.options.get("source_vocab_size") and c.decoder_vocab_size
    options = dict(architecture="transformer", vocab_size=vocab or c.vocab_size, context=24, d_model=c.d_model, **case.options)
    return "[model]\n" + "".join(f"{key} = {text.get(value, value) if isinstance(value, bool) else value}\n"
                                 for key, value in options.items())


def lines(tensors, mark=""):
    return "".join(f"{name} {' '.join(map(str, value.shape))}{mark}\n" for name, value in tensors.items())


def make(folder, name, case, seed):
    torch.manual_seed(seed)
    model = made_model(case)
    named = {our_name(n, case.config): v for n, v in model.named_parameters() if v.requires_grad}
    constants = {our_name(n, case.config): v for n, v in model.named_buffers() if "embed_positions" not in n}
    values, kept = ({n: laid_out(n, v.detach().numpy()) for n, v in some.items()} for some in (named, constants))
    arrays = computed(model, drawn_pairs(case.config, numpy.random.Generator(numpy.random.PCG64(seed))))
    arrays["values"] = flat([*values.values(), *kept.values()])
    arrays["gradients"] = flat([laid_out(n, v.grad.numpy()) for n, v in named.items()])
    with timeless_file(folder / f"{name}.h5") as file:
        file.attrs["options"], file.attrs["tensors"] = ini(case), lines(values) + lines(kept, " constant")
        for key, value in arrays.items():
            file.create_dataset(key, data=value, track_times=False)
    print(f"{folder / name}.h5: loss {arrays['loss']:.6f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="existing folder that receives the files")
    parser.add_argument("names", nargs="*", help="of the models; all without")
    given = parser.parse_args()
    if not given.folder.is_dir():
        parser.error(f"{given.folder} is not a folder; make it first")
    torch.set_num_threads(1)
    for number, (name, case) in enumerate(cases().items()):
        if not given.names or name in given.names:
            make(given.folder, name, case, 200 + number)


if __name__ == "__main__":
    main()
