#!/usr/bin/env python3
"""Holds exported GGUF files against gguf and llama.cpp. For every checkpoint given, of a decoder with a tokenizer:

  skein-convert CHECKPOINT FOLDER                          exports it to Hugging Face,
  skein-convert --to=gguf --dtype=TYPE CHECKPOINT FILE     and to GGUF in each type;
  gguf's reader finds each tensor under the name that its own table gives, with the values that its own quantization makes,
  llama.cpp computes the logits that transformers computes (f32: within 1e-3 of the largest), divides texts into the same
  ids as the folder's tokenizer, and carries the folder's chat template.

Prints a line for each; exit code 1 when one of them differs.

usage: compare_llama_cpp.py SKEIN_CONVERT CHECKPOINT...
(needs `pip install transformers torch gguf`, and `pip install --no-deps llama-cpp-cffi`,
whose library needs the libstdc++ of GCC 13)"""

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

import gguf
import numpy as np
import torch
import transformers as tf

TYPES = {
    "f32": gguf.GGMLQuantizationType.F32,
    "f16": gguf.GGMLQuantizationType.F16,
    "bf16": gguf.GGMLQuantizationType.BF16,
    "q8_0": gguf.GGMLQuantizationType.Q8_0,
}
TEXTS = [
    "The quick brown fox can't jump over 12345 lazy dogs.",
    "  Grüße aus Köln!\n\n你好 🙂\tx\r\n  y",
    "HELLO's we'LL 1+1=2 … ‘quoted’ a\u00a0b",
    "",
    " ",
]


def permuted(weights, heads):
    """As llama.cpp's own converter does for rotary positions."""
    shape = (heads, 2, weights.shape[0] // heads // 2, *weights.shape[1:])
    return weights.reshape(shape).swapaxes(1, 2).reshape(weights.shape)


def undealt(weights, heads):
    """Of parts that are dealt by head in GPT-NeoX: one part after the other."""
    shape = (heads, 3, weights.shape[0] // heads // 3, *weights.shape[1:])
    return weights.reshape(shape).swapaxes(0, 1).reshape(weights.shape)


# llama.cpp's architectures by Hugging Face's model_type.
ARCHITECTURES = {
    "gpt2": gguf.MODEL_ARCH.GPT2,
    "gpt_neox": gguf.MODEL_ARCH.GPTNEOX,
    "llama": gguf.MODEL_ARCH.LLAMA,
    "mistral": gguf.MODEL_ARCH.LLAMA,
    "qwen2": gguf.MODEL_ARCH.QWEN2,
    "qwen3": gguf.MODEL_ARCH.QWEN3,
    "phi3": gguf.MODEL_ARCH.PHI3,
    "gemma3_text": gguf.MODEL_ARCH.GEMMA3,
}


def as_there(name, values, config):
    """What llama.cpp's own converter makes of a tensor."""
    kind = config.model_type
    if kind == "gpt2" and name.endswith((".c_attn.weight", ".c_proj.weight", ".c_fc.weight")):
        return values.T
    if kind == "gpt_neox" and ".query_key_value." in name:
        return undealt(values, config.num_attention_heads)
    if kind == "gemma3_text" and name.endswith("norm.weight"):
        return values + 1
    if kind in ("llama", "mistral") and ".q_proj." in name:
        return permuted(values, config.num_attention_heads)
    if kind in ("llama", "mistral") and ".k_proj." in name:
        return permuted(values, config.num_key_value_heads)
    return values


def expected(model):
    """What each tensor should hold, by GGUF's names."""
    config = model.config
    arch = ARCHITECTURES[config.model_type]
    names = gguf.get_tensor_name_map(arch, config.num_hidden_layers)
    made = {}
    for name, tensor in model.state_dict().items():
        head = name in ("lm_head.weight", "embed_out.weight")
        if head and config.tie_word_embeddings and config.model_type != "gpt_neox":
            continue
        values = as_there(name, tensor.numpy(), config)
        stem, kind = name.rsplit(".", 1)
        stem = "embed_out" if head and config.model_type == "gpt_neox" else stem
        made[names.get_name(stem) + "." + kind] = np.ascontiguousarray(values)
    return made


# Which hold none of a model's weights.
FREQUENCIES = {"rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"}


def context_of(file):
    """How long texts may be: no longer than a window that llama.cpp does not compute."""
    fields = gguf.GGUFReader(file).fields
    return fields[fields["general.architecture"].contents() + ".context_length"].contents()


def tensor_fault(file, kind, model):
    found = {tensor.name: tensor for tensor in gguf.GGUFReader(file).tensors}
    wanted = expected(model)
    rest = set(found) - set(wanted) - FREQUENCIES
    if rest or set(wanted) - set(found):
        return f"holds {sorted(rest)} besides, lacks {sorted(set(wanted) - set(found))}"
    for name, values in wanted.items():
        tensor = found[name]
        if tuple(reversed(tensor.shape.tolist())) != values.shape:
            return f"{name} has the shape {tensor.shape}"
        type_ = TYPES[kind]
        if values.ndim == 1 or name == "position_embd.weight":
            type_ = TYPES["f32"]
        elif kind == "q8_0" and values.shape[-1] % 32:
            type_ = TYPES["f16"]
        if tensor.tensor_type != type_:
            return f"{name} is {tensor.tensor_type.name}, not {type_.name}"
        bytes_ = gguf.quantize(values, type_)
        if tensor.data.tobytes() != bytes_.tobytes():
            return f"{name} has other values than gguf's quantization"
    return None


def bindings():
    """llama.cpp's own interface, without what that package builds on it."""
    folder = importlib.util.find_spec("llama").submodule_search_locations[0]
    file = next(Path(folder).glob("_llama_cpp_cpu.*.so"))
    spec = importlib.util.spec_from_file_location("_llama_cpp_cpu", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.lib, module.ffi


class Llama:
    lib, ffi = bindings()
    lib.llama_backend_init()

    def __init__(self, file, context):
        self.model = self.lib.llama_model_load_from_file(
            file.encode(), self.lib.llama_model_default_params()
        )
        if self.model == self.ffi.NULL:
            raise SystemExit(f"llama.cpp does not load {file}")
        self.vocab = self.lib.llama_model_get_vocab(self.model)
        options = self.lib.llama_context_default_params()
        options.n_ctx = options.n_batch = options.n_ubatch = context
        options.n_threads = options.n_threads_batch = 1
        options.type_k = options.type_v = 0  # f32
        self.context = self.lib.llama_init_from_model(self.model, options)

    def close(self):
        self.lib.llama_free(self.context)
        self.lib.llama_model_free(self.model)

    def tokenize(self, text, add_special=False, parse_special=False):
        data = text.encode()
        room = len(data) + 16
        ids = self.ffi.new(f"llama_token[{room}]")
        count = self.lib.llama_tokenize(
            self.vocab, data, len(data), ids, room, add_special, parse_special
        )
        return [ids[i] for i in range(count)]

    def logits(self, ids):
        batch = self.lib.llama_batch_init(len(ids), 0, 1)
        batch.n_tokens = len(ids)
        for i, token in enumerate(ids):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = token, i, 1, 1
            batch.seq_id[i][0] = 0
        if self.lib.llama_decode(self.context, batch):
            raise SystemExit("llama.cpp cannot decode")
        size = 4 * self.lib.llama_vocab_n_tokens(self.vocab)
        row = lambda i: self.ffi.buffer(self.lib.llama_get_logits_ith(self.context, i), size)
        made = np.stack([np.frombuffer(row(i), np.float32) for i in range(len(ids))]).copy()
        self.lib.llama_batch_free(batch)
        return made


def difference(llama, model, context):
    torch.manual_seed(1)
    length = min(48, context)
    ids = torch.randint(0, model.config.vocab_size, (1, length))
    with torch.no_grad():
        theirs = model(ids).logits[0].numpy()
    ours = llama.logits(ids[0].tolist())
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


def text_fault(llama, file, tokenizer):
    field = gguf.GGUFReader(file).fields["tokenizer.ggml.model"]
    # llama.cpp puts no space before a text of spaces in Unigram.
    for text in TEXTS[:-1] if field.contents() == "t5" else TEXTS:
        theirs = tokenizer(text, add_special_tokens=False)["input_ids"]
        ours = llama.tokenize(text, add_special=False)
        if ours != theirs:
            return f"{text!r} is {ours} to llama.cpp, {theirs} to transformers"
    field = gguf.GGUFReader(file).fields.get("tokenizer.chat_template")
    held = field.contents() if field else None
    if held != tokenizer.chat_template:
        return f"the chat template is {held!r}"
    if held:
        chat = [{"role": "user", "content": "What is blue?"}]
        text = tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
        theirs = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=False)
        ours = llama.tokenize(text, add_special=True, parse_special=True)
        if ours != theirs:
            return f"{text!r} is {ours} to llama.cpp, {theirs} to transformers"
    return None


def compare(convert, checkpoint, scratch):
    folder = scratch / "folder"
    subprocess.run([convert, "--dtype=f32", checkpoint, folder], check=True, capture_output=True)
    model = tf.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = tf.AutoTokenizer.from_pretrained(folder)
    faults = 0
    for kind in TYPES:
        file = scratch / f"{kind}.gguf"
        subprocess.run(
            [convert, "--to=gguf", f"--dtype={kind}", checkpoint, file],
            check=True,
            capture_output=True,
        )
        fault = tensor_fault(str(file), kind, model)
        context = context_of(file)
        llama = Llama(str(file), context)
        fault = fault or text_fault(llama, str(file), tokenizer)
        far = difference(llama, model, context)
        limit = 1e-3 if kind == "f32" else 5e-2
        fault = fault or (f"logits differ by {far:.2g} of the largest" if far > limit else None)
        llama.close()
        faults += fault is not None
        print(f"{checkpoint} {kind}: {fault or f'good, logits differ by {far:.2g} of the largest'}")
    return faults


def main():
    convert, *checkpoints = sys.argv[1:]
    faults = 0
    for checkpoint in checkpoints:
        with tempfile.TemporaryDirectory() as scratch:
            faults += compare(convert, checkpoint, Path(scratch))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
