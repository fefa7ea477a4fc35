#!/usr/bin/env python3
"""rlx eval: inputs, results, and their errors. See cli.py."""

import os
import pathlib
import struct
import sys
import time

from cli import (LINEAR, LINEAR_RESULT, OPEN, check, close, equal, fails, file_json, first_values, linear_inputs,
                 load, main, npy, npy_bytes, pass_names, random_bytes, rlx, rlx_json, test, write)


VALUES = {"f32": [-1.5, 0.25], "f16": [-1.5, 0.25], "f64": [1e300, 0.1], "i8": [-128, 127], "u8": [0, 255],
          "i16": [-32768, 32767], "i32": [-2**31, 2**31 - 1], "u32": [0, 2**32 - 1], "i64": [-2**63, 2**63 - 1],
          "bool": [1, 0], "bf16": [0xbfc0, 0x3e80], "c64": [1, -2, 0.5, 4]}


@test
def results_by_hand():
    write("g.rlx", LINEAR)
    given = linear_inputs()
    out = rlx("eval", "g.rlx", *given, "--out", "out", expect=0).out
    equal(out, "y: f32[2,2] -> out/y.npy\n", "what is said")
    equal(load("out/y.npy"), ("f32", [2, 2], LINEAR_RESULT), "y")
    equal([p.name for p in pathlib.Path("out").iterdir()], ["y.npy"], "files")
    equal(rlx("eval", "g.rlx", *given, expect=0).out, "y: f32[2,2] = 7.5 4 16.5 10\n", "without --out")
    equal(rlx("eval", "g.rlx", *given, "-q", "--out", "out", expect=0).out, "", "eval -q")
    equal(rlx("eval", "-", *given, stdin=LINEAR.encode(), expect=0).out, "y: f32[2,2] = 7.5 4 16.5 10\n", "from stdin")
    check("6 nodes in " in rlx("eval", "g.rlx", *given, "-v", expect=0).err, "eval -v")
    result = rlx_json("eval", "g.rlx", *given)
    equal(result["outputs"], [{"name": "y", "dtype": "f32", "shape": [2, 2], "values": LINEAR_RESULT}], "JSON")
    check(result["seconds"] >= 0, "seconds")
    result = rlx_json("eval", "g.rlx", *given, "--out", "out")
    equal(result["outputs"], [{"name": "y", "dtype": "f32", "shape": [2, 2], "file": "out/y.npy"}], "JSON with --out")


@test
def results_do_not_depend_on_passes():
    write("g.rlx", LINEAR)
    given = linear_inputs()
    for options in ([], ["--pass", "all"], *(["--pass", name] for name in pass_names()), ["--without", "fuse,hoist"]):
        rlx("eval", "g.rlx", *given, *options, "--out", "out", expect=0)
        close(load("out/y.npy")[2], LINEAR_RESULT, f"{options}")


@test
def weights_that_are_prepared_at_load():
    """w + w depends on weights alone, so that hoisting moves it to a graph that runs first."""
    write("g.rlx", LINEAR.replace("%3 = matmul(%1, %2)", "%7 = add(%2, %2)\n  %3 = matmul(%1, %7)"))
    given = linear_inputs()
    expected = [14.5, 9, 32.5, 21]
    hoisted = file_json("graph", "g.rlx", "--pass", "hoist")
    check("load" in hoisted, f"nothing was hoisted: {hoisted}")
    text = rlx("graph", "g.rlx", "--pass", "hoist", expect=0).out
    check("# once, when the weights are loaded:\n# graph {" in text, text)
    for options in ([], ["--pass", "hoist"], ["--pass", "all"]):
        close(first_values("g.rlx", *given, *options), expected, f"{options}")
    npy("w.npy", "f32", (3, 3), [0] * 9)
    fails("eval", "g.rlx", *given, "--pass", "hoist", says=["'w'", "[3,3]"], lines=1)


@test
def every_type_in_and_out():
    for dtype, values in VALUES.items():
        write("g.rlx", f'graph {{ %1 = input "x" : {dtype}[2]\n %2 = reshape(%1) {{shape=[1,2]}}\n output "y" = %2 }}')
        npy("x.npy", dtype, (2,), values)
        rlx("eval", "g.rlx", "--input", "x=x.npy", "--out", "out", expect=0)
        equal(load("out/y.npy"), (dtype, [1, 2], values), dtype)
        equal(pathlib.Path("out/y.npy").read_bytes(), npy_bytes(dtype, (1, 2), values), f"{dtype}: NumPy's own bytes")
        shown = [-1.5, 0.25] if dtype == "bf16" else values
        equal(first_values("g.rlx", "--input", "x=x.npy"), shown, f"{dtype} as JSON")
        words = rlx("eval", "g.rlx", "--input", "x=x.npy", expect=0).out.split("= ")[1].split()
        check(all(abs(float(word) - v) <= 1e-5 * abs(v) for word, v in zip(words, shown)), f"{dtype} as text: {words}")


@test
def special_numbers_in_json():
    write("g.rlx", 'graph { %1 = input "x" : f32[4]\n output "y" = %1 }')
    npy("x.npy", "f32", (4,), [float("nan"), float("inf"), float("-inf"), 1])
    equal(first_values("g.rlx", "--input", "x=x.npy"), ["NaN", "Infinity", "-Infinity", 1], "as JSON")
    text = rlx("eval", "g.rlx", "--input", "x=x.npy", expect=0).out
    check("nan inf -inf 1" in text.replace("-nan", "nan"), text)


@test
def sizes_0_and_many():
    write("g.rlx", 'graph { %1 = input "x" : f32[N]\n %2 = add(%1, %1)\n output "y" = %2 }')
    npy("x.npy", "f32", (0,), [])
    rlx("eval", "g.rlx", "--input", "x=x.npy", "--out", "out", expect=0)
    equal(load("out/y.npy"), ("f32", [0], []), "size 0")
    equal(rlx("eval", "g.rlx", "--input", "x=x.npy", expect=0).out, "y: f32[0] = \n", "size 0 as text")
    npy("x.npy", "f32", (100,), range(100))
    text = rlx("eval", "g.rlx", "--input", "x=x.npy", expect=0).out
    equal(text, "y: f32[100] = 0 2 4 6 8 10 12 14 .. (100 in all)\n", "many")


@test
def fortran_order_and_later_versions():
    write("g.rlx", LINEAR)
    given = linear_inputs()
    npy("x.npy", "f32", (2, 3), [1, 4, 2, 5, 3, 6], order="True")
    npy("w.npy", "f32", (3, 2), [1, 0, 0, 1, 2, 1], version=3)
    close(first_values("g.rlx", *given), LINEAR_RESULT)


@test
def symbols_from_inputs():
    write("g.rlx", OPEN)
    npy("x.npy", "f32", (2, 3), [1, 2, 3, 4, 5, 6])
    npy("m.npy", "f32", (3,), [1, 0, 2])
    x, m = ["--input", "x=x.npy"], ["--input", "m=m.npy"]
    for options in ([], ["--pass", "all"], ["--dim", "B=2"], ["--dim", "S=3"], ["--dim", "S=3", "--dim", "B=2"]):
        equal(first_values("g.rlx", *x, *m, *options), [7, 16], f"{options}")
    # what one input leaves open the others may tell
    equal(len(first_values("g.rlx", *x, "--random", "1")), 2, "m at random")
    fails("eval", "g.rlx", *m, "--random", "1", says=["g.rlx", "for B", "--dim B=SIZE"], lines=1)
    fails("eval", "g.rlx", *x, *m, "--dim", "S=4", says=["'x'", "[2,3]", "[2,4]", "'m'"], lines=2)
    fails("eval", "g.rlx", *x, *m, "--dim", "Z=4", says=["g.rlx", "Z"], lines=1)
    npy("m.npy", "f32", (4,), [1, 0, 2, 0])
    fails("eval", "g.rlx", *x, *m, says=["'m'", "[4]", "[3]"], lines=1)
    npy("m.npy", "f32", (3, 1), [1, 0, 2])
    fails("eval", "g.rlx", *x, *m, says=["'m'", "[3,1]"], lines=1)


@test
def missing_unknown_and_repeated_inputs():
    write("g.rlx", LINEAR)
    given = linear_inputs()
    fails("eval", "g.rlx", says=["input 'x' has no value", "param 'w' has no value", "--input w=FILE.npy"], lines=2)
    fails("eval", "g.rlx", *given[:2], says="param 'w' has no value", lines=1)
    fails("eval", "g.rlx", *given, "--input", "z=x.npy", says=["--input 'z'", "g.rlx", "no input, param"], lines=1)
    fails("eval", "g.rlx", *given, "--input", "y=x.npy", says="--input 'y'", lines=1)  # an output is no input
    fails("eval", "g.rlx", *given, "--input", "x=x.npy", code=2, says="--input gives 'x' twice", lines=1)
    for value in ("x", "x=", "=x.npy", "", "="):
        fails("eval", "g.rlx", "--input", value, code=2, says="--input takes NAME=FILE.npy", lines=1)
    result = fails("eval", "g.rlx", "--input", "x=absent.npy", "--input", "z=x.npy",
                   says=["absent.npy", "--input 'z'", "param 'w'"], lines=3)
    check("'x' has no value" not in result.err, "a value that cannot be read is not missing as well")
    fails("eval", code=2, says="expected one file, got 0", lines=1)
    fails("eval", "g.rlx", "g.rlx", code=2, says="expected one file, got 2", lines=1)


@test
def arrays_that_do_not_fit():
    write("g.rlx", LINEAR)
    given = linear_inputs()[2:]
    cases = [("f64", (2, 3), "f64"), ("i32", (2, 3), "i32"), ("f32", (3, 2), "[3,2]"), ("f32", (6,), "[6]"),
             ("f32", (2, 3, 1), "[2,3,1]"), ("f32", (), "[]"), ("f32", (0, 3), "[0,3]")]
    for dtype, shape, part in cases:
        count = 1
        for n in shape:
            count *= n
        npy("x.npy", dtype, shape, [0] * count)
        fails("eval", "g.rlx", "--input", "x=x.npy", *given, says=["'x'", part], lines=1)


@test
def files_that_are_no_arrays():
    write("g.rlx", LINEAR)
    given = linear_inputs()[2:]
    good = npy_bytes("f32", (2, 3), [1, 2, 3, 4, 5, 6])
    f32 = lambda descr, order="False", shape=(2, 3): npy_bytes("f32", shape, [0] * 6, descr=descr, order=order)
    contents = {"empty": b"", "noise": random_bytes(500), "text": LINEAR.encode(), "zip": b"PK\3\4" + good,
                "magic alone": good[:6], "no data": good[:-24], "one less": good[:-1], "one more": good + b"\0",
                "half": good[:len(good) // 2], "big endian": f32(">f4"), "complex": f32("<c16"), "objects": f32("|O"),
                "strings": f32("<U1"), "long double": f32("<f16"), "dates": f32("<M8[s]"), "u16": f32("<u2"),
                "order": f32("<f4", order="None"), "rank 9": f32("<f4", shape=(1,) * 7 + (2, 3)),
                "version 4": good[:6] + b"\4" + good[7:], "header length": good[:8] + b"\xff\xff" + good[10:],
                "overflow": f32("<f4", shape=(2**62, 2**62)), "negative": f32("<f4", shape=(-2, -3)),
                "1 TB": f32("<f4", shape=(2**38,)), "no header": good[:8] + b"\0\0" + good[10:],
                "structured": npy_bytes("f32", (2, 3), [0] * 6).replace(b"'<f4'", b"[('a', '<f4')]")}
    for name, content in contents.items():
        pathlib.Path("x.npy").write_bytes(content)
        begin = time.monotonic()
        result = fails("eval", "g.rlx", "--input", "x=x.npy", *given, "--out", "out", says="'x': x.npy: ", lines=1)
        check(time.monotonic() - begin < 20, f"{name}: took too long")
        check(not os.path.exists("out"), f"{name}: --out was made ({result.err})")
    pathlib.Path("folder").mkdir()
    os.mkfifo("fifo")
    for path, part in (("folder", "directory"), ("fifo", "FIFO"), ("/dev/null", "device"), ("absent", "No such file")):
        fails("eval", "g.rlx", "--input", f"x={path}", *given, says=[path, part], lines=1)
    npy("x.npy", "u8", (1,), [2], descr="|b1")
    write("b.rlx", 'graph { %1 = input "x" : bool[1]\n output "y" = %1 }')
    fails("eval", "b.rlx", "--input", "x=x.npy", says="not a bool", lines=1)


@test
def block_types_come_as_bytes():
    """q8_0: a block of 32 is an f16 scale and 32 signed bytes."""
    write("g.rlx", 'graph { %1 = input "x" : f32[1,32]\n %2 = param "w" : q8_0[2,32]\n'
                   ' %3 = matmul(%1, %2) {trans_b=true}\n output "y" = %3 }')
    npy("x.npy", "f32", (1, 32), [1] * 32)
    rows = [struct.pack("<e32b", 0.5, *range(32)), struct.pack("<e32b", 2, *[-1] * 32)]
    npy("w.npy", "u8", (2, 34), list(b"".join(rows)))
    given = ["--input", "x=x.npy", "--input", "w=w.npy"]
    close(first_values("g.rlx", *given), [248, -64])
    write("open.rlx", 'graph { %2 = param "w" : q8_0[N,K]\n %1 = input "x" : f32[1,K]\n'
                      ' %3 = matmul(%1, %2) {trans_b=true}\n output "y" = %3 }')
    close(first_values("open.rlx", *given, "--dim", "N=2"), [248, -64], "bytes say nothing about symbols")
    npy("w.npy", "u8", (2, 33), [0] * 66)
    fails("eval", "g.rlx", *given, says=["'w'", "u8", "q8_0"], lines=1)
    random = first_values("g.rlx", *given[:2], "--random", "1")
    equal(random, first_values("g.rlx", *given[:2], "--random", "1"), "random blocks, drawn again")
    check(all(0 < abs(v) <= 32 for v in random), f"blocks encode values in -1 .. 1: {random}")


@test
def states_begin_with_zeros_or_a_file():
    write("g.rlx", 'graph { %1 = state "s" : f32[3]\n %2 = input "x" : f32[1]\n %at = constant : i32[] = [1]\n'
                   ' %3 = update(%1, %2, %at)\n output "y" = %3 }')
    npy("x.npy", "f32", (1,), [7])
    npy("s.npy", "f32", (3,), [1, 2, 3])
    equal(first_values("g.rlx", "--input", "x=x.npy"), [0, 7, 0], "from zeros")
    equal(first_values("g.rlx", "--input", "x=x.npy", "--input", "s=s.npy"), [1, 7, 3], "")


@test
def random_values():
    write("g.rlx", LINEAR)
    seen = set()
    for seed in ("0", "1", "2", "9223372036854775807"):
        outs = {rlx("eval", "g.rlx", "--random", seed, expect=0).out for _ in range(3)}
        equal(len(outs), 1, f"seed {seed} gives one result")
        seen |= outs
    equal(len(seen), 4, "results of four seeds")
    for dtype in VALUES:
        write("t.rlx", f'graph {{ %1 = input "x" : {dtype}[2,50]\n output "y" = %1 }}')
        values = first_values("t.rlx", "--random", "5")
        real = dtype in ("f32", "f16", "f64", "bf16", "c64")
        equal(len(values), 200 if dtype == "c64" else 100, f"{dtype}: count")
        check(all(-1 <= v <= 1 for v in values) if real else set(values) == {0, 1}, f"{dtype}: {values}")
        check(not real or len(set(values)) > 50, f"{dtype}: {values}")
    # what is given stays as it is, and the rest does not depend on it
    given = linear_inputs()
    write("both.rlx", LINEAR.replace('output "y" = %6', 'output "x" = %1\n output "w" = %2'))
    alone = rlx_json("eval", "both.rlx", "--random", "3")["outputs"]
    check(alone[0]["values"] != alone[1]["values"], "each input has values of its own")
    mixed = rlx_json("eval", "both.rlx", "--random", "3", *given[:2])["outputs"]
    equal(mixed[0]["values"], [1, 2, 3, 4, 5, 6], "x is given")
    equal(mixed[1]["values"], alone[1]["values"], "w is random")
    both = rlx_json("eval", "both.rlx", "--random", "3", *given)["outputs"]
    equal(both[1]["values"], [1, 0, 0, 1, 2, 1], "both are given")


if __name__ == "__main__":
    sys.exit(main())
