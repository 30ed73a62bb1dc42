#!/usr/bin/env python3
"""Writes what beam search in transformers finds, to hold Skein's against.

    python3 tools/make_beam_golden.py tests/generate/beams.golden.json
    python3 tools/make_beam_golden.py tests/convert/beams.golden.json tests/convert/golden/gpt2 tests/convert/golden/llama
    python3 tools/make_beam_golden.py tests/convert/mapper_beams.golden.json tests/convert/golden/t5 tests/convert/golden/bart

Needs transformers and torch from PyPI. The second form takes real, small models, in f32; its file says by model the end
(an id that they like), prompts, settings and the best answer to each. In the third, of encoder-decoders, prompts are sources, more
settings are gone through, and the best answers are written as the first form has them; sources whose answers in f64 are others
are left out, for they hang on the last bit. In the first form, instead of a model a function of all tokens so far gives the logits: of whole
numbers, so that any program makes the same bits (`scripted_logits` here, and in tests/generate/scripted_logits.h).

The file: `prompts`, of which the first token is the source's own, above all ids; `settings`; `answers`, for each prompt
its distinct ones as texts (id i is character i of `letters`, the end is among them) and, by setting, the index of the
best; `listed`, settings by index, with all hypotheses and scores of the first prompts."""
import itertools
import json
import sys

import numpy
import torch
import transformers as tf

IDS, END, MOST = 61, 0, 12
SOURCES, LISTED = 200, 12
LETTERS = "".join(map(chr, itertools.chain(range(48, 58), range(65, 91), range(97, 122))))
MASK = (1 << 64) - 1


def scripted_logits(rows):
    """[N,T] ids -> [N,IDS] f32, multiples of 2^-21 from 0 to 8; of the end, which is to come often, from 4."""
    rows = numpy.asarray(rows, dtype=numpy.uint64)
    state = numpy.full(len(rows), 0xCBF29CE484222325, dtype=numpy.uint64)
    for column in rows.T:
        state = (state ^ column) * numpy.uint64(0x100000001B3)
    steps = numpy.arange(1, IDS + 1, dtype=numpy.uint64) * numpy.uint64(0x9E3779B97F4A7C15)
    x = state[:, None] + steps[None, :]
    x = (x ^ (x >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    logits = ((x ^ (x >> numpy.uint64(31))) >> numpy.uint64(40)).astype(numpy.float32) / 2**21
    logits[:, END] = 4 + logits[:, END] / 2
    return logits


class Scripted(tf.PreTrainedModel, tf.GenerationMixin):
    config_class = tf.GPT2Config
    main_input_name = "input_ids"
    _supports_cache_class = False

    def __init__(self, config):
        super().__init__(config)
        self.unused = torch.nn.Parameter(torch.zeros(1))

    def prepare_inputs_for_generation(self, input_ids, attention_mask=None, **_):
        return {"input_ids": input_ids}

    def forward(self, input_ids, attention_mask=None, **_):
        logits = torch.from_numpy(scripted_logits(input_ids.numpy()))[:, None, :]
        return tf.modeling_outputs.CausalLMOutput(logits=logits)


def settings():
    rules = [{}, {"no_repeat": 2}, {"no_repeat": 3}, {"min_tokens": 5}, {"first": 7}, {"last": END},
             {"no_repeat": 1, "banned": [3, 4, 5]}]
    for size, penalty, early, rule in itertools.product((1, 3, 5), (0.6, 1.0, 2.0), ("true", "false", "never"), rules):
        yield {"size": size, "length_penalty": penalty, "early_stop": early, **rule}
    for size, penalty, early in itertools.product((3, 5), (-0.5, 0.0), ("true", "false", "never")):
        yield {"size": size, "length_penalty": penalty, "early_stop": early}


def arguments_of(one, end):
    made = dict(do_sample=False, num_beams=one["size"], num_return_sequences=one["size"], max_new_tokens=MOST,
                eos_token_id=end, pad_token_id=end, use_cache=False, return_dict_in_generate=True, output_scores=True)
    if one["size"] > 1:
        made.update(length_penalty=one["length_penalty"],
                    early_stopping={"true": True, "false": False, "never": "never"}[one["early_stop"]])
    names = {"no_repeat": "no_repeat_ngram_size", "min_tokens": "min_new_tokens", "first": "forced_bos_token_id",
             "last": "forced_eos_token_id", "banned": "suppress_tokens"}
    made.update({name: one[key] for key, name in names.items() if key in one})
    return made


def spelt(ids, end):
    """Until the first end, behind which there is padding."""
    ids = ids.tolist()
    return "".join(LETTERS[i] for i in ids[:ids.index(end) + 1 if end in ids else None])


def searched(model, prompts, one, end=END):
    """For each prompt its hypotheses, (text, score) each; equally long prompts go together."""
    found = {}
    for length in sorted({len(prompt) for prompt in prompts}):
        numbers = [i for i, prompt in enumerate(prompts) if len(prompt) == length]
        ids = torch.tensor([prompts[i] for i in numbers])
        made = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), **arguments_of(one, end))
        scores = made.sequences_scores.tolist() if one["size"] > 1 else [None] * len(numbers)
        for k, row in enumerate(made.sequences):
            found.setdefault(numbers[k // one["size"]], []).append((spelt(row[length:], end), scores[k]))
    return [found[i] for i in range(len(prompts))]


def model_settings():
    yield {"size": 1, "length_penalty": 1.0, "early_stop": "false"}
    yield {"size": 3, "length_penalty": 0.6, "early_stop": "true", "no_repeat": 2}
    yield {"size": 3, "length_penalty": 1.0, "early_stop": "false", "first": 7}
    yield {"size": 5, "length_penalty": 1.0, "early_stop": "false"}
    yield {"size": 5, "length_penalty": 2.0, "early_stop": "never", "min_tokens": 4}
    yield {"size": 5, "length_penalty": 0.6, "early_stop": "false", "no_repeat": 3, "last": None}


def likely_end(model, prompts):
    """The second of the ids that are most often among the likeliest after a prompt."""
    ids = [model(torch.tensor([p])).logits[0, -1].topk(3).indices.tolist() for p in prompts]
    counts = numpy.bincount(sum(ids, []), minlength=IDS)
    return int(numpy.argsort(-counts)[1])


def model_golden(folder):
    model = tf.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    draw = numpy.random.default_rng(9)
    prompts = [draw.integers(0, IDS, 1 + i % 4).tolist() for i in range(SOURCES)]
    with torch.no_grad():
        end, found = likely_end(model, prompts), []
        for one in model_settings():
            if "last" in one:
                one["last"] = end
            asked = [p[:1] for p in prompts] if "first" in one else prompts
            answers = searched(model, asked, one, end)
            found.append({**one, "found": [hypotheses[0][0] for hypotheses in answers]})
    return {"end": end, "prompts": prompts, "settings": found}


def mapper_settings(end):
    """Every choice with every other; then what is not crossed: a search that never stops early, and a forced end."""
    choices = itertools.product(({}, {"no_repeat": 2}, {"no_repeat": 3}), ({}, {"min_tokens": 5}), ({}, {"first": 7}))
    rules = [{**repeat, **least, **first} for repeat, least, first in choices]
    greedy = {"size": 1, "length_penalty": 1.0, "early_stop": "false"}
    for rule in [*rules, {"last": end}]:
        yield {**greedy, **rule}
    for size, penalty, early in itertools.product((3, 5), (0.6, 1.0, 2.0), ("true", "false")):
        for rule in rules:
            yield {"size": size, "length_penalty": penalty, "early_stop": early, **rule}
    for size, penalty, rule in itertools.product((3, 5), (0.6, 1.0, 2.0), ({}, {"last": end})):
        yield {"size": size, "length_penalty": penalty, "early_stop": "never", **rule}


def best_answers(model, sources, one, end):
    """For each source; equally long ones go together."""
    found, fed = {}, 1
    for length in sorted({len(source) for source in sources}):
        numbers = [i for i, source in enumerate(sources) if len(source) == length]
        ids = torch.tensor([sources[i] for i in numbers])
        asked = {**arguments_of(one, end), "num_return_sequences": 1, "use_cache": True, "forced_eos_token_id": one.get("last")}
        made = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), **asked)
        found.update((i, spelt(row[fed:], end)) for i, row in zip(numbers, made.sequences))
    return [found[i] for i in range(len(sources))]


def likely_end_of_mapper(model, sources, start):
    ids = [model(input_ids=torch.tensor([s]), decoder_input_ids=torch.tensor([[start]])).logits[0, -1].topk(3).indices.tolist()
           for s in sources]
    return int(numpy.argsort(-numpy.bincount(sum(ids, []), minlength=IDS))[1])


def mapper_golden(folder):
    models = [tf.AutoModelForSeq2SeqLM.from_pretrained(folder, dtype=dtype).eval() for dtype in (torch.float32, torch.float64)]
    config, draw = models[0].config, numpy.random.default_rng(9)
    drawn = [draw.integers(3, config.vocab_size, 1 + i % 12).tolist() for i in range(SOURCES + 40)]
    with torch.no_grad():
        end = likely_end_of_mapper(models[0], drawn, config.decoder_start_token_id)
        every = list(mapper_settings(end))
        single, double = ([best_answers(model, drawn, one, end) for one in every] for model in models)
    sure = [i for i in range(len(drawn)) if all(s[i] == d[i] for s, d in zip(single, double))][:SOURCES]
    assert len(sure) == SOURCES, len(sure)
    answers = []
    for i in sure:
        texts = {}
        best = [texts.setdefault(found[i], len(texts)) for found in single]
        answers.append({"texts": list(texts), "best": best})
    return {"end": end, "start": config.decoder_start_token_id, "prompts": [drawn[i] for i in sure], "settings": every,
            "answers": answers}


def golden_of(folder):
    maps = tf.AutoConfig.from_pretrained(folder).is_encoder_decoder
    return mapper_golden(folder) if maps else model_golden(folder)


def write_models(path, folders):
    made = {folder.rstrip("/").split("/")[-1]: golden_of(folder) for folder in folders}
    with open(path, "w") as out:
        out.write('{"letters":' + json.dumps(LETTERS) + "".join(
            f',\n"{name}":' + json.dumps(one, separators=(",", ":")) for name, one in made.items()) + "}\n")


def write_scripted(path):
    draw = numpy.random.default_rng(5)
    prompts = [[1000 + i, *draw.integers(1, IDS, i % 4).tolist()] for i in range(SOURCES)]
    model = Scripted(tf.GPT2Config(vocab_size=2000, n_positions=64, n_layer=1, n_head=1, n_embd=4))
    answers, indices, listed = [{} for _ in prompts], [[] for _ in prompts], []
    every = list(settings())
    for number, one in enumerate(every):
        # The library forces a first token behind a prompt of one token only.
        found = searched(model, [p[:1] for p in prompts] if "first" in one else prompts, one)
        for source, hypotheses in enumerate(found):
            indices[source].append(answers[source].setdefault(hypotheses[0][0], len(answers[source])))
        if one["size"] > 1:
            listed.append([number, found[:LISTED]] if number % 5 == 0 or one["length_penalty"] <= 0 else None)
        print(number + 1, "of", len(every), file=sys.stderr)
    lines = [f'"ids":{IDS},"end":{END},"most":{MOST},"letters":{json.dumps(LETTERS)}',
             '"settings":[\n' + ",\n".join(json.dumps(one) for one in every) + "]",
             '"prompts":' + json.dumps(prompts, separators=(",", ":")),
             '"answers":[\n' + ",\n".join(json.dumps({"texts": list(texts), "best": best}, separators=(",", ":"))
                                          for texts, best in zip(answers, indices)) + "]",
             '"listed":[\n' + ",\n".join(
                 json.dumps({"setting": number, "found": [[[text, float(f"{score:.8g}")] for text, score in one]
                                                          for one in found]}, separators=(",", ":"))
                 for number, found in filter(None, listed)) + "]"]
    with open(path, "w") as out:
        out.write("{" + ",\n".join(lines) + "}\n")


if __name__ == "__main__":
    tf.utils.logging.set_verbosity_error()
    if len(sys.argv) > 2:
        write_models(sys.argv[1], sys.argv[2:])
    else:
        write_scripted(sys.argv[1])
