"""Random sizes and values for the fuzzer.

Values are drawn in styles, so that ties, zeros, NaN, infinities, extremes and wrap-around all come up; sizes are small,
with 0 and 1 among them. What an op makes of them is in fuzz_ops.py.
"""
import gguf
import numpy as np

import core

FLOATS = ["f32", "f16", "bf16", "f64"]
INTS = ["i8", "u8", "i16", "i32", "u32", "i64"]
BLOCKS = ["q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "q8_k", "iq4_nl", "iq4_xs",
          "mxfp4", "tq1_0", "tq2_0"]
ALL = FLOATS + INTS + ["bool", "c64"]


class Leaf:
    """A leaf and its value: bytes as RLX holds them."""

    def __init__(self, dtype, shape, raw, kind="input"):
        self.dtype, self.shape, self.raw, self.kind = dtype, [int(d) for d in shape], raw, kind

    def tensor(self):
        return core.from_bytes(self.dtype, self.shape, self.raw)

    def array(self):
        """What np.save takes: bf16 as two void bytes, a block type as its bytes."""
        if self.dtype in BLOCKS:
            return np.frombuffer(self.raw, np.uint8)
        return np.frombuffer(self.raw, "V2" if self.dtype == "bf16" else core.NUMPY[self.dtype]).reshape(self.shape)


class Draws:
    """The random source, and the drawing of sizes and values."""

    def __init__(self, seed):
        self.r = np.random.default_rng(seed)

    def int(self, lo, hi):
        """lo .. hi, both included."""
        return int(self.r.integers(lo, hi + 1))

    def coin(self, p=0.5):
        return bool(self.r.random() < p)

    def pick(self, items):
        return items[self.int(0, len(items) - 1)]

    def real(self, lo=-2.0, hi=2.0):
        """Short numbers as well as long ones: sums of the former are exact and tie."""
        x = self.r.uniform(lo, hi)
        return float(round(x * 4) / 4 if self.coin(0.4) else x)

    # ---- sizes ----

    def size(self, empty=0.04, large=0.05):
        u = self.r.random()
        return 0 if u < empty else self.pick([17, 33, 70]) if u < empty + large else self.int(1, 6)

    def shape(self, lo=0, hi=4, empty=0.04):
        """A rank of lo .. hi; where hi is 5, also up to 8 with sizes of 1 to 3."""
        if hi == 5 and self.coin(0.1):
            return [self.int(0 if self.coin(0.02) else 1, 3) for _ in range(self.int(6, 8))]
        rank = self.int(lo, hi)
        large = 0.08 if rank < 3 else 0.01
        return [self.size(empty, large) for _ in range(rank)]

    def usual(self):
        """A style for what is summed up: mostly plain."""
        return "special" if self.coin(0.12) else "plain"

    def axis(self, rank):
        return self.int(-rank, rank - 1)

    def axes(self, rank, least=0):
        n = self.int(min(least, rank), rank)
        return [int(a) - rank * self.coin(0.3) for a in self.r.permutation(rank)[:n]]

    def narrowed(self, shape):
        """A shape that broadcasts to this one."""
        return [1 if self.coin(0.3) else d for d in shape[self.int(0, len(shape)) if self.coin(0.4) else 0:]]

    def broadcast(self, n, rank=4):
        full = self.shape(0, rank)
        shapes = [self.narrowed(full) for _ in range(n)]
        return shapes

    # ---- values ----

    def floats(self, count, style):
        r = self.r
        if style == "mixed":
            style = self.pick(["plain", "plain", "short", "wide", "special"])
        if style == "plain":
            return r.uniform(-2, 2, count)
        if style == "short":  # few distinct numbers, halves among them
            return r.integers(-8, 9, count) / 2.0
        if style == "positive":
            return r.uniform(0.05, 3, count)
        if style == "wide":
            return r.normal(size=count) * 10.0 ** r.uniform(-6, 4, count)
        values = r.uniform(-3, 3, count)  # special
        odd = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 6e4, -6e4, 1e-30, 2.0 ** -16, -1e-6, 1.0, 0.5, -0.5, 88.0,
                        -88.0])
        return np.where(r.random(count) < 0.35, r.choice(odd, count), values)

    def whole(self, dtype, count, style):
        lo, hi = (0, 1) if dtype == "bool" else (np.iinfo(core.NUMPY[dtype]).min, np.iinfo(core.NUMPY[dtype]).max)
        if style in ("mixed", "special"):
            style = self.pick(["plain", "plain", "full", "ends"])
        if style == "full":
            return self.r.integers(lo, hi, count, dtype=np.int64, endpoint=True)
        if style == "ends":
            return self.r.choice(np.array([lo, lo + 1, hi, hi - 1, 0, 1, 2, max(lo, -1)], np.int64), count)
        return self.r.integers(max(lo, -8), min(hi, 8), count, endpoint=True)

    def leaf(self, dtype, shape, style="mixed", kind="input"):
        count = int(np.prod(shape, dtype=np.int64))
        if dtype in BLOCKS:
            return self.blocks(dtype, shape)
        if dtype == "c64":
            values = self.floats(2 * count, style).astype("<f4").view("<c8").reshape(shape)
        elif dtype in FLOATS:
            values = self.floats(count, style).reshape(shape)
        else:
            values = self.whole(dtype, count, style).reshape(shape)
        return Leaf(dtype, shape, core.to_bytes(values, dtype, list(shape)), kind)

    def plain(self, dtype, shape):
        return self.leaf(dtype, shape, "plain")

    def of(self, dtype, shape, values, kind="input"):
        values = np.asarray(values, np.float64 if dtype in FLOATS else np.int64).reshape(shape)
        return Leaf(dtype, shape, core.to_bytes(values, dtype, list(shape)), kind)

    def index(self, shape, n, negative=True):
        """Indices into n elements, of either index type."""
        dtype, count = self.pick(["i32", "i64"]), int(np.prod(shape, dtype=np.int64))
        if n == 0 and count:
            raise Skip("no element to index")
        values = self.r.integers(-n if negative and self.coin(0.4) else 0, max(n, 1), count)
        return self.of(dtype, shape, values)

    def blocks(self, dtype, shape):
        """Random blocks: any codes, with scales set to sane numbers."""
        elements, size = BLOCK_SIZES[dtype]
        n = int(np.prod(shape, dtype=np.int64)) // elements
        data = self.r.integers(0, 256, (n, size), dtype=np.uint8)
        for at in SCALES_AT.get(dtype, [0]):
            scale = self.r.uniform(0.002, 0.05, (n, 1)) * self.r.choice([-1, 1], (n, 1))
            raw = scale.astype("<f4" if dtype == "q8_k" else "<f2").view(np.uint8)
            data[:, at:at + raw.shape[1]] = raw
        if dtype == "mxfp4":  # its scale is one byte, a power of two
            data[:, 0] = self.r.integers(118, 130, n)
        return Leaf(dtype, shape, data.tobytes(), "param")


class Skip(Exception):
    """This draw came to nothing; another will."""


BLOCK_SIZES = {name: gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name.upper()]] for name in BLOCKS}
SCALES_AT = {"q4_1": [0, 2], "q5_1": [0, 2], "q2_k": [80, 82], "q3_k": [108], "q4_k": [0, 2], "q5_k": [0, 2],
             "q6_k": [208], "mxfp4": [], "tq1_0": [52], "tq2_0": [64]}
