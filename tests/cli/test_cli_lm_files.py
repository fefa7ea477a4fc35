#!/usr/bin/env python3
"""rlx info, check and convert on weight files: ours and those of the packages gguf and safetensors. See cli.py."""

import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import time

from cli import LINEAR, RLX, SECONDS, Skip, check, equal, fails, file_json, main, rlx, test, write
from gguf_file import tiny_llama
from lm_files import gguf, need_lm, safetensors

METAS = [("general.architecture", "string", "sample"), ("llama.block_count", "u32", 2), ("eps", "f32", 1e-5),
         ("flag", "bool", True), ("tokens", ["string"], [f"t{i}" for i in range(100)]), ("scores", ["f32"], [0.5, -1.0]),
         ("tokenizer.chat_template", "string", "x" * 5000)]


def floats(n, scale=0.01):
    return struct.pack(f"<{n}f", *((i * 7919 % 1009 - 504) * scale for i in range(n)))


def small(path="m.gguf"):
    return gguf(path, METAS, [("token_embd.weight", [256, 8], 0, floats(2048)), ("blk.0.w.weight", [256, 4], 0, floats(1024)),
                              ("odd.weight", [96, 2], 0, floats(192)), ("norm.weight", [256], 0, floats(256))])


def package(name):
    try:
        return __import__(name)
    except ImportError:
        raise Skip(f"the Python package {name} is not installed") from None


@test
def commands_are_there_or_left_out_together():
    known = [name for name in ("info", "check", "convert") if f"\n  {name} " in rlx("--help", expect=0).out]
    check(known in ([], ["info", "check", "convert"]), f"only {known}")
    for name in ("info", "check", "convert"):
        if known:
            check("example: rlx " in rlx(name, "--help", expect=0).out, name)
        else:
            fails(name, "x", says="there is no command", code=2)


# ---- info


@test
def info_of_a_gguf():
    need_lm()
    small()
    told = rlx("info", "m.gguf", expect=0)
    equal(told.err, "")
    for part in ("m.gguf: GGUF v3, 4 tensors, 3520 parameters, 13.75 KiB", "llama.block_count", "= 2\n", "= 1e-05\n", "= true\n",
                 '"t0", "t1"', "... 100 in all]", "... 5000 bytes", "[0.5, -1.0]", "f32          4 tensors  13.75 KiB"):
        check(part in told.out, f"{part!r} is not in {told.out}")
    check("odd.weight" not in told.out and "odd.weight" in rlx("info", "m.gguf", "--tensors", expect=0).out, "--tensors")
    found = file_json("info", "m.gguf")
    equal((found["format"], found["parameters"], found["bytes"]), ("GGUF v3", 3520, 14080))
    equal(found["types"], [{"dtype": "f32", "tensors": 4, "elements": 3520, "bytes": 14080}])
    equal(found["tensors"][0]["shape"], [8, 256])
    equal(found["metadata"]["tokens"]["length"], 100)
    equal(found["metadata"]["scores"], [0.5, -1.0])
    equal(found["metadata"]["tokenizer.chat_template"]["bytes"], 5000)


@test
def info_of_types_that_are_not_there():
    need_lm()
    names = [f"blk.{i}.ffn_up.weight" for i in range(40)]
    gguf("m.gguf", METAS, [("norm.weight", [256], 0, floats(256)), ("a.weight", [256, 2], 41, bytes(72)),
                           *((name, [256], 9, bytes(288)) for name in names)])
    told = rlx("info", "m.gguf", expect=0)
    for part in ("42 tensors, 11008 parameters", "f32          1 tensors  1.00 KiB",
                 "q1_0         1 tensors", "q8_1        40 tensors", "41 tensors are of types that RLX does not have"):
        check(part in told.out, f"{part!r} is not in {told.out}")
    check("blk.39.ffn_up.weight  q8_1[256]" in rlx("info", "m.gguf", "--tensors", expect=0).out, "--tensors")
    found = file_json("info", "m.gguf")
    equal(found["types"][1:], [{"dtype": "q1_0", "tensors": 1, "elements": 512, "bytes": 72},
                               {"dtype": "q8_1", "tensors": 40, "elements": 10240, "bytes": 11520}])
    equal((found["tensors"][1]["dtype"], found["tensors"][1]["shape"]), ("q1_0", [2, 256]))
    says = "41 of 42 tensors are of types that RLX does not have: 'a.weight' is q1_0, 'blk.0.ffn_up.weight' is q8_1"
    fails("check", "m.gguf", says=says)
    fails("convert", "m.gguf", "q.gguf", "--type", "q8_0", says=says)
    equal(os.listdir(), ["m.gguf"])


@test
def a_model_of_types_that_are_not_there():
    need_lm()
    tiny_llama("m.gguf")
    data = bytearray(pathlib.Path("m.gguf").read_bytes())
    told = file_json("info", "m.gguf")
    for layer in range(2):  # f32[48, 32] as q8_1: fewer bytes, so the file stays good
        name = f"blk.{layer}.ffn_up.weight".encode()
        at = data.index(name) + len(name) + 4 + 16
        equal(data[at:at + 4], bytes(4), "its type")
        data[at] = 9
    pathlib.Path("q.gguf").write_bytes(data)
    equal(len(file_json("info", "q.gguf")["tensors"]), len(told["tensors"]))
    says = "2 tensors are of types that RLX does not have: 'blk.0.ffn_up.weight' is q8_1, 'blk.1.ffn_up.weight' is q8_1"
    fails("generate", "q.gguf", "-p", "a", "-n", "1", says=says)


@test
def info_of_one_key():
    need_lm()
    small()
    equal(rlx("info", "m.gguf", "--key", "llama.block_count", expect=0).out, "2\n")
    equal(rlx("info", "m.gguf", "--key", "tokens", expect=0).out.split(), [f"t{i}" for i in range(100)])
    equal(rlx("info", "m.gguf", "--key", "tokenizer.chat_template", expect=0).out, "x" * 5000 + "\n")
    fails("info", "m.gguf", "--key", "llama.block", says="there is no metadata 'llama.block'", lines=1)


@test
def info_of_a_folder():
    need_lm()
    os.mkdir("m")
    safetensors("m/model.safetensors", {"w": ("F16", [2, 3], b"\0" * 12)}, {"format": "pt"})
    write("m/config.json", '{"model_type": "bert"}')
    found = file_json("info", "m")
    equal((found["format"], found["parts"]), ("safetensors", ["m/model.safetensors"]))
    equal(found["metadata"], {"format": "pt", "config.json": '{"model_type": "bert"}'})
    equal(found["tensors"], [{"name": "w", "dtype": "f16", "shape": [2, 3], "bytes": 12, "part": 0,
                              "offset": os.path.getsize("m/model.safetensors") - 12}])


@test
def info_of_a_text_graph():
    need_lm()
    write("g.rlx", LINEAR)
    out = rlx("info", "g.rlx", expect=0).out
    check(out.startswith("g.rlx: text graph, 6 nodes\n") and "param   w: f32[3,2]" in out and "output  y: f32[2,2]" in out, out)
    equal(file_json("info", "g.rlx")["leaves"][0], {"kind": "input", "name": "x", "dtype": "f32", "shape": [2, 3]})
    equal(rlx("info", "-", stdin=LINEAR.encode(), expect=0).out, out.replace("g.rlx", "-"))


@test
def names_that_are_no_good_text():
    """What a file says reaches the terminal without control characters, and JSON stays JSON."""
    need_lm()
    gguf("m.gguf", [("k\x1b[31m", "string", b"a\xff\x1b]0;x\x07")], [("t\n\x1b", [2], 24, b"ab")])
    check("\x1b" not in rlx("info", "m.gguf", "--tensors", expect=0).out, "control characters")
    found = file_json("info", "m.gguf")
    equal(found["tensors"][0]["name"], "t\n\x1b")
    equal(list(found["metadata"].values()), ["a\u00ff\x1b]0;x\x07"])


# ---- check


@test
def check_reports_of_all_files():
    need_lm()
    small("good.gguf")
    gguf("nan.gguf", [], [("a", [2], 0, struct.pack("<2f", 1, float("nan"))), ("b", [1], 0, struct.pack("<f", float("nan")))])
    pathlib.Path("cut.gguf").write_bytes(pathlib.Path("good.gguf").read_bytes()[:-200])
    write("g.rlx", LINEAR)
    result = fails("check", "nan.gguf", "good.gguf", "cut.gguf", "g.rlx", "absent.gguf",
                   says=["nan.gguf: tensor 'a': element 1 is not a number\n", "nan.gguf: tensor 'b': element 0 is not a number\n",
                         "cut.gguf: tensor 'norm.weight': its 1024 bytes", "absent.gguf"], lines=4)
    lines = result.out.splitlines()
    equal((lines[0], lines[2:]), ("good.gguf: ok: GGUF v3, 4 tensors, 13.75 KiB", ["g.rlx: ok: text graph, 6 nodes"]))
    check(lines[1].startswith("good.gguf: remark: general.architecture is 'sample'; supported families are llama, "), lines[1])
    told = json.loads(rlx("check", "nan.gguf", "good.gguf", "--json", expect=1).out)["files"]
    equal([(f["file"], f["ok"], f["findings"]) for f in told], [("nan.gguf", False, 2), ("good.gguf", True, 0)])
    equal(rlx("check", "-q", "good.gguf", expect=0).out, "")
    fails("check", says="expected files", code=2)


@test
def paths_that_are_no_files():
    need_lm()
    os.mkdir("folder")
    os.mkfifo("fifo")
    write("words.gguf", "these are words")
    for command in (["info"], ["check"], ["convert"]):
        last = ["out.gguf"] if command == ["convert"] else []
        for path, why in (("absent", "No such file"), ("folder", "no .safetensors"), ("fifo", "got a FIFO"),
                          ("words.gguf", "not 'GGUF'"), ("/dev/null", "got a device")):
            fails(*command, path, *last, says=[path, why], lines=1)
    check(not os.path.exists("out.gguf"), "convert left a file")


# ---- convert


@test
def converting_there_and_back():
    need_lm()
    small()
    rlx("convert", "m.gguf", "m.safetensors", expect=0)
    rlx("convert", "m.safetensors", "back.gguf", expect=0)
    a, b = file_json("info", "m.gguf"), file_json("info", "back.gguf")
    equal([(t["name"], t["dtype"], t["shape"]) for t in a["tensors"]], [(t["name"], t["dtype"], t["shape"]) for t in b["tensors"]])
    data = [pathlib.Path(p).read_bytes() for p in ("m.gguf", "back.gguf")]
    for x, y in zip(a["tensors"], b["tensors"]):
        equal(data[0][x["offset"]:x["offset"] + x["bytes"]], data[1][y["offset"]:y["offset"] + y["bytes"]], x["name"])
    equal(sorted(os.listdir()), ["back.gguf", "m.gguf", "m.safetensors"])


@test
def quantising():
    need_lm()
    small()
    result = rlx("convert", "m.gguf", "q.gguf", "--type", "q4_k", "-v", expect=0)
    check("odd.weight: its rows are not whole blocks of q4_k, so it is q5_0" in result.err, result.err)
    check("not q4_k, since rows are not whole blocks of it: 1 of 4 tensors" in result.err, result.err)
    check(result.out.startswith("q.gguf: GGUF v3, 4 tensors, 13.75 KiB -> "), result.out)
    found = file_json("info", "q.gguf")
    equal({t["name"]: t["dtype"] for t in found["tensors"]},
          {"token_embd.weight": "q6_k", "blk.0.w.weight": "q4_k", "odd.weight": "q5_0", "norm.weight": "f32"})
    equal(found["metadata"]["general.file_type"], 15)
    rlx("convert", "m.gguf", "p.gguf", "--type", "q4_k", "--pure", "-q", expect=0)
    equal(file_json("info", "p.gguf")["tensors"][0]["dtype"], "q4_k")
    rlx("check", "q.gguf", "p.gguf", expect=0)
    for threads in (1, 3):
        rlx("convert", "m.gguf", f"{threads}.gguf", "--type", "q4_k", "--threads", threads, expect=0)
        equal(pathlib.Path(f"{threads}.gguf").read_bytes(), pathlib.Path("q.gguf").read_bytes(), f"{threads} threads")
    told = rlx("convert", "m.gguf", "j.gguf", "--type", "q8_0", "--json", "-q", expect=0)
    equal((json.loads(told.out)["tensors"], told.err), (4, ""))


@test
def wrong_use_of_convert():
    need_lm()
    small()
    fails("convert", "m.gguf", says="expected two files", code=2)
    fails("convert", "m.gguf", "q.gguf", "--type", "q4", says="--type takes one of", code=2)
    fails("convert", "m.gguf", "q.gguf", "--type", "i64", says="got i64")
    fails("convert", "m.gguf", "q.bin", says="ends in .gguf or .safetensors")
    fails("convert", "m.gguf", "q.safetensors", "--type", "q4_0", says="safetensors has no type for q4_0")
    fails("convert", "m.gguf", "absent/q.gguf", says="absent/q.gguf")
    equal(os.listdir(), ["m.gguf"])


@test
def converting_onto_the_source_is_refused():
    need_lm()
    small()
    before = pathlib.Path("m.gguf").read_bytes()
    os.symlink("m.gguf", "link.gguf")
    os.link("m.gguf", "hard.gguf")
    for source, target in (("m.gguf", "m.gguf"), ("m.gguf", "./m.gguf"), ("m.gguf", "link.gguf"), ("link.gguf", "m.gguf"),
                           ("m.gguf", "hard.gguf"), ("hard.gguf", "link.gguf")):
        fails("convert", source, target, "--type", "q8_0", says=["which is being converted", target], lines=1)
    check(os.path.islink("link.gguf"), "the link is still one")
    equal(pathlib.Path("m.gguf").read_bytes(), before, "the source")
    os.mkdir("parts")
    rlx("convert", "m.gguf", "parts/model.safetensors", expect=0)
    before = pathlib.Path("parts/model.safetensors").read_bytes()
    fails("convert", "parts", "parts/model.safetensors", says=["which is being converted"], lines=1)  # one of its parts
    equal(pathlib.Path("parts/model.safetensors").read_bytes(), before, "the part")
    equal(sorted(os.listdir()), ["hard.gguf", "link.gguf", "m.gguf", "parts"], "nothing else is left")


@test
def an_interrupt_leaves_nothing():
    need_lm()
    gguf("m.gguf", [], [("w", [4096, 4096], 0, floats(4096) * 4096)])
    for numbers in ([signal.SIGINT], [signal.SIGTERM], [signal.SIGHUP], [signal.SIGINT, signal.SIGINT]):
        process = subprocess.Popen([str(RLX), "convert", "m.gguf", "q.gguf", "--type", "q2_k", "--threads", "1"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        deadline = time.time() + SECONDS
        while not any(name.endswith(".tmp") for name in os.listdir()) and time.time() < deadline:
            time.sleep(0.01)
        for number in numbers:
            process.send_signal(number)
        out, err = process.communicate(timeout=SECONDS)
        equal((process.returncode, out, err), (128 + numbers[0], b"", b""), f"interrupted by {numbers}")
        equal(os.listdir(), ["m.gguf"], "what is left")


# ---- Other programs' files


@test
def gguf_reads_what_we_write():
    need_lm()
    package("gguf")
    import gguf as other
    small()
    for kind in ("f16", "q8_0", "q4_k", "bf16"):
        rlx("convert", "m.gguf", "q.gguf", "--type", kind, expect=0)
        reader = other.GGUFReader("q.gguf")
        ours = file_json("info", "q.gguf")
        data = pathlib.Path("q.gguf").read_bytes()
        equal(len(reader.tensors), 4)
        for a, b in zip(reader.tensors, ours["tensors"]):
            equal((a.name, a.tensor_type.name.lower(), list(map(int, a.shape))[::-1], int(a.n_bytes), int(a.data_offset)),
                  (b["name"], b["dtype"], b["shape"], b["bytes"], b["offset"]), kind)
            equal(a.data.tobytes(), data[b["offset"]:b["offset"] + b["bytes"]], b["name"])
        equal(reader.fields["tokens"].contents(), [f"t{i}" for i in range(100)])
        equal(reader.fields["general.architecture"].contents(), "sample")
        equal(reader.fields["scores"].contents(), [0.5, -1.0])


@test
def we_read_what_gguf_writes():
    need_lm()
    package("gguf")
    import gguf as other
    import numpy
    writer = other.GGUFWriter("m.gguf", "some")
    writer.add_block_count(3)
    writer.add_rope_freq_base(10000.0)
    writer.add_token_list([f"<{i}>" for i in range(1000)])
    writer.add_token_types([1] * 1000)
    values = numpy.random.default_rng(1).standard_normal((4, 512)).astype(numpy.float32)
    arrays = {"plain": values, "half": values.astype(numpy.float16), "count": numpy.arange(7, dtype=numpy.int32)}
    for name, array in arrays.items():
        writer.add_tensor(name, array)
    packed = {}
    for kind in (other.GGMLQuantizationType.Q8_0, other.GGMLQuantizationType.Q4_0, other.GGMLQuantizationType.Q5_1):
        packed[kind.name] = other.quants.quantize(values, kind)
        writer.add_tensor(kind.name, packed[kind.name], raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    found = file_json("info", "m.gguf")
    equal(found["metadata"]["some.block_count"], 3)
    equal(found["metadata"]["some.rope.freq_base"], 10000.0)
    equal(rlx("info", "m.gguf", "--key", "tokenizer.ggml.tokens", expect=0).out.split(), [f"<{i}>" for i in range(1000)])
    data = pathlib.Path("m.gguf").read_bytes()
    for t in found["tensors"]:
        expected = arrays.get(t["name"], packed.get(t["name"]))
        equal(data[t["offset"]:t["offset"] + t["bytes"]], expected.tobytes(), t["name"])
        equal(t["shape"], list(arrays[t["name"]].shape) if t["name"] in arrays else [4, 512], t["name"])
    rlx("check", "m.gguf", expect=0)


@test
def we_read_what_gguf_splits():
    need_lm()
    package("gguf")
    import gguf as other
    import numpy
    values = numpy.arange(64, dtype=numpy.float32)
    writer = other.GGUFWriter("m.gguf", "llama", split_max_tensors=2)
    for i in range(5):
        writer.add_tensor(f"t{i}", values + i)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    parts = sorted(os.listdir())
    equal(len(parts), 3, "parts")
    for part in parts:
        found = file_json("info", part)
        equal((found["parts"], [t["name"] for t in found["tensors"]]), (parts, [f"t{i}" for i in range(5)]), part)
    check(", 3 files, 5 tensors" in rlx("info", parts[1], expect=0).out, "what people are told")
    rlx("convert", parts[2], "whole.gguf", expect=0)
    for i, t in enumerate(other.GGUFReader("whole.gguf").tensors):
        equal(t.data.tobytes(), (values + i).tobytes(), t.name)
    os.remove(parts[1])
    fails("check", parts[0], says=["part 2 of 3 is missing", parts[1]], lines=1)


@test
def big_endian_is_reported():
    need_lm()
    package("gguf")
    import gguf as other
    writer = other.GGUFWriter("m.gguf", "llama", endianess=other.GGUFEndian.BIG)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    fails("info", "m.gguf", says="big-endian", lines=1)


@test
def safetensors_reads_what_we_write_and_we_what_it_writes():
    need_lm()
    package("safetensors")
    import numpy
    from safetensors import safe_open
    from safetensors.numpy import save_file
    values = numpy.random.default_rng(1).standard_normal((6, 32)).astype(numpy.float32)
    arrays = {"plain": values, "half": values.astype(numpy.float16), "whole": numpy.arange(5), "scalar": numpy.array(2.5),
              "bytes": numpy.arange(3, dtype=numpy.uint8), "flags": numpy.array([True, False]), "none": values[:0]}
    save_file(arrays, "theirs.safetensors", {"format": "np", "umlaut": "ä\n\"\\"})
    rlx("check", "theirs.safetensors", expect=0)
    rlx("convert", "theirs.safetensors", "ours.safetensors", expect=0)
    with safe_open("ours.safetensors", "np") as file:
        equal(file.metadata(), {"format": "np", "umlaut": "ä\n\"\\"})
        equal(sorted(file.keys()), sorted(arrays))
        for name, array in arrays.items():
            found = file.get_tensor(name)
            equal((found.dtype, found.shape, found.tobytes()), (array.dtype, array.shape, array.tobytes()), name)


if __name__ == "__main__":
    sys.exit(main())
