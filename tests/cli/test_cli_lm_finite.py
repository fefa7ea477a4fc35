#!/usr/bin/env python3
"""Models and graphs with non-finite values: messages of generate, perplexity, logits and compare. See cli.py."""

import json
import pathlib
import shutil
import struct
import sys

from cli import ROOT, Skip, check, equal, fails, file_json, main, npy, rlx, rlx_json, strict_json, test, write
from gguf_file import tiny_llama

HAS_LM = "generate" in rlx("--help", expect=0).out
ON_CPU = ("--device", "cpu")
NAN = float("nan")


def damaged(name, at, value=NAN):
    """m.gguf, a tiny model with one number of a tensor replaced."""
    if not HAS_LM:
        raise Skip("this rlx was built without language models")
    tiny_llama("m.gguf")
    tensor = next(t for t in file_json("info", "m.gguf", "--tensors")["tensors"] if t["name"] == name)
    data = bytearray(pathlib.Path("m.gguf").read_bytes())
    struct.pack_into("<f", data, tensor["offset"] + 4 * at, value)
    pathlib.Path("m.gguf").write_bytes(data)


@test
def generation_ends_where_it_began():
    damaged("blk.1.ffn_down.weight", 5)
    for more in ((), ("--temperature", 1, "--seed", 3), ("--json",)):
        fails("generate", "m.gguf", "-p", "abc", "-n", 4, *more, *ON_CPU,
              says="that began at token 2, in node ", lines=1)
    fails("generate", "m.gguf", "-p", "abc", "-n", 4, *ON_CPU, says="'blk.1.ffn_down.weight'")


@test
def perplexity_ends_where_it_began():
    damaged("blk.0.attn_v.weight", 0, float("inf"))
    write("t.txt", "abcabcabc")
    for more in (("-q",), ("--json",)):
        fails("perplexity", "m.gguf", "t.txt", *more, *ON_CPU, says="the logits of token 0 are not finite", lines=1)
        fails("perplexity", "m.gguf", "t.txt", *more, *ON_CPU, says="'blk.0.attn_qkv.weight'")


@test
def perplexity_of_one_odd_logit():
    damaged("token_embd.weight", 0)  # no text has <unk>, but the head is the same matrix
    write("t.txt", "abcabcabc")
    fails("perplexity", "m.gguf", "t.txt", "-q", *ON_CPU, says="'token_embd.weight'), element 0, with a NaN")


@test
def no_nan_in_json():
    damaged("blk.0.attn_norm.weight", 0, 3e38)
    write("t.txt", "ab" * 30)
    told = rlx("perplexity", "m.gguf", "t.txt", "--json", *ON_CPU)
    strict_json(told.out, "perplexity --json")


@test
def logits_are_not_written():
    damaged("output_norm.weight", 3)
    fails("logits", "m.gguf", "--tokens", "1,5,6", "--out", "l.npy", *ON_CPU, says="'output_norm.weight'", lines=1)
    check(not pathlib.Path("l.npy").exists(), "an array was written")


@test
def embeddings_are_refused():
    if not HAS_LM:
        raise Skip("this rlx was built without language models")
    shutil.copytree(ROOT / "tests/golden/lm/bert", "m")
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz", *(f"##{c}" for c in "abcdefgh")]
    pathlib.Path("m/tokenizer.json").write_text(json.dumps({
        "version": "1.0", "added_tokens": [], "normalizer": {"type": "BertNormalizer", "clean_text": True,
        "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}, "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}, "decoder": {"type": "WordPiece"},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                  "vocab": {t: i for i, t in enumerate(names)}}}))
    rlx_json("embed", "m", "abc", *ON_CPU)
    data = bytearray(pathlib.Path("m/model.safetensors").read_bytes())
    header = struct.unpack_from("<Q", data)[0]
    tensor = json.loads(data[8:8 + header])["encoder.layer.0.attention.output.dense.bias"]
    struct.pack_into("<f", data, 8 + header + tensor["data_offsets"][0], NAN)
    pathlib.Path("m/model.safetensors").write_bytes(data)
    fails("embed", "m", "abc", *ON_CPU, says="tokens is not finite: that began in node ", lines=1)
    fails("embed", "m", "abc", *ON_CPU, says="'blk.0.attn_output.")


@test
def compare_names_the_first_node():
    write("g.rlx", """graph {
  %1 = input "x" : f32[3]
  %2 = exp(%1)
  %3 = log(%1)
  %4 = mul(%2, %3)
  output "y" = %4
}
""")
    npy("x.npy", "f32", [3], [1, 0, -1])
    asked = ["compare", "g.rlx", "--input", "x=x.npy", "--without", "fuse", *ON_CPU]
    result = rlx_json(*asked)
    found = {n["op"]: n["not_finite"] for n in result["nodes"]}
    equal(found, {"exp": 0, "log": 2, "mul": 2}, "numbers that are not finite")
    first = next(n["node"] for n in result["nodes"] if n["op"] == "log")
    equal((result["differ"], result["first_not_finite"]), (0, first), "the first")
    told = rlx(*asked, expect=0).out
    check(f"the first numbers that are not finite: node {first} (log), 2 of its elements" in told, told)
    npy("x.npy", "f32", [3], [1, 2, 3])
    equal(rlx_json(*asked)["first_not_finite"], 0, "nothing odd")


if __name__ == "__main__":
    sys.exit(main())
