#!/usr/bin/env python3
"""Leftovers: what a model file contains is applied or refused by name. GGUF and Hugging Face folders. See cli.py.

What is applied is compared with a llama in plain Python, below."""

import fnmatch
import json
import math
import pathlib
import shutil
import sys

from cli import IS_SANITIZED, ROOT, check, close, equal, fails, load, main, part, rlx, test
from gguf_file import FFN, HEADS, KV_HEADS, LAYERS, WIDTH, tiny_llama_parts, write_gguf
from lm_files import need_lm, safetensors

GOLDEN = ROOT / "tests/golden/lm"
ROW = ((WIDTH,), [0.5] * WIDTH)
IDS = [3, 7, 260, 261, 5]


def tiny(metadata=(), tensors=(), without=()):
    """The tiny llama with some keys and tensors more, and some less."""
    metas, weights = tiny_llama_parts()
    metas.update(metadata)
    weights.update(tensors)
    return write_gguf("m.gguf", {k: v for k, v in metas.items() if k not in without},
                      {k: v for k, v in weights.items() if k not in without})


def refused(*says, model="m.gguf"):
    return fails("logits", model, "--tokens", "1", "--out", "x.npy", says=says)


def opens(model="m.gguf"):
    rlx("logits", model, "--tokens", "1", "--out", "x.npy", "--dry-run", expect=0)


def logits(model="m.gguf", ids=IDS):
    rlx("logits", model, "--tokens", ",".join(map(str, ids)), "--out", "x.npy", "--exact", "--cache", "f32", expect=0)
    return load("x.npy")[2]


# ---- a llama, as its authors wrote it


def reference(tensors, ids, factor=1.0, theta=10000.0, eps=1e-5):
    def product(name, x):
        (rows, columns), w = tensors[name + ".weight"]
        bias = tensors.get(name + ".bias", (None, [0.0] * rows))[1]
        return [[sum(a * b for a, b in zip(row, w[r * columns:(r + 1) * columns])) + bias[r] for r in range(rows)] for row in x]

    def norm(name, x):
        return [[v / math.sqrt(sum(a * a for a in row) / len(row) + eps) * g for v, g in zip(row, tensors[name + ".weight"][1])]
                for row in x]

    head = WIDTH // HEADS

    def turned(row, at):
        out = list(row)
        for h in range(0, len(row), head):
            for i in range(head // 2):
                angle = at / factor * theta ** (-2 * i / head)
                a, b = row[h + 2 * i], row[h + 2 * i + 1]
                out[h + 2 * i] = a * math.cos(angle) - b * math.sin(angle)
                out[h + 2 * i + 1] = a * math.sin(angle) + b * math.cos(angle)
        return out

    def attention(i, x):
        q = [turned(r, t) for t, r in enumerate(product(f"blk.{i}.attn_q", x))]
        k = [turned(r, t) for t, r in enumerate(product(f"blk.{i}.attn_k", x))]
        v, y = product(f"blk.{i}.attn_v", x), []
        for t, row in enumerate(q):
            y.append([])
            for h in range(HEADS):
                own, other = h * head, h // (HEADS // KV_HEADS) * head
                score = [sum(row[own + j] * k[s][other + j] for j in range(head)) / math.sqrt(head) for s in range(t + 1)]
                share = [math.exp(s - max(score)) for s in score]
                y[-1] += [sum(p * v[s][other + j] for s, p in enumerate(share)) / sum(share) for j in range(head)]
        return product(f"blk.{i}.attn_output", y)

    def plus(a, b):
        return [[p + q for p, q in zip(r, s)] for r, s in zip(a, b)]

    table = tensors["token_embd.weight"][1]
    x = [table[t * WIDTH:(t + 1) * WIDTH] for t in ids]
    for i in range(LAYERS):
        x = plus(x, attention(i, norm(f"blk.{i}.attn_norm", x)))
        h = norm(f"blk.{i}.ffn_norm", x)
        gate, up = product(f"blk.{i}.ffn_gate", h), product(f"blk.{i}.ffn_up", h)
        h = [[g / (1 + math.exp(-g)) * u for g, u in zip(a, b)] for a, b in zip(gate, up)]
        x = plus(x, product(f"blk.{i}.ffn_down", h))
    return [v for row in product("token_embd", norm("output_norm", x)) for v in row]


def same(found, expected, what):
    close(found, expected, what, 2e-4 * max(map(abs, expected)))


# ---- tensors of a GGUF


@test
def a_plain_one_is_as_the_reference():
    need_lm()
    tiny()
    same(logits(), reference(tiny_llama_parts()[1], IDS), "logits")


@test
def biases_of_the_feed_forward_part_are_applied():
    need_lm()
    more = {f"blk.{i}.ffn_{part}.bias": ((n,), [0.3 * math.sin(i + j) for j in range(n)])
            for i in range(LAYERS) for part, n in (("gate", FFN), ("up", FFN), ("down", WIDTH))}
    tiny(tensors=more)
    plain = reference(tiny_llama_parts()[1], IDS)
    found = logits()
    check(max(abs(a - b) for a, b in zip(found, plain)) > 0.1, "the biases change nothing")
    same(found, reference({**tiny_llama_parts()[1], **more}, IDS), "logits")


@test
def tensors_that_are_unused():
    need_lm()
    vocabulary = tiny_llama_parts()[1]["token_embd.weight"][0][0]
    for name, shape, need in (("blk.0.attn_q_norm.weight", (8,), "norms of heads"), ("blk.1.attn_k_norm.weight", (8,), "norms of heads"),
                              ("output.bias", (vocabulary,), "logits with a bias"), ("output_norm.bias", (WIDTH,), "norms with a bias"),
                              ("blk.0.attn_norm.bias", (WIDTH,), "norms with a bias"), ("blk.0.attn_q.scale", (1,), "separate scales"),
                              ("blk.0.attn_q.weight.lora_a", (4, WIDTH), "an adapter"), ("blk.0.ffn_gate_inp.weight", (2, WIDTH), "experts"),
                              ("blk.1.post_ffw_norm.weight", (WIDTH,), "norms after"), ("blk.0.ffn_sub_norm.weight", (FFN,), ""),
                              ("rope_factors_long.weight", (4,), "frequencies"), ("what.is.this", (3,), "")):
        count = math.prod(shape)
        tiny(tensors={name: (shape, [0.1] * count)})
        refused(f"1 item of the file would be ignored: tensor '{name}'", need, "family llama")


@test
def all_of_them_are_named():
    need_lm()
    tiny({"llama.logit_scale": ("f32", 0.5), "llama.attention.causal": False},
         {"blk.0.attn_q_norm.weight": ROW, "blk.1.attn_q_norm.weight": ROW, "x": ROW})
    refused("5 items of the file would be ignored", "key 'llama.logit_scale' = 0.5", "key 'llama.attention.causal' = false",
            "tensor 'blk.0.attn_q_norm.weight'", "tensor 'blk.1.attn_q_norm.weight'", "tensor 'x'")
    tiny(tensors={f"blk.0.strange_and_long_name_of_tensor_{i}.weight": ROW for i in range(200)})
    refused("200 items", "tensor_0.weight'", ", ..")


@test
def tensors_that_cannot_matter():
    need_lm()
    tiny(tensors={"blk.0.attn_rot_embd.weight": ROW})
    opens()


@test
def factors_of_frequencies_are_applied_once():
    need_lm()
    half = ((WIDTH // HEADS // 2,), [2.0] * (WIDTH // HEADS // 2))
    tiny(tensors={"rope_freqs.weight": half})
    same(logits(), reference(tiny_llama_parts()[1], IDS, factor=2), "logits")
    tiny({"llama.rope.scaling.factor": ("f32", 2)}, {"rope_freqs.weight": half})
    refused("stretched twice")


# ---- keys of a GGUF


@test
def a_factor_without_a_type_is_linear():
    need_lm()
    stretched = reference(tiny_llama_parts()[1], IDS, factor=4)
    for keys in ({"llama.rope.scaling.factor": ("f32", 4)}, {"llama.rope.scale_linear": ("f32", 4)},
                 {"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": ("f32", 4)},
                 {"llama.rope.scaling.type": "linear", "llama.rope.scale_linear": ("f32", 4)},
                 {"llama.rope.scaling.factor": ("f32", 4), "llama.rope.scale_linear": ("f32", 4)}):
        tiny(keys)
        same(logits(), stretched, keys)
    plain = reference(tiny_llama_parts()[1], IDS)
    for keys in ({"llama.rope.scaling.type": "none", "llama.rope.scaling.factor": ("f32", 4)}, {"llama.rope.scaling.type": "linear"},
                 {"llama.rope.scaling.factor": ("f32", 1), "llama.rope.scaling.original_context_length": ("u32", 32)}):
        tiny(keys)
        same(logits(), plain, keys)
    tiny({"llama.rope.scaling.factor": ("f32", 4), "llama.rope.scale_linear": ("f32", 2)})
    refused("rope.scaling.factor is 4", "its old name, is 2")
    tiny({"llama.rope.scaling.attn_factor": ("f32", 2)})
    refused("attn_factor is 2")
    tiny({"llama.rope.scaling.type": "yarn", "llama.rope.scaling.factor": ("f32", 2), "llama.rope.scaling.original_context_length": ("u32", 0)})
    refused("yarn from a context of 0")
    tiny({"llama.rope.scaling.type": "longrope"})
    refused("longrope")


@test
def keys_that_change_meaning():
    need_lm()
    for key, value, need in (("attention.causal", False, "attention in both directions"), ("logit_scale", ("f32", 0.5), "this scale"),
                             ("attn_logit_softcapping", ("f32", 50), "caps"), ("final_logit_softcapping", ("f32", 30), "caps"),
                             ("attention.scale", ("f32", 0.5), "this scale"), ("residual_scale", ("f32", 0.2), "this scale"),
                             ("embedding_scale", ("f32", 12), "this scale"), ("expert_shared_count", ("u32", 1), "experts"),
                             ("expert_gating_func", ("u32", 2), "experts"), ("expert_weights_scale", ("f32", 2.5), "experts"),
                             ("rope.dimension_sections", [("i32", 2), ("i32", 2)], "rotary positions"),
                             ("rope.scaling.yarn_log_multiplier", ("f32", 0.1), "rotary positions"),
                             ("attention.clamp_kqv", ("f32", 8), ""), ("attention.max_alibi_bias", ("f32", 8), ""),
                             ("use_parallel_residual", True, ""), ("some_new_thing", ("u32", 1), ""),
                             ("attention.some_new_thing", "word", "")):
        tiny({f"llama.{key}": value})
        refused(f"key 'llama.{key}'", need)
    for key in ("qwen2.rope.freq_base", "adapter.lora.alpha", "rope_scaling"):
        tiny({key: ("f32", 2)})
        refused(f"key '{key}'")
    tiny({"general.type": "adapter"})
    refused("general.type is 'adapter', expected 'model'")


@test
def keys_that_cannot_matter():
    need_lm()
    tiny({"general.type": "model", "general.file_type": ("u32", 1), "general.quantization_version": ("u32", 2),
          "general.base_model.0.name": "x", "general.sampling.temp": ("f32", 0.6), "quantize.imatrix.file": "x",
          "quantize.imatrix.chunks_count": ("i32", 3), "mradermacher.quantized_by": "x", "somebody.note": ("u32", 1),
          "llama.attention.causal": True, "llama.attention.key_length": ("u32", 8), "llama.attention.value_length": ("u32", 8),
          "llama.expert_count": ("u32", 0), "llama.expert_used_count": ("u32", 0), "llama.attention.sliding_window": ("u32", 0),
          "llama.logit_scale": ("f32", 1), "llama.final_logit_softcapping": ("f32", 0), "llama.tensor_data_layout": "Meta AI original pth",
          "llama.rope.scaling.finetuned": True, "llama.pooling_type": ("u32", 3),
          "tokenizer.ggml.padding_token_id": ("u32", 4000000), "tokenizer.ggml.add_bos_token": True, "tokenizer.ggml.pre": "default",
          "tokenizer.ggml.add_space_prefix": True, "tokenizer.ggml.fim_pre_token_id": ("u32", 3), "tokenizer.chat_template": "x",
          "tokenizer.chat_template.tool_use": "x", "tokenizer.huggingface.json": "{}", "tokenizer.ggml.remove_extra_whitespaces": False,
          "tokenizer.ggml.add_sep_token": False, "tokenizer.ggml.mask_token_id": ("u32", 4)})
    opens()
    equal(rlx("tokenize", "m.gguf", stdin=b"ab", expect=0).err, "")


@test
def experts_that_contradict_tensors():
    need_lm()
    tiny({"llama.expert_count": ("u32", 4), "llama.expert_used_count": ("u32", 2)})
    refused("tensors are missing", "blk.0.ffn_gate_inp.weight")
    tiny(tensors={"blk.0.ffn_gate.0.weight": ((FFN, WIDTH), [0.1] * (FFN * WIDTH))})
    refused("tensor 'blk.0.ffn_gate.0.weight'")
    tiny({"llama.expert_count": ("u32", 2), "llama.expert_used_count": ("u32", 3)})
    refused("3 of 2 experts")


@test
def sizes_of_0():
    need_lm()
    for key in ("context_length", "vocab_size", "attention.head_count", "attention.head_count_kv", "attention.key_length", "rope.dimension_count"):
        tiny({f"llama.{key}": ("u32", 0)})
        refused(f"llama.{key} is 0; expected 1")


@test
def names_with_a_nul():
    need_lm()
    tiny(tensors={"out\0put.bias": ROW})
    refused("holds a NUL after 'out'")
    tiny({"llama.rope\0.freq_base": ("f32", 2)})
    refused("holds a NUL after 'llama.rope'")
    for key in ("general.architecture", "llama.rope.scaling.type"):
        tiny({key: "llama\0x" if "arch" in key else "none\0x"})
        refused("NUL")
    tiny({"general.type": "model\0x"})
    refused("general.type")


# ---- tokenizers


@test
def ids_of_special_tokens():
    need_lm()
    for name in ("bos", "eos", "unknown", "eot", "eom"):
        key = f"tokenizer.ggml.{name}_token_id"
        for value, says in ((("f32", 1.0), "is f32, expected the number of a token"), ("1", "is string, expected the number"),
                            (True, "is bool, expected"), (("u32", 100000), "is 100000, but there are 296 tokens"),
                            (("i32", -2), "is -2, but"), ([("u32", 1)], "is array of u32"), (("u64", 2**64 - 2), "is u64")):
            tiny({key: value})
            fails("tokenize", "m.gguf", stdin=b"a", says=(key, says))
            refused(key, says)
        tiny({key: ("u32", 2**32 - 1)})
        opens()
    for key, value, says in (("add_bos_token", "yes", "expected true or false"), ("pre", ("u32", 1), None), ("model", ("u32", 1), "a text"),
                             ("add_space_prefix", ("f32", 1), "expected true or false")):
        tiny({f"tokenizer.ggml.{key}": value})
        if says:
            refused(f"tokenizer.ggml.{key}", says)
    tiny({"tokenizer.ggml.some_new_thing": True})
    fails("tokenize", "m.gguf", stdin=b"a", says="key 'tokenizer.ggml.some_new_thing' = true")


# ---- Hugging Face folders


def folder(name, change=(), without=(), tensors=None, inside=None):
    """A golden model with another config.json; tensors: (name -> (dtype, shape, bytes)) more, and names (None) less."""
    shutil.rmtree("hf", ignore_errors=True)
    pathlib.Path("hf").mkdir()
    config = json.loads((GOLDEN / name / "config.json").read_text())
    config.update(change)
    config = {k: v for k, v in config.items() if k not in without}
    pathlib.Path("hf/config.json").write_text(json.dumps(inside(config) if inside else config))
    data = (GOLDEN / name / "model.safetensors").read_bytes()
    n = int.from_bytes(data[:8], "little")
    head = json.loads(data[8:8 + n])
    head.pop("__metadata__", None)
    all_of = {k: (v["dtype"], v["shape"], data[8 + n + v["data_offsets"][0]:8 + n + v["data_offsets"][1]]) for k, v in head.items()}
    for key, value in (tensors or {}).items():
        all_of.pop(key, None)
        if value:
            all_of[key] = value
    safetensors("hf/model.safetensors", all_of)
    return "hf"


def zeros(*shape):
    return "F32", list(shape), bytes(4 * math.prod(shape))


@test
def goldens_open():
    need_lm()
    for path in sorted(GOLDEN.iterdir()):
        if (path / "logits.npy").is_file():
            opens(path)
        else:
            rlx("check", path, expect=0)


# The fields of config.json beside its sizes, as models of each family are published with.
PUBLISHED = {
    "llama": [{"bos_token_id": 128000, "eos_token_id": [128001, 128008, 128009], "torch_dtype": "bfloat16", "transformers_version": "4.45.0",
               "rope_theta": 500000.0, "rope_parameters": None,
               "rope_scaling": {"factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0, "original_max_position_embeddings": 8192,
                                "rope_type": "llama3"}},
              {"is_llama_config": True, "rope_interleaved": False, "rope_scaling": None, "rope_parameters": None, "rope_theta": 100000,
               "transformers.js_config": {"dtype": "q4"}, "_name_or_path": "x"},
              {"max_sequence_length": 2048, "pad_token_id": -1, "unsloth_fixed": True, "_attn_implementation_autoset": True}],
    "mistral": [{"sliding_window": None, "rope_theta": 1000000.0, "rope_parameters": None, "torch_dtype": "bfloat16"}, {"sliding_window": 4096}],
    "mixtral": [{"router_jitter_noise": 0.0, "router_aux_loss_coef": 0.02, "rope_theta": 1e6, "rope_parameters": None, "sliding_window": None}],
    "qwen2": [{"max_window_layers": 21, "sliding_window": 32768, "use_sliding_window": False, "rope_theta": 1000000.0, "rope_parameters": None,
               "layer_types": None, "torch_dtype": "bfloat16", "use_mrope": False}],
    "qwen3": [{"rope_scaling": None, "rope_parameters": None, "rope_theta": 1000000, "layer_types": None, "max_window_layers": 28}],
    "qwen3moe": [{"num_experts": 4, "num_local_experts": None, "rope_theta": 1000000.0, "rope_scaling": None, "rope_parameters": None}],
    "gemma2": [{"cache_implementation": "hybrid", "hidden_act": "gelu_pytorch_tanh", "eos_token_id": [1, 107], "rope_parameters": None,
                "rope_theta": 10000.0, "layer_types": None}, {"sliding_window_size": 9, "layer_types": None}],
    "gemma3": [{"cache_implementation": "hybrid", "rope_local_base_freq": 10000, "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
                "rope_theta": 1000000, "rope_parameters": None, "layer_types": None, "_sliding_window_pattern": None, "sliding_window_pattern": 6}],
    "gemma": [{"hidden_activation": None, "rope_scaling": None, "rope_parameters": None, "rope_theta": 10000.0, "torch_dtype": "bfloat16"}],
    "phi2": [{"partial_rotary_factor": 0.5, "rope_parameters": None, "rope_theta": 10000.0, "rope_scaling": None, "attention_dropout": 0.0,
              "torch_dtype": "float16"}],
    "phi3": [{"_name_or_path": "x", "auto_map": None, "rope_scaling": None, "rope_parameters": None, "rope_theta": 10000.0,
              "attention_bias": False, "sliding_window": 2047, "torch_dtype": "bfloat16"}],
    "phi3_long": [{"rope_parameters": None, "rope_theta": 10000.0, "attention_bias": False, "partial_rotary_factor": 1.0,
                   "interpolate_factor": 1, "lm_head_bias": False, "mlp_bias": False, "sliding_window": 262144, "full_attn_mod": 1,
                   "rope_scaling": {"type": "longrope", "short_factor": [1, 1, 1, 1], "long_factor": [1, 2, 3, 4]}}],
    "granite": [{"rope_scaling": None, "rope_parameters": None, "rope_theta": 10000000.0, "torch_dtype": "bfloat16"}],
    "granitemoe": [{"rope_scaling": None, "rope_parameters": None, "rope_theta": 10000, "router_aux_loss_coef": 0.0}],
    "olmo2": [{"rope_scaling": None, "rope_parameters": None, "rope_theta": 500000, "torch_dtype": "float32"}],
    "olmo3": [{"rope_parameters": None, "rope_theta": 500000, "rope_scaling": {
        "attention_factor": 1.2079441541679836, "beta_fast": 32.0, "beta_slow": 1.0, "factor": 8.0, "original_max_position_embeddings": 8192,
        "rope_type": "yarn"}}],
    "olmoe": [{"rope_scaling": None, "rope_parameters": None, "rope_theta": 10000.0, "clip_qkv": None}],
    "smollm3": [{"rope_scaling": None, "rope_parameters": None, "rope_theta": 5000000.0, "max_window_layers": 28, "pretraining_tp": 2,
                 "eos_token_id": 128012, "_name_or_path": "x"}],
    "starcoder2": [{"mlp_type": "default", "norm_type": "layer_norm", "rope_parameters": None, "rope_theta": 999999.4420358813}],
    "stablelm": [{"rope_scaling": None, "rope_parameters": None, "rope_theta": 10000, "partial_rotary_factor": 0.5, "norm_eps": None,
                  "layer_norm_eps": 1e-05, "rotary_scaling_factor": None}],
    "gptneox": [{"rotary_emb_base": 10000, "rotary_pct": 0.5, "rope_parameters": None, "is_decoder": None, "use_parallel_residual": True}],
    "cohere": [{"rope_parameters": None, "rope_theta": 8000000.0, "pretraining_tp": 1, "pool_size": None, "model_max_length": None}],
    "cohere2": [{"rope_parameters": None, "rope_theta": 50000, "rope_scaling": None, "_sliding_window_pattern": 4, "cache_implementation": "hybrid",
                 "order_of_interleaved_layers": "local_attn_first", "position_embedding_type": "rope_gptj", "rotary_pct": 1.0,
                 "sliding_window_pattern": 4, "use_embedding_sharing": True, "use_gated_activation": True, "use_parallel_block": True,
                 "use_parallel_embedding": False, "use_qk_norm": False, "layer_switch": 4, "torch_dtype": "bfloat16"}],
    "glm4": [{"rope_parameters": None, "rope_theta": 10000.0, "partial_rotary_factor": 0.5, "eos_token_id": [1, 2]}],
    "exaone4": [{"rope_parameters": None, "rope_theta": 1000000, "sliding_window_pattern": "LLLG", "layer_types": None,
                 "rope_scaling": {"factor": 16.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0, "original_max_position_embeddings": 8192,
                                  "rope_type": "llama3"}}],
    "ernie4_5": [{"rope_parameters": None, "rope_theta": 500000.0, "rope_scaling": None, "torch_dtype": "bfloat16"}],
    "ernie4_5_moe": [{"rope_parameters": None, "rope_theta": 500000.0, "moe_capacity": [64, 64, 64], "moe_gate": "topk",
                      "moe_use_aux_free": True, "num_nextn_predict_layers": 0}],
    "seed_oss": [{"rope_parameters": None, "rope_theta": 10000000.0, "rope_scaling": {"rope_type": "default"}, "pretraining_tp": 1}],
    "hunyuan": [{"rope_parameters": None, "rope_theta": 10000.0, "use_qk_norm": True, "attention_head_dim": 8, "use_cla": False, "cla_share_factor": 2,
                 "norm_type": "rms", "rope_scaling": {"alpha": 1000.0, "beta_fast": 32, "beta_slow": 1, "factor": 1.0, "mscale": 1.0,
                                                      "mscale_all_dim": 1.0, "type": "dynamic"}}],
    "gpt_oss": [{"rope_parameters": None, "rope_theta": 150000, "experts_per_token": 2, "initial_context_length": 4096, "rope_scaling": {
        "beta_fast": 32.0, "beta_slow": 1.0, "factor": 32.0, "original_max_position_embeddings": 4096, "rope_type": "yarn", "truncate": False}}],
    "glm4moe": [{"rope_parameters": None, "rope_theta": 1000000, "rope_scaling": None, "partial_rotary_factor": 0.5, "torch_dtype": "bfloat16"}],
    "qwen2moe": [{"rope_parameters": None, "rope_theta": 1000000.0, "max_window_layers": 21, "sliding_window": 32768, "use_mrope": None}],
    "dots1": [{"rope_parameters": None, "rope_theta": 10000000, "scoring_func": "noaux_tc", "layer_types": None, "sliding_window": None,
               "moe_layer_freq": 1, "topk_method": "noaux_tc"}],
    "minimax_m2": [{"rope_parameters": None, "rope_theta": 5000000, "rotary_dim": 4, "scoring_func": "sigmoid", "use_qk_norm": True,
                    "qk_norm_type": "per_layer", "use_routing_bias": True, "use_mtp": True, "num_mtp_modules": 3, "mtp_transformer_layers": 1,
                    "shared_intermediate_size": 0, "attn_type_list": [1, 1]}],
    "gpt2": [{"n_ctx": 160, "task_specific_params": {"text-generation": {"do_sample": True, "max_length": 50}}}],
    "mamba": [{"d_inner": 48, "d_model": 24, "n_layer": 3, "fused_add_norm": True, "pad_vocab_size_multiple": 8, "rms_norm": True, "ssm_cfg": {}}],
    "bert": [{"_name_or_path": "x", "gradient_checkpointing": False, "id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0},
              "position_embedding_type": "absolute", "torch_dtype": "float32"}],
    "bert_rank": [{"sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity", "position_embedding_type": "absolute",
                   "gradient_checkpointing": False, "id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}, "use_cache": True},
                  {"sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Sigmoid", "version": "4.1.0.dev0"}}],
    "roberta": [{"architectures": ["RobertaForMaskedLM"], "position_embedding_type": "absolute", "gradient_checkpointing": False,
                 "classifier_dropout": None, "torch_dtype": "float32"}],
    "roberta_rank": [{"output_past": True, "position_embedding_type": "absolute", "torch_dtype": "float32", "id2label": {"0": "LABEL_0"}}],
    "distilbert": [{"architectures": ["DistilBertForMaskedLM"], "qa_dropout": 0.1, "seq_classif_dropout": 0.2, "sinusoidal_pos_embds": False,
                    "tie_weights_": True}],
    "mpnet": [{"architectures": ["MPNetForMaskedLM"], "gradient_checkpointing": False, "_name_or_path": "microsoft/mpnet-base"}],
    "modernbert": [{"architectures": ["ModernBertForMaskedLM"], "layer_types": None, "rope_parameters": None, "global_attn_every_n_layers": 3,
                    "global_rope_theta": 160000.0, "local_rope_theta": 10000.0, "position_embedding_type": "absolute", "layer_norm_eps": 1e-05,
                    "norm_eps": 1e-05, "gradient_checkpointing": False, "reference_compile": None, "repad_logits_with_grad": False}],
    "nomicbert": [{"activation_function": "swiglu", "hidden_act": None, "auto_map": {"AutoModel": "x"}, "causal": False, "dense_seq_output": True,
                   "embd_pdrop": 0.0, "fused_bias_fc": True, "fused_dropout_add_ln": True, "layer_norm_epsilon": 1e-12,
                   "max_trained_positions": 2048, "mlp_fc1_bias": False, "mlp_fc2_bias": False, "n_embd": 16, "n_head": 2, "n_inner": 20,
                   "n_layer": 2, "n_positions": 40, "pad_vocab_size_multiple": 64, "parallel_block": False, "parallel_block_tied_norm": False,
                   "prenorm": False, "qkv_proj_bias": False, "reorder_and_upcast_attn": False, "rope_parameters": None, "rotary_emb_base": 1000,
                   "rotary_emb_fraction": 1.0, "rotary_emb_interleaved": False, "rotary_emb_scale_base": None, "rotary_scaling_factor": None,
                   "scale_attn_by_inverse_layer_idx": False, "scale_attn_weights": True, "summary_type": "cls_index", "use_flash_attn": True,
                   "use_rms_norm": False, "use_xentropy": True}],
    "gemma3_embed": [{"_sliding_window_pattern": 3, "attn_logit_softcapping": None, "final_logit_softcapping": None, "dtype": "float32"}],
}


@test
def configurations_as_they_are_published():
    need_lm()
    for name, changes in PUBLISHED.items():
        for change in changes:
            rlx("check", folder(name, change), expect=0)


def another(value):
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value * 2 + (value == 0)
    if isinstance(value, str):
        return "other"
    return [*value, "other"] if isinstance(value, list) else 3


def each_number(config, path=()):
    """(path, config with another value there) of all that a configuration says."""
    for key, value in config.items():
        if isinstance(value, dict):
            for where, changed in each_number(value, (*path, key)):
                yield where, {**config, key: changed}
        else:
            yield (*path, key), {**config, key: another(value)}


@test
def every_field_counts():
    """Each field of a configuration in turn has another value: results change, or the model is refused, or there is a reason."""
    need_lm()
    reasons = {"max_position_embeddings": "tokens within the context are the same", "_sliding_window_pattern": "layer_types says which"}
    listed = [line.split('"')[3] for line in (ROOT / "src/io/file_leftover.def").read_text().splitlines()
              if line.startswith("HARMLESS(FIELD") and line.split('"')[5] == ""]
    ids = list(range(3, 20))
    for name in ("mistral", "gemma3"):
        folder(name)
        plain = logits("hf", ids)
        fields = list(each_number(json.loads((GOLDEN / name / "config.json").read_text())))
        for where, config in part(fields, len(fields) // 3, f"{name}: fields of its configuration") if IS_SANITIZED else fields:
            if where[-1] in reasons or any(fnmatch.fnmatchcase(where[0], pattern) for pattern in listed):
                continue
            folder(name, config)
            result = rlx("logits", "hf", "--tokens", ",".join(map(str, ids)), "--out", "x.npy", "--exact", "--cache", "f32")
            check(result.code == 1 or load("x.npy")[2] != plain, f"{name}: nobody reads {'.'.join(where)}")


@test
def bases_of_rotary_positions_with_a_window():
    """Layers with a window turn as the others do where nothing else is said, in both spellings."""
    need_lm()
    ids = list(range(3, 20))
    folder("mistral", {"rope_parameters": None, "rope_theta": 20000.0})
    old = logits("hf", ids)
    folder("mistral", {"rope_parameters": {"rope_theta": 20000.0, "rope_type": "default"}})
    equal(logits("hf", ids), old, "the new spelling")


@test
def fields_that_change_results():
    need_lm()
    for name, change, says in (
            ("llama", {"mlp_bias": True}, "config.json's mlp_bias is true, but there is no tensor for 'blk.0.ffn_down.bias'"),
            ("llama", {"attention_bias": True}, "config.json's attention_bias is true, but there is no tensor for 'blk.0.attn_q.bias'"),
            ("llama", {"quantization_config": {"bits": 4}}, "config.json's 'quantization_config' (needs weights that are not quantized"),
            ("llama", {"logits_scaling": 8.0}, "config.json's 'logits_scaling' = 8"),
            ("llama", {"attention_multiplier": 0.5}, "config.json's 'attention_multiplier' = 0.5"),
            ("llama", {"no_rope_layers": [1, 0]}, "config.json's 'no_rope_layers' (needs this kind of rotary positions)"),
            ("llama", {"auto_map": {"AutoModel": "m.M"}}, "config.json's 'auto_map' (needs code"),
            ("llama", {"rope_interleaved": True}, "config.json's 'rope_interleaved' = true"),
            ("llama", {"final_logit_softcapping": 30.0}, "config.json's 'final_logit_softcapping' = 30 (needs caps)"),
            ("llama", {"brand_new": "x"}, "config.json's 'brand_new' = 'x'"),
            ("llama", {"is_decoder": True, "add_cross_attention": True}, "config.json's 'add_cross_attention' = true"),
            ("llama", {"n_ctx": 99}, "config.json's max_position_embeddings is 160, but n_ctx, which means the same, is 99"),
            ("llama", {"max_position_embeddings": 0}, "config.json's max_position_embeddings is 0; expected 1"),
            ("qwen3", {"attention_bias": True}, "config.json's 'attention_bias' = true (needs biases at these products)"),
            ("qwen2", {"use_mrope": True}, "config.json's 'use_mrope' = true"),
            ("gemma3", {"use_bidirectional_attention": True}, "config.json's 'use_bidirectional_attention' = true"),
            ("gpt2", {"scale_attn_by_inverse_layer_idx": True}, "config.json's 'scale_attn_by_inverse_layer_idx' = true"),
            ("gpt2", {"scale_attn_weights": False}, "config.json's 'scale_attn_weights' = false"),
            ("mamba", {"hidden_act": "gelu"}, "config.json's 'hidden_act' = 'gelu'"),
            ("mixtral", {"num_shared_experts": 1}, "config.json's 'num_shared_experts' = 1 (needs experts"),
            ("bert", {"is_decoder": True}, "config.json's 'is_decoder' = true"),
            ("qwen3moe", {"decoder_sparse_step": 0}, "decoder_sparse_step is 0; expected 1"),
            ("mixtral", {"num_local_experts": 3}, "block_sparse_moe.gate.weight' is [4, 36]; by the configuration it is [3, 36]")):
        folder(name, change)
        refused(says, model="hf")


@test
def ways_of_scaling_rotary_positions():
    need_lm()
    good = {"rope_theta": 5000.0}
    for change, says in (
            ({"rope_type": "yarn", "factor": 2.0, "truncate": False}, "config.json's 'rope_scaling.truncate' = false"),
            ({"rope_type": "linear", "factor": 2.0, "beta_fast": 8.0}, "config.json's 'rope_scaling.beta_fast' = 8"),
            ({"factor": 2.0}, "config.json's 'rope_scaling.factor' = 2"),
            ({"rope_type": "default", "mrope_section": [2, 2]}, "config.json's 'rope_scaling.mrope_section'"),
            ({"rope_type": "llama3", "some_factor": 1.5}, "config.json's 'rope_scaling.some_factor' = 1.5"),
            ({"rope_type": "dynamic", "factor": 2.0}, "'dynamic'"), ({"rope_type": "longrope"}, "'longrope'"),
            ({"rope_type": 3}, "is not a text")):
        folder("llama", {"rope_parameters": {**good, **change}})
        refused(says, model="hf")
    folder("llama", {"rope_scaling": "linear"}, without=["rope_parameters"])
    refused("rope_scaling is not an object", model="hf")
    folder("llama", {"rope_scaling": {"type": "linear", "factor": 2.0}})
    refused("both rope_parameters and rope_scaling", model="hf")
    folder("gemma3", {"rope_parameters": {"full_attention": good, "sliding_attention": {**good, "rope_type": "linear", "factor": 2.0}}})
    refused("layers with a window by 'linear'", model="hf")
    folder("gemma3", {"rope_parameters": {"full_attention": good, "sliding_attention": good, "chunked_attention": good}})
    refused("'rope_scaling.chunked_attention'", model="hf")
    folder("llama", {"rope_parameters": {**good, "rope_type": "default", "factor": 1.0, "original_max_position_embeddings": 64}})
    opens("hf")


@test
def a_head_that_is_missing():
    need_lm()
    says = "the head is missing: expected a tensor 'lm_head.weight'"
    folder("llama", tensors={"lm_head.weight": None})
    refused(says, model="hf")
    folder("llama", without=["tie_word_embeddings"], tensors={"lm_head.weight": None})
    refused(says, model="hf")
    folder("llama", {"tie_word_embeddings": True}, tensors={"lm_head.weight": None})
    opens("hf")
    folder("gpt2", without=["tie_word_embeddings"])
    opens("hf")
    folder("gemma2", {"tie_word_embeddings": False})
    refused(says, model="hf")


@test
def a_head_beside_a_tied_table():
    need_lm()
    data = (GOLDEN / "gpt2/model.safetensors").read_bytes()
    n = int.from_bytes(data[:8], "little")
    at = json.loads(data[8:8 + n])["transformer.wte.weight"]
    table = data[8 + n + at["data_offsets"][0]:8 + n + at["data_offsets"][1]]
    folder("gpt2", tensors={"lm_head.weight": (at["dtype"], at["shape"], table)})
    same = logits("hf", [1, 2, 3])
    folder("gpt2")
    equal(same, logits("hf", [1, 2, 3]), "the table twice")
    folder("gpt2", tensors={"lm_head.weight": (at["dtype"], at["shape"], table[:-4] + b"\0\0\x80\x3f")})
    refused("the embeddings are tied", "'lm_head.weight' differs from 'transformer.wte.weight'", model="hf")
    folder("gpt2", {"tie_word_embeddings": False}, tensors={"lm_head.weight": (at["dtype"], at["shape"], table[:-4] + b"\0\0\x80\x3f")})
    check(logits("hf", [1, 2, 3]) != same, "a head of its own changes nothing")


@test
def what_a_sentence_encoder_has_around_it():
    need_lm()

    def beside(name, content):
        folder("bert")
        pathlib.Path("hf/1_Pooling").mkdir()
        pathlib.Path("hf", name).write_text(content if isinstance(content, str) else json.dumps(content))
        return "hf"

    modules = [{"type": "sentence_transformers.models.Transformer"}, {"type": "sentence_transformers.models.Pooling"},
               {"type": "sentence_transformers.models.Normalize"}]
    pooling = {"word_embedding_dimension": 36, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": False}
    for name, content in (("modules.json", modules), ("1_Pooling/config.json", pooling), ("sentence_bert_config.json", {"max_seq_length": 20, "do_lower_case": False}),
                          ("config_sentence_transformers.json", {"default_prompt_name": None, "prompts": {}})):
        rlx("check", beside(name, content), expect=0)
    for name, content, says in (
            ("modules.json", [*modules, {"type": "sentence_transformers.models.Dense"}], "modules.json has a module 'Dense'"),
            ("1_Pooling/config.json", {**pooling, "pooling_mode_max_tokens": True}, "pooling_mode_max_tokens"),
            ("1_Pooling/config.json", {**pooling, "pooling_mode_cls_token": True}, "exactly one of"),
            ("1_Pooling/config.json", {}, "expected pooling by one of"), ("1_Pooling/config.json", "{", "1_Pooling/config.json: line 1"),
            ("sentence_bert_config.json", {"max_seq_length": "20"}, "max_seq_length"),
            ("sentence_bert_config.json", {"do_lower_case": True}, "do_lower_case"),
            ("config_sentence_transformers.json", {"default_prompt_name": "query"}, "puts the prompt 'query' before every text")):
        fails("check", beside(name, content), says=says)


@test
def tensors_of_a_folder():
    need_lm()
    for name, tensor, shape, need in (("llama", "model.layers.0.self_attn.q_norm.weight", (8,), "norms of heads"),
                                      ("llama", "model.layers.0.self_attn.q_proj.weight_scale", (1,), "separate scales"),
                                      ("llama", "model.layers.1.mlp.up_proj.lora_A.weight", (4, 36), "an adapter"),
                                      ("llama", "model.norm.bias", (36,), "a bias"), ("llama", "lm_head.bias", (101,), "a bias"),
                                      ("qwen2", "model.layers.0.self_attn.o_proj.bias", (48,), "a bias"),
                                      ("mixtral", "model.layers.0.block_sparse_moe.experts.4.w1.weight", (20, 36), "experts"),
                                      ("gpt2", "transformer.h.0.crossattention.c_attn.weight", (30, 60), ""),
                                      ("llama", "model.vision_tower.x", (3,), ""), ("bert", "classifier.weight", (2, 36), "")):
        folder(name, tensors={tensor: zeros(*shape)})
        refused(f"tensor '{tensor}'", need, model="hf")
    for i in range(2):  # said, and not said, against tensors that have them
        folder("llama", {"attention_bias": bool(i)}, tensors={f"model.layers.{k}.self_attn.q_proj.bias": zeros(48) for k in range(2)})
        opens("hf") if i else refused("config.json's attention_bias is false, but there is a tensor", model="hf")
    for name, tensor, shape in (("llama", "model.layers.0.self_attn.rotary_emb.inv_freq", (4,)), ("gpt2", "transformer.h.0.attn.bias", (1, 1, 4, 4)),
                                ("gpt2", "transformer.h.1.attn.masked_bias", (1,)), ("bert", "embeddings.position_ids", (1, 40))):
        folder(name, tensors={tensor: zeros(*shape)})
        rlx("check", "hf", expect=0)


@test
def biases_of_a_folder_are_applied():
    need_lm()
    folder("llama")
    ids = [3, 7, 100, 5]
    plain = logits("hf", ids)
    bias = {f"model.layers.{i}.mlp.{part}_proj.bias": zeros(n) for i in range(2) for part, n in (("gate", 44), ("up", 44), ("down", 36))}
    folder("llama", {"mlp_bias": True}, tensors=bias)
    equal(logits("hf", ids), plain, "biases of 0")
    one = zeros(36)
    folder("llama", {"mlp_bias": True}, tensors={**bias, "model.layers.1.mlp.down_proj.bias": (one[0], one[1], b"\0\0\x80\x3f" * 36)})
    check(logits("hf", ids) != plain, "a bias of 1 changes nothing")


@test
def an_adapter_beside_a_model():
    need_lm()
    folder("llama")
    pathlib.Path("hf/adapter_config.json").write_text("{}")
    refused("file 'adapter_config.json' (needs an adapter", model="hf")


@test
def windows_of_qwen():
    need_lm()
    ids = list(range(3, 20))
    folder("qwen2")
    plain = logits("hf", ids)
    off = {"sliding_window": 4, "use_sliding_window": False, "max_window_layers": 0}
    folder("qwen2", off, without=["layer_types"])
    equal(logits("hf", ids), plain, "a window that is not used")
    on = {**off, "use_sliding_window": True}
    folder("qwen2", on, without=["layer_types"])
    both = logits("hf", ids)
    folder("qwen2", {**on, "layer_types": ["sliding_attention"] * 2})
    equal(logits("hf", ids), both, "both layers")
    folder("qwen2", {**on, "max_window_layers": 1}, without=["layer_types"])
    last = logits("hf", ids)
    folder("qwen2", {**on, "layer_types": ["full_attention", "sliding_attention"]})
    equal(logits("hf", ids), last, "the last layer")
    folder("qwen2", {**on, "max_window_layers": 2}, without=["layer_types"])
    equal(logits("hf", ids), plain, "no layer")
    check(len({tuple(plain), tuple(both), tuple(last)}) == 3, "windows change nothing")


@test
def fields_around_a_text_model():
    need_lm()

    def wrapped(**more):
        return lambda config: {"architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3", "text_config": config,
                               "vision_config": {"x": 1}, "image_token_index": 5, "mm_tokens_per_image": 4, "dtype": "float32", **more}

    folder("gemma3", inside=wrapped())
    opens("hf")
    folder("gemma3", inside=wrapped(quantization_config={"bits": 4}))
    refused("config.json's 'quantization_config'", model="hf")
    folder("gemma3", inside=wrapped(audio_gain=2))
    refused("config.json's 'audio_gain' = 2", model="hf")


@test
def ids_in_a_folder():
    need_lm()
    tokens = {"version": "1.0", "model": {"type": "BPE", "vocab": {chr(97 + i): i for i in range(26)}, "merges": []}}
    for change, says in (({"eos_token_id": 2.0}, "eos_token_id is a fraction, expected the number of a token"),
                         ({"eos_token_id": "2"}, "eos_token_id is a string"), ({"eos_token_id": 101}, "eos_token_id is 101, but there are 101"),
                         ({"eos_token_id": [1, "x"]}, "eos_token_id is a string"), ({"eos_token_id": -3}, "eos_token_id is -3"),
                         ({"bos_token_id": 1.5}, "bos_token_id is a fraction"), ({"bos_token_id": {"a": 1}}, "bos_token_id is an object"),
                         ({"bos_token_id": 2**40}, "bos_token_id is 1099511627776"), ({"eos_token_id": list(range(40))}, "has 40 tokens")):
        folder("llama", change)
        pathlib.Path("hf/tokenizer.json").write_text(json.dumps(tokens))
        fails("tokenize", "hf", stdin=b"a", says=says)
    for change in ({"eos_token_id": None}, {"eos_token_id": [1, 2]}, {"bos_token_id": None}, {"eos_token_id": 100}, {"bos_token_id": -1}):
        folder("llama", change)
        pathlib.Path("hf/tokenizer.json").write_text(json.dumps(tokens))
        rlx("tokenize", "hf", stdin=b"a", expect=0)


@test
def names_with_a_nul_in_json():
    need_lm()
    folder("llama", {"mlp\0_bias": True})
    refused("config.json: line 1", "u0000", model="hf")
    folder("llama", tensors={"lm_head\0.bias": zeros(3)})
    refused("u0000", model="hf")
    folder("llama", {"model_type": "lla\0ma"})
    refused("config.json: line 1", "u0000", model="hf")


# ---- rlx check


@test
def check_reports_what_would_be_unused():
    need_lm()
    tiny({"llama.logit_scale": ("f32", 0.5)}, {"output.bias": ROW})
    fails("check", "m.gguf", says=("m.gguf: family llama: 2 items of the file would be ignored", "key 'llama.logit_scale'", "tensor 'output.bias'"),
          lines=1)
    bad = ((WIDTH,), [1.0] * (WIDTH - 1) + [float("inf")])
    tiny({"llama.logit_scale": ("f32", 0.5), "tokenizer.ggml.new": True}, {"blk.0.attn_norm.weight": bad, "blk.1.ffn_norm.weight": ((WIDTH,), [0.0] * WIDTH)})
    found = rlx("check", "m.gguf", "--json", expect=1)
    found = json.loads(found.out)["files"][0]
    equal((found["ok"], found["findings"], len(found["wrong"])), (False, 3, 3))
    for part, text in zip(("tensor 'blk.0.attn_norm.weight': element 31 is infinite", "key 'llama.logit_scale'", "key 'tokenizer.ggml.new'"), found["wrong"]):
        check(part in text, (part, text))
    equal(found["message"], found["wrong"][0])
    equal(found["remarks"], ["tensor 'blk.1.ffn_norm.weight': all elements are 0"])
    tiny(tensors={"blk.1.ffn_norm.weight": ((WIDTH,), [0.0] * WIDTH)})
    told = rlx("check", "m.gguf", expect=0).out
    check("m.gguf: ok" in told and "m.gguf: remark: tensor 'blk.1.ffn_norm.weight': all elements are 0" in told, told)
    folder("llama", {"brand_new": 1}, tensors={"lm_head.bias": zeros(3)})
    fails("check", "hf", says=("config.json's 'brand_new' = 1", "tensor 'lm_head.bias'"))


@test
def check_of_what_is_no_model_here():
    need_lm()
    tiny({"general.architecture": "phi9"})
    check("remark: general.architecture is 'phi9'; supported families are" in rlx("check", "m.gguf", expect=0).out, "a family of others")
    tiny({"general.type": "adapter"})
    check("remark: general.type is 'adapter'" in rlx("check", "m.gguf", expect=0).out, "an adapter")
    metas = tiny_llama_parts()[0]
    write_gguf("v.gguf", metas, {})
    rlx("check", "v.gguf", expect=0)
    write_gguf("v.gguf", {**metas, "tokenizer.ggml.eos_token_id": "2"}, {})
    fails("check", "v.gguf", says="tokenizer.ggml.eos_token_id is string")


@test
def tokenizers_of_a_folder():
    """tokenizer_config.json has no unread field; a vocabulary that cannot represent every byte gets a remark."""
    need_lm()
    folder("llama")
    for more, unknown, become in (("\ufffd", None, None), ("?", None, "nothing"), ("?", "?", "the unknown token")):
        model = {"type": "BPE", "vocab": {k: i for i, k in enumerate(("a", "b", "c", "d", more))}, "merges": [], "unk_token": unknown}
        pathlib.Path("hf/tokenizer.json").write_text(json.dumps({"model": model}))
        told = rlx("check", "hf", expect=0).out
        check((f"remark: bytes that are not UTF-8 become {become}:" if become else "ok") in told and ("remark" in told) == bool(become), told)
    beside = pathlib.Path("hf/tokenizer_config.json")
    beside.write_text(json.dumps({"model_max_length": 10**30, "tokenizer_class": "PreTrainedTokenizerFast", "padding_side": "left"}))
    rlx("check", "hf", expect=0)
    equal(rlx("tokenize", "hf", stdin=b"aa", expect=0).out.split(), ["0", '"a"', "0", '"a"'])
    beside.write_text(json.dumps({"a_new_field": 1, "another": "x", "padding_side": "left"}))
    for command in (("check", "hf"), ("tokenize", "hf")):
        fails(*command, stdin=b"a", says=("2 items of the file would be ignored: tokenizer_config.json's 'a_new_field' = 1", "'another' = 'x'"))


if __name__ == "__main__":
    sys.exit(main())
