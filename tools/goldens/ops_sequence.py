"""Oracles of sequence models, random ops, control flow, regions and custom ops.

Recurrent cells come from torch.nn, the causal convolution from conv1d. For the linear scans and Philox4x32 no library is
at hand, so they are written out here in another form than the C code: matrices over whole sequences or batches.
"""
import numpy as np
import torch

from core import golden

# ---- recurrent cells ----


def split_weights(attrs, ins, n_states):
    per_cell = 4 if attrs["bias"] else 2
    flat = [w.double() for w in ins[1 + n_states:]]
    return [flat[i:i + per_cell] for i in range(0, len(flat), per_cell)]


def load_cells(module, cells, layers, directions):
    names = ["weight_ih", "weight_hh", "bias_ih", "bias_hh"]
    with torch.no_grad():
        for i, cell in enumerate(cells):
            layer, reverse = divmod(i, directions)
            for name, value in zip(names, cell):
                getattr(module, f"{name}_l{layer}" + ("_reverse" if reverse else "")).copy_(value)


def pick(attrs, y, h, c=None):
    return {"y": y, "h": h, "c": c}[attrs["out"]].detach()


def recurrent(kind, attrs, ins, n_states, **options):
    """torch.nn.RNN, GRU or LSTM on [S, B, I]; `reverse` is the forward network on the flipped sequence."""
    x = ins[0].double()
    if attrs["batch_first"]:
        x = x.transpose(0, 1)
    steps, batch, n_in = x.shape
    hidden, layers, directions = attrs["hidden"], attrs["layers"], 2 if attrs["direction"] == "both" else 1
    states = [torch.zeros(layers * directions, batch, hidden, dtype=torch.float64) if s is None else s.double()
              for s in ins[1:1 + n_states]]
    if x.numel() == 0:  # torch refuses these; a sequence of no steps leaves the state as it is
        y = torch.zeros(steps, batch, directions * hidden, dtype=torch.float64)
    else:
        module = kind(n_in, hidden, layers, bias=attrs["bias"], bidirectional=directions == 2, **options).double()
        load_cells(module, split_weights(attrs, ins, n_states), layers, directions)
        if attrs["direction"] == "reverse":
            x = x.flip(0)
        y, final = module(x, tuple(states) if n_states == 2 else states[0])
        states = list(final) if n_states == 2 else [final]
        if attrs["direction"] == "reverse":
            y = y.flip(0)
    return pick(attrs, y.transpose(0, 1) if attrs["batch_first"] else y, *states)


@golden("rnn")
def rnn(attrs, ins, out):
    assert attrs["layers"] == 1 or attrs["direction"] != "reverse"
    return recurrent(torch.nn.RNN, attrs, ins, 1, nonlinearity=attrs["act"])


@golden("lstm")
def lstm(attrs, ins, out):
    assert attrs["layers"] == 1 or attrs["direction"] != "reverse"
    return recurrent(torch.nn.LSTM, attrs, ins, 2)


@golden("gru")
def gru(attrs, ins, out):
    if attrs["reset_after"]:
        return recurrent(torch.nn.GRU, attrs, ins, 1)
    # The reset gate before the product: torch has only the other form.
    assert attrs["layers"] == 1 and not attrs["batch_first"]
    x, cells = ins[0].double(), split_weights(attrs, ins, 1)
    order = {"forward": [False], "reverse": [True], "both": [False, True]}[attrs["direction"]]
    ys, finals = [], []
    for i, (cell, backwards) in enumerate(zip(cells, order)):
        w_ih, w_hh = cell[0].chunk(3), cell[1].chunk(3)
        zero = torch.zeros(3, dtype=torch.float64)
        b_ih, b_hh = (cell[2].chunk(3), cell[3].chunk(3)) if attrs["bias"] else (zero, zero)
        h = torch.zeros(x.shape[1], attrs["hidden"], dtype=torch.float64) if ins[1] is None else ins[1][i].double()
        line = {}
        for t in (range(len(x) - 1, -1, -1) if backwards else range(len(x))):
            r, z = (torch.sigmoid(x[t] @ w_ih[k].T + b_ih[k] + h @ w_hh[k].T + b_hh[k]) for k in (0, 1))
            n = torch.tanh(x[t] @ w_ih[2].T + b_ih[2] + (r * h) @ w_hh[2].T + b_hh[2])
            h = line[t] = n + z * (h - n)
        ys.append(torch.stack([line[t] for t in range(len(x))]) if line else torch.zeros(0, *h.shape))
        finals.append(h)
    return pick(attrs, torch.cat(ys, -1), torch.stack(finals))


# ---- linear scans ----


def absent(t, *shape):
    return np.zeros(shape) if t is None else t.double().numpy()


@golden("selective_scan")
def selective_scan(attrs, ins, out):
    x, dt, a, b, c = (t.double().numpy() for t in ins[:5])
    d, h0 = (list(ins[5:]) + [None, None])[:2]
    batch, length, n_d = x.shape
    h, ys = absent(h0, batch, n_d, a.shape[1]), np.zeros_like(x)
    with np.errstate(all="ignore"):
        for t in range(length):
            h = np.exp(np.einsum("bd,dn->bdn", dt[:, t], a)) * h + np.einsum("bd,bn,bd->bdn", dt[:, t], b[:, t], x[:, t])
            ys[:, t] = np.einsum("bdn,bn->bd", h, c[:, t])
        if d is not None:
            ys = ys + d.double().numpy() * x
    return ys if attrs["out"] == "y" else h


@golden("mamba2")
def mamba2(attrs, ins, out):
    """The dual form: y = (L * (C B^T)) (dt x), L[t, s] the decay from s to t; the state is the last row of the same."""
    x, dt, a, b, c = (t.double().numpy() for t in ins[:5])
    d, h0 = (list(ins[5:]) + [None, None])[:2]
    batch, length, heads, p = x.shape
    share = heads // b.shape[2]
    b, c = np.repeat(b, share, axis=2), np.repeat(c, share, axis=2)
    h0 = absent(h0, batch, heads, p, b.shape[3])
    total = np.cumsum(dt * a, axis=1)  # [B, L, H]
    if length == 0:
        return h0 if attrs["out"] == "h" else x
    lower = np.tril(np.ones((length, length)))[None, :, :, None]
    decay = np.exp(np.where(lower > 0, total[:, :, None] - total[:, None], -np.inf))  # [B, t, s, H]
    inputs = x * dt[..., None]
    if attrs["out"] == "h":
        return np.einsum("bsh,bshp,bshn->bhpn", decay[:, -1], inputs, b) + np.exp(total[:, -1])[:, :, None, None] * h0
    y = np.einsum("btsh,bthn,bshn,bshp->bthp", decay, c, b, inputs)
    y = y + np.einsum("bth,bhpn,bthn->bthp", np.exp(total), h0, c)
    return y if d is None else y + d.double().numpy()[:, None] * x


@golden("gated_delta_net")
def gated_delta_net(attrs, ins, out):
    """S = e^g (I - beta k k^T) S + beta k v^T, a whole batch at a time."""
    q, k, v, g, beta = (t.double().numpy() for t in ins[:5])
    batch, length, heads, n = k.shape
    s = absent(ins[5] if len(ins) > 5 else None, batch, heads, n, v.shape[3])
    y = np.zeros(v.shape)
    for t in range(length):
        kb = k[:, t] * beta[:, t, :, None]
        keep = np.eye(n) - kb[..., :, None] * k[:, t, :, None, :]
        s = np.exp(g[:, t])[..., None, None] * (keep @ s) + kb[..., :, None] * v[:, t, :, None, :]
        y[:, t] = (q[:, t, :, None, :] @ s)[:, :, 0] * n ** -0.5
    return y if attrs["out"] == "y" else s


@golden("causal_conv")
def causal_conv(attrs, ins, out):
    x, w = ins[0].double(), ins[1].double()
    bias, state = (list(ins[2:]) + [None, None])[:2]
    past = w.shape[1] - 1
    state = torch.zeros(*x.shape[:2], past, dtype=torch.float64) if state is None else state.double()
    line = torch.cat([state, x], 2)
    if attrs["out"] == "state":
        return line[:, :, line.shape[2] - past:]
    if x.shape[2] == 0:  # conv1d refuses a kernel longer than the line
        return x
    return torch.nn.functional.conv1d(line, w[:, None], None if bias is None else bias.double(), groups=w.shape[0])


# ---- random ----

U32 = np.uint64(0xFFFFFFFF)


def philox(seed, elements, draw):
    """Philox4x32-10 over an array of elements: four arrays of words."""
    elements = np.asarray(elements, np.uint64)
    seed, draw = int(seed) & (2 ** 64 - 1), int(draw) & (2 ** 64 - 1)
    ctr = [elements & U32, elements >> np.uint64(32), np.full_like(elements, draw & 0xFFFFFFFF), np.full_like(elements, draw >> 32)]
    key = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        a, b = ctr[0] * np.uint64(0xD2511F53), ctr[2] * np.uint64(0xCD9E8D57)
        ctr = [(b >> np.uint64(32)) ^ ctr[1] ^ np.uint64(key[0]), b & U32, (a >> np.uint64(32)) ^ ctr[3] ^ np.uint64(key[1]), a & U32]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return ctr


# The authors' known answers: all zeros, and the digits of pi.
assert [int(w[0]) for w in philox(0, [0], 0)] == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
assert [int(w[0]) for w in philox(0x299F31D0A4093822, [0x85A308D3243F6A88], 0x0370734413198A2E)] == \
    [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]


def draw_of(ins, at):
    return int(ins[at]) if len(ins) > at and ins[at] is not None else 0


def unit(word):
    return (word >> np.uint64(8)).astype(np.float64) / 2 ** 24


@golden("rng_uniform")
def rng_uniform(attrs, ins, out):
    u = unit(philox(attrs["seed"], np.arange(int(np.prod(out["shape"]))), draw_of(ins, 0))[0])
    return (attrs["lo"] + (attrs["hi"] - attrs["lo"]) * u).reshape(out["shape"])


@golden("rng_normal")
def rng_normal(attrs, ins, out):
    words = philox(attrs["seed"], np.arange(int(np.prod(out["shape"]))), draw_of(ins, 0))
    z = np.sqrt(-2 * np.log(unit(words[0]) + 2.0 ** -24)) * np.cos(2 * np.pi * unit(words[1]))
    return (attrs["mean"] + attrs["std"] * z).reshape(out["shape"])


def sample_row(logits, attrs, u):
    if not np.isfinite(np.max(logits)):
        return -1
    if attrs["temperature"] == 0:
        return int(np.argmax(logits))
    order = np.argsort(-logits, kind="stable")
    if attrs["top_k"]:
        order = order[:attrs["top_k"]]
    p = torch.softmax(torch.from_numpy(logits[order]) / attrs["temperature"], 0).numpy()
    p = p / p.sum()
    if attrs["top_p"] < 1:
        keep = 1 + int(np.searchsorted(np.cumsum(p), attrs["top_p"]))
        order, p = order[:keep], p[:keep]
    kept = p >= attrs["min_p"] * p[0]
    order, p = order[kept], p[kept] / p[kept].sum()
    return int(order[min(int(np.searchsorted(np.cumsum(p), u, side="right")), len(order) - 1)])


@golden("sample")
def sample(attrs, ins, out):
    logits = ins[0].double().numpy()
    rows = logits.reshape(-1, logits.shape[-1])
    if len(ins) > 2 and ins[2] is not None:
        temperature, top_k, top_p, min_p = ins[2].double().numpy()
        k = int(top_k) if top_k >= 1 else 0
        bound = attrs["top_k"]
        attrs = dict(attrs, temperature=max(temperature, 0), top_k=min(k, bound) if k and bound else k or bound,
                     top_p=1 if np.isnan(top_p) else min(max(top_p, 0), 1), min_p=min(max(min_p, 0), 1))
    u = unit(philox(attrs["seed"], np.arange(len(rows)), draw_of(ins, 1))[0])
    return np.array([sample_row(row, attrs, x) for row, x in zip(rows, u)], np.int64).reshape(out["shape"])


# ---- control flow, regions, custom ----


@golden("if")
def if_(attrs, ins, out, run):
    return run(attrs["on_true" if bool(ins[0]) else "on_false"], ins[1:])[attrs["index"]]


@golden("while")
def while_(attrs, ins, out, run):
    carried, rest, trips = list(ins[:attrs["carried"]]), list(ins[attrs["carried"]:]), 0
    while (attrs["max_trips"] == 0 or trips < attrs["max_trips"]) and bool(run(attrs["cond"], carried + rest)[0]):
        carried, trips = run(attrs["body"], carried + rest), trips + 1
    return carried[attrs["index"]]


@golden("scan")
def scan(attrs, ins, out, run):
    n, m = attrs["carried"], attrs["scanned"]
    carried, scanned, rest = list(ins[:n]), ins[n:n + m], list(ins[n + m:])
    slices = []
    order = range(len(scanned[0]))
    for t in reversed(order) if attrs["reverse"] else order:
        outputs = run(attrs["body"], carried + [x[t] for x in scanned] + rest)
        carried, index = outputs[:n], attrs["index"]
        slices.append(outputs[index])
    if attrs["index"] < n:
        return carried[attrs["index"]]
    if not slices:
        return torch.zeros(out["shape"])
    return torch.stack(slices[::-1] if attrs["reverse"] else slices)


@golden("region")
def region(attrs, ins, out, run):
    return run(attrs["body"], ins)[0]


@golden("custom")
def custom(attrs, ins, out):
    assert attrs["name"] == "rlx.test.scale_add"
    return float(attrs["config"] or 1) * ins[0].double() + ins[1].double()
