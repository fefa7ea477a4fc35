#!/usr/bin/env python3
"""Encoders as llama.cpp sees them: a GGUF that rlx convert makes of each tiny model gives the same embeddings and scores
there. Needs the Python package llama-cpp-python. See cli.py."""

import json
import math
import pathlib
import struct
import sys

from cli import Skip, check, equal, file_json, main, rlx, rlx_json, test
from lm_files import need_lm
from lm_pairs import BERT, encoder, words

KNOWN = {"bert": "bert", "bert_rank": "bert", "roberta": "bert", "roberta_rank": "bert", "distilbert": "bert",
         "modernbert": "modern-bert", "modernbert_rank": "modern-bert", "nomicbert": "nomic-bert", "eurobert": "eurobert",
         "qwen3_embed": "qwen3", "gemma3_embed": "gemma-embedding"}
OURS = {"mpnet": "mpnet", "gte": "gte"}  # architectures of RLX's own
QUERY, TEXT = [10, 49, 31, 37], [11, 26, 56, 34, 7, 46, 58, 59, 39, 53, 24, 5, 6, 17, 19]


def equal_types(path):
    """Makes all rows of the token types equal: llama.cpp gives every token the first, also in a pair."""
    raw = path.read_bytes()
    n = 8 + struct.unpack("<Q", raw[:8])[0]
    for name, at in json.loads(raw[8:n]).items():
        if name.endswith("token_type_embeddings.weight"):
            begin, end = (n + x for x in at["data_offsets"])
            rows = at["shape"][0]
            raw = raw[:begin] + raw[begin:begin + (end - begin) // rows] * rows + raw[end:]
    path.write_bytes(raw)


def theirs(llama_cpp, ids):
    model = llama_cpp.Llama("m.gguf", embedding=True, verbose=False, n_threads=1, n_ctx=64, n_batch=64, n_ubatch=64)
    model._batch.reset()
    model._batch.add_sequence(ids, 0, True)
    model._ctx.decode(model._batch)
    is_ranker = model.pooling_type() == llama_cpp.LLAMA_POOLING_TYPE_RANK
    found = llama_cpp.llama_get_embeddings_seq(model._ctx.ctx, 0)[:1 if is_ranker else model.n_embd()]
    model.close()
    if is_ranker:
        return [1 / (1 + math.exp(-found[0]))]
    norm = math.sqrt(sum(x * x for x in found))
    return [x / norm for x in found]


def ours(model, is_ranker):
    if is_ranker:
        found = rlx_json("rerank", model, "--query", words(QUERY), words(TEXT), "--device", "cpu")["results"]
        return [found[0]["score"]]
    return rlx_json("embed", model, words(QUERY + TEXT), "--device", "cpu")["embeddings"][0]


@test
def a_gguf_is_the_same_model():
    need_lm()
    for name, architecture in {**KNOWN, **OURS}.items():
        encoder(name, "m", BERT)
        equal(rlx("convert", "m", "m.gguf", expect=0).err, "", name)
        equal(file_json("info", "m.gguf")["metadata"]["general.architecture"], architecture, name)
        for a, b in zip(ours("m", name.endswith("_rank")), ours("m.gguf", name.endswith("_rank"))):
            check(abs(a - b) < 1e-6, f"{name}: {a} became {b}")


@test
def a_head_makes_a_cross_encoder():
    """Other converters leave the key for pooling to the user where there is a head."""
    need_lm()
    encoder("roberta_rank", "m", BERT)
    rlx("convert", "m", "m.gguf", "-q", expect=0)
    same, data, key = ours("m.gguf", True), pathlib.Path("m.gguf").read_bytes(), b"bert.pooling_type"
    check(key in data, "the key is there")
    pathlib.Path("m.gguf").write_bytes(data.replace(key, b"note.pooling_type"))
    equal(ours("m.gguf", True), same)


@test
def llama_cpp_gives_the_same():
    need_lm()
    try:
        import llama_cpp
    except ImportError:
        raise Skip("the Python package llama-cpp-python is not installed") from None
    for name in KNOWN:
        is_ranker = name.endswith("_rank")
        encoder(name, "m", BERT)
        equal_types(pathlib.Path("m/model.safetensors"))
        rlx("convert", "m", "m.gguf", "-q", expect=0)
        a, b = ours("m.gguf", is_ranker), theirs(llama_cpp, [1, *QUERY, *([2] if is_ranker else []), *TEXT, 2])
        worst = max(abs(x - y) for x, y in zip(a, b)) / max(map(abs, a))
        check(len(a) == len(b) and worst < 2e-3, f"{name}: {worst} of the largest, which its GELU in f16 does not explain")


if __name__ == "__main__":
    sys.exit(main())
