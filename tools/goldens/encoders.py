#!/usr/bin/env python3
"""Tiny encoders and what transformers says they give: tests/golden/lm/<case>/, like those of lm.py but smaller.

    config.json, model.safetensors   as transformers saves them (f32), and 1_Pooling/config.json where it is not the mean;
                                     2_Dense and 3_Dense where products follow the pooling
    tokens.npy [2, 24], lengths.npy [2]
    embedding.npy f32 [2, width]     of unit length; or, for cross-encoders,
    types.npy i32 [2, 24], score.npy f32 [2, 1]

    python tools/goldens/encoders.py tests/golden/lm [case ..]        (needs torch, transformers, safetensors)
"""
import json
import os
import sys

import numpy as np
import torch
import transformers as tf
from safetensors.torch import save_file
from lm import TOKENS, make, save

LENGTHS = np.array([TOKENS, 9], np.int32)
SHARED = dict(vocab_size=61, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=20,
              max_position_embeddings=40, pad_token_id=0, bos_token_id=1, eos_token_id=2)


def shared(**more):
    return {**SHARED, **more}


MODERN = shared(num_hidden_layers=4, cls_token_id=1, sep_token_id=2, local_attention=8)
DISTIL = dict(vocab_size=61, dim=16, n_layers=2, n_heads=2, hidden_dim=20, max_position_embeddings=40)
ROBERTA = dict(pad_token_id=1, bos_token_id=0, layer_norm_eps=1e-5, max_position_embeddings=42)
GEMMA = shared(num_hidden_layers=3, num_key_value_heads=1, head_dim=8, sliding_window=8, query_pre_attn_scalar=8,
               use_bidirectional_attention=True,
               layer_types=["sliding_attention", "sliding_attention", "full_attention"],
               rope_parameters=dict(full_attention=dict(rope_type="default", rope_theta=40000.0),
                                    sliding_attention=dict(rope_type="default", rope_theta=1000.0)))
# case: configuration, class, settings, pooling ("score": the class has a head)
CASES = {
    "bert_rank": (tf.BertConfig, tf.BertForSequenceClassification, shared(num_labels=1), "score"),
    "roberta": (tf.RobertaConfig, tf.RobertaModel, shared(type_vocab_size=1, **ROBERTA), "mean"),
    "roberta_rank": (tf.XLMRobertaConfig, tf.XLMRobertaForSequenceClassification,
                     shared(type_vocab_size=1, num_labels=1, **ROBERTA), "score"),
    "distilbert": (tf.DistilBertConfig, tf.DistilBertModel, DISTIL, "mean"),
    "distilbert_rank": (tf.DistilBertConfig, tf.DistilBertForSequenceClassification, dict(DISTIL, num_labels=1),
                        "score"),
    "mpnet": (tf.MPNetConfig, tf.MPNetModel, shared(**ROBERTA), "mean"),
    "modernbert": (tf.ModernBertConfig, tf.ModernBertModel, MODERN, "cls"),
    "modernbert_rank": (tf.ModernBertConfig, tf.ModernBertForSequenceClassification,
                        dict(MODERN, num_labels=1, classifier_pooling="mean", num_hidden_layers=2), "score"),
    "nomicbert": (tf.NomicBertConfig, tf.NomicBertModel, shared(), "mean"),
    "gte": (tf.GteConfig, tf.GteModel, shared(type_vocab_size=1), "cls"),
    "eurobert": (tf.EuroBertConfig, tf.EuroBertModel, shared(num_key_value_heads=1), "mean"),
    "qwen3_embed": (tf.Qwen3Config, tf.Qwen3Model, shared(num_key_value_heads=1, head_dim=8), "lasttoken"),
    "gemma3_embed": (tf.Gemma3TextConfig, tf.Gemma3TextModel, GEMMA, "mean"),
}
FLAGS = {"cls": "pooling_mode_cls_token", "mean": "pooling_mode_mean_tokens", "lasttoken": "pooling_mode_lasttoken"}


def texts(vocabulary):
    """Two texts, of which the second counts only in part: as a pair, [1] A [2] B [2]."""
    ids = np.random.default_rng(11).integers(3, vocabulary, (2, TOKENS)).astype(np.int32)
    types = np.zeros_like(ids)
    for row, n in enumerate(LENGTHS):
        ids[row, 0], ids[row, n // 3], ids[row, n - 1] = 1, 2, 2
        types[row, n // 3 + 1:n] = 1
    return ids, types


def pool(rows, mask, how):
    if how == "cls":
        return rows[:, 0]
    if how == "lasttoken":
        return rows[torch.arange(len(rows)), mask.sum(1) - 1]
    return (rows * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)


def write_pooling(folder, how):
    os.makedirs(os.path.join(folder, "1_Pooling"), exist_ok=True)
    flags = {flag: name == how for name, flag in FLAGS.items()}
    json.dump({"word_embedding_dimension": 16, **flags}, open(os.path.join(folder, "1_Pooling/config.json"), "w"))


def make_encoder(folder, config_class, model_class, settings, how):
    model = make(config_class, model_class, settings, 1)
    save(folder, model)
    ids, types = texts(settings["vocab_size"])
    mask = torch.from_numpy((np.arange(TOKENS)[None] < LENGTHS[:, None]).astype(np.int64))
    if settings.get("pad_token_id") == 1:  # transformers counts positions of RoBERTa by what is not padding
        ids[ids == 1] = 0
        ids[mask.numpy() == 0] = 1
    inputs = dict(input_ids=torch.from_numpy(ids.astype(np.int64)), attention_mask=mask)
    if getattr(model.config, "type_vocab_size", 1) > 1 and how == "score":
        inputs["token_type_ids"] = torch.from_numpy(types.astype(np.int64))
    if how not in ("score", "mean"):
        write_pooling(folder, how)
    out = model(**inputs)
    np.save(os.path.join(folder, "tokens.npy"), ids)
    np.save(os.path.join(folder, "lengths.npy"), LENGTHS)
    if how == "score":
        np.save(os.path.join(folder, "types.npy"), types)
        np.save(os.path.join(folder, "score.npy"), torch.sigmoid(out.logits).numpy().astype(np.float32))
        return f"scores {torch.sigmoid(out.logits).flatten().tolist()}"
    vectors = pool(out.last_hidden_state, mask, how)
    if config_class is tf.Gemma3TextConfig:
        vectors = add_dense(folder, vectors)
    vectors = torch.nn.functional.normalize(vectors, dim=1)
    np.save(os.path.join(folder, "embedding.npy"), vectors.numpy().astype(np.float32))
    return f"cosine of the two {float(vectors[0] @ vectors[1]):.3f}"


def add_dense(folder, vectors):
    """Two products after pooling, as EmbeddingGemma has them."""
    random = torch.Generator().manual_seed(5)
    kinds = ["models.Transformer", "models.Pooling", "models.Dense", "models.Dense", "models.Normalize"]
    for module, (n_in, n_out) in (("2_Dense", (16, 24)), ("3_Dense", (24, 16))):
        os.makedirs(os.path.join(folder, module), exist_ok=True)
        weight = torch.randn(n_out, n_in, generator=random) / 4
        vectors = vectors @ weight.T
        save_file({"linear.weight": weight}, os.path.join(folder, module, "model.safetensors"), {"format": "pt"})
        json.dump({"in_features": n_in, "out_features": n_out, "bias": False,
                   "activation_function": "torch.nn.modules.linear.Identity"},
                  open(os.path.join(folder, module, "config.json"), "w"))
    json.dump([{"idx": i, "type": f"sentence_transformers.{kind}"} for i, kind in enumerate(kinds)],
              open(os.path.join(folder, "modules.json"), "w"))
    return vectors


def size_of(folder):
    return sum(os.path.getsize(os.path.join(at, f)) for at, _, files in os.walk(folder) for f in files)


def main():
    root, chosen = sys.argv[1], sys.argv[2:] or list(CASES)
    torch.set_num_threads(1)
    tf.utils.logging.set_verbosity_error()
    tf.utils.logging.disable_progress_bar()
    with torch.no_grad():
        for name in chosen:
            folder = os.path.join(root, name)
            print(f"{name}: {make_encoder(folder, *CASES[name])}, {size_of(folder)} bytes", flush=True)


if __name__ == "__main__":
    main()
