#!/usr/bin/env python3
"""The time of masks in PyPI's llguidance, for the tokens and grammars of bench/lm_grammar.c.

    build/release/bench/lm_grammar MODEL 256 --tokens | python3 bench/lm_grammar.py        (needs llguidance and numpy)

A grammar that llguidance does not take is named. Cold: a new matcher, as for the first text; warm: once more.
"""

import json
import sys
import time

import llguidance
import llguidance.numpy


class Vocabulary:
    """What llguidance asks of a tokenizer."""

    def __init__(self, told):
        self.tokens = [bytes.fromhex(t) or f"<special {i}>".encode() for i, t in enumerate(told["vocabulary"])]
        self.special_token_ids = [i for i, t in enumerate(told["vocabulary"]) if not t]
        self.eos_token_id = told["end"]
        self.bos_token_id = None

    def __call__(self, text):
        data = text if isinstance(text, bytes) else text.encode()
        single = {t: i for i, t in enumerate(self.tokens) if len(t) == 1}
        return [single[data[i:i + 1]] for i in range(len(data))]


def grammar_of(sample):
    if sample["kind"] == 0:
        return llguidance.LLMatcher.grammar_from_lark(llguidance.gbnf_to_lark.any_to_lark(sample["text"]))
    if sample["kind"] == 2:
        return llguidance.LLMatcher.grammar_from_regex(sample["text"])
    blanks = {"whitespace_pattern": "[ \\n\\t]{0,22}"}
    return llguidance.LLMatcher.grammar_from_json_schema(sample["text"] or '{"type": "object"}', blanks)


def measure(tokenizer, grammar, ids):
    matcher, times = llguidance.LLMatcher(tokenizer, grammar), []
    mask = llguidance.numpy.allocate_token_bitmask(1, tokenizer.vocab_size)
    for token in ids:
        begin = time.perf_counter()
        llguidance.numpy.fill_next_token_bitmask(matcher, mask)
        if not matcher.consume_token(token):
            break
        times.append(1e6 * (time.perf_counter() - begin))
    return sorted(times)


def main():
    lines = [json.loads(line) for line in sys.stdin]
    tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(Vocabulary(lines[0])))
    for sample in lines[1:]:
        try:
            grammar = grammar_of(sample)
            cold, warm = measure(tokenizer, grammar, sample["ids"]), measure(tokenizer, grammar, sample["ids"])
        except Exception as error:
            print(f"{sample['name']:14} {error}"[:150])
            continue
        if not cold or not warm:
            print(f"{sample['name']:14} takes none of the tokens")
            continue
        print(f"{sample['name']:14} {len(cold):4} of {len(sample['ids']):4} tokens; us per mask: "
              f"cold {sum(cold) / len(cold):6.1f} "
              f"(max {cold[-1]:7.1f}), warm {sum(warm) / len(warm):6.1f} (max {warm[-1]:7.1f})")


if __name__ == "__main__":
    main()
