"""Language models of random weights on GPUs, for tools/gpu_report: tokens per second of prompts and generation, of several
sequences together, and behind a long context, on each device in turn, and by llama.cpp where its programs are at hand.
"""

import fnmatch
import json
import os
import pathlib
import subprocess
import sys
import tempfile

MODELS = (("qwen3-0.6b", "f16"), ("qwen3-0.6b", "q8_0"), ("qwen3-0.6b", "q4_k"), ("llama-134m", "f16"), ("llama-8b", "q4_k"),
          ("llama-8b", "f16"))
# Which models, tokens of prompt, of generation, of context before, numbers of sequences.
RUNS = (("*", 512, 128, 0, (1,)), ("qwen3-0.6b q8_0", 8192, 0, 0, (1,)), ("qwen3-0.6b q8_0", 0, 64, 16384, (1,)),
        ("qwen3-0.6b q8_0", 128, 32, 0, (8, 32, 64)), ("llama-8b *", 128, 32, 0, (8, 32, 64)))


def names(prompt, generated, depth, batch):
    """What `rlx bench` calls the two tests"""
    end = f"x{batch}" if batch > 1 else ""
    at = f"@{depth}" if depth else ""
    return [f"{kind}{count}{at}{end}" for kind, count in (("pp", prompt), ("tg", generated)) if count]


def rlx_rates(folder, path, device, run, repeats):
    """Rates by test; a text instead of a number says what went wrong. `device` may be followed by switches."""
    prompt, generated, depth, batches = run
    name, *switches = device.split()
    if switches:  # they change prompts alone
        generated = 0
    rates = {}
    for batch in batches if prompt or generated else ():
        done = subprocess.run([folder / "rlx", "bench", path, "--device", name, *switches, "-p", str(prompt), "-n", str(generated),
                               "-d", str(depth), "-b", str(batch), "-r", str(repeats), "-o", "json"], capture_output=True, text=True)
        try:
            rates.update({row["test"]: row["tokens_per_second"] for row in json.loads(done.stdout)["rows"]})
        except (ValueError, KeyError):
            rates.update(dict.fromkeys(names(prompt, generated, depth, batch), done.stderr.strip()[:100].replace("\n", " ")))
    return rates


def llama_rates(folder, path, run, repeats):
    """The same by llama-bench, or by llama-batched-bench for several sequences"""
    prompt, generated, depth, batches = run
    common = ["-m", path, "-ngl", "99"]
    if batches == (1,):
        done = subprocess.run([folder / "llama-bench", *common, "-fa", "1", "-p", str(prompt), "-n", str(generated), "-d", str(depth),
                               "-r", str(repeats), "-o", "json"], capture_output=True, text=True)
        try:
            rows = json.loads(done.stdout)
        except ValueError:
            return dict.fromkeys(names(prompt, generated, depth, 1), done.stderr.strip()[-100:].replace("\n", " "))
        return {names(row["n_prompt"], row["n_gen"], row["n_depth"], 1)[0]: row["avg_ts"] for row in rows}
    context = max(batches) * (prompt + generated)
    done = subprocess.run([folder / "llama-batched-bench", *common, "-fa", "on", "-c", str(context), "-npp", str(prompt), "-ntg",
                           str(generated), "-npl", ",".join(map(str, batches)), "--output-format", "jsonl"],
                          capture_output=True, text=True)
    rates = {}
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            row = json.loads(line)
            pair = names(prompt, generated, depth, row["pl"])
            rates.update(zip(pair, (row["speed_pp"], row["speed_tg"])))
    return rates


def shown(rate):
    return "-" if rate is None else f"{rate:,.0f}" if isinstance(rate, (int, float)) else str(rate)


def table(folder, devices, pattern, llama, repeats=3):
    """The lines of the table; `llama`: the folder of llama.cpp's programs, or None"""
    heads = ["model", "test", *devices, *(["llama.cpp", f"{devices[0]} / llama.cpp"] if llama else [])]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as scratch:
        for shape, kind in MODELS:
            if not fnmatch.fnmatch(f"{shape} {kind}", pattern):
                continue
            path = pathlib.Path(scratch) / "m.gguf"
            subprocess.run([folder / "bench/lm_make", shape, kind, path], check=True)
            for which, *run in RUNS:
                if not fnmatch.fnmatch(f"{shape} {kind}", which):
                    continue
                found = [rlx_rates(folder, path, device, run, repeats) for device in devices]
                peer = llama_rates(llama, path, run, repeats) if llama else {}
                for test in [name for batch in run[3] for name in names(*run[:3], batch)]:
                    cells = [shown(f.get(test)) for f in found]
                    if llama:
                        ours, theirs = found[0].get(test), peer.get(test)
                        both = isinstance(ours, float) and isinstance(theirs, (int, float)) and theirs
                        cells += [shown(theirs), f"{ours / theirs:.2f}" if both else "-"]
                    lines.append(f"| {shape} {kind} | {test} | {' | '.join(cells)} |")
                    print(lines[-1], file=sys.stderr, flush=True)
    return lines
