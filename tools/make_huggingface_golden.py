#!/usr/bin/env python3
"""Writes tiny Hugging Face models with their logits, loss and some gradients into tests/convert/golden.

Each folder is what `save_pretrained` writes, and skein_expected.safetensors: ids I64 [B,T], types I64 [B,T] (BERT),
targets I64, logits F32, pair_logits F32 [B,2] (BERT's second head), loss F32 [1] (mean cross entropy over all targets) and gradient:NAME F32 of a few
parameters, by the names of the model's files. All arithmetic is in f32; the bf16 model's weights are rounded first.

usage: make_huggingface_golden.py FOLDER        (needs `pip install transformers torch`)"""
import json
import sys
from pathlib import Path

import torch
import transformers as tf
from safetensors.torch import save_file

BERT = dict(vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40,
            max_position_embeddings=16, type_vocab_size=2)
GPT2 = dict(vocab_size=61, n_embd=24, n_layer=2, n_head=4, n_inner=40, n_positions=16, bos_token_id=0, eos_token_id=0)
LLAMA3 = dict(rope_type="llama3", rope_theta=10000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=16)
LLAMA = dict(vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=8,
             intermediate_size=36, max_position_embeddings=64, rope_parameters=LLAMA3, tie_word_embeddings=False,
             bos_token_id=0, eos_token_id=1)
ROBERTA = dict(BERT, type_vocab_size=1, max_position_embeddings=18, pad_token_id=1, layer_norm_eps=1e-5, bos_token_id=0,
               eos_token_id=2)
CASES = {
    "gpt2": (tf.GPT2LMHeadModel, tf.GPT2Config(**GPT2)),
    "gpt2_sequence": (tf.GPT2ForSequenceClassification, tf.GPT2Config(**GPT2, num_labels=3, pad_token_id=0)),
    "llama": (tf.LlamaForCausalLM, tf.LlamaConfig(**LLAMA)),
    "llama_biased": (tf.LlamaForCausalLM, tf.LlamaConfig(**dict(
        LLAMA, attention_bias=True, tie_word_embeddings=True,
        rope_parameters=dict(rope_type="linear", rope_theta=500.0, factor=2.0)))),
    "bert": (tf.BertForPreTraining, tf.BertConfig(**BERT)),
    "bert_sequence": (tf.BertForSequenceClassification, tf.BertConfig(**BERT, num_labels=3)),
    "bert_token": (tf.BertForTokenClassification, tf.BertConfig(**BERT, num_labels=5)),
    "roberta": (tf.RobertaForMaskedLM, tf.RobertaConfig(**ROBERTA)),
    "roberta_sequence": (tf.RobertaForSequenceClassification, tf.RobertaConfig(**ROBERTA, num_labels=3)),
}
SHARDED = {"llama": "12KB"}
BF16 = {"llama"}
GRADIENTS = ("wte.weight", "wpe.weight", "h.0.attn.c_attn", "h.1.mlp.c_fc.bias", "ln_f.weight", "layers.0.self_attn.k_proj", "embed_tokens.weight",
             "layers.1.mlp.gate_proj", "model.norm.weight", "token_type_embeddings.weight", "layer.0.attention.self.query",
             "layer.1.output.LayerNorm", "predictions.transform.dense", "lm_head.dense.weight", "lm_head.bias", "predictions.bias",
             "classifier.", "score.weight", "embeddings.LayerNorm.weight", "position_embeddings.weight", "pooler.dense.bias")


def spread(model):
    """Values far from the start ones, so that no term is lost in rounding."""
    with torch.no_grad():
        for name, value in model.named_parameters():
            value.mul_(6 if value.dim() > 1 else 1).add_(0.1 * torch.randn_like(value))


def inputs(config):
    ids = torch.randint(3, config.vocab_size, (2, 13))
    given = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    if config.model_type == "bert":
        given["token_type_ids"] = (torch.arange(13) >= 7).long().repeat(2, 1)
    return given


def expected(model, config):
    given = inputs(config)
    output = model(**given)
    logits = output.prediction_logits if hasattr(output, "prediction_logits") else output.logits
    targets = torch.randint(0, logits.shape[-1], logits.shape[:-1])
    loss = torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1))
    loss.backward()
    made = {"ids": given["input_ids"], "targets": targets, "logits": logits, "loss": loss.reshape(1)}
    if hasattr(output, "seq_relationship_logits"):
        made["pair_logits"] = output.seq_relationship_logits
    if "token_type_ids" in given:
        made["types"] = given["token_type_ids"]
    for name, value in model.named_parameters():
        if value.grad is not None and any(part in name for part in GRADIENTS):
            made["gradient:" + name] = value.grad
    return {name: value.detach().contiguous() for name, value in made.items()}


def main(argv):
    for number, (name, (kind, config)) in enumerate(CASES.items()):
        torch.manual_seed(number)
        config.dtype = torch.float32
        model = kind(config).eval()
        spread(model)
        if name in BF16:
            with torch.no_grad():
                for value in model.parameters():
                    value.copy_(value.to(torch.bfloat16))
        made = expected(model, config)
        if name in BF16:
            model = model.to(torch.bfloat16)
        folder = Path(argv[1]) / name
        model.save_pretrained(folder, max_shard_size=SHARDED.get(name, "5GB"))
        (folder / "generation_config.json").unlink(missing_ok=True)
        save_file(made, folder / "skein_expected.safetensors", metadata={"format": "pt"})
        size = sum(f.stat().st_size for f in folder.iterdir())
        print(name, size, json.loads((folder / "config.json").read_text())["architectures"])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
