#!/usr/bin/env python3
"""Makes tests/text/golden/chat.jsonl.xz: conversations under the named chat templates, as `transformers` writes and encodes them.

usage: make_chat_golden.py (from the repository's root; needs transformers, tokenizers and jinja2)"""
import json
import lzma
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, pre_tokenizers
from transformers import PreTrainedTokenizerFast

GOLDEN = Path("tests/text/golden")
MARKERS = ["<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]

# The formats as their models' cards state them.
TEMPLATES = {
    "chatml": "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
              "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
    "llama3": "<|begin_of_text|>{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n{{ m.content | trim }}<|eot_id|>{% endfor %}"
              "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}",
    "llama2": "{% set ns = namespace(system='') %}{% for m in messages %}"
              "{% if m.role == 'system' %}{% set ns.system = '<<SYS>>\n' + (m.content | trim) + '\n<</SYS>>\n\n' %}"
              "{% elif m.role == 'user' %}<s>[INST] {{ ns.system }}{{ m.content | trim }} [/INST]{% set ns.system = '' %}"
              "{% else %} {{ m.content | trim }} </s>{% endif %}{% endfor %}",
    "plain": "{{ '<s>' }}{% for m in messages %}{% if m.role == 'system' %}{{ m.content | trim }}"
             "{% elif m.role == 'user' %}{{ '\n\nHuman: ' + (m.content | trim) }}{% else %}{{ '\n\nAssistant: ' + (m.content | trim) + '<|endoftext|>' }}"
             "{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '\n\nAssistant:' }}{% endif %}",
}

TURNS = [
    ["Hello there.", "Hi! How can I help?"],
    ["  What is 12 + 30?\n", "42", "And times two, please", "That is 84.\n"],
    ["Write a haiku\n\nabout   rain", "Soft rain on tin roofs,\n  a gutter counts the evening,\none drop, then the next.", "Why \"tin\"?", "It rhymes with nothing."],
    ["Grüße aus Köln! 你好 🙂", "Schön, dass du da bist — 好的。"],
    ["x", "y", "z", "w", "1", "2"],
]
SYSTEMS = [None, "You are terse.", "  Answer in one line.\nNever lie. "]


# Where Llama 3 divides words. GPT-NeoX's own division joins line breaks to what follows, so that a prompt that ends in them would not begin
# its conversation.
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def encoder(llama3):
    text = lzma.open(GOLDEN / "neox-20b-tokenizer.json.xz").read().decode()
    inner = Tokenizer.from_str(text)
    if llama3:
        inner.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(LLAMA3), "isolated"),
                                                       pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    inner.add_special_tokens([AddedToken(marker, special=True, normalized=False) for marker in MARKERS])
    return PreTrainedTokenizerFast(tokenizer_object=inner)


def main():
    lines = []
    for name, template in TEMPLATES.items():
        tokenizer = encoder(name.startswith("llama"))
        for turns in TURNS:
            for system in SYSTEMS:
                messages = [{"role": "system", "content": system}] if system else []
                messages += [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(turns)]
                render = lambda list_, prompt: tokenizer.apply_chat_template(list_, chat_template=template, tokenize=False, add_generation_prompt=prompt)
                encode = lambda text: tokenizer(text, add_special_tokens=False)["input_ids"]
                text, asked = render(messages, False), render(messages[:-1], True)
                lines.append({"template": name, "messages": messages, "text": text, "ids": encode(text), "prompt": encode(asked)})
    with lzma.open(GOLDEN / "chat.jsonl.xz", "wt") as out:
        for line in lines:
            out.write(json.dumps(line, ensure_ascii=False) + "\n")
    print(len(lines), "conversations;", {marker: tokenizer.convert_tokens_to_ids(marker) for marker in MARKERS})


if __name__ == "__main__":
    main()
