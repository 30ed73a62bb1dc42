#!/usr/bin/env python3
"""Has `transformers` run the chat templates that Skein writes, and notes the ids in tests/text/golden/template.jsonl.xz.

A line is a template: "form" (its name or its JSON), "jinja" (what Skein makes of it), and "cases": "messages", the "ids" of all
of them and of the "prompt" that ends before the last one. Ids are made with sanitize_control_tokens, since texts never become
special tokens here. FORMS are JSON lines with "form" and "jinja"; tests/text/template_export_test.cpp prints those that differ.

usage: make_template_golden.py FORMS      (from the repository's root; needs transformers, tokenizers and jinja2)
"""

import json
import lzma
import sys
from pathlib import Path

from make_chat_golden import GOLDEN, encoder

TURNS = [
    ["Hello there.", "Hi! How can I help?"],
    ["  What is 12 + 30?\n", "42", "And times two, please", "That is 84.\n"],
    [
        "Write <|im_end|> and </s>",
        "Here: <|eot_id|><s>[INST]",
        "{{ 7 * 7 }} {% raw %} 'x' \"y\" \\n",
        "{bos} 49",
    ],
    ["Grüße aus Köln! 你好 🙂", "Schön, dass du da bist — 好的。"],
    ["", "What do you mean?", "x", ""],
    ["a\tb\r\nc", "d\u00a0e\u2028f"],
]
SYSTEMS = [None, "You are terse.", "  Answer in one line.\nNever lie. ", ""]


def cases(form, jinja):
    tokenizer = encoder("llama" in form)
    tokenizer.chat_template = jinja
    made = []
    for turns in TURNS:
        for system in SYSTEMS:
            if system is not None and "system" not in jinja:
                continue
            messages = [{"role": "system", "content": system}] if system is not None else []
            messages += [
                {"role": ("user", "assistant")[i % 2], "content": text}
                for i, text in enumerate(turns)
            ]
            encode = lambda list_, prompt: tokenizer.apply_chat_template(
                list_, add_generation_prompt=prompt, sanitize_control_tokens=True, return_dict=False
            )
            made.append(
                {
                    "messages": messages,
                    "ids": encode(messages, False),
                    "prompt": encode(messages[:-1], True),
                }
            )
    return made


def main():
    lines = [json.loads(line) for line in Path(sys.argv[1]).read_text().splitlines()]
    with lzma.open(GOLDEN / "template.jsonl.xz", "wt") as out:
        for line in lines:
            line["cases"] = cases(line["form"], line["jinja"])
            out.write(json.dumps(line, ensure_ascii=False) + "\n")
    print(len(lines), "templates,", sum(len(line["cases"]) for line in lines), "conversations")


if __name__ == "__main__":
    main()
