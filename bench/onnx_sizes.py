#!/usr/bin/env python3
"""New sizes of ONNX models: the first run at a size that is new, beside a run at a size that is known, over 50 sizes of each model.

    bench/onnx_sizes.py [--build build/release] [--count 50] [-v] [-p] [PATTERN...]

Models: PP-OCR's recognition at widths of 64 to 1044, an encoder shaped like all-MiniLM-L6-v2 (6 layers, hidden size 384, 12 heads, random
weights, the nodes as PyTorch exports them) at 3 to 199 tokens, and what stands before speech models: Whisper's log-mel spectrum, NeMo's,
and WeSpeaker's, which has a Scan, at 0.1 to 10 seconds of sound. bench/onnx_sizes (C) measures; the columns are explained there.
Needs Python with onnx for the encoder; the others are fetched by tools/fetch_model.
"""

import argparse
import fnmatch
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def fetched(name, inside):
    done = subprocess.run([ROOT / "tools/fetch_model", name], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return pathlib.Path(done.stdout.strip()) / inside


class Writer:
    """Nodes as an exporter writes them: every size taken from a Shape, every constant a node or an initializer."""

    def __init__(self, folder):
        import numpy
        import onnx
        self.np, self.onnx, self.folder = numpy, onnx, folder
        self.nodes, self.weights, self.rng = [], [], numpy.random.default_rng(1)

    def op(self, name, *inputs, n_out=1, **attributes):
        out = [f"{name}_{len(self.nodes)}_{i}" for i in range(n_out)]
        self.nodes.append(self.onnx.helper.make_node(name, list(inputs), out, **attributes))
        return out[0] if n_out == 1 else out

    def constant(self, value, dtype="int64"):
        name = f"c{len(self.weights)}"
        self.weights.append(self.onnx.numpy_helper.from_array(self.np.array(value, dtype), name))
        return name

    def weight(self, *shape):
        name = f"w{len(self.weights)}"
        scale = shape[0] ** -0.5 if len(shape) > 1 else 0.1
        value = (self.rng.standard_normal(shape) * scale).astype("float32")
        self.weights.append(self.onnx.numpy_helper.from_array(value, name))
        return name

    def size(self, x, axis):
        return self.op("Unsqueeze", self.op("Gather", self.op("Shape", x), self.constant(axis), axis=0), self.constant([0]))

    def linear(self, x, n, m):
        return self.op("Add", self.op("MatMul", x, self.weight(n, m)), self.weight(m))

    def norm(self, x, n):
        centred = self.op("Sub", x, self.op("ReduceMean", x, axes=[-1]))
        variance = self.op("ReduceMean", self.op("Pow", centred, self.constant(2, "float32")), axes=[-1])
        root = self.op("Sqrt", self.op("Add", variance, self.constant(1e-12, "float32")))
        return self.op("Add", self.op("Mul", self.op("Div", centred, root), self.weight(n)), self.weight(n))

    def heads(self, x, perm):
        shape = self.op("Concat", self.size(x, 0), self.size(x, 1), self.constant([12]), self.constant([32]), axis=0)
        return self.op("Transpose", self.op("Reshape", x, shape), perm=perm)

    def layer(self, x, mask):
        q, k, v = self.heads(self.linear(x, 384, 384), [0, 2, 1, 3]), self.heads(self.linear(x, 384, 384), [0, 2, 3, 1]), self.heads(
            self.linear(x, 384, 384), [0, 2, 1, 3])
        scores = self.op("Add", self.op("Div", self.op("MatMul", q, k), self.constant(32**0.5, "float32")), mask)
        seen = self.op("Transpose", self.op("MatMul", self.op("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
        joined = self.op("Reshape", seen, self.op("Concat", self.size(seen, 0), self.size(seen, 1), self.constant([384]), axis=0))
        x = self.norm(self.op("Add", self.linear(joined, 384, 384), x), 384)
        up = self.linear(x, 384, 1536)
        erf = self.op("Add", self.op("Erf", self.op("Div", up, self.constant(2**0.5, "float32"))), self.constant(1, "float32"))
        gelu = self.op("Mul", self.op("Mul", up, erf), self.constant(0.5, "float32"))
        return self.norm(self.op("Add", self.linear(gelu, 1536, 384), x), 384)

    def minilm(self):
        helper, types = self.onnx.helper, self.onnx.TensorProto
        places = self.op("Slice", self.constant([list(range(512))]), self.constant([0]), self.size("input_ids", 1), self.constant([1]))
        ones = self.op("Expand", self.constant([[0]]), self.op("Shape", "input_ids"))
        x = self.op("Add", self.op("Gather", self.weight(1000, 384), "input_ids"), self.op("Gather", self.weight(2, 384), ones))
        x = self.norm(self.op("Add", x, self.op("Gather", self.weight(512, 384), places)), 384)
        mask = self.op("Unsqueeze", self.op("Unsqueeze", "attention_mask", self.constant([1])), self.constant([2]))
        mask = self.op("Sub", self.constant(1, "float32"), self.op("Cast", mask, to=types.FLOAT))
        mask = self.op("Mul", mask, self.constant(-3.4028235e38, "float32"))
        for _ in range(6):
            x = self.layer(x, mask)
        # the mean of what is no padding, and its direction
        wide = self.op("Cast", self.op("Expand", self.op("Unsqueeze", "attention_mask", self.constant([2])), self.op("Shape", x)), to=types.FLOAT)
        total = self.op("ReduceSum", self.op("Mul", x, wide), self.constant([1]), keepdims=0)
        mean = self.op("Div", total, self.op("Clip", self.op("ReduceSum", wide, self.constant([1]), keepdims=0), self.constant(1e-9, "float32")))
        y = self.op("Div", mean, self.op("ReduceL2", mean, axes=[1]))
        sizes = ["batch", "tokens"]
        graph = helper.make_graph(self.nodes, "minilm", [helper.make_tensor_value_info(n, types.INT64, sizes) for n in ("input_ids", "attention_mask")],
                                  [helper.make_tensor_value_info(y, types.FLOAT, ["batch", 384])], self.weights)
        path = self.folder / "minilm.onnx"
        self.onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8), path)
        return path


SPEECH = ["waveforms=f32:1,N", "waveforms_lens=size:1"]
MODELS = {
    "ppocr_rec": (lambda f: fetched("ppocr", "ch_PP-OCRv4_rec_infer.onnx"), 64, 20, ["x=f32:1,3,48,N"]),
    "minilm": (lambda f: Writer(f).minilm(), 3, 4, ["input_ids=i64:1,N", "attention_mask=ones:1,N"]),
    "whisper": (lambda f: fetched("speech", "whisper80.onnx"), 1600, 3200, SPEECH),
    "nemo": (lambda f: fetched("speech", "nemo128.onnx"), 1600, 3200, SPEECH),
    "wespeaker": (lambda f: fetched("speech", "wespeaker.onnx"), 1600, 3200, SPEECH),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("-v", action="store_true", help="a line per size")
    parser.add_argument("-p", action="store_true", help="processor time of one thread")
    parser.add_argument("patterns", nargs="*")
    args = parser.parse_args()
    for name, (make, first, step, inputs) in MODELS.items():
        if args.patterns and not any(fnmatch.fnmatch(name, p) for p in args.patterns):
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                path = make(pathlib.Path(folder))
            except (ImportError, RuntimeError) as why:
                print(f"{name}: left out: {why}", flush=True)
                continue
            print(f"{name}: ", end="", flush=True)
            subprocess.run([args.build / "bench/onnx_sizes", *(["-v"] if args.v else []), *(["-p"] if args.p else []), path, str(first), str(step), str(args.count), *inputs])


if __name__ == "__main__":
    main()
