#!/usr/bin/env python3
"""rlx convert of a Hugging Face folder to a standard GGUF: names, metadata, vocabulary, row order. The new file
must be the same model, to RLX bit for bit and, where llama-cpp-python is installed, to llama.cpp. See cli.py."""

import base64
import json
import os
import pathlib
import random
import shutil
import struct
import sys

from cli import ROOT, check, equal, fails, file_json, main, rlx, rlx_json, test, write
from gguf_file import tiny_llama
from lm_files import need_lm, safetensors
from lm_packages import packages

GOLDEN = ROOT / "tests/golden/lm"
ON_CPU = ("--device", "cpu", "--cache", "f32")
TOKENS = "1,5,9,3,7,2,40,11"
WORDS3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
TEXTS = ["the cat", " the  cats\n\n12345 at", "<s>that</s> hat", "naïve 東京 🦙", "", "tab\there", "It's THE hat, isn't it?"]


def logits(model):
    rlx("logits", model, "--tokens", TOKENS, "--out", "l.npy", "-q", *ON_CPU, expect=0)
    return pathlib.Path("l.npy").read_bytes()


# Goldens that are not named after their architecture.
ARCHITECTURES = {"mistral": "llama", "mixtral": "llama", "qwen3moe_mixed": "qwen3moe", "cohere": "command-r", "hunyuan": "hunyuan-dense",
                 "olmo3": "olmo2", "phi3_long": "phi3", "phi3_short": "phi3", "stablelm_parallel": "stablelm",
                 "gpt_oss": "gpt-oss", "gpt_oss_packed": "gpt-oss", "ernie4_5_moe": "ernie4_5-moe", "minimax_m2": "minimax-m2", "ministral3": "mistral3"}


@test
def every_family_stays_the_same():
    need_lm()
    for folder in sorted(GOLDEN.iterdir()):
        name = folder.name
        if not (folder / "logits.npy").is_file():  # encoders: tests/model/test_lm_encoders.c
            continue
        told = rlx("convert", folder, "m.gguf", expect=0)
        found = file_json("info", "m.gguf")
        if name in ("gemma2", "gemma3"):  # these small ones scale scores, or place windows, as no GGUF can say
            check("names and metadata stay Hugging Face's: " in told.err and "a GGUF of the family" in told.err, told.err)
            check("config.json" in found["metadata"], name)
        else:
            equal(told.err, "", name)
            family = ARCHITECTURES.get(name, name)
            equal(found["metadata"]["general.architecture"], family)
            check("config.json" not in found["metadata"] and "token_embd.weight" in [t["name"] for t in found["tensors"]], name)
        equal(logits("m.gguf"), logits(folder), name)


@test
def types_are_asked_for_as_ever():
    need_lm()
    rlx("convert", GOLDEN / "qwen2", "m.gguf", "--type", "f16", "-q", expect=0)
    types = {t["name"]: t["dtype"] for t in file_json("info", "m.gguf")["tensors"]}
    equal((types["blk.0.ffn_up.weight"], types["blk.0.attn_norm.weight"], types["blk.1.attn_q.bias"]), ("f16", "f32", "f32"))
    equal(file_json("info", "m.gguf")["metadata"]["general.file_type"], 1)


# ---- Vocabularies


def spell(data):
    """GPT-2's characters for bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in plain]
    return "".join(chr(b) if b in plain else chr(256 + rest.index(b)) for b in data)


def grow(vocab, pairs):
    """Merges, each part of which is there."""
    for left, right in pairs:
        assert left in vocab and right in vocab, (left, right)
        vocab.setdefault(left + right, len(vocab))
    return [f"{left} {right}" for left, right in pairs]


PAIRS = [("t", "h"), ("th", "e"), ("a", "t"), ("_", "the"), ("c", "at"), ("_", "cat"), ("h", "at"), ("_", "t"), ("cat", "s"),
         ("_t", "h"), ("i", "t"), ("th", "at")]
SPECIAL = ["<unk>", "<s>", "</s>"]
ADDED = [{"id": i, "content": t, "special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
         for i, t in enumerate(SPECIAL)]


def template(before, after):
    parts = [{"SpecialToken": {"id": t, "type_id": 0}} for t in before] + [{"Sequence": {"id": "A", "type_id": 0}}] + \
            [{"SpecialToken": {"id": t, "type_id": 0}} for t in after]
    return {"type": "TemplateProcessing", "single": parts, "pair": parts,
            "special_tokens": {t: {"id": t, "ids": [SPECIAL.index(t)], "tokens": [t]} for t in [*before, *after]}}


def byte_level(pre, ignore_merges=False):
    vocab = {t: i for i, t in enumerate(SPECIAL)}
    for b in range(256):
        vocab[spell([b])] = len(vocab)
    merges = grow(vocab, [(a.replace("_", "Ġ"), b) for a, b in PAIRS])
    return {"version": "1.0", "added_tokens": ADDED, "normalizer": None, "pre_tokenizer": pre, "post_processor": template(["<s>"], []),
            "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
            "model": {"type": "BPE", "unk_token": None, "ignore_merges": ignore_merges, "vocab": vocab, "merges": merges}}


def marks(prefix, closed=True):
    """closed: as SentencePiece has it, any two pieces that make a token may join."""
    vocab = {t: i for i, t in enumerate(SPECIAL)}
    for b in range(256):
        vocab[f"<0x{b:02X}>"] = len(vocab)
    for c in "▁abcdefghijklmnopqrstuvwxyzIT',?HE":
        vocab[c] = len(vocab)
    merges = grow(vocab, [(a.replace("_", "▁"), b) for a, b in PAIRS])
    if closed:
        made = [(a + b).replace("_", "▁") for a, b in PAIRS]
        merges = [f"{t[:i]} {t[i:]}" for t in made for i in range(1, len(t)) if t[:i] in vocab and t[i:] in vocab]
    steps = [{"type": "Prepend", "prepend": "▁"}] if prefix else []
    steps.append({"type": "Replace", "pattern": {"String": " "}, "content": "▁"})
    decoders = [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}]
    decoders += [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if prefix else []
    return {"version": "1.0", "added_tokens": ADDED, "normalizer": {"type": "Sequence", "normalizers": steps},
            "pre_tokenizer": None, "post_processor": template(["<s>"], []), "decoder": {"type": "Sequence", "decoders": decoders},
            "model": {"type": "BPE", "unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True, "vocab": vocab,
                      "merges": merges}}


DIGITS = {"type": "Digits", "individual_digits": True}
LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
BARE = {**LEVEL, "use_regex": False}


def cut(regex):
    return {"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}, BARE]}


def folder(tokenizer, name="m"):
    """A llama of random weights with this tokenizer, and two rows more than it has tokens."""
    draw = random.Random(1)
    rows, width, heads, ffn = len(tokenizer["model"]["vocab"]) + 2, 32, 4, 64

    def tensor(*shape):
        n = 1
        for size in shape:
            n *= size
        return "F32", list(shape), struct.pack(f"<{n}f", *(draw.gauss(0, 0.2) for _ in range(n)))

    os.makedirs(name, exist_ok=True)
    tensors = {"model.embed_tokens.weight": tensor(rows, width), "model.norm.weight": tensor(width)}
    for layer in range(2):
        sizes = {"input_layernorm": (width,), "post_attention_layernorm": (width,), "self_attn.q_proj": (width, width),
                 "self_attn.k_proj": (width // 2, width), "self_attn.v_proj": (width // 2, width),
                 "self_attn.o_proj": (width, width), "mlp.gate_proj": (ffn, width), "mlp.up_proj": (ffn, width),
                 "mlp.down_proj": (width, ffn)}
        tensors |= {f"model.layers.{layer}.{k}.weight": tensor(*v) for k, v in sizes.items()}
    safetensors(f"{name}/model.safetensors", tensors)
    write(f"{name}/config.json", json.dumps({
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": width, "num_hidden_layers": 2,
        "num_attention_heads": heads, "num_key_value_heads": 2, "intermediate_size": ffn, "max_position_embeddings": 64,
        "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu", "vocab_size": rows, "tie_word_embeddings": True,
        "bos_token_id": 1, "eos_token_id": 2}))
    pathlib.Path(name, "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    write(f"{name}/tokenizer_config.json", json.dumps({"bos_token": "<s>", "eos_token": "</s>", "chat_template": "{{x}}"}))
    return name


KINDS = [("gpt2", "gpt-2", byte_level(LEVEL)), ("gpt2", "smollm", byte_level({"type": "Sequence", "pretokenizers": [DIGITS, LEVEL]})),
         ("gpt2", "llama-bpe", byte_level(cut(WORDS3), True)), ("gpt2", "dbrx", byte_level(cut(WORDS3))),
         ("gpt2", "qwen2", byte_level(cut(WORDS3.replace("{1,3}", "")))), ("llama", "default", marks(True)),
         ("llama", "default", marks(False))]


def ids(model, text, *more):
    return rlx("tokenize", model, "--ids", *more, stdin=text.encode(), expect=0).out


def same_tokens(what):
    for text in TEXTS:
        for more in ((), ("--no-special",)):
            equal(ids("m.gguf", text, *more), ids("m", text, *more), f"{what}: {text!r} {more}")


@test
def settings_of_generation_go_along():
    need_lm()
    folder(KINDS[0][2])
    write("m/generation_config.json", json.dumps({"do_sample": True, "temperature": 0.5, "top_k": 7, "top_p": 0.75, "repetition_penalty": 1.25, "eos_token_id": None}))
    rlx("convert", "m", "m.gguf", expect=0)
    found = file_json("info", "m.gguf")["metadata"]
    equal([found.get(f"general.sampling.{k}") for k in ("temp", "top_k", "top_p", "min_p", "penalty_repeat", "penalty_last_n")], [0.5, 7, 0.75, None, 1.25, -1])
    pathlib.Path("m/generation_config.json").unlink()
    rlx("convert", "m", "m.gguf", expect=0)
    check(not any(k.startswith("general.sampling") for k in file_json("info", "m.gguf")["metadata"]), "none were said")


@test
def vocabularies_stay_the_same():
    need_lm()
    for model, pre, tokenizer in KINDS:
        folder(tokenizer)
        equal(rlx("convert", "m", "m.gguf", expect=0).err, "", pre)
        found = file_json("info", "m.gguf")
        equal((found["metadata"]["tokenizer.ggml.model"], found["metadata"]["tokenizer.ggml.pre"]), (model, pre))
        equal(found["metadata"]["tokenizer.ggml.tokens"]["length"], found["metadata"]["llama.vocab_size"])
        check("tokenizer.json" not in found["metadata"], "the JSON went along")
        equal(rlx("info", "m.gguf", "--key", "tokenizer.ggml.tokens", expect=0).out.splitlines()[-1],
              f"[PAD{len(tokenizer['model']['vocab']) + 1}]")
        equal(rlx("info", "m.gguf", "--key", "tokenizer.chat_template", expect=0).out, "{{x}}\n")
        same_tokens(pre)
        equal(logits("m.gguf"), logits("m"), pre)


@test
def words_stay_the_same():
    need_lm()
    shutil.copytree(GOLDEN / "bert", "m", dirs_exist_ok=True)
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz", "the", "cat", *(f"##{c}" for c in "abcdehilnorstuvxy"),
             "##at", *".,!?'["]
    special = names[:5]
    added = [{**ADDED[0], "id": i, "content": t} for i, t in enumerate(special)]
    for lower in (True, False):
        pathlib.Path("m/tokenizer.json").write_text(json.dumps({
            "version": "1.0", "added_tokens": added,
            "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
                           "lowercase": lower},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
            "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                      "vocab": {t: i for i, t in enumerate(names)}}}), encoding="utf-8")
        write("m/tokenizer_config.json", json.dumps({"pad_token": "[PAD]", "mask_token": "[MASK]", "cls_token": "[CLS]"}))
        equal(rlx("convert", "m", "m.gguf", expect=0).err, "")
        found = file_json("info", "m.gguf")["metadata"]
        equal((found["tokenizer.ggml.model"], found["tokenizer.ggml.cls_token_id"], found["tokenizer.ggml.seperator_token_id"],
               found["bert.attention.causal"]), ("bert", 2, 3, False))
        same_tokens("words")
        texts = ("the cat sat", "hello, you!")
        equal(rlx_json("embed", "m.gguf", *texts, "--device", "cpu")["embeddings"],
              rlx_json("embed", "m", *texts, "--device", "cpu")["embeddings"])
    embed_says_what_it_cuts()


def charsmap(pairs):
    """SentencePiece's compiled table that replaces single bytes: a trie in a double array, then the texts."""
    units, texts = [0] * 1024, b""
    units[0] = 256 << 10
    for k, (byte, text) in enumerate(pairs):
        units[256 ^ byte] = (256 ^ byte ^ (512 + k)) << 10 | 1 << 8 | byte
        units[512 + k] = len(texts)
        texts += text + b"\0"
    return base64.b64encode(struct.pack("<I", 4 * len(units)) + struct.pack("<1024I", *units) + texts).decode()


@test
def unigrams_stay_the_same():
    need_lm()
    shutil.copytree(GOLDEN / "roberta_rank", "m", dirs_exist_ok=True)
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    pieces = ["\u2581", "\u2581the", "\u2581c", "at", *"abcdehistu,!", "\u2581hat", "12", "345", "\u2581a"]
    vocab = [*((t, 0.0) for t in special), *((t, -2.0 - 0.25 * i) for i, t in enumerate(pieces))]
    part = {t: {"SpecialToken": {"id": t, "type_id": 0}} for t in special} | {t: {"Sequence": {"id": t, "type_id": 0}} for t in "AB"}
    tokenizer = {
        "version": "1.0", "added_tokens": [{"id": i, "content": t, "special": True} for i, t in enumerate(special)],
        "normalizer": {"type": "Precompiled", "precompiled_charsmap": charsmap([(9, b" "), (10, b" "), (84, b"t")])},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always"}]},
        "post_processor": {"type": "TemplateProcessing", "single": [part[t] for t in ("<s>", "A", "</s>")],
                           "pair": [part[t] for t in ("<s>", "A", "</s>", "</s>", "B", "</s>")],
                           "special_tokens": {t: {"id": t, "ids": [i], "tokens": [t]} for i, t in enumerate(special)}},
        "decoder": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always"},
        "model": {"type": "Unigram", "unk_id": 3, "byte_fallback": False, "vocab": vocab}}
    write("m/tokenizer.json", json.dumps(tokenizer))
    equal(rlx("convert", "m", "m.gguf", expect=0).err, "")
    found = file_json("info", "m.gguf")["metadata"]
    equal([found[f"tokenizer.ggml.{k}"] for k in ("model", "bos_token_id", "eos_token_id", "seperator_token_id", "add_bos_token", "add_eos_token",
                                                  "add_sep_token", "add_space_prefix", "remove_extra_whitespaces", "unknown_token_id")],
          ["t5", 0, 2, 2, True, True, True, True, True, 3])
    same_tokens("unigrams")
    pair = ("--query", "the cat", "a hat", "The  cat,\n12 345!", "--device", "cpu")
    equal(rlx_json("rerank", "m.gguf", *pair)["results"], rlx_json("rerank", "m", *pair)["results"])
    for change in ({"normalizer": None}, {"pre_tokenizer": tokenizer["pre_tokenizer"]["pretokenizers"][1]},
                   {"normalizer": {"type": "Precompiled", "precompiled_charsmap": charsmap([(9, b" ")])}}):
        write("m/tokenizer.json", json.dumps({**tokenizer, **change}))
        told = rlx("convert", "m", "m.gguf", expect=0).err
        check("stored as tokenizer.json" in told, told)
        same_tokens(f"as tokenizer.json: {change}")


@test
def pairs_of_byte_level_vocabularies():
    need_lm()
    shutil.copytree(GOLDEN / "roberta_rank", "m", dirs_exist_ok=True)
    names = ["<s>", "<pad>", "</s>", "<unk>", *"abcdefghijklmnopqrstuvwxyz", "Ġ"]
    vocab = {t: i for i, t in enumerate(names)}
    merges = grow(vocab, [("Ġ", "t"), ("h", "e"), ("Ġt", "he")])
    write("m/tokenizer.json", json.dumps({
        "version": "1.0", "added_tokens": [{"id": i, "content": t, "special": True} for i, t in enumerate(names[:4])], "normalizer": None,
        "pre_tokenizer": LEVEL, "decoder": {**LEVEL, "add_prefix_space": True},
        "post_processor": {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0], "trim_offsets": True, "add_prefix_space": False},
        "model": {"type": "BPE", "vocab": vocab, "merges": merges}}))
    equal(rlx("convert", "m", "m.gguf", expect=0).err, "")
    found = file_json("info", "m.gguf")["metadata"]
    equal([found[f"tokenizer.ggml.{k}"] for k in ("model", "pre", "bos_token_id", "eos_token_id", "add_sep_token", "seperator_token_id")],
          ["gpt2", "gpt-2", 0, 2, True, 2])
    pair = ("--query", "the cat", "on the mat", "at", "", "--device", "cpu")
    equal(rlx_json("rerank", "m.gguf", *pair)["results"], rlx_json("rerank", "m", *pair)["results"])


def embed_says_what_it_cuts():
    few = ("embed", "m.gguf", "--device", "cpu", "--context", 8)
    found = rlx_json(*few, "the cat " * 10, "the cat")
    equal(found["cut"], [14, 0], "22 tokens, of which 8 have room")
    equal(found["embeddings"][0], rlx_json(*few, "the cat the cat the cat")["embeddings"][0], "the rest is as if it had been all")
    told = rlx(*few, "a", "the cat " * 10, expect=0).err
    check("text 2" in told and "last 14 tokens are left out" in told, told)
    equal(rlx(*few, "a", expect=0).err, "", "nothing is cut")
    fails(*few, "the cat " * 10, "--no-truncate", says=["text 1", "22 tokens", "context holds 8"])
    equal(rlx_json(*few, "--no-truncate", "a")["cut"], [0])
    a, b = rlx_json("embed", "m.gguf", "--device", "cpu", "a [SEP] b", "a b")["embeddings"]
    tokens = rlx("tokenize", "m.gguf", "--ids", "--no-special", stdin=b"a [SEP] b", expect=0).out.split()
    check("3" not in tokens and len(tokens) > 3 and a != b, f"a special token's spelling is text: {tokens}")


@test
def a_vocabulary_that_has_no_name():
    need_lm()
    for tokenizer, why in ((byte_level(cut("[a-z]+|[^a-z]+")), "[a-z]+|[^a-z]+"),
                           (marks(True, False), "merges that scores cannot express")):
        folder(tokenizer)
        told = rlx("convert", "m", "m.gguf", expect=0)
        found = file_json("info", "m.gguf")["metadata"]
        check("tokenizer.json" in found and "tokenizer.ggml.model" not in found, "what stays")
        equal(found["general.architecture"], "llama")
        check(why in told.err and "is stored as tokenizer.json" in told.err, told.err)
        same_tokens(why)


@test
def llama_cpp_runs_it():
    need_lm()
    llama_cpp, numpy = packages("llama_cpp", "numpy")
    for _, pre, tokenizer in KINDS:
        folder(tokenizer)
        rlx("convert", "m", "m.gguf", "-q", expect=0)
        other = llama_cpp.Llama("m.gguf", logits_all=True, verbose=False, n_threads=1, n_ctx=64)
        for text in TEXTS[:5]:
            theirs = other.tokenize(text.encode(), add_bos=True, special=True)
            equal(ids("m.gguf", text).split(), [str(t) for t in theirs], f"{pre}: {text!r}")
        other.eval([int(t) for t in TOKENS.split(",")])
        logits("m.gguf")
        ours, theirs = numpy.load("l.npy"), numpy.array(other.scores[:other.n_tokens])
        check(abs(ours - theirs).max() < 2e-2 * abs(ours).max(), f"{pre}: {abs(ours - theirs).max()} of {abs(ours).max()}")
        other.close()


# What llama.cpp computes otherwise, or refuses.
THEY_DIFFER = {"mistral": "it reads no window", "starcoder2": "it reads no window", "phi3": "it reads no window",
               "exaone4": "it knows windows of the model with 64 layers alone", "qwen3moe_mixed": "it knows no dense layers",
               "gemma2": "these are not written as its files", "gemma3": "these are not written as its files"}


def text_key(key, value):
    key, value = key.encode(), value.encode()
    return struct.pack("<Q", len(key)) + key + struct.pack("<IQ", 8, len(value)) + value


def without_vocabulary(path):
    """llama.cpp wants a tokenizer, if only one that says that there is none. The offsets of tensors stay multiples of 32."""
    data = pathlib.Path(path).read_bytes()
    magic, version, tensors, n = struct.unpack("<4sIQQ", data[:24])
    more = text_key("tokenizer.ggml.model", "none")
    more += text_key("general.description", "x" * (-(len(more) + len(text_key("general.description", ""))) % 32))
    pathlib.Path(path).write_bytes(struct.pack("<4sIQQ", magic, version, tensors, n + 2) + more + data[24:])


@test
def llama_cpp_continues_as_transformers():
    """Each tiny model, converted: the logits of its text, and what follows it, the likeliest each time."""
    need_lm()
    llama_cpp, numpy = packages("llama_cpp", "numpy")
    for folder in sorted(GOLDEN.iterdir()):
        if folder.name in THEY_DIFFER or not (folder / "greedy.npy").exists():
            continue
        rlx("convert", folder, "m.gguf", "-q", expect=0)
        without_vocabulary("m.gguf")
        tokens, want, greedy = (numpy.load(folder / f"{n}.npy") for n in ("tokens", "logits", "greedy"))
        other = llama_cpp.Llama("m.gguf", logits_all=True, verbose=False, n_threads=1, n_ctx=112, n_batch=112, swa_full=True)
        other.eval(tokens.tolist())
        found = numpy.array(other.scores[:other.n_tokens])
        check(abs(found - want).max() < 2e-2 * abs(want).max(), f"{folder.name}: {abs(found - want).max()} of {abs(want).max()}")
        for i, token in enumerate(greedy.tolist()):
            equal(int(other.scores[other.n_tokens - 1].argmax()), token, f"{folder.name}: token {i}")
            other.eval([token])
        other.close()


# ---- Importance matrices, mixes, patterns


TEXT = "the cab abides a bad fade; " * 40


@test
def an_importance_matrix_is_measured_and_used():
    need_lm()
    tiny_llama("m.gguf")
    write("t.txt", TEXT)
    for name in ("i.gguf", "i.dat"):
        told = rlx_json("imatrix", "m.gguf", "t.txt", "--out", name, "--window", "32", "--tokens", "128", "--device", "cpu")
        equal((told["file"], told["matrices"], told["windows"], told["tokens"]), (name, 15, 4, 128), name)
        found = rlx_json("convert", "m.gguf", "q.gguf", "--type", "q4_0", "--imatrix", name, "--errors", "-q")
        plain = rlx_json("convert", "m.gguf", "q.gguf", "--type", "q4_0", "--errors", "-q")
        weighted = [e for e in found["errors"] if "weighted_error" in e]
        equal(len(weighted), 15, f"{name}: {found['errors']}")
        check(not any("weighted_error" in e for e in plain["errors"]), plain)
        before = {e["tensor"]: e["error"] for e in plain["errors"]}
        check(sum(e["error"] > before[e["tensor"]] for e in weighted) > 8, "the plain error grows, for the weighted one's sake")
    more = rlx_json("imatrix", "m.gguf", "t.txt", "--out", "j.gguf", "--more", "i.gguf", "--window", "32", "--tokens", "64", "--device", "cpu")
    equal(file_json("info", "j.gguf")["metadata"]["imatrix.chunk_count"], 6, more)
    shown = rlx("convert", "m.gguf", "q.gguf", "--type", "Q4_0", "--imatrix", "i.gguf", "--errors", expect=0).out
    check("weighted tensor" in shown.splitlines()[0] and "blk.0.attn_q.weight" in shown, shown)
    write("n.dat", "nonsense")
    fails("convert", "m.gguf", "q.gguf", "--type", "q4_0", "--imatrix", "n.dat", says="n.dat")
    fails("imatrix", "m.gguf", "t.txt", "--out", "k.gguf", "--window", "32", "--tokens", "8", says="window of 32 at least")
    fails("imatrix", "m.gguf", "t.txt", "--out", "k.bin", "--window", "32", "--tokens", "32", says=".gguf or .dat")
    rlx("imatrix", "m.gguf", "t.txt", expect=2)


@test
def types_by_pattern():
    need_lm()
    tiny_llama("m.gguf")
    rlx("convert", "m.gguf", "q.gguf", "--type", "q4_0", "--tensor-type", "blk.1.*=q8_0", "--tensor-type", "*attn_q*=f16", "-q", expect=0)
    types = {t["name"]: t["dtype"] for t in file_json("info", "q.gguf")["tensors"]}
    equal([types[f"blk.{n}.weight"] for n in ("0.attn_k", "1.attn_k", "0.attn_q", "1.attn_q")], ["q4_0", "q8_0", "f16", "f16"])
    fails("convert", "m.gguf", "q.gguf", "--tensor-type", "x*=q8_0", says="no matrix has a name that matches 'x*'")
    fails("convert", "m.gguf", "q.gguf", "--tensor-type", "x", says="expected PATTERN=TYPE")
    equal("q4_k_m" in rlx("convert", "m.gguf", "q.gguf", "--type", "q4_k_x", expect=2).err, True)


if __name__ == "__main__":
    sys.exit(main())
