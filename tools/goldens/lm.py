#!/usr/bin/env python3
"""Tiny language models and what transformers says they give: tests/golden/lm/<case>/.

Each case is a model of one family with seeded random weights, small enough to check in, and awkward on purpose: grouped
queries with an odd number per group, heads that are not width / heads, windows shorter than the text, tied and untied output.
Written are, per case:

    config.json, model.safetensors   as transformers saves them (f32, those of SMALL_CASES f16)
    tokens.npy                       i32 [24], a text
    logits.npy                       f32 [24, vocabulary], of each token of it
    greedy.npy                       i32 [64], what follows it, the likeliest each time
or, for encoders,
    tokens.npy [2, 24], lengths.npy [2], embedding.npy f32 [2, width]

Greedy continuations are only a test where no choice is a near tie: a model for which the gap between the two largest logits
falls below GAP is made again with the next seed, and the seed in use is printed.

    python tools/goldens/lm.py tests/golden/lm [case ..]        (needs torch, transformers, safetensors)
"""
import copy
import json
import os
import sys

import numpy as np
import safetensors.torch
import torch
import transformers as tf

TOKENS, FOLLOW, GAP = 24, 64, 2e-3
# A table of tokens that is the output product too must be small, or each token is followed by itself.
TABLE = {"Gemma": 0.15, "GPT2": 0.25, "Mamba": 0.25}
SHARED = dict(vocab_size=101, hidden_size=36, intermediate_size=44, num_hidden_layers=2, num_attention_heads=6,
              num_key_value_heads=2, head_dim=8, max_position_embeddings=160, bos_token_id=1, eos_token_id=2,
              pad_token_id=0)


def shared(**more):
    return {**SHARED, **more}


LLAMA3 = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=64, rope_theta=5000.0)
YARN = dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=40, beta_fast=8.0, rope_theta=3000.0)
CASES = {
    "llama": (tf.LlamaConfig, tf.LlamaForCausalLM, shared(rope_parameters=LLAMA3, tie_word_embeddings=False)),
    "mistral": (tf.MistralConfig, tf.MistralForCausalLM, shared(sliding_window=10, tie_word_embeddings=True)),
    "mixtral": (tf.MixtralConfig, tf.MixtralForCausalLM,
                shared(intermediate_size=20, num_local_experts=4, num_experts_per_tok=2, sliding_window=None)),
    "qwen2": (tf.Qwen2Config, tf.Qwen2ForCausalLM,
              {**{k: v for k, v in SHARED.items() if k != "head_dim"}, "hidden_size": 48, "tie_word_embeddings": True}),
    "qwen3": (tf.Qwen3Config, tf.Qwen3ForCausalLM, shared(tie_word_embeddings=True, rope_parameters=YARN)),
    "qwen3moe": (tf.Qwen3MoeConfig, tf.Qwen3MoeForCausalLM,
                 shared(moe_intermediate_size=20, num_experts=4, num_experts_per_tok=2, norm_topk_prob=True)),
    "qwen3moe_mixed": (tf.Qwen3MoeConfig, tf.Qwen3MoeForCausalLM,
                       shared(num_hidden_layers=4, moe_intermediate_size=20, num_experts=4, num_experts_per_tok=2,
                              norm_topk_prob=True, decoder_sparse_step=2, mlp_only_layers=[3])),
    "gemma2": (tf.Gemma2Config, tf.Gemma2ForCausalLM,
               shared(num_hidden_layers=3, sliding_window=9, query_pre_attn_scalar=12, attn_logit_softcapping=6.0,
                      final_logit_softcapping=5.0)),
    "gemma3": (tf.Gemma3TextConfig, tf.Gemma3ForCausalLM,
               shared(num_hidden_layers=3, sliding_window=9, query_pre_attn_scalar=8,
                      layer_types=["sliding_attention", "sliding_attention", "full_attention"],
                      rope_parameters=dict(full_attention=dict(rope_type="linear", factor=4.0, rope_theta=40000.0),
                                           sliding_attention=dict(rope_type="default", rope_theta=1000.0)))),
    "gpt2": (tf.GPT2Config, tf.GPT2LMHeadModel,
             dict(vocab_size=101, n_positions=160, n_embd=30, n_layer=2, n_head=3, bos_token_id=1, eos_token_id=2)),
    "mamba": (tf.MambaConfig, tf.MambaForCausalLM,
              dict(vocab_size=101, hidden_size=24, num_hidden_layers=3, state_size=6, conv_kernel=4, expand=2,
                   time_step_rank=5, use_cache=False)),
    "bert": (tf.BertConfig, tf.BertModel,
             dict(vocab_size=101, hidden_size=36, num_hidden_layers=2, num_attention_heads=3, intermediate_size=44,
                  max_position_embeddings=40)),
}


# Variations of a transformer: as small as can be, and their weights in f16, so that many fit into the tree.
SMALL = dict(vocab_size=53, hidden_size=24, intermediate_size=20, num_hidden_layers=2, num_attention_heads=6,
             num_key_value_heads=2, max_position_embeddings=160, bos_token_id=1, eos_token_id=2, pad_token_id=0)
SCALES = dict(embedding_multiplier=3.0, logits_scaling=2.0, residual_multiplier=0.6, attention_multiplier=0.3)
EXPERTS = dict(num_experts=4, num_experts_per_tok=2)


def small(**more):
    return {k: v for k, v in {**SMALL, **more}.items() if v is not None}


def longrope(original, part=1.0):
    """The long factors count where a text is longer than the original context. part: of a head of 8 that is rotated."""
    n = int(4 * part)
    return dict(original_max_position_embeddings=original,
                rope_parameters=dict(rope_type="longrope", rope_theta=10000.0, original_max_position_embeddings=original,
                                     partial_rotary_factor=part, short_factor=[1.0, 1.1, 1.3, 1.7][:n],
                                     long_factor=[1.0, 2.0, 3.5, 7.0][:n]))


SMALL_CASES = {
    "gemma": ("Gemma", small(head_dim=8)),
    "qwen2moe": ("Qwen2Moe", small(moe_intermediate_size=8, shared_expert_intermediate_size=12, **EXPERTS)),
    "olmoe": ("Olmoe", small(num_attention_heads=3, num_key_value_heads=3, intermediate_size=8, **EXPERTS)),
    "granite": ("Granite", small(**SCALES)),
    "granitemoe": ("GraniteMoe", small(intermediate_size=8, num_local_experts=4, num_experts_per_tok=2, **SCALES)),
    "olmo2": ("Olmo2", small()),
    "olmo3": ("Olmo3", small(num_hidden_layers=4, intermediate_size=12, sliding_window=9)),
    "smollm3": ("SmolLM3", small(num_hidden_layers=4, intermediate_size=12)),
    "starcoder2": ("Starcoder2", small(sliding_window=10)),
    "stablelm": ("StableLm", small(partial_rotary_factor=0.5, use_qkv_bias=True)),
    "stablelm_parallel": ("StableLm", small(num_attention_heads=3, num_key_value_heads=1, partial_rotary_factor=0.5,
                                            use_parallel_residual=True)),
    "gptneox": ("GPTNeoX", small(num_key_value_heads=None, num_attention_heads=3, rotary_pct=0.5)),
    "phi2": ("Phi", small(num_attention_heads=3, num_key_value_heads=3, partial_rotary_factor=0.5)),
    "phi3": ("Phi3", small(num_attention_heads=3, num_key_value_heads=1, sliding_window=10)),
    "phi3_long": ("Phi3", small(num_attention_heads=3, num_key_value_heads=1, **longrope(16))),
    "phi3_short": ("Phi3", small(num_attention_heads=3, num_key_value_heads=1, max_position_embeddings=600, **longrope(300, 0.5))),
    "cohere": ("Cohere", small(logit_scale=0.5, use_qk_norm=False)),
    "cohere2": ("Cohere2", small(num_hidden_layers=4, intermediate_size=12, logit_scale=0.5, sliding_window=9)),
    "glm4": ("Glm4", small(head_dim=8, partial_rotary_factor=0.5)),
    "exaone4": ("Exaone4", small(num_hidden_layers=4, intermediate_size=12, sliding_window=9, sliding_window_pattern=4)),
    "ernie4_5": ("Ernie4_5", small(head_dim=8)),
    "seed_oss": ("SeedOss", small(head_dim=8)),
    "ernie4_5_moe": ("Ernie4_5_Moe", small(intermediate_size=12, moe_intermediate_size=8, moe_num_experts=4, moe_k=2,
                                           moe_num_shared_experts=1, moe_layer_start_index=1, moe_layer_end_index=-1)),
    "glm4moe": ("Glm4Moe", small(head_dim=8, intermediate_size=12, moe_intermediate_size=8, n_routed_experts=4, num_experts_per_tok=2,
                                 n_shared_experts=1, first_k_dense_replace=1, routed_scaling_factor=1.5, use_qk_norm=True,
                                 partial_rotary_factor=0.5)),
    "dots1": ("Dots1", small(num_attention_heads=3, num_key_value_heads=3, head_dim=8, intermediate_size=12, moe_intermediate_size=4,
                             n_routed_experts=8, num_experts_per_tok=2, n_shared_experts=2, first_k_dense_replace=1,
                             routed_scaling_factor=2.5, norm_topk_prob=True, n_group=4, topk_group=2)),
    "minimax_m2": ("MiniMaxM2", small(head_dim=8, rotary_dim=4, intermediate_size=8, num_local_experts=4, num_experts_per_tok=2)),
    "ministral3": ("Ministral3", small(head_dim=8, rope_parameters={**YARN, "type": "yarn", "original_max_position_embeddings": 16,
                                                                   "llama_4_scaling_beta": 0.3})),
    "gpt_oss": ("GptOss", small(head_dim=4, intermediate_size=8, num_local_experts=4, num_experts_per_tok=2, sliding_window=9,
                               rope_parameters={**YARN, "truncate": False})),
    "gpt_oss_packed": ("GptOss", small(hidden_size=32, num_hidden_layers=1, num_attention_heads=4, head_dim=8, intermediate_size=32,
                                       num_local_experts=4, num_experts_per_tok=2, sliding_window=9)),
    "hunyuan": ("HunYuanDenseV1", small(head_dim=8)),
}
CASES.update({k: (getattr(tf, n + "Config"), getattr(tf, n + "ForCausalLM"), v) for k, (n, v) in SMALL_CASES.items()})


def fill(model, seed, is_half):
    """Weights large enough that every part matters: norms near 1 (or 0 where 1 is added), the rest random."""
    random = torch.Generator().manual_seed(seed)
    table = next((TABLE[k] for k in TABLE if k in type(model).__name__), 1.0)
    for name, p in model.named_parameters():
        noise = torch.randn(p.shape, generator=random)
        if name.endswith("A_log"):
            p.data += 0.2 * noise
        elif name.endswith("dt_proj.bias"):
            p.data = noise * 0.5 - 2
        elif p.dim() == 1:
            p.data = p.data + 0.2 * noise if not name.endswith("bias") else 0.2 * noise
        else:
            p.data = noise * (1.6 / np.sqrt(p.shape[-1])) if "embed" not in name and "wte" not in name else noise * table
        if is_half:
            p.data = p.data.half().float()
    for name, p in model.named_buffers():
        if name.endswith("e_score_correction_bias"):
            p.data = (0.1 * torch.randn(p.shape, generator=random)).half().float()
    return model


LEVELS = np.array([0, .5, 1, 1.5, 2, 3, 4, 6, 0, -.5, -1, -1.5, -2, -3, -4, -6], np.float32)


def pack(model, seed):
    """Draws the experts of a gpt-oss as mxfp4: 4-bit numbers, neighbours in a byte, a power of 2 for each 32 of a row. The model gets
    their values, transposed; returned are the tensors that a file has instead."""
    draw, packed = np.random.default_rng(seed), {}
    for name, p in model.named_parameters():
        if not name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            continue
        experts, columns, rows = p.shape
        blocks = draw.integers(0, 256, (experts, rows, columns // 32, 16)).astype(np.uint8)
        scales = draw.integers(122, 125, (experts, rows, columns // 32)).astype(np.uint8)
        values = np.stack([LEVELS[blocks & 15], LEVELS[blocks >> 4]], -1).reshape(experts, rows, columns // 32, 32)
        values = values * np.exp2(scales.astype(np.float32) - 127)[..., None]
        p.data = torch.from_numpy(values.reshape(experts, rows, columns).transpose(0, 2, 1).copy())
        packed |= {name + "_blocks": torch.from_numpy(blocks), name + "_scales": torch.from_numpy(scales)}
    return packed


def save_packed(folder, packed):
    """Replaces the experts in the files by what `pack` returned."""
    path = os.path.join(folder, "model.safetensors")
    names = {n.removesuffix("_blocks") for n in packed}
    safetensors.torch.save_file({**{k: v for k, v in safetensors.torch.load_file(path).items() if k not in names}, **packed}, path)
    path = os.path.join(folder, "config.json")
    config = json.load(open(path))
    config["quantization_config"] = {"modules_to_not_convert": ["model.layers.*.self_attn"], "quant_method": "mxfp4"}
    json.dump(config, open(path, "w"), indent=1, sort_keys=True)


def make(config_class, model_class, settings, seed, is_half=False):
    torch.manual_seed(seed)
    config = config_class(**settings)
    config._attn_implementation = "eager"
    return fill(model_class(config), seed, is_half).eval().float()


def text(seed, n, vocabulary=101):
    return np.random.default_rng(seed).integers(3, vocabulary, n).astype(np.int32)


def logits_of(model, ids):
    return model(input_ids=torch.from_numpy(ids.astype(np.int64))[None], use_cache=False).logits[0].float().numpy()


def follow(model, ids):
    """The greedy continuation and the smallest gap on the way."""
    ids, gap = list(ids), 1e9
    for _ in range(FOLLOW):
        row = logits_of(model, np.array(ids, np.int32))[-1]
        top = np.sort(row)[-2:]
        gap = min(gap, float(top[1] - top[0]))
        ids.append(int(row.argmax()))
    return np.array(ids[-FOLLOW:], np.int32), gap


def save(folder, model, is_half=False):
    os.makedirs(folder, exist_ok=True)
    (copy.deepcopy(model).half() if is_half else model).save_pretrained(folder)
    path = os.path.join(folder, "config.json")
    config = json.load(open(path))
    for key in ("transformers_version", "dtype"):
        config.pop(key, None)
    json.dump(config, open(path, "w"), indent=1, sort_keys=True)
    extra = os.path.join(folder, "generation_config.json")
    if os.path.exists(extra):
        os.remove(extra)


def make_decoder(folder, case, seed):
    is_half = os.path.basename(folder) in SMALL_CASES
    ids = text(11, TOKENS, case[2]["vocab_size"])
    while True:
        model = make(*case, seed, is_half)
        packed = pack(model, seed) if folder.endswith("_packed") else {}
        greedy, gap = follow(model, ids)
        if gap >= GAP and len(set(greedy.tolist())) > 3:
            break
        seed += 1
    save(folder, model, is_half)
    if packed:
        save_packed(folder, packed)
    logits = logits_of(model, ids)
    np.save(os.path.join(folder, "tokens.npy"), ids)
    np.save(os.path.join(folder, "logits.npy"), logits)
    np.save(os.path.join(folder, "greedy.npy"), greedy)
    return f"seed {seed}, least gap {gap:.4f}, {len(set(greedy.tolist()))} different tokens, logits +-{abs(logits).max():.2f}"


def make_encoder(folder, case, seed):
    model = make(*case, seed)
    save(folder, model)
    ids, lengths = np.stack([text(11, TOKENS), text(12, TOKENS)]), np.array([TOKENS, 9], np.int32)
    mask = torch.from_numpy((np.arange(TOKENS)[None] < lengths[:, None]).astype(np.int64))
    rows = model(input_ids=torch.from_numpy(ids.astype(np.int64)), attention_mask=mask).last_hidden_state
    mean = (rows * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
    np.save(os.path.join(folder, "tokens.npy"), ids)
    np.save(os.path.join(folder, "lengths.npy"), lengths)
    np.save(os.path.join(folder, "embedding.npy"), torch.nn.functional.normalize(mean, dim=1).numpy().astype(np.float32))
    return f"seed {seed}"


def main():
    root, chosen = sys.argv[1], sys.argv[2:] or list(CASES)
    torch.set_num_threads(1)
    tf.utils.logging.set_verbosity_error()
    with torch.no_grad():
        for name in chosen:
            folder = os.path.join(root, name)
            said = (make_encoder if name == "bert" else make_decoder)(folder, CASES[name], 1)
            print(f"{name}: {said}, {sum(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder))} bytes")


if __name__ == "__main__":
    main()
