#!/usr/bin/env python3
"""Real ONNX models (tools/fetch_model) on real input, through the examples and beside ONNX Runtime. See cli.py.

A model that cannot be fetched, or ONNX Runtime that cannot be installed, is a reason to skip.
"""

import math
import pathlib
import subprocess
import sys

from cli import BUILD, ROOT, SECONDS, Skip, check, equal, fails, file_json, load, main, npy, rlx, rlx_json, test
from lm_packages import packages

CLOSE = 1e-4  # the largest difference, as a share of the largest output (or of 0.01: theirs has an error of 1e-7 near 0)


def model(name, inside=""):
    done = subprocess.run([sys.executable, ROOT / "tools/fetch_model", name], capture_output=True, text=True, timeout=SECONDS)
    if done.returncode:
        raise Skip(f"{name}: {(done.stderr.strip() or 'no reason given').splitlines()[-1]}")
    place = pathlib.Path(done.stdout.strip())
    return place / inside if inside else place


def example(name, *args):
    program = BUILD / "examples" / name
    if not program.exists():
        raise Skip(f"{program} is not built")
    done = subprocess.run([program, *args], capture_output=True, text=True, timeout=SECONDS)
    equal(done.returncode, 0, f"{name}: {done.stderr}")
    return done.stdout


def agree(path, inputs, device="cpu"):
    """RLX's outputs and those of ONNX Runtime, for inputs name -> (type, shape, values)."""
    runtime, np = packages("onnxruntime", "numpy")
    kinds = {"f32": np.float32, "i32": np.int32, "i64": np.int64}
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    given = {n: np.array(v, kinds[d]).reshape(s) for n, (d, s, v) in inputs.items()}
    words = []
    for i, (name, (dtype, shape, values)) in enumerate(inputs.items()):
        npy(f"in{i}.npy", dtype, shape, values)
        words += ["--input", f"{name}=in{i}.npy"]
    rlx("run", path, *words, "--out", "out", "--device", device, expect=0)
    for output, want in zip(session.get_outputs(), session.run(None, given)):
        _, shape, values = load(f"out/{output.name.replace('/', '_')}.npy")
        equal(tuple(shape), want.shape, f"{path.name}: the shape of {output.name}")
        error = np.abs(np.array(values).reshape(shape) - want).max() / max(np.abs(want).max(), 1e-2)
        check(error < CLOSE, f"{path.name}: {output.name} is off by {error}")


def noise(n, seed=1):
    """Numbers in -1 .. 1 that are the same everywhere."""
    out = []
    for _ in range(n):
        seed = (seed * 1664525 + 1013904223) % 2**32
        out.append(seed / 2**31 - 1)
    return out


# ---- A line of text, drawn: letters are strokes in a box of 4 by 6

STROKES = {
    "H": ["00 06", "40 46", "03 43"], "E": ["00 06", "00 40", "03 33", "06 46"], "L": ["00 06", "06 46"],
    "O": ["10 30 41 45 36 16 05 01 10"], "T": ["00 40", "20 26"], "X": ["00 46", "40 06"], "N": ["06 00 46 40"],
    "1": ["11 20 26"], "7": ["00 40 16"], "4": ["30 04 44", "30 36"], "2": ["01 10 30 41 42 06 46"],
}


def draw(text, path, scale=9, thick=2.2):
    """A PPM picture, black on white, smooth at the edges."""
    pitch, margin = 6 * scale, 30
    w, h = margin * 2 + pitch * len(text), 6 * scale + 2 * margin
    lines = []
    for i, letter in enumerate(text):
        for stroke in STROKES.get(letter, []):
            points = [(margin + i * pitch + int(p[0]) * scale, margin + int(p[1]) * scale) for p in stroke.split()]
            lines += zip(points, points[1:])
    rows = bytearray()
    for y in range(h):
        near = [s for s in lines if min(s[0][1], s[1][1]) - 4 <= y <= max(s[0][1], s[1][1]) + 4]
        for x in range(w):
            least = 9.0
            for (ax, ay), (bx, by) in near:
                dx, dy = bx - ax, by - ay
                t = max(0.0, min(1.0, ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy)))
                least = min(least, math.hypot(x - ax - t * dx, y - ay - t * dy))
            rows += bytes([int(255 * max(0.0, min(1.0, least - thick + 0.5)))] * 3)
    pathlib.Path(path).write_bytes(b"P6 %d %d 255\n" % (w, h) + rows)


# ---- The tests


@test
def files_are_reported_apart():
    folder = model("magika")
    pathlib.Path("page.html").write_text("<!DOCTYPE html><html><head><title>x</title></head><body><p>hello</p></body></html>")
    out = example("onnx_magika", folder / "model.onnx", folder / "config.min.json", ROOT / "README.md", ROOT / "tools/test", "page.html")
    equal([line.split(": ")[1].split(" ")[0] for line in out.splitlines()], ["markdown", "python", "html"], out)


@test
def the_file_classifier_agrees_with_onnx_runtime():
    path = model("magika", "model.onnx")
    agree(path, {"bytes": ("i32", (1, 2048), [int((x + 1) * 128) for x in noise(2048)])})
    agree(path, {"bytes": ("i32", (3, 2048), [int((x + 1) * 128) for x in noise(3 * 2048, 7)])})


@test
def text_is_read_off_a_picture():
    folder = model("ppocr")
    models = [folder / f"ch_{n}_infer.onnx" for n in ("PP-OCRv4_det", "ppocr_mobile_v2.0_cls", "PP-OCRv4_rec")]
    for text in ("HELLO", "EXTENT 4217"):
        draw(text, "line.ppm")
        equal(example("onnx_ocr", *models, "line.ppm").strip().replace(" ", ""), text.replace(" ", ""), "what is read")


@test
def the_text_models_agree_with_onnx_runtime_at_several_sizes():
    folder = model("ppocr")
    for name, sizes in (("PP-OCRv4_det", ((96, 160), (64, 224))), ("ppocr_mobile_v2.0_cls", ((48, 192),)),
                        ("PP-OCRv4_rec", ((48, 120), (48, 200)))):
        for h, w in sizes:
            agree(folder / f"ch_{name}_infer.onnx", {"x": ("f32", (1, 3, h, w), noise(3 * h * w))})


@test
def a_voice_is_heard():
    out = example("onnx_vad", model("silero"))
    times = [float(line.split()[0]) for line in out.splitlines() if "speech" in line]
    check(times and 0.9 < times[0] < 1.5 and max(times) < 2.4, out)


@test
def the_voice_detector_agrees_with_onnx_runtime():
    path = model("silero")
    for rate, samples in ((16000, 576), (8000, 288)):
        agree(path, {"input": ("f32", (1, samples), [x / 3 for x in noise(samples)]), "state": ("f32", (2, 1, 128), noise(256, 5)),
                     "sr": ("i64", (), [rate])})


@test
def what_a_model_is_and_needs_is_shown():
    path = model("silero")
    info = file_json("info", path)
    equal([i["name"] for i in info["inputs"]], ["input", "state", "sr"], "inputs")
    equal([op["op"] for op in info["ops"] if not op["supported"]], [], "ops that RLX does not have")
    rlx("check", path, expect=0)
    fails("plan", path, says="axis 0 has no declared size")
    npy("x.npy", "f32", (1, 576), noise(576))
    npy("s.npy", "f32", (2, 1, 128), noise(256))
    npy("sr.npy", "i64", (), [16000])
    words = ("--input", "input=x.npy", "--input", "state=s.npy", "--input", "sr=sr.npy")
    plan = rlx_json("plan", path, *words, "-q")
    check(plan["peak"] >= plan["lower_bound"], plan["peak"])
    rlx("compare", path, *words, "--device", "cpu", "-q", expect=0)


if __name__ == "__main__":
    sys.exit(main())
