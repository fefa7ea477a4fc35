#!/usr/bin/env python3
"""ONNX models in RLX and in ONNX Runtime, side by side on the CPU: do they agree, and how do their times compare.

    bench/onnx_ort.py [--build build/release] [--threads 1,2] [--rounds 5] [--memory] [PATTERN...]

Models: the "light" nets of the onnx package with random weights (ResNet-50, SqueezeNet, DenseNet-121, ShuffleNet, VGG-19 and others), the
real ones of tools/fetch_model (file types, text in pictures, voices), and a BERT-shaped encoder (6 layers, hidden size 384, 12 heads,
128 tokens), exported by PyTorch where that is installed. Needs Python with onnx and onnxruntime.

Both programs get the same inputs and number of threads and take turns, round by round; a round is the best of a few runs, and the table
shows the median round. Ratio: ONNX Runtime's time over RLX's, so above 1 RLX is faster. Error: the largest difference over the largest
output. --memory: also load time, peak memory beyond the file, and scratch against its lower bound, of one RLX process.
"""

import argparse
import fnmatch
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIGHT = pathlib.Path(onnx.__file__).parent / "backend/test/data/light"
RNG = np.random.default_rng(1)


# ---- Models


def random_weight(shape, fan_in):
    if len(shape) < 2:  # a scale, an offset, a mean or a variance: all are fine above 0
        return RNG.uniform(0.5, 1.5, shape).astype(np.float32)
    return (RNG.standard_normal(shape) * np.sqrt(1.0 / fan_in)).astype(np.float32)


def light_model(name, folder):
    """A light net's weights are constants of one value: they become random ones."""
    model = onnx.load(LIGHT / f"light_{name}.onnx")
    shapes = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    keep = []
    for node in model.graph.node:
        if node.op_type != "ConstantOfShape":
            keep.append(node)
            continue
        shape = [int(n) for n in shapes[node.input[0]]]
        fan_in = int(np.prod(shape[1:])) if len(shape) > 1 else 1
        model.graph.initializer.append(numpy_helper.from_array(random_weight(shape, fan_in), node.output[0]))
    del model.graph.node[:]
    model.graph.node.extend(keep)
    path = folder / f"{name}.onnx"
    onnx.save(model, path)
    return path


def bert(folder):
    import torch

    class Layer(torch.nn.Module):
        def __init__(self, d=384, heads=12):
            super().__init__()
            self.heads, self.d = heads, d
            self.q, self.k, self.v, self.o = (torch.nn.Linear(d, d) for _ in range(4))
            self.up, self.down = torch.nn.Linear(d, 4 * d), torch.nn.Linear(4 * d, d)
            self.n1, self.n2 = torch.nn.LayerNorm(d), torch.nn.LayerNorm(d)

        def forward(self, x, mask):
            b, s, d = x.shape
            q, k, v = (f(x).view(b, s, self.heads, d // self.heads).transpose(1, 2) for f in (self.q, self.k, self.v))
            a = torch.softmax(q @ k.transpose(-1, -2) / (d // self.heads) ** 0.5 + mask, -1) @ v
            x = self.n1(x + self.o(a.transpose(1, 2).reshape(b, s, d)))
            return self.n2(x + self.down(torch.nn.functional.gelu(self.up(x))))

    class Bert(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places, self.norm = torch.nn.Embedding(1000, 384), torch.nn.Embedding(512, 384), torch.nn.LayerNorm(384)
            self.layers = torch.nn.ModuleList(Layer() for _ in range(6))

        def forward(self, ids, attention_mask):
            x = self.norm(self.words(ids) + self.places(torch.arange(ids.shape[1])))
            mask = (1.0 - attention_mask[:, None, None, :].float()) * -10000.0
            for layer in self.layers:
                x = layer(x, mask)
            return x

    torch.manual_seed(1)
    path = folder / "bert.onnx"
    ids, mask = torch.zeros(1, 128, dtype=torch.int64), torch.ones(1, 128, dtype=torch.int64)
    torch.onnx.export(Bert().eval(), (ids, mask), str(path), input_names=["ids", "attention_mask"], output_names=["y"], opset_version=14,
                      dynamo=False, dynamic_axes={"ids": {0: "batch", 1: "tokens"}, "attention_mask": {0: "batch", 1: "tokens"}})
    return path


def fetched(name, inside=""):
    done = subprocess.run([ROOT / "tools/fetch_model", name], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return pathlib.Path(done.stdout.strip()) / inside if inside else pathlib.Path(done.stdout.strip())


def floats(*shape):
    return RNG.uniform(-1, 1, shape).astype(np.float32)


def models():
    """name -> (function that gives the path, inputs by name or None for the declared sizes)"""
    for name in ["resnet50", "squeezenet", "densenet121", "shufflenet", "vgg19", "inception_v1", "inception_v2", "bvlc_alexnet", "zfnet512"]:
        yield name, lambda f, n=name: light_model(n, f), None
    yield "magika", lambda f: fetched("magika", "model.onnx"), {"bytes": RNG.integers(0, 257, (1, 2048)).astype(np.int32)}
    yield "ppocr_det", lambda f: fetched("ppocr", "ch_PP-OCRv4_det_infer.onnx"), {"x": floats(1, 3, 320, 640)}
    yield "ppocr_cls", lambda f: fetched("ppocr", "ch_ppocr_mobile_v2.0_cls_infer.onnx"), {"x": floats(1, 3, 48, 192)}
    yield "ppocr_rec", lambda f: fetched("ppocr", "ch_PP-OCRv4_rec_infer.onnx"), {"x": floats(1, 3, 48, 320)}
    yield "silero_vad", lambda f: fetched("silero"), {"input": floats(1, 576), "state": floats(2, 1, 128), "sr": np.array(16000, np.int64)}
    yield "bert", bert, {"ids": RNG.integers(0, 1000, (1, 128)), "attention_mask": np.ones((1, 128), np.int64)}


def declared(session):
    return {i.name: floats(*[d if isinstance(d, int) else 1 for d in i.shape]) for i in session.get_inputs()}


# ---- Measuring


def session_of(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def arguments(inputs, folder):
    out = []
    for i, (name, value) in enumerate(inputs.items()):
        np.save(folder / f"in{i}.npy", value)
        out += ["--input", f"{name}={folder / f'in{i}.npy'}"]
    return out


def agree(rlx, path, args, folder, expected, names):
    done = subprocess.run([rlx, "run", path, *args, "--out", folder / "out", "--device", "cpu", "-q"], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    worst = 0.0
    for name, want in zip(names, expected):
        got = np.load(folder / "out" / (name.replace("/", "_") + ".npy"))
        scale = np.abs(want).max() or 1.0
        worst = max(worst, float(np.abs(got.astype(np.float64) - want).max() / scale)) if want.size else worst
    return worst


def rlx_round(rlx, path, args, threads):
    out = subprocess.run([rlx, "bench", path, *args, "--device", "cpu", "-t", str(threads), "-r", "5", "-o", "json"], capture_output=True, text=True)
    return json.loads(out.stdout)["rows"][0]["best"]


def ort_round(session, inputs):
    best = 1e9
    for _ in range(6):
        begin = time.perf_counter()
        session.run(None, inputs)
        best = min(best, time.perf_counter() - begin)
    return best


def memory(rlx, path, args, folder):
    begin = time.perf_counter()
    code = ("import resource,subprocess,sys\nsubprocess.run(sys.argv[1:],stdout=subprocess.DEVNULL,stderr=subprocess.DEVNULL)\n"
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    peak = int(subprocess.run([sys.executable, "-c", code, rlx, "run", path, *args, "--out", folder / "out", "--device", "cpu"],
                              capture_output=True, text=True).stdout) * 1024
    seconds = time.perf_counter() - begin
    plan = json.loads(subprocess.run([rlx, "plan", path, *args, "--device", "cpu", "--json", "-q"], capture_output=True, text=True).stdout)
    return peak, seconds, plan.get("peak", 0), plan.get("lower_bound", 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("patterns", nargs="*")
    args = parser.parse_args()
    rlx = args.build / "rlx"
    print("| model | threads | RLX ms | ONNX Runtime ms | ratio | error |" + (" file MB | peak MB | run s | scratch / bound |" if args.memory else ""))
    print("|---|---:|---:|---:|---:|---:|" + ("---:|---:|---:|---:|" if args.memory else ""))
    for name, make, inputs in models():
        if args.patterns and not any(fnmatch.fnmatch(name, p) for p in args.patterns):
            continue
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            try:
                path = make(folder)
                session = session_of(path, 1)
                given = inputs or declared(session)
                words = arguments(given, folder)
                error = agree(rlx, path, words, folder, session.run(None, given), [o.name for o in session.get_outputs()])
            except Exception as why:
                print(f"| {name} | | | | {type(why).__name__}: {str(why)[:200]} | |", flush=True)
                continue
            extra = ""
            if args.memory:
                peak, seconds, scratch, bound = memory(rlx, path, words, folder)
                extra = f" {os.path.getsize(path) / 1e6:.1f} | {peak / 1e6:.1f} | {seconds:.2f} | {scratch / bound if bound else 0:.3f} |"
            for threads in map(int, args.threads.split(",")):
                session = session_of(path, threads)
                ours, theirs = [], []
                ort_round(session, given)
                for _ in range(args.rounds):
                    ours.append(rlx_round(rlx, path, words, threads))
                    theirs.append(ort_round(session, given))
                a, b = statistics.median(ours), statistics.median(theirs)
                print(f"| {name} | {threads} | {a * 1e3:.2f} | {b * 1e3:.2f} | {b / a:.2f} | {error:.1e} |{extra}", flush=True)


if __name__ == "__main__":
    main()
