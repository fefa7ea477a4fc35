#!/usr/bin/env python3
"""Makes the model that ships with RLX: a llama of about 5 million parameters that has read Shakespeare.

    train.py vocabulary TEXT            a byte-level BPE of the first nine tenths -> vocabulary.json
    train.py train TEXT --out FOLDER    trains (PyTorch, a GPU for minutes) -> FOLDER/weights.npz, curve.csv, result.json
    train.py export FOLDER OUT.gguf     as GGUF, q8_0 (--type f32, f16, ..; needs the gguf package)
    train.py judge FOLDER TEXT          bits per byte on the held-out tenth, through PyTorch; instead of the folder also a GGUF
                                        that was exported; --whole: all of TEXT, which is then held-out.txt or a part of it;
                                        --json

The last tenth of the text is never trained on. It is judged along the way for the curve, and chooses nothing within a run: what is
kept is the running average of the weights after the last step. (Among a few settings it did choose: ../README.md.) The defaults are
those of the model that ships. The text is Tiny Shakespeare (public domain), 1,115,394 bytes.
"""

import argparse
import collections
import csv
import json
import math
import pathlib
import random
import re
import time

HERE = pathlib.Path(__file__).resolve().parent
CONFIG = json.loads((HERE / "config.json").read_text())
# GPT-2's pre-tokenizer, for text that is ASCII.
WORDS = re.compile(r"'(?:s|t|re|ve|m|ll|d)| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+")


def byte_letters():
    """GPT-2's way of writing bytes as letters that can be seen."""
    seen = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters, more = {b: chr(b) for b in seen}, 0
    for b in range(256):
        if b not in letters:
            letters[b] = chr(256 + more)
            more += 1
    return letters


LETTERS = byte_letters()


def split(text):
    held_out = len(text) * 9 // 10
    return text[:held_out], text[held_out:]


# ---- Vocabulary ------------------------------------------------------------------------------------------------------


def make_vocabulary(text, size):
    """The usual greedy BPE: join the commonest pair, again and again; ties go to the pair that was met first."""
    words = [([LETTERS[b] for b in w.encode()], n) for w, n in collections.Counter(WORDS.findall(text)).items()]
    tokens, merges = [LETTERS[b] for b in range(256)], []
    while len(tokens) < size - 1:
        pairs = collections.Counter()
        for parts, n in words:
            for pair in zip(parts, parts[1:]):
                pairs[pair] += n
        best = max(pairs, key=lambda p: pairs[p])
        merges.append(best)
        tokens.append("".join(best))
        for parts, _ in words:
            join(parts, best)
    return {"tokens": [*tokens, "<|endoftext|>"], "merges": [" ".join(m) for m in merges]}


def join(parts, pair):
    i = 0
    while i + 1 < len(parts):
        if (parts[i], parts[i + 1]) == pair:
            parts[i:i + 2] = ["".join(pair)]
        i += 1


class Tokenizer:
    def __init__(self, vocabulary):
        self.ids = {t: i for i, t in enumerate(vocabulary["tokens"])}
        self.rank = {tuple(m.split(" ")): i for i, m in enumerate(vocabulary["merges"])}
        self.known = {}

    def word(self, word, drop=0.0):
        """drop: the share of possible joins that are passed over, so that a word is seen in several spellings (BPE dropout)."""
        if not drop and word in self.known:
            return self.known[word]
        parts = [LETTERS[b] for b in word.encode()]
        while len(parts) > 1:
            ranks = [(self.rank.get(p, math.inf), i) for i, p in enumerate(zip(parts, parts[1:]))
                     if not drop or random.random() >= drop]
            if not ranks or min(ranks)[0] == math.inf:
                break
            i = min(ranks)[1]
            parts[i:i + 2] = [parts[i] + parts[i + 1]]
        ids = [self.ids[p] for p in parts]
        if not drop:
            self.known[word] = ids
        return ids

    def encode(self, text, drop=0.0):
        return [i for w in WORDS.findall(text) for i in self.word(w, drop)]


# ---- Model -----------------------------------------------------------------------------------------------------------


def build(torch, config, dropout):
    nn, F = torch.nn, torch.nn.functional
    width, heads, kv, layers = (config[k] for k in ("width", "heads", "kv_heads", "layers"))
    head = width // heads

    class Norm(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(width))

        def forward(self, x):
            return x * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + config["eps"]).to(x.dtype) * self.weight

    def turn(x, cos, sin):
        """RoPE over pairs (2i, 2i + 1), as a GGUF of this family stores its rows."""
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            linear = lambda i, o: nn.Linear(i, o, bias=False)
            self.attn_norm, self.ffn_norm = Norm(), Norm()
            self.attn_q, self.attn_k = linear(width, width), linear(width, kv * head)
            self.attn_v, self.attn_output = linear(width, kv * head), linear(width, width)
            self.ffn_gate, self.ffn_up = linear(width, config["ffn"]), linear(width, config["ffn"])
            self.ffn_down = linear(config["ffn"], width)

        def forward(self, x, cos, sin):
            b, t, _ = x.shape
            h = self.attn_norm(x)
            q, k, v = (f(h).view(b, t, -1, head).transpose(1, 2) for f in (self.attn_q, self.attn_k, self.attn_v))
            q, k = turn(q, cos, sin), turn(k, cos, sin)
            k, v = (z.repeat_interleave(heads // kv, 1) for z in (k, v))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=dropout if self.training else 0.0)
            x = x + F.dropout(self.attn_output(y.transpose(1, 2).reshape(b, t, width)), dropout, self.training)
            h = self.ffn_norm(x)
            return x + F.dropout(self.ffn_down(F.silu(self.ffn_gate(h)) * self.ffn_up(h)), dropout, self.training)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.token_embd = nn.Embedding(config["vocabulary"], width)
            self.blk = nn.ModuleList(Layer() for _ in range(layers))
            self.output_norm = Norm()
            for name, p in self.named_parameters():
                if p.dim() == 2:
                    scale = 0.02 / math.sqrt(2 * layers) if "output" in name or "down" in name else 0.02
                    nn.init.normal_(p, std=scale)

        def forward(self, ids):
            at = torch.arange(ids.shape[1], device=ids.device)[:, None].float()
            turns = config["rope_theta"] ** (-torch.arange(0, head, 2, device=ids.device).float() / head)
            cos, sin = (at * turns).cos(), (at * turns).sin()
            x = F.dropout(self.token_embd(ids), dropout, self.training)
            cos, sin = cos.to(x.dtype), sin.to(x.dtype)
            for layer in self.blk:
                x = layer(x, cos, sin)
            return F.linear(self.output_norm(x), self.token_embd.weight)

    return Model()


def judge(torch, model, ids, n_bytes, context):
    """Bits per byte: windows of `context` that overlap by half; every token but the first is judged once, as `rlx perplexity`."""
    model.eval()
    nats, first, to = 0.0, 1, min(context, len(ids))
    device = next(model.parameters()).device
    with torch.no_grad():
        while first < len(ids):
            start = max(0, to - context)
            row = torch.tensor(ids[start:to], device=device)[None]
            logp = torch.log_softmax(model(row)[0].double(), -1)
            at = torch.arange(first, to, device=device)
            nats -= logp[at - 1 - start, row[0][at - start]].sum().item()
            first, to = to, min(to + context // 2, len(ids))
    return nats / math.log(2) / n_bytes


# ---- Training --------------------------------------------------------------------------------------------------------


def train(text, out, o):
    import numpy
    import torch
    torch.manual_seed(o.seed)
    random.seed(o.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    vocabulary = json.loads((HERE / "vocabulary.json").read_text())
    config = {**CONFIG, "vocabulary": len(vocabulary["tokens"])}
    tokenizer, (known, held_out) = Tokenizer(vocabulary), split(text)
    begin = time.time()
    data = [torch.tensor(tokenizer.encode(known, o.bpe_dropout if i else 0.0), device=device) for i in range(o.spellings)]
    held_out_ids = tokenizer.encode(held_out)
    model = build(torch, config, o.dropout).to(device)
    average = {k: v.detach().clone() for k, v in model.state_dict().items()}
    n = sum(p.numel() for p in model.parameters())
    print(f"{n} parameters, {len(data[0])} tokens, {o.spellings} spellings in {time.time() - begin:.0f} s", flush=True)
    optimizer = torch.optim.AdamW([{"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": o.decay},
                                   {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0}],
                                  lr=o.rate, betas=(0.9, 0.99))
    curve, context = [], config["train_context"]
    for step in range(o.steps + 1):
        rate = o.rate * min(1, (step + 1) / 100) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * step / o.steps)))
        for group in optimizer.param_groups:
            group["lr"] = rate
        if step % o.every == 0:
            current = {k: v.detach().clone() for k, v in model.state_dict().items()}
            model.load_state_dict(average)
            bits = judge(torch, model, held_out_ids, len(held_out), context)
            curve.append((step, f"{loss.item():.4f}" if step else "", f"{bits:.4f}", f"{time.time() - begin:.1f}"))
            print(*curve[-1], flush=True)
            model.load_state_dict(current)
            model.train()
        ids = random.choice(data)
        at = torch.randint(len(ids) - context - 1, (o.batch,), device=device)
        rows = ids[at[:, None] + torch.arange(context + 1, device=device)]
        with torch.autocast(device, torch.bfloat16):
            logits = model(rows[:, :-1])
            loss = torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), rows[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        with torch.no_grad():
            for k, v in model.state_dict().items():
                average[k].lerp_(v, 0.005 if step > 200 else 0.1)
    model.load_state_dict(average)
    bits = judge(torch, model, held_out_ids, len(held_out), context)
    out.mkdir(parents=True, exist_ok=True)
    numpy.savez(out / "weights.npz", **{k: v.float().cpu().numpy() for k, v in model.state_dict().items()})
    with open(out / "curve.csv", "w", newline="") as f:
        csv.writer(f).writerows([("step", "loss", "bits_per_byte_held_out", "seconds"), *curve])
    result = {"parameters": n, "bits_per_byte_held_out": bits, "seconds": time.time() - begin,
              "device": torch.cuda.get_device_name() if device == "cuda" else "cpu", "torch": torch.__version__, **vars(o)}
    result = {k: v for k, v in result.items() if not isinstance(v, pathlib.Path) and k not in ("run", "text", "second", "whole", "json", "type")}
    (out / "result.json").write_text(json.dumps(result, indent=1) + "\n")
    print(f"held out: {bits:.4f} bits per byte")


def read_weights(path):
    """Of a folder that `train` wrote, or of a GGUF that `export` did (block types decoded: exactly what RLX multiplies with)."""
    import numpy
    if path.is_dir():
        return dict(numpy.load(path / "weights.npz"))
    import gguf
    return {t.name: gguf.quants.dequantize(t.data, t.tensor_type).reshape([int(n) for n in reversed(t.shape)])
            for t in gguf.GGUFReader(path).tensors}


def judge_weights(path, text, as_json):
    import torch
    vocabulary = json.loads((HERE / "vocabulary.json").read_text())
    model = build(torch, {**CONFIG, "vocabulary": len(vocabulary["tokens"])}, 0.0)
    model.load_state_dict({k: torch.tensor(v) for k, v in read_weights(path).items()})
    ids = Tokenizer(vocabulary).encode(text)
    bits = judge(torch, model, ids, len(text), CONFIG["train_context"])
    perplexity = 2 ** (bits * len(text) / (len(ids) - 1))
    if as_json:
        print(json.dumps({"perplexity": perplexity, "tokens": len(ids) - 1, "bits_per_byte": bits}))
    else:
        print(f"perplexity {perplexity:.4f} over {len(ids) - 1} tokens, {bits:.4f} bits per byte")


# ---- Export ----------------------------------------------------------------------------------------------------------


def export(folder, path, kind):
    import gguf
    import numpy
    vocabulary = json.loads((HERE / "vocabulary.json").read_text())
    w = gguf.GGUFWriter(path, "llama")
    w.add_name("RLX Shakespeare")
    w.add_description("trained on Tiny Shakespeare (public domain) by models/shakespeare/train.py")
    w.add_license("Apache-2.0")
    w.add_context_length(CONFIG["context"])
    w.add_embedding_length(CONFIG["width"])
    w.add_block_count(CONFIG["layers"])
    w.add_feed_forward_length(CONFIG["ffn"])
    w.add_head_count(CONFIG["heads"])
    w.add_head_count_kv(CONFIG["kv_heads"])
    w.add_rope_dimension_count(CONFIG["width"] // CONFIG["heads"])
    w.add_rope_freq_base(CONFIG["rope_theta"])
    w.add_layer_norm_rms_eps(CONFIG["eps"])
    w.add_vocab_size(len(vocabulary["tokens"]))
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("gpt-2")
    w.add_token_list(vocabulary["tokens"])
    w.add_token_types([gguf.TokenType.NORMAL] * (len(vocabulary["tokens"]) - 1) + [gguf.TokenType.CONTROL])
    w.add_token_merges(vocabulary["merges"])
    end = len(vocabulary["tokens"]) - 1
    w.add_bos_token_id(end)
    w.add_eos_token_id(end)
    w.add_add_bos_token(False)
    quant = gguf.GGMLQuantizationType[kind.upper()]
    w.add_file_type(gguf.LlamaFileType[{"F32": "ALL_F32"}.get(quant.name, f"MOSTLY_{quant.name}")])
    for name, value in numpy.load(folder / "weights.npz").items():
        value = value.astype(numpy.float32)
        if value.ndim == 2 and quant != gguf.GGMLQuantizationType.F32:
            w.add_tensor(name, gguf.quants.quantize(value, quant), raw_dtype=quant)
        else:
            w.add_tensor(name, value)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    print(f"{path}: {pathlib.Path(path).stat().st_size} bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run", choices=("vocabulary", "train", "export", "judge"))
    parser.add_argument("first", type=pathlib.Path)
    parser.add_argument("second", type=pathlib.Path, nargs="?")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("out"))
    parser.add_argument("--size", type=int, default=272)
    parser.add_argument("--type", default="q8_0")
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--json", action="store_true")
    for name, default in (("seed", 1), ("steps", 2000), ("batch", 64), ("every", 400), ("spellings", 8)):
        parser.add_argument(f"--{name}", type=int, default=default)
    for name, default in (("rate", 2e-3), ("dropout", 0.35), ("decay", 0.5), ("bpe-dropout", 0.1)):
        parser.add_argument(f"--{name}", type=float, default=default)
    o = parser.parse_args()
    if o.run == "vocabulary":
        vocabulary = make_vocabulary(split(o.first.read_text())[0], o.size)
        (HERE / "vocabulary.json").write_text(json.dumps(vocabulary, indent=0) + "\n")
    elif o.run == "train":
        train(o.first.read_text(), o.out, o)
    elif o.run == "export":
        export(o.first, o.second, o.type)
    else:
        text = o.second.read_text()
        judge_weights(o.first, text if o.whole else split(text)[1], o.json)


if __name__ == "__main__":
    main()
