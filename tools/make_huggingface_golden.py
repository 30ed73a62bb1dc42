#!/usr/bin/env python3
"""Writes tiny Hugging Face models with their logits, loss and some gradients into tests/convert/golden.

Each folder is what `save_pretrained` writes, and skein_expected.safetensors: ids I64 [B,T] (of models of pictures pixel_values F32
[B,channels,height,width]; of masked autoencoders noise F32 [B,patches], too, which hides the patches that logits are of), types I64 [B,T] (BERT),
targets I64, logits F32, pair_logits F32 [B,2] (BERT's second head), loss F32 [1] (mean cross entropy over all targets) and gradient:NAME F32 of a few
parameters, by the names of the model's files. All arithmetic is in f32; the bf16 model's weights are rounded first. Of models that map a
source to a target, ids I64 [B,S] and mask I64 [B,S] are the source, decoder_ids I64 [B,T] what the decoder is fed. Where an encoder's mask I64
[B,T] is 0 is padding, of which neither loss nor logits are meant.

variants/FAMILY is one model, variants.json, which names changes to its config.json (JSON merge patches), and for each of them
NAME.safetensors: what transformers computed with the same weights and the changed config.json. variants/names.json has all names
that transformers knows of activations, kinds of rotary positions and, by family, classes.

usage: make_huggingface_golden.py FOLDER [NAME...]        (needs `pip install transformers torch`)
Without NAME all are written, else those models; `variants` names what is below that folder."""
import importlib
import json
import shutil
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import torch
import transformers as tf
from safetensors.torch import save_file
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

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
TINY_GPT2 = dict(vocab_size=13, n_embd=8, n_layer=1, n_head=4, n_inner=12, n_positions=16, bos_token_id=0, eos_token_id=0)
TINY_LLAMA = dict(vocab_size=13, hidden_size=8, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2, head_dim=4,
                  intermediate_size=12, max_position_embeddings=32, attention_bias=True, mlp_bias=True,
                  bos_token_id=0, eos_token_id=1)
TINY_BERT = dict(vocab_size=13, hidden_size=8, num_hidden_layers=1, num_attention_heads=4, intermediate_size=12,
                 max_position_embeddings=16, type_vocab_size=2)
TINY_ROBERTA = dict(TINY_BERT, type_vocab_size=1, layer_norm_eps=1e-5, pad_token_id=1, bos_token_id=0, eos_token_id=2)
MAPPER = dict(vocab_size=31, d_model=8)
T5 = dict(MAPPER, d_kv=3, d_ff=12, num_layers=2, num_decoder_layers=1, num_heads=2, relative_attention_num_buckets=8,
          relative_attention_max_distance=10, n_positions=16, decoder_start_token_id=0)
BART = dict(MAPPER, encoder_layers=1, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=12,
            decoder_ffn_dim=12, max_position_embeddings=16)
MARIAN = dict(BART, pad_token_id=30, decoder_start_token_id=30, scale_embedding=True, activation_function="swish")
VIT = dict(image_size=[8, 12], patch_size=4, num_channels=3, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12,
           num_labels=3)
# The first stage's grid does not fill its windows and is shifted, and is merged at odd sides.
SWIN = dict(image_size=[10, 14], patch_size=2, num_channels=1, embed_dim=8, depths=[2, 2], num_heads=[2, 4], window_size=3, mlp_ratio=2.0,
            num_labels=3)
LONGFORMER = dict(ROBERTA, attention_window=[8, 4], sep_token_id=2)
BIG_BIRD = dict(BERT, max_position_embeddings=32, block_size=2, num_random_blocks=2)
LENGTHS = {"big_bird": 29, "big_bird_short": 29, "big_bird_padded": 29, "big_bird_sequence": 29}
# So many tokens at the end of the last text are padding, which the loss leaves out. All tokens of this id see all.
PADDING, MARKED = {"longformer_marked": 4, "big_bird_padded": 6}, {"longformer_marked": 5}
MAE = dict(image_size=[8, 8], patch_size=2, num_channels=3, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=12,
           decoder_hidden_size=12, decoder_num_hidden_layers=2, decoder_num_attention_heads=2, decoder_intermediate_size=20, norm_pix_loss=True)
PICTURES = ("vit", "swin", "vit_mae")
PLAIN_LLAMA = {key: value for key, value in LLAMA.items() if key != "rope_parameters"}
MISTRAL = dict(PLAIN_LLAMA, hidden_size=16, intermediate_size=20, vocab_size=31)
QWEN2 = {key: value for key, value in MISTRAL.items() if key != "head_dim"}
WINDOWS = dict(use_sliding_window=True, sliding_window=4, max_window_layers=1)
TINY_MISTRAL = {key: value for key, value in TINY_LLAMA.items() if not key.endswith("_bias")}
TINY_QWEN2 = {key: value for key, value in TINY_MISTRAL.items() if key != "head_dim"}
OPT = dict(vocab_size=31, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, ffn_dim=20, max_position_embeddings=16)
PHI3 = dict(vocab_size=31, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=20,
            max_position_embeddings=64, pad_token_id=0, bos_token_id=0, eos_token_id=1)
LONGROPE = dict(rope_type="longrope", rope_theta=50.0, short_factor=[1.0, 1.5, 2.0], long_factor=[2.0, 4.0, 8.0])
# Windows in five layers of six.
GEMMA3 = dict(vocab_size=31, hidden_size=16, num_hidden_layers=6, num_attention_heads=4, num_key_value_heads=2, head_dim=4, intermediate_size=20,
              max_position_embeddings=64, sliding_window=4, query_pre_attn_scalar=4, bos_token_id=0, eos_token_id=1)
NEOX = dict(vocab_size=31, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=20, max_position_embeddings=32)
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
    "gpt2_untied": (tf.GPT2LMHeadModel, tf.GPT2Config(**TINY_GPT2, tie_word_embeddings=False)),
    "llama_sequence": (tf.LlamaForSequenceClassification, tf.LlamaConfig(**TINY_LLAMA, num_labels=3, pad_token_id=0)),
    "bert_masked": (tf.BertForMaskedLM, tf.BertConfig(**TINY_BERT)),
    "bert_untied": (tf.BertForMaskedLM, tf.BertConfig(**TINY_BERT, tie_word_embeddings=False)),
    "roberta_token": (tf.RobertaForTokenClassification, tf.RobertaConfig(**TINY_ROBERTA, num_labels=5)),
    "roberta_untied": (tf.RobertaForMaskedLM, tf.RobertaConfig(**TINY_ROBERTA, tie_word_embeddings=False)),
    "t5": (tf.T5ForConditionalGeneration, tf.T5Config(**T5)),
    "t5_v1_1": (tf.T5ForConditionalGeneration, tf.T5Config(**T5, feed_forward_proj="gated-gelu", tie_word_embeddings=False)),
    "mt5": (tf.MT5ForConditionalGeneration, tf.MT5Config(**T5)),
    "bart": (tf.BartForConditionalGeneration, tf.BartConfig(**BART)),
    "bart_untied": (tf.BartForConditionalGeneration, tf.BartConfig(**BART, tie_word_embeddings=False)),
    "mbart": (tf.MBartForConditionalGeneration, tf.MBartConfig(**BART, scale_embedding=True)),
    "marian": (tf.MarianMTModel, tf.MarianConfig(**MARIAN)),
    "marian_two": (tf.MarianMTModel, tf.MarianConfig(**MARIAN, decoder_vocab_size=33, share_encoder_decoder_embeddings=False)),
    "vit": (tf.ViTForImageClassification, tf.ViTConfig(**VIT)),
    "swin": (tf.SwinForImageClassification, tf.SwinConfig(**SWIN)),
    "vit_mae": (tf.ViTMAEForPreTraining, tf.ViTMAEConfig(**MAE)),
    "longformer_sequence": (tf.LongformerForSequenceClassification, tf.LongformerConfig(**LONGFORMER, num_labels=3)),
    "longformer": (tf.LongformerForMaskedLM, tf.LongformerConfig(**dict(LONGFORMER, hidden_size=8, intermediate_size=12))),
    "big_bird": (tf.BigBirdForPreTraining, tf.BigBirdConfig(**BIG_BIRD)),
    "big_bird_short": (tf.BigBirdForPreTraining, tf.BigBirdConfig(**dict(BIG_BIRD, num_random_blocks=6, hidden_size=8, intermediate_size=12))),
    "longformer_marked": (tf.LongformerForMaskedLM, tf.LongformerConfig(**dict(LONGFORMER, hidden_size=8, intermediate_size=12))),
    "big_bird_padded": (tf.BigBirdForPreTraining, tf.BigBirdConfig(**dict(BIG_BIRD, hidden_size=8, intermediate_size=12))),
    "big_bird_sequence": (tf.BigBirdForSequenceClassification, tf.BigBirdConfig(**dict(BIG_BIRD, hidden_size=8, intermediate_size=12),
                                                                               num_labels=3)),
    "mistral": (tf.MistralForCausalLM, tf.MistralConfig(**dict(MISTRAL, tie_word_embeddings=True), sliding_window=5)),
    "mistral_full": (tf.MistralForCausalLM, tf.MistralConfig(**MISTRAL, sliding_window=None)),
    "qwen2": (tf.Qwen2ForCausalLM, tf.Qwen2Config(**dict(QWEN2, tie_word_embeddings=True))),
    "qwen2_windows": (tf.Qwen2ForCausalLM, tf.Qwen2Config(**dict(QWEN2, num_hidden_layers=3), **WINDOWS)),
    "qwen3": (tf.Qwen3ForCausalLM, tf.Qwen3Config(**MISTRAL)),
    "qwen3_biased": (tf.Qwen3ForCausalLM, tf.Qwen3Config(**dict(MISTRAL, attention_bias=True, tie_word_embeddings=True), **WINDOWS)),
    "xlm_roberta": (tf.XLMRobertaForMaskedLM, tf.XLMRobertaConfig(**TINY_ROBERTA)),
    "xlm_roberta_sequence": (tf.XLMRobertaForSequenceClassification, tf.XLMRobertaConfig(**TINY_ROBERTA, num_labels=3)),
    "xlm_roberta_untied": (tf.XLMRobertaForMaskedLM, tf.XLMRobertaConfig(**TINY_ROBERTA, tie_word_embeddings=False)),
    "camembert": (tf.CamembertForMaskedLM, tf.CamembertConfig(**TINY_ROBERTA, tie_word_embeddings=False)),
    "camembert_token": (tf.CamembertForTokenClassification, tf.CamembertConfig(**TINY_ROBERTA, num_labels=5)),
    "opt": (tf.OPTForCausalLM, tf.OPTConfig(**OPT)),
    "opt_untied": (tf.OPTForCausalLM, tf.OPTConfig(**OPT, tie_word_embeddings=False)),
    "opt_sequence": (tf.OPTForSequenceClassification, tf.OPTConfig(**OPT, num_labels=3)),
    "gpt_neox": (tf.GPTNeoXForCausalLM, tf.GPTNeoXConfig(**NEOX)),
    "gpt_neox_tied": (tf.GPTNeoXForCausalLM, tf.GPTNeoXConfig(**NEOX, tie_word_embeddings=True, use_parallel_residual=False,
                                                             rope_parameters=dict(rope_type="linear", factor=2.0, rope_theta=500.0,
                                                                                  partial_rotary_factor=0.5))),
    "gpt_neox_sequence": (tf.GPTNeoXForSequenceClassification, tf.GPTNeoXConfig(**NEOX, num_labels=3, pad_token_id=0)),
    "qwen2_sequence": (tf.Qwen2ForSequenceClassification, tf.Qwen2Config(**QWEN2, num_labels=3, pad_token_id=0)),
    "phi3": (tf.Phi3ForCausalLM, tf.Phi3Config(**PHI3, sliding_window=5)),
    "phi3_long": (tf.Phi3ForCausalLM, tf.Phi3Config(**dict(PHI3, tie_word_embeddings=True), original_max_position_embeddings=16,
                                                    rope_parameters=dict(LONGROPE, partial_rotary_factor=0.75))),
    "phi3_sequence": (tf.Phi3ForSequenceClassification, tf.Phi3Config(**PHI3, num_labels=3)),
    "gemma3": (tf.Gemma3ForCausalLM, tf.Gemma3TextConfig(**GEMMA3)),
    "gemma3_biased": (tf.Gemma3ForCausalLM, tf.Gemma3TextConfig(**dict(
        GEMMA3, num_hidden_layers=2, query_pre_attn_scalar=12, attention_bias=True, tie_word_embeddings=False, layer_types=["full_attention", "sliding_attention"],
        rope_parameters=dict(full_attention=dict(rope_type="linear", factor=8.0, rope_theta=500.0),
                             sliding_attention=dict(rope_type="default", rope_theta=50.0))))),
    "qwen2_dynamic": (tf.Qwen2ForCausalLM, tf.Qwen2Config(**dict(QWEN2, num_hidden_layers=1, rope_parameters=dict(rope_type="dynamic", factor=2.0,
                                                                                                                rope_theta=10000.0)))),
    "gemma3_sequence": (tf.Gemma3TextForSequenceClassification, tf.Gemma3TextConfig(**dict(GEMMA3, num_hidden_layers=2), num_labels=3)),
}
# Whose own pooler nothing reads.
WITHOUT_POOLER = {"big_bird_sequence"}
# Heads of their own that transformers keeps where a file has them, though its class would tie them.
OWN_HEADS = {"t5_v1_1", "mt5"}
VARIED = {
    "gpt2": (tf.GPT2LMHeadModel, tf.GPT2Config(**TINY_GPT2)),
    "llama": (tf.LlamaForCausalLM, tf.LlamaConfig(**TINY_LLAMA)),
    "bert": (tf.BertForMaskedLM, tf.BertConfig(**TINY_BERT, tie_word_embeddings=False)),
    "roberta": (tf.RobertaForMaskedLM, tf.RobertaConfig(**TINY_ROBERTA)),
    "t5": (tf.T5ForConditionalGeneration, tf.T5Config(**dict(T5, num_layers=1))),
    "bart": (tf.BartForConditionalGeneration, tf.BartConfig(**dict(BART, decoder_layers=1))),
    "mistral": (tf.MistralForCausalLM, tf.MistralConfig(**TINY_MISTRAL, sliding_window=3)),
    "qwen2": (tf.Qwen2ForCausalLM, tf.Qwen2Config(**dict(TINY_QWEN2, num_hidden_layers=3), use_sliding_window=True, sliding_window=3,
                                                  max_window_layers=1)),
    "qwen3": (tf.Qwen3ForCausalLM, tf.Qwen3Config(**dict(TINY_MISTRAL, num_hidden_layers=2), use_sliding_window=True, sliding_window=3,
                                                  max_window_layers=1)),
    "xlm_roberta": (tf.XLMRobertaForMaskedLM, tf.XLMRobertaConfig(**TINY_ROBERTA)),
    "camembert": (tf.CamembertForMaskedLM, tf.CamembertConfig(**TINY_ROBERTA)),
    "opt": (tf.OPTForCausalLM, tf.OPTConfig(**dict(OPT, hidden_size=8, ffn_dim=12, vocab_size=13))),
    "gpt_neox": (tf.GPTNeoXForCausalLM, tf.GPTNeoXConfig(**dict(NEOX, vocab_size=13, num_hidden_layers=1))),
    "phi3": (tf.Phi3ForCausalLM, tf.Phi3Config(**dict(PHI3, vocab_size=13, num_hidden_layers=1))),
    "gemma3_text": (tf.Gemma3ForCausalLM, tf.Gemma3TextConfig(**dict(GEMMA3, vocab_size=13, num_hidden_layers=2, hidden_size=8, intermediate_size=12, query_pre_attn_scalar=12),
                                                              layer_types=["sliding_attention", "full_attention"])),
}
ACTIVATIONS = ("gelu", "gelu_python", "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "gelu_python_tanh", "gelu_accurate", "relu",
               "silu", "swish")
YARN_OF_16 = dict(rope_type="yarn", rope_theta=3.0, factor=4.0, original_max_position_embeddings=16)
LLAMA3_OF_16 = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0)
OLD_YARN = {key: value for key, value in YARN_OF_16.items() if key not in ("rope_type", "rope_theta")}
# Of 16 tokens, beyond which the texts here are not.
def by_factors(pairs, **more):
    return {"rope_type": "longrope", "rope_theta": 50.0, "short_factor": [1.0, 1.5, 2.0, 4.0][:pairs], "long_factor": [2.0, 4.0, 6.0, 8.0][:pairs],
            "original_max_position_embeddings": 16, **more}


DYNAMIC = {"rope_type": "dynamic", "factor": 2.0}


# Of those whose heads turn in so many pairs; of one, transformers' dynamic divides by 0.
def by_length(pairs):
    dynamic = {"dynamic": {"rope_parameters": DYNAMIC},
               "old_dynamic": {"rope_parameters": None, "rope_scaling": {"type": "dynamic", "factor": 4.0}}}
    return {
        **(dynamic if pairs > 1 else {}),
        "longrope": {"rope_parameters": by_factors(pairs)},
        "longrope_by_factor": {"rope_parameters": by_factors(pairs, factor=3.0)},
        "longrope_by_amplitude": {"rope_parameters": by_factors(pairs, attention_factor=0.75)},
    }


# Of all that have rotary positions.
STRETCHED = {
    "theta": {"rope_parameters": {"rope_theta": 50.0}},
    "linear": {"rope_parameters": {"rope_type": "linear", "factor": 2.0}},
    "llama3": {"rope_parameters": {**LLAMA3_OF_16, "original_max_position_embeddings": 16}},
    "yarn": {"rope_parameters": YARN_OF_16},
    "old_yarn": {"rope_parameters": None, "rope_theta": 3.0, "rope_scaling": {**OLD_YARN, "type": "yarn"}},
    "yarn_of_the_context": {"rope_parameters": {**YARN_OF_16, "original_max_position_embeddings": None}},
    "yarn_by_factor": {"rope_parameters": {**YARN_OF_16, "attention_factor": 0.75}},
    "yarn_by_scales": {"rope_parameters": {**YARN_OF_16, "mscale": 0.5, "mscale_all_dim": 2.0}},
    "yarn_of_one_scale": {"rope_parameters": {**YARN_OF_16, "mscale": 0.5}},
    "yarn_betas": {"rope_parameters": {**YARN_OF_16, "beta_fast": 2.0, "beta_slow": 0.25}},
}
# Of all that are like Llama.
LLAMA_LIKE = {
    **{name: {"hidden_act": name} for name in ("silu", "swish")},
    "epsilon": {"rms_norm_eps": 0.5},
    **STRETCHED,
}
# Of all that are like RoBERTa.
ROBERTA_LIKE = {
    **{name: {"hidden_act": name} for name in ACTIVATIONS},
    "epsilon": {"layer_norm_eps": 0.5},
    "heads": {"num_attention_heads": 2},
    "padding_0": {"pad_token_id": 0},
    "padding_2": {"pad_token_id": 2},
}
VARIANTS = {
    "gpt2": {
        **{name: {"activation_function": name} for name in ACTIVATIONS},
        "epsilon": {"layer_norm_epsilon": 0.5},
        "heads": {"n_head": 2},
        "aliases": {"n_head": None, "num_attention_heads": 2, "n_layer": None, "num_hidden_layers": 1,
                    "n_embd": None, "hidden_size": 8, "n_positions": None, "max_position_embeddings": 16},
        "upcast": {"reorder_and_upcast_attn": True},
        "indifferent": {"is_decoder": True, "summary_type": "first", "position_embedding_type": "relative_key",
                        "use_cache": False},
        "bare": {"architectures": None},
    },
    "llama": {
        **{name: {"hidden_act": name} for name in ("silu", "swish")},
        "epsilon": {"rms_norm_eps": 0.5},
        **STRETCHED,
        "llama3_of_the_context": {"rope_parameters": LLAMA3_OF_16},
        "old_theta": {"rope_parameters": None, "rope_theta": 50.0},
        "old_linear": {"rope_parameters": None, "rope_theta": 50.0, "rope_scaling": {"type": "linear", "factor": 2.0}},
        "old_llama3": {"rope_parameters": None, "rope_theta": 50.0,
                       "rope_scaling": {**LLAMA3_OF_16, "original_max_position_embeddings": 16}},
        "context_outside": {"rope_parameters": LLAMA3_OF_16, "original_max_position_embeddings": 16},
        **by_length(2),
        "indifferent": {"is_decoder": True, "pretraining_tp": 2, "sliding_window": 2, "layer_types": ["full_attention"],
                        "pad_token_id": 5},
    },
    "bert": {
        **{name: {"hidden_act": name} for name in ACTIVATIONS},
        "epsilon": {"layer_norm_eps": 0.5},
        "heads": {"num_attention_heads": 2},
        "lm_head_model": {"architectures": ["BertLMHeadModel"]},
        "indifferent": {"pad_token_id": 5, "chunk_size_feed_forward": 1, "classifier_dropout": 0.5},
    },
    "roberta": {
        **ROBERTA_LIKE,
        "causal_class": {"architectures": ["RobertaForCausalLM"]},
        "indifferent": {"chunk_size_feed_forward": 1, "classifier_dropout": 0.5},
    },
    "t5": {
        **{name: {"feed_forward_proj": name, "dense_act_fn": None} for name in ACTIVATIONS},
        "epsilon": {"layer_norm_epsilon": 0.5},
        "distances": {"relative_attention_max_distance": 5},
        "unscaled": {"scale_decoder_outputs": False},
        "unscaled_by_ties": {"scale_decoder_outputs": None, "tie_word_embeddings": False},
        "scaled_in_spite_of_ties": {"scale_decoder_outputs": True, "tie_word_embeddings": False},
        "as_transformers_4_wrote": {"scale_decoder_outputs": None, "dense_act_fn": None, "is_gated_act": None,
                                    "num_decoder_layers": None, "n_positions": 512, "initializer_factor": 0.5},
        "indifferent": {"classifier_dropout": 0.5, "task_specific_params": {"summarization": {"num_beams": 4}}},
    },
    "bart": {
        **{name: {"activation_function": name} for name in ACTIVATIONS},
        "scaled": {"scale_embedding": True},
        "heads": {"encoder_attention_heads": 4, "decoder_attention_heads": 4},
        "as_fairseq_had_it": {"normalize_before": False, "add_final_layer_norm": False, "normalize_embedding": True,
                              "static_position_embeddings": False, "extra_pos_embeddings": 2, "add_bias_logits": False},
        "indifferent": {"classifier_dropout": 0.5, "encoder_layerdrop": 0.1, "num_beams": 4, "gradient_checkpointing": False},
    },
    "mistral": {
        **LLAMA_LIKE,
        "window": {"sliding_window": 2},
        "usual_window": {"sliding_window": None},
        **by_length(2),
        "named_layers": {"layer_types": ["sliding_attention"]},
        "indifferent": {"pad_token_id": 5, "max_window_layers": 7, "use_sliding_window": False},
    },
    "qwen2": {
        **LLAMA_LIKE,
        "window": {"sliding_window": 2},
        "no_window": {"use_sliding_window": False, "layer_types": None},
        "all_layers": {"max_window_layers": 0, "layer_types": None},
        **by_length(1),
        "no_layers": {"max_window_layers": 3, "layer_types": None},
        "named_layers": {"layer_types": ["sliding_attention", "full_attention", "sliding_attention"]},
        "indifferent": {"pad_token_id": 5, "max_window_layers": 7},
    },
    "qwen3": {
        **LLAMA_LIKE,
        "window": {"sliding_window": 2},
        "no_window": {"use_sliding_window": False, "layer_types": None},
        "all_layers": {"max_window_layers": 0, "layer_types": None},
        "named_layers": {"layer_types": ["sliding_attention", "full_attention"]},
        **by_length(2),
        "indifferent": {"pad_token_id": 5, "max_window_layers": 7},
    },
    "phi3": {
        **{name: {"hidden_act": name} for name in ("silu", "swish")},
        "epsilon": {"rms_norm_eps": 0.5},
        "theta": {"rope_parameters": {"rope_theta": 50.0}},
        "old_theta": {"rope_parameters": None, "rope_theta": 50.0},
        "window": {"sliding_window": 2},
        "share": {"rope_parameters": {"partial_rotary_factor": 0.5}},
        "share_outside": {"rope_parameters": {"partial_rotary_factor": None}, "partial_rotary_factor": 0.5},
        **{name: {**patch, "original_max_position_embeddings": 16} for name, patch in by_length(4).items() if "longrope" in name},
        "old_longrope": {"rope_parameters": None, "rope_theta": 50.0, "original_max_position_embeddings": 16,
                         "rope_scaling": {"type": "longrope", "short_factor": [1.0, 1.5, 2.0, 4.0], "long_factor": [1.0, 2.0, 4.0, 8.0]}},
        "indifferent": {"embd_pdrop": 0.5, "attention_dropout": 0.5, "use_cache": False, "mlp_bias": True},
    },
    "gemma3_text": {
        **{name: {"hidden_activation": name} for name in ACTIVATIONS},
        "epsilon": {"rms_norm_eps": 0.5},
        "scores": {"query_pre_attn_scalar": 3},
        "scores_of_heads": {"query_pre_attn_scalar": 4},
        "window": {"sliding_window": 2},
        "all_layers": {"layer_types": ["sliding_attention", "sliding_attention"]},
        "no_layers": {"layer_types": ["full_attention", "full_attention"]},
        "pattern": {"layer_types": None, "sliding_window_pattern": 2},
        "usual_pattern": {"layer_types": None},
        "theta": {"rope_parameters": {"full_attention": {"rope_theta": 50.0}}},
        "window_theta": {"rope_parameters": {"sliding_attention": {"rope_theta": 50.0}}},
        "old_thetas": {"rope_parameters": None, "rope_theta": 50.0, "rope_local_base_freq": 20.0},
        "old_defaults": {"rope_parameters": None},
        "old_linear": {"rope_parameters": None, "rope_scaling": {"rope_type": "linear", "factor": 2.0}},
        **{name: {"rope_parameters": {"full_attention": STRETCHED[name]["rope_parameters"]}} for name in ("linear", "llama3", "yarn")},
        "dynamic": {"rope_parameters": {"full_attention": DYNAMIC}},
        "indifferent": {"pad_token_id": 5, "use_cache": False, "hidden_act": "relu", "use_sliding_window": False},
    },
    "xlm_roberta": {
        **ROBERTA_LIKE,
        "causal_class": {"architectures": ["XLMRobertaForCausalLM"]},
        "indifferent": {"chunk_size_feed_forward": 1, "classifier_dropout": 0.5},
    },
    "camembert": {
        **ROBERTA_LIKE,
        "causal_class": {"architectures": ["CamembertForCausalLM"]},
        "indifferent": {"chunk_size_feed_forward": 1, "classifier_dropout": 0.5},
    },
    "opt": {
        **{name: {"activation_function": name} for name in ACTIVATIONS},
        "heads": {"num_attention_heads": 2},
        "indifferent": {"layerdrop": 0.5, "word_embed_proj_dim": 8, "_remove_final_layer_norm": False, "prefix": "</s>"},
    },
    "gpt_neox": {
        **{name: {"hidden_act": name} for name in ACTIVATIONS},
        "epsilon": {"layer_norm_eps": 0.5},
        "heads": {"num_attention_heads": 4, "rope_parameters": {"partial_rotary_factor": 0.5}},
        "serial": {"use_parallel_residual": False},
        "share": {"rope_parameters": {"partial_rotary_factor": 0.5}},
        "whole": {"rope_parameters": {"partial_rotary_factor": 1.0}},
        "old_names": {"rope_parameters": None, "rotary_emb_base": 50, "rotary_pct": 0.8},
        "old_defaults": {"rope_parameters": None},
        "old_linear": {"rope_parameters": None, "rotary_pct": 0.5, "rope_scaling": {"type": "linear", "factor": 2.0}},
        **STRETCHED,
        **by_length(1),
        "dynamic": {"rope_parameters": {**DYNAMIC, "partial_rotary_factor": 0.5}},
        "indifferent": {"classifier_dropout": 0.5, "is_decoder": True, "rope_theta": 7.0},
    },
}
# What transformers 5 keeps and does not read, equal to what it reads, as transformers 4 and exports here have it.
UNREAD = {"bert_untied": ("cls.predictions.bias", "cls.predictions.decoder.bias"),
          "roberta_untied": ("lm_head.bias", "lm_head.decoder.bias"),
          "xlm_roberta_untied": ("lm_head.bias", "lm_head.decoder.bias"),
          "camembert": ("lm_head.bias", "lm_head.decoder.bias"),
          "bart_untied": ("model.shared.weight", "model.encoder.embed_tokens.weight")}
# A model's tokenizer, beside it.
TOKENIZERS = {"xlm_roberta": tf.XLMRobertaTokenizer(vocab=[("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("\u2581", -2.0),
                                                           ("\u2581ab", -3.0), ("a", -4.0), ("b", -4.0), ("c", -4.5), ("bc", -5.0),
                                                           ("\u2581a", -3.5), ("\u00e9", -5.0), ("<mask>", 0.0)])}
SHARDED = {"llama": "12KB"}
BF16 = {"llama"}
GRADIENTS = ("wte.weight", "wpe.weight", "h.0.attn.c_attn", "h.1.mlp.c_fc.bias", "ln_f.weight", "layers.0.self_attn.k_proj", "embed_tokens.weight",
             "layers.1.mlp.gate_proj", "model.norm.weight", "token_type_embeddings.weight", "layer.0.attention.self.query", "self.key_global", "layer.1.attention.self.value_global",
             "layer.1.output.LayerNorm", "predictions.transform.dense", "lm_head.dense.weight", "lm_head.bias", "predictions.bias",
             "classifier.", "score.weight", "embeddings.LayerNorm.weight", "position_embeddings.weight", "pooler.dense.bias",
             "shared.weight", "embed_tokens.weight", "relative_attention_bias", "SelfAttention.k", "EncDecAttention.v", "DenseReluDense.wi",
             "embed_positions.weight", "layernorm_embedding.weight", "self_attn.k_proj.weight", "encoder_attn.v_proj", "fc1.bias",
             "final_layer_norm.weight", "cls_token", "mask_token", "decoder_embed", "decoder_norm", "decoder_pred", "position_embeddings", "projection", "layernorm_before", "q_proj", "v_proj.bias",
             "query_key_value", "qkv_proj", "gate_up_proj", "post_attention_layernorm", "post_feedforward_layernorm", "embed_in.weight", "q_norm", "k_norm", "relative_position_bias_table", "reduction", "downsample.norm", "fc1.weight")
# Both sides of each activation and norm, positions, and what positions act on.
GRADIENTS_OF_VARIANTS = ("wpe.weight", "h.0.attn.c_attn.bias", "h.0.mlp.c_fc.bias", "h.0.mlp.c_proj.bias", "ln_f.weight", "q_proj.bias",
                         "k_proj.bias", "gate_proj.bias", "up_proj.bias", "model.norm.weight", "position_embeddings.weight",
                         "input_layernorm.weight", "o_proj.weight", "down_proj.weight", "q_norm", "qkv_proj", "gate_up_proj", "post_feedforward_layernorm", "query_key_value", "h_to_4h.bias", "self.query.bias", "intermediate.dense.bias", "output.LayerNorm.weight", "transform.dense.bias",
                         "lm_head.dense.bias", "decoder.bias", "lm_head.bias", "relative_attention_bias", "layer_norm.weight",
                         "DenseReluDense.wo", "fc1.bias", "fc2.bias", "encoder_attn.v_proj.bias", "layernorm_embedding.bias")


def spread(model):
    """Values far from the start ones, so that no term is lost in rounding."""
    if model.config.is_encoder_decoder:
        return draw(model)
    with torch.no_grad():
        for name, value in model.named_parameters():
            value.mul_(6 if value.dim() > 1 else 1).add_(0.1 * torch.randn_like(value))


def draw(model):
    with torch.no_grad():
        for name, value in [*model.named_parameters(), *model.named_buffers()]:
            if "embed_positions" not in name or value.requires_grad:
                value.copy_(0.3 * torch.randn_like(value) + (value.dim() == 1 and "norm" in name and name.endswith("weight")))


def two_sides(config, length):
    """The last source is shorter than its row."""
    ids = torch.randint(3, config.vocab_size, (2, length))
    mask = torch.ones_like(ids)
    mask[1, length - 3:] = 0
    target_ids = getattr(config, "decoder_vocab_size", config.vocab_size)
    decoder = torch.randint(3, target_ids, (2, length - 4))
    decoder[:, 0] = config.decoder_start_token_id or 0
    return {"input_ids": ids, "attention_mask": mask, "decoder_input_ids": decoder}


def inputs(config, length, padding=0, marked=None):
    if config.model_type in PICTURES:
        return {"pixel_values": torch.randn(4, config.num_channels, *config.image_size)}
    if config.is_encoder_decoder:
        return two_sides(config, length)
    ids = torch.randint(3, config.vocab_size, (2, length))
    given = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    if config.model_type == "bert":
        given["token_type_ids"] = (torch.arange(length) > length // 2).long().repeat(2, 1)
    if padding:
        given["attention_mask"][-1, -padding:] = 0
        ids[given["attention_mask"] == 0] = config.pad_token_id
    if marked is not None:  # the third token and one near the end of the shorter text
        ids[ids == marked] = marked + 1
        ids[:, 2] = ids[:, length - padding - 2] = marked
        given["global_attention_mask"] = (ids == marked).long()
    return given


def hidden_patches(model, config):
    """What a masked autoencoder says of the patches that are hidden by some noise, in their order."""
    given = inputs(config, 0)
    noise = torch.rand(len(given["pixel_values"]), model.vit.embeddings.patch_embeddings.num_patches)
    output = model(**given, noise=noise)
    output.loss.backward()
    said = [logits[mask.bool()] for logits, mask in zip(output.logits, output.mask)]
    return {**given, "noise": noise, "logits": torch.stack(said), "loss": output.loss.reshape(1)}


def each_alone(model, given):
    """Beside a longer text BigBird would take the last block of that one for a text's own."""
    lengths = given["attention_mask"].sum(1)
    said = [model(input_ids=ids[None, :length]) for ids, length in zip(given["input_ids"], lengths)]
    logits = torch.nn.utils.rnn.pad_sequence([one.prediction_logits[0] for one in said], batch_first=True)
    return SimpleNamespace(prediction_logits=logits, seq_relationship_logits=torch.cat([one.seq_relationship_logits for one in said]))


def expected(model, config, length=13, gradients=GRADIENTS, padding=0, marked=None):
    if config.model_type == "vit_mae":
        return with_gradients(hidden_patches(model, config), model, gradients)
    for module in model.modules():  # else the padding token, with which targets may begin, would have no gradient
        if isinstance(module, torch.nn.Embedding) and config.is_encoder_decoder:
            module.padding_idx = None
    given = inputs(config, length, padding, marked)
    output = each_alone(model, given) if padding and config.model_type == "big_bird" else model(**given)
    logits = output.prediction_logits if hasattr(output, "prediction_logits") else output.logits
    targets = torch.randint(0, logits.shape[-1], logits.shape[:-1])
    learnt = targets.masked_fill(given["attention_mask"] == 0, -100) if padding else targets
    loss = torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), learnt.reshape(-1))
    loss.backward()
    read = "pixel_values" if "pixel_values" in given else "input_ids"
    made = {"ids" if read == "input_ids" else read: given[read], "targets": targets, "logits": logits, "loss": loss.reshape(1)}
    if hasattr(output, "seq_relationship_logits"):
        made["pair_logits"] = output.seq_relationship_logits
    if "token_type_ids" in given:
        made["types"] = given["token_type_ids"]
    if "decoder_input_ids" in given:
        made["decoder_ids"] = given["decoder_input_ids"]
    if "decoder_input_ids" in given or padding:
        made["mask"] = given["attention_mask"]
    return with_gradients(made, model, gradients)


def with_gradients(made, model, gradients):
    for name, value in model.named_parameters():
        if value.grad is not None and any(part in name for part in gradients):
            made["gradient:" + file_name(model, name)] = value.grad
    return {name: value.detach().contiguous() for name, value in made.items()}


def file_name(model, name):
    """That of a file, which some classes of pictures have otherwise."""
    if model.config.model_type not in PICTURES:
        return name
    name = name.replace("vit.layers", "vit.encoder.layer").replace("relative_position_bias.relative", "relative")
    of_self = "attention.self." if model.config.model_type == "swin" else "attention.attention."
    for theirs, kept in {"q_proj": of_self + "query", "k_proj": of_self + "key", "v_proj": of_self + "value", "o_proj": "output.dense"}.items():
        name = name.replace("attention." + theirs, kept if kept.startswith("attention") else "attention." + kept)
    name = name.replace("attention.relative_position_bias_table", "attention.self.relative_position_bias_table")
    return name.replace("mlp.fc1", "intermediate.dense").replace("mlp.fc2", "output.dense")


def merged(base, patch):
    """RFC 7396."""
    made = dict(base)
    for key, value in patch.items():
        if value is None:
            made.pop(key, None)
        else:
            made[key] = merged(made.get(key) or {}, value) if isinstance(value, dict) else value
    return made


def save(model, folder, **how):
    model.save_pretrained(folder, **how)
    if model.config.model_type in PICTURES:
        channels = model.config.num_channels
        units = dict(do_normalize=True, do_rescale=True, do_resize=True, image_mean=[0.5, 0.25, 0.75][:channels],
                     image_processor_type="ViTImageProcessor", image_std=[0.25, 0.5, 0.125][:channels], resample=2,
                     rescale_factor=1 / 255, size=dict(zip(("height", "width"), model.config.image_size)))
        (folder / "preprocessor_config.json").write_text(json.dumps(units, indent=2) + "\n")
    if not model.config.is_encoder_decoder:
        (folder / "generation_config.json").unlink(missing_ok=True)


def write_family(folder, kind, config, variants):
    shutil.rmtree(folder, ignore_errors=True)
    config.dtype = torch.float32
    model = kind(config).eval()
    spread(model)
    save(model, folder)
    (folder / "variants.json").write_text(json.dumps(variants, indent=1) + "\n")
    text = json.loads((folder / "config.json").read_text())
    for name, patch in variants.items():
        changed = merged(text, patch)
        with tempfile.TemporaryDirectory() as scratch:
            shutil.copy(folder / "model.safetensors", scratch)
            (Path(scratch) / "config.json").write_text(json.dumps(changed))
            model = getattr(tf, (changed.get("architectures") or [kind.__name__])[0]).from_pretrained(scratch).eval()
        torch.manual_seed(7)
        made = expected(model, model.config, 6, GRADIENTS_OF_VARIANTS)
        save_file(made, folder / f"{name}.safetensors", metadata={"format": "pt"})
    print(folder, sum(f.stat().st_size for f in folder.iterdir()))


def classes(family):
    family = family.removesuffix("_text")
    module = importlib.import_module(f"transformers.models.{family}.modeling_{family}")
    kinds = {name: getattr(module, name) for name in module.__all__}
    return sorted(name for name in kinds if issubclass(kinds[name], tf.PreTrainedModel) and "PreTrained" not in name)


def write_variants(folder):
    for number, (family, (kind, config)) in enumerate(VARIED.items()):
        torch.manual_seed(100 + number)
        write_family(folder / family, kind, config, VARIANTS[family])
    names = {"activations": sorted(tf.activations.ACT2FN), "rope_types": sorted({"default", *ROPE_INIT_FUNCTIONS}),
             "classes": {family: classes(family) for family in VARIED}}
    (folder / "names.json").write_text(json.dumps(names, indent=1) + "\n")


def main(argv):
    wanted = argv[2:] or [*CASES, "variants"]
    if "variants" in wanted:
        write_variants(Path(argv[1]) / "variants")
    for number, (name, (kind, config)) in enumerate(CASES.items()):
        if name not in wanted:
            continue
        torch.manual_seed(number)
        config.dtype = torch.float32
        model = kind(config).eval()
        if name in OWN_HEADS:
            model.lm_head.weight = torch.nn.Parameter(torch.empty_like(model.shared.weight))
            model.all_tied_weights_keys.pop("lm_head.weight")
        if name in WITHOUT_POOLER:
            model.bert.pooler = None
        spread(model)
        if name in UNREAD:
            heads = dict(model.named_parameters())
            heads[UNREAD[name][0]].data.copy_(heads[UNREAD[name][1]])
        if name in BF16:
            with torch.no_grad():
                for value in model.parameters():
                    value.copy_(value.to(torch.bfloat16))
        made = expected(model, config, LENGTHS.get(name, 13), padding=PADDING.get(name, 0), marked=MARKED.get(name))
        if name in BF16:
            model = model.to(torch.bfloat16)
        folder = Path(argv[1]) / name
        save(model, folder, max_shard_size=SHARDED.get(name, "5GB"))
        save_file(made, folder / "skein_expected.safetensors", metadata={"format": "pt"})
        if name in TOKENIZERS:
            TOKENIZERS[name].save_pretrained(folder)
        size = sum(f.stat().st_size for f in folder.iterdir())
        print(name, size, json.loads((folder / "config.json").read_text())["architectures"])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
