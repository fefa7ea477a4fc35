#!/usr/bin/env python3
"""RLX against ONNX Runtime on the CPU: convolution nets, their layers and matrix products, in one process and interleaved.

    python3 bench/conv_ort.py nets   [--lib build/librlx.so] [--only resnet50,vgg19] [--threads 1,2] [--rounds 15]
    python3 bench/conv_ort.py layers [--only resnet50] ...
    python3 bench/conv_ort.py matmul ...
    python3 bench/conv_ort.py bert ...

Needs a shared librlx (cmake -DBUILD_SHARED_LIBS=ON) and the packages `onnx` and `onnxruntime`. `nets` takes the light models
that come with `onnx` (their weights are constants: here both sides get the same random ones) and writes each as a text graph
of the ops it is made of; `layers` times every convolution of these nets by itself, with bias and relu, and adds them up as
often as the net has them; `matmul` does the products of a small BERT, `bert` all of it: six
layers, 384 wide, 12 heads, 128 tokens, as PyTorch exports them. Rounds alternate, one block of calls each; the ratio is
ONNX Runtime's time over ours, of the medians and of the best: above 1, RLX is faster. On a machine that does other things at
the same time only the ratios say something. GFLOP/s is of our best time. """
import argparse
import ctypes
import os
import statistics
import sys
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from rlx_library import SWITCH_FAST_CONV, CompileOptions, Library, SessionDesc, f32_view

NETS = ["resnet50", "squeezenet", "densenet121", "shufflenet", "vgg19", "inception_v1", "inception_v2",
        "mobilenet"]


# ---- RLX, by its library ----

FAST_CONV = True


def as_tensor(a):
    return f32_view(a.shape, a.ctypes.data)


class Executable:
    """A text graph compiled for the CPU, its weights and inputs written."""

    def __init__(self, lib, threads, text, params, inputs):
        self.lib = lib
        data = text.encode()
        graph = lib.make("rlx_graph_parse", data, ctypes.c_size_t(len(data)))
        desc = SessionDesc(ctypes.sizeof(SessionDesc), b"cpu", threads)
        self.session = lib.make("rlx_session_create", ctypes.byref(desc))
        options = CompileOptions(ctypes.sizeof(CompileOptions), switches=SWITCH_FAST_CONV if FAST_CONV else 0)
        self.handle = lib.make("rlx_compile", self.session, graph, ctypes.byref(options))
        lib.c.rlx_graph_destroy(graph)
        for name, value in {**params, **inputs}.items():
            lib.call("rlx_executable_write", self.handle, name.encode(), ctypes.byref(as_tensor(value)))

    def run(self):
        self.lib.call("rlx_executable_run", self.handle)

    def read(self, shape):
        result = np.empty(shape, np.float32)
        self.lib.call("rlx_executable_read", self.handle, b"y", ctypes.byref(as_tensor(result)))
        return result

    def close(self):
        self.lib.c.rlx_executable_destroy(self.handle)
        self.lib.c.rlx_session_destroy(self.session)


# ---- ONNX to the text form: the ops of these nets ----

def numbers(values):
    return "[" + ",".join(str(v) for v in values) + "]"


class Writer:
    """One statement per node; `at` is the text name of an ONNX value, `shape` its size."""

    def __init__(self):
        self.lines, self.at, self.shape, self.n = [], {}, {}, 0
        self.params, self.numbers = {}, {}

    def leaf(self, kind, name, shape):
        self.n += 1
        self.at[name] = f"%v{self.n}"
        self.shape[name] = list(shape)
        self.lines.append(f'  %v{self.n} = {kind} "{name}" : f32{numbers(shape)}')

    def weight(self, name, value):
        self.params[name] = np.ascontiguousarray(value, np.float32)
        self.leaf("param", name, value.shape)

    def op(self, expression):
        self.n += 1
        self.lines.append(f"  %v{self.n} = {expression}")
        return f"%v{self.n}"

    def text(self, output):
        return "graph {\n" + "\n".join(self.lines) + f'\n  output "y" = {self.at[output]}\n}}\n'


def window(a, axes=2):
    pads = a.get("pads", [0] * (2 * axes))
    parts = [f"stride={numbers(a.get('strides', [1] * axes))}", f"pad_lo={numbers(pads[:axes])}",
             f"pad_hi={numbers(pads[axes:])}"]
    if "dilations" in a:
        parts.append(f"dilation={numbers(a['dilations'])}")
    return parts


def write_node(w, node, shapes):
    a = {x.name: helper.get_attribute_value(x) for x in node.attribute}
    x = [w.at.get(i) for i in node.input]
    kind, out = node.op_type, node.output[0]
    if kind == "Conv":
        parts = window(a) + [f"groups={a.get('group', 1)}"]
        y = w.op(f"conv({', '.join(x)}) {{{', '.join(parts)}}}")
    elif kind in ("MaxPool", "AveragePool"):
        name = "pool_max" if kind == "MaxPool" else "pool_avg"
        parts = [f"kernel={numbers(a['kernel_shape'])}"] + window(a)
        if kind == "AveragePool" and a.get("count_include_pad"):
            parts.append("count_pad=true")
        y = w.op(f"{name}({x[0]}) {{{', '.join(parts)}}}")
    elif kind == "GlobalAveragePool":
        y = w.op(f"pool_avg({x[0]})")
    elif kind == "BatchNormalization":
        y = w.op(f"batch_norm_inference({x[0]}, {x[3]}, {x[4]}, {x[1]}, {x[2]}) {{eps={a.get('epsilon', 1e-5):.9g}}}")
    elif kind == "LRN":
        y = write_lrn(w, x[0], a, shapes[node.input[0]])
    elif kind in ("Relu", "Sigmoid", "Tanh"):
        y = w.op(f"{kind.lower()}({x[0]})")
    elif kind in ("Add", "Sum", "Mul"):
        y = w.op(f"{'mul' if kind == 'Mul' else 'add'}({x[0]}, {x[1]})")
    elif kind in ("Sub", "Div", "Pow", "MatMul"):
        y = w.op(f"{kind.lower()}({x[0]}, {x[1]})")
    elif kind in ("Sqrt", "Erf"):
        y = w.op(f"{kind.lower()}({x[0]})")
    elif kind == "LayerNormalization":
        y = w.op(f"layer_norm({', '.join(x)}) {{axis={a.get('axis', -1)}, eps={a.get('epsilon', 1e-5):.9g}}}")
    elif kind == "Clip":
        low, high = (w.numbers[i] for i in node.input[1:])
        y = w.op(f"clamp({x[0]}) {{lo={low:.9g}, hi={high:.9g}}}")
    elif kind == "Concat":
        y = w.op(f"concat({', '.join(x)}) {{axis={a['axis']}}}")
    elif kind in ("Reshape", "Unsqueeze"):
        y = w.op(f"reshape({x[0]}) {{shape={numbers(shapes[out])}}}")
    elif kind == "Transpose":
        y = w.op(f"transpose({x[0]}) {{perm={numbers(a['perm'])}}}")
    elif kind == "Gemm":
        y = w.op(f"matmul({x[0]}, {x[1]}) {{trans_b={'true' if a.get('transB') else 'false'}}}")
        y = w.op(f"add({y}, {x[2]})")
    elif kind == "Softmax":
        y = w.op(f"softmax({x[0]}) {{axis={a.get('axis', 1)}}}")
    elif kind in ("Dropout", "Identity"):
        y = x[0]
    else:
        sys.exit(f"op {kind} is not among those of the nets")
    w.at[out] = y


def write_lrn(w, x, a, shape):
    """Sums of squares over `size` channels: a mean pool along them."""
    n, c, h, v = shape
    size = a["size"]
    low = (size - 1) // 2
    square = w.op(f"mul({x}, {x})")
    planes = w.op(f"reshape({square}) {{shape=[{n},1,{c},{h * v}]}}")
    mean = w.op(f"pool_avg({planes}) {{kernel=[{size},1], stride=[1,1], pad_lo=[{low},0], pad_hi=[{size - 1 - low},0], "
                f"count_pad=true}}")
    mean = w.op(f"reshape({mean}) {{shape=[{n},{c},{h},{v}]}}")
    scaled = [w.op(f"constant : f32[] = [{value:.9g}]") for value in (a["alpha"], a.get("bias", 1.0), -a["beta"])]
    inner = w.op(f"add({w.op(f'mul({mean}, {scaled[0]})')}, {scaled[1]})")
    return w.op(f"mul({x}, {w.op(f'pow({inner}, {scaled[2]})')})")


# ---- models ----

def random_weights(model, rng):
    """Light models make their weights with ConstantOfShape: random initializers take their place, of a size that keeps the
    values of every layer near 1."""
    g = model.graph
    shapes = {i.name: numpy_helper.to_array(i) for i in g.initializer}
    made, kept = [], []
    for n in g.node:
        (made if n.op_type == "ConstantOfShape" else kept).append(n)
    used = {i: n for n in kept for i in n.input}
    values = {}
    for n in made:
        dims = [int(d) for d in shapes[n.input[0]]]
        reader = used.get(n.output[0])
        value = rng.standard_normal(dims).astype(np.float32)
        if len(dims) > 1:
            fan = int(np.prod(dims[1:])) if reader.op_type == "Conv" else max(dims)
            value *= np.sqrt(2.0 / fan)
        elif reader is not None and reader.op_type == "BatchNormalization":
            at = list(reader.input).index(n.output[0])
            value = (0.5 + rng.random(dims)).astype(np.float32) if at in (1, 4) else 0.1 * value
        else:
            value = 0.1 * value
        values[n.output[0]] = value
    drop = {n.input[0] for n in made}
    keep_init = [i for i in g.initializer if i.name not in drop]
    del g.node[:], g.initializer[:]
    g.node.extend(kept)
    g.initializer.extend(keep_init)
    g.initializer.extend(numpy_helper.from_array(v, k) for k, v in values.items())
    model.ir_version = 8  # initializers need not be inputs
    names = {i.name for i in g.initializer}
    inputs = [i for i in g.input if i.name not in names and i.name not in drop]
    del g.input[:]
    g.input.extend(inputs)
    return model


def load_net(name):
    if name == "mobilenet":
        return mobilenet()
    folder = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data", "light")
    model = random_weights(onnx.load(os.path.join(folder, f"light_{name}.onnx")), np.random.default_rng(1))
    return onnx.shape_inference.infer_shapes(model)


def mobilenet():
    """MobileNet 2 with hard swish in place of relu6 in its later blocks, as the third has them."""
    rng = np.random.default_rng(1)
    nodes, weights = [], {k: np.array(v, np.float32) for k, v in {"zero": 0, "three": 3, "six": 6}.items()}

    def add(op, ins, **attrs):
        nodes.append(helper.make_node(op, ins, [f"t{len(nodes)}"], **attrs))
        return nodes[-1].output[0]

    def conv(x, n_in, n_out, kernel=1, stride=1, groups=1):
        w, b = f"w{len(nodes)}", f"b{len(nodes)}"
        fan = n_in // groups * kernel * kernel
        weights[w] = (rng.standard_normal((n_out, n_in // groups, kernel, kernel)) * np.sqrt(2 / fan)).astype(np.float32)
        weights[b] = (0.1 * rng.standard_normal(n_out)).astype(np.float32)
        return add("Conv", [x, w, b], strides=[stride] * 2, pads=[kernel // 2] * 4, group=groups,
                   kernel_shape=[kernel] * 2)

    def activate(x, late):
        if not late:
            return add("Clip", [x, "zero", "six"])
        return add("Div", [add("Mul", [x, add("Clip", [add("Add", [x, "three"]), "zero", "six"])]), "six"])

    x, channels = activate(conv("x", 3, 32, 3, 2), False), 32
    for grow, out, count, stride, kernel in [(1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 32, 3, 2, 5), (6, 64, 4, 2, 3),
                                             (6, 96, 3, 1, 3), (6, 160, 3, 2, 5), (6, 320, 1, 1, 5)]:
        for i in range(count):
            late, wide = out >= 64, channels * grow
            y = x if grow == 1 else activate(conv(x, channels, wide), late)
            y = activate(conv(y, wide, wide, kernel, stride if i == 0 else 1, wide), late)
            y = conv(y, wide, out)
            x = add("Add", [x, y]) if i > 0 else y
            channels = out
    x = add("GlobalAveragePool", [activate(conv(x, channels, 1280), True)])
    conv(x, 1280, 1000)
    nodes[-1].output[0] = "y"
    return make_model(nodes, {"x": [1, 3, 224, 224]}, weights)


def shapes_of(model):
    g = model.graph
    out = {i.name: list(i.dims) for i in g.initializer}
    for v in list(g.input) + list(g.value_info) + list(g.output):
        out[v.name] = [d.dim_value for d in v.type.tensor_type.shape.dim]
    return out


def to_text(model):
    w, shapes = Writer(), shapes_of(model)
    readers = {i for n in model.graph.node for i in n.input}
    for i in model.graph.input:
        if i.name in readers:
            w.leaf("input", i.name, shapes[i.name])
    for i in model.graph.initializer:
        value = numpy_helper.to_array(i)
        if value.dtype == np.float32 and value.ndim == 0:
            w.numbers[i.name] = float(value)
            w.at[i.name] = w.op(f"constant : f32[] = [{value:.9g}]")
        elif value.dtype == np.float32:
            w.weight(i.name, value)
    for n in model.graph.node:
        write_node(w, n, shapes)
    return w.text(model.graph.output[0].name), w.params


def conv_model(x, w, attrs):
    """One convolution with bias and relu."""
    rng = np.random.default_rng(1)
    weight = (rng.standard_normal(w) * np.sqrt(2.0 / np.prod(w[1:]))).astype(np.float32)
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["c"], **attrs), helper.make_node("Relu", ["c"], ["y"])]
    return make_model(nodes, {"x": x}, {"w": weight, "b": rng.standard_normal(w[0]).astype(np.float32)})


def make_model(nodes, inputs, weights):
    graph = helper.make_graph(
        nodes, "one", [helper.make_tensor_value_info(k, TensorProto.FLOAT, v) for k, v in inputs.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(v, k) for k, v in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model)


# ---- timing ----

def time_block(call, times, calls, clock):
    """One thread is timed by its processor time, which others' work hardly changes. Threads of a library keep their cores busy for a while after a call: each side waits until the other's sleep, and
    the first call, which wakes its own, does not count."""
    if clock is not time.thread_time:
        time.sleep(0.05)
    call()
    for _ in range(calls):
        begin = clock()
        call()
        times.append(1e3 * (clock() - begin))


def compare(lib, model, threads, rounds):
    """Both sides on one model: their times in ms and how far the results are apart (relative to the largest)."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(2)
    shapes = shapes_of(model)
    inputs = {i.name: rng.standard_normal(shapes[i.name]).astype(np.float32) for i in session.get_inputs()}
    text, params = to_text(model)
    used = {k: v for k, v in inputs.items() if f'input "{k}"' in text}
    ours = Executable(lib, threads, text, params, used)
    ours.run()
    want = session.run(None, inputs)[0]
    got = ours.read(want.shape)
    difference = float(np.linalg.norm((got - want).ravel()) / (np.linalg.norm(want.ravel()) + 1e-30))
    begin = time.perf_counter()
    ours.run()
    calls = max(1, min(20, int(0.05 / (time.perf_counter() - begin + 1e-9))))
    binding = session.io_binding()
    for name, value in inputs.items():
        binding.bind_cpu_input(name, value)
    binding.bind_output(session.get_outputs()[0].name, "cpu")
    a, b = [], []
    clock = time.thread_time if threads == 1 else time.perf_counter
    for _ in range(rounds):
        time_block(lambda: session.run_with_iobinding(binding), a, calls, clock)
        time_block(ours.run, b, calls, clock)
    ours.close()
    return a, b, difference


def conv_flops(model):
    shapes, total = shapes_of(model), 0
    for n in model.graph.node:
        if n.op_type == "Conv":
            total += 2 * np.prod(shapes[n.output[0]]) * np.prod(shapes[n.input[1]][1:])
        if n.op_type in ("Gemm", "MatMul"):
            total += 2 * np.prod(shapes[n.output[0]]) * shapes[n.input[0]][-1]
    return float(total)


def row(name, threads, a, b, flops, difference):
    ta, tb, ma, mb = statistics.median(a), statistics.median(b), min(a), min(b)
    print(f"| {name} | {threads} | {ta:.3f} | {tb:.3f} | {ta / tb:.2f} | {ma:.3f} | {mb:.3f} | {ma / mb:.2f} | "
          f"{flops / mb / 1e6:.0f} | {difference:.0e} |", flush=True)


HEAD = ("| what | threads | ort median | rlx median | ratio | ort best | rlx best | ratio | GFLOP/s | difference |\n"
        "|---|---|---|---|---|---|---|---|---|---|")


def run_nets(lib, args):
    for name in args.only or NETS:
        model = load_net(name)
        for threads in args.threads:
            a, b, difference = compare(lib, model, threads, args.rounds)
            row(name, threads, a, b, conv_flops(model), difference)


def run_layers(lib, args):
    for name in args.only or NETS:
        model = load_net(name)
        shapes, count = shapes_of(model), {}
        for n in model.graph.node:
            if n.op_type == "Conv":
                a = {x.name: helper.get_attribute_value(x) for x in n.attribute}
                key = (tuple(shapes[n.input[0]]), tuple(shapes[n.input[1]]),
                       tuple(sorted((k, tuple(v) if isinstance(v, list) else v) for k, v in a.items())))
                count[key] = count.get(key, 0) + 1
        for threads in args.threads:
            total = [0.0, 0.0]
            for (x, w, attrs), times in count.items():
                one = conv_model(x, w, {k: list(v) if isinstance(v, tuple) else v for k, v in attrs})
                a, b, difference = compare(lib, one, threads, args.rounds)
                kinds = dict(attrs)
                label = (f"{times} x {x[1]}@{x[2]}x{x[3]} -> {w[0]} {w[2]}x{w[3]}" +
                         (f" s{kinds['strides'][0]}" if kinds.get("strides", (1,))[0] > 1 else "") +
                         (f" g{kinds['group']}" if kinds.get("group", 1) > 1 else ""))
                row(label, threads, a, b, conv_flops(one), difference)
                total[0] += times * min(a)
                total[1] += times * min(b)
            print(f"| {name}, all convolutions | {threads} | | | | {total[0]:.2f} | {total[1]:.2f} | "
                  f"{total[0] / total[1]:.2f} | | |", flush=True)


def bert_model(layers=6, width=384, heads=12, tokens=128):
    rng = np.random.default_rng(1)
    nodes, weights, size = [], {}, width // heads
    constants = {"two": np.sqrt(2), "one": 1, "half": 0.5, "scale": np.sqrt(size)}
    weights.update({k: np.array(v, np.float32) for k, v in constants.items()})
    weights.update({"split": np.array([1, tokens, heads, size]), "joined": np.array([1, tokens, width])})

    def add(op, ins, **attrs):
        name = f"t{len(nodes)}"
        nodes.append(helper.make_node(op, ins, [name], **attrs))
        return name

    def linear(x, n_in, n_out):
        w, b = f"w{len(nodes)}", f"b{len(nodes)}"
        weights[w] = (rng.standard_normal((n_in, n_out)) / np.sqrt(n_in)).astype(np.float32)
        weights[b] = (0.1 * rng.standard_normal(n_out)).astype(np.float32)
        return add("Add", [b, add("MatMul", [x, w])])

    def norm(x):
        g, b = f"g{len(nodes)}", f"h{len(nodes)}"
        weights[g], weights[b] = np.ones(width, np.float32), np.zeros(width, np.float32)
        return add("LayerNormalization", [x, g, b], axis=-1, epsilon=1e-5)

    def split(x, perm):
        return add("Transpose", [add("Reshape", [x, "split"])], perm=perm)

    x = "x"
    for _ in range(layers):
        q, v = (split(linear(x, width, width), [0, 2, 1, 3]) for _ in range(2))
        k = split(linear(x, width, width), [0, 2, 3, 1])
        p = add("Softmax", [add("Div", [add("MatMul", [q, k]), "scale"])], axis=-1)
        a = add("Reshape", [add("Transpose", [add("MatMul", [p, v])], perm=[0, 2, 1, 3]), "joined"])
        x = norm(add("Add", [linear(a, width, width), x]))
        h = linear(x, width, 4 * width)
        e = add("Add", [add("Erf", [add("Div", [h, "two"])]), "one"])
        h = add("Mul", [add("Mul", [h, e]), "half"])
        x = norm(add("Add", [linear(h, 4 * width, width), x]))
    nodes[-1].output[0] = "y"
    graph = helper.make_graph(nodes, "bert", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, tokens, width])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, tokens, width])],
                              [numpy_helper.from_array(v, k) for k, v in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model)


def run_bert(lib, args):
    model = bert_model()
    for threads in args.threads:
        a, b, difference = compare(lib, model, threads, args.rounds)
        row("BERT, 6 layers", threads, a, b, conv_flops(model), difference)


def run_matmul(lib, args):
    rng = np.random.default_rng(1)
    for m, k, n in [(128, 384, 384), (128, 384, 1152), (128, 384, 1536), (128, 1536, 384), (1, 25088, 4096),
                    (1, 4096, 4096), (1, 2048, 1000)]:
        weights = {"w": (rng.standard_normal((k, n)) / np.sqrt(k)).astype(np.float32),
                   "b": rng.standard_normal(n).astype(np.float32)}
        model = make_model([helper.make_node("Gemm", ["x", "w", "b"], ["y"])], {"x": [m, k]}, weights)
        for threads in args.threads:
            a, b, difference = compare(lib, model, threads, args.rounds)
            row(f"matmul {m}x{k}x{n}", threads, a, b, 2.0 * m * k * n, difference)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["nets", "layers", "matmul", "bert"])
    parser.add_argument("--lib", default="build/librlx.so")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", type=lambda t: t.split(","), default=None)
    parser.add_argument("--threads", type=lambda t: [int(n) for n in t.split(",")], default=[1, 2])
    parser.add_argument("--direct", action="store_true", help="without the option fast_conv")
    args = parser.parse_args()
    global FAST_CONV
    FAST_CONV = not args.direct
    print(f"onnxruntime {onnxruntime.__version__}, {args.rounds} rounds; times in ms\n\n{HEAD}")
    {"nets": run_nets, "layers": run_layers, "matmul": run_matmul, "bert": run_bert}[args.what](Library(args.lib), args)


if __name__ == "__main__":
    main()
