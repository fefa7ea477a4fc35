#!/usr/bin/env python3
"""Makes all that ships of the model from what training left: run once after `train.py train`.

    ship.py FOLDER BUILD     FOLDER: weights.npz, curve.csv, result.json of train.py; BUILD: a build of RLX

Beside this file: shakespeare.gguf (q8_0), curve.csv, result.json, judged.json (PyTorch's word on the file that ships, which
tests compare with) and numbers.md, in which every number stands with the command that made it. Needs torch, numpy and gguf.
"""

import argparse
import csv
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
HELD_OUT = HERE / "held-out.txt"
PIECE = 800  # bytes of the held-out tenth that tests judge


def call(*args):
    done = subprocess.run([str(a) for a in args], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"ship: {' '.join(map(str, args))} failed")
    return done.stdout


def train_py(*args):
    return call(sys.executable, HERE / "train.py", *args)


def judge(weights, text):
    return json.loads(train_py("judge", weights, text, "--whole", "--json"))


def rlx(build, model, *more):
    out = call(build / "rlx", "perplexity", model, HELD_OUT, "--window", 256, "--device", "cpu", "--json", *more)
    return json.loads(out)["bits_per_byte"]


def curve_rows(path):
    """Every row of a short curve, about twelve of a long one, the last always."""
    rows = list(csv.DictReader(open(path)))
    every = max(1, len(rows) // 12)
    return [r for i, r in enumerate(rows) if i % every == 0 or i == len(rows) - 1]


def numbers(result, curve, bits, table):
    settings = " ".join(f"--{k.replace('_', '-')} {result[k]}" for k in
                        ("steps", "batch", "spellings", "rate", "dropout", "decay", "bpe_dropout", "seed") if k in result)
    lines = ["# The shipped model in numbers", "", "Written by `ship.py`; what each number is stands in [../README.md](../README.md).", "",
             f"{result['parameters']:,} parameters, trained in {result['seconds']:.0f} s on {result['device']} (PyTorch {result['torch']}):",
             "", f"    train.py train shakespeare.txt --out FOLDER {settings}", "",
             "## Bits per byte of the held-out tenth", "", "| weights | PyTorch | RLX |", "|---|---|---|",
             f"| f32 | {bits['f32'][0]:.4f} | {bits['f32'][1]:.4f} |",
             f"| q8_0, the file that ships, `--exact` | {bits['exact'][0]:.4f} | {bits['exact'][1]:.4f} |",
             f"| q8_0, activations of 8 bits | | {bits['usual'][1]:.4f} |", "",
             "PyTorch: `train.py judge FOLDER held-out.txt --whole`, `train.py judge shakespeare.gguf held-out.txt --whole`.",
             "RLX: `rlx perplexity MODEL held-out.txt --window 256 --device cpu [--exact]`, keys and values of f32 (`--cache f32`) in the",
             "first two rows. f32: `train.py export FOLDER f32.gguf --type f32`.", "",
             "## Weight types", "", "`tools/type_table BUILD f32.gguf`", "", table.strip(), "",
             "Rows of the second matrix of the feed-forward part have 704 numbers, no whole blocks of 256: in types with such blocks it takes",
             "a type with shorter ones and no fewer bits. The table of tokens, which makes the logits too, has at least q6_k.", "",
             "## Curve", "", "[curve.csv](curve.csv)", "",
             "| step | loss of the batch, nats per token | bits per byte of the held-out tenth, averaged weights |", "|---|---|---|",
             *(f"| {r['step']} | {r['loss']} | {r['bits_per_byte_held_out']} |" for r in curve)]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("build", type=pathlib.Path)
    o = parser.parse_args()
    model = HERE / "shakespeare.gguf"
    for name in ("curve.csv", "result.json"):
        shutil.copyfile(o.folder / name, HERE / name)
    print(train_py("export", o.folder, model).strip())
    with tempfile.TemporaryDirectory() as folder:
        whole, piece = pathlib.Path(folder) / "f32.gguf", pathlib.Path(folder) / "piece.txt"
        train_py("export", o.folder, whole, "--type", "f32")
        piece.write_bytes(HELD_OUT.read_bytes()[:PIECE])
        judged = {"piece_bytes": PIECE, "piece": judge(model, piece), "held_out": judge(model, HELD_OUT)}
        (HERE / "judged.json").write_text(json.dumps(judged, indent=1) + "\n")
        bits = {"f32": (judge(o.folder, HELD_OUT)["bits_per_byte"], rlx(o.build, whole, "--cache", "f32")),
                "exact": (judged["held_out"]["bits_per_byte"], rlx(o.build, model, "--exact", "--cache", "f32")),
                "usual": (None, rlx(o.build, model))}
        table = call(sys.executable, HERE.parents[1] / "tools/type_table", o.build, whole)
    result = json.loads((HERE / "result.json").read_text())
    (HERE / "numbers.md").write_text(numbers(result, curve_rows(HERE / "curve.csv"), bits, table))
    print((HERE / "numbers.md").read_text())


if __name__ == "__main__":
    main()
