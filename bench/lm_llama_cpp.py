#!/usr/bin/env python3
"""RLX and llama.cpp on the same GGUF files, turn by turn in one run, on the CPU.

    bench/lm_llama_cpp.py BUILD MODEL.gguf... [-t 1,2] [-p 512] [-n 128] [-r 3]
    bench/lm_llama_cpp.py BUILD MODEL.gguf... --memory

Needs the package llama-cpp-python (built for this machine). Prints Markdown tables: load time and peak memory of a process that
loads the model and makes a token, and how much of RLX's is neither weights nor state nor scratch (--memory: that of RLX alone,
which needs no package); then tokens per second of prompt and generation for both and the ratio RLX / llama.cpp of the medians.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time


def rlx_rates(build, model, threads, o):
    out = subprocess.run([build / "rlx", "bench", model, "-p", str(o.prompt), "-n", str(o.tokens), "-t", str(threads), "-r", "1",
                          "--device", "cpu", "-o", "json"], check=True, capture_output=True, text=True).stdout
    rows = {row["test"]: row["tokens_per_second"] for row in json.loads(out)["rows"]}
    return rows.get(f"pp{o.prompt}", 0), rows.get(f"tg{o.tokens}", 0)


class Llama:
    """One model and number of threads, through the package's own class."""

    def __init__(self, model, threads, context):
        import llama_cpp
        self.llama = llama_cpp.Llama(str(model), n_ctx=context, n_batch=512, n_ubatch=512, n_threads=threads,
                                     n_threads_batch=threads, verbose=False)

    def rates(self, o):
        llama = self.llama
        n_vocab = llama.n_vocab()
        ids = [i * 7919 % n_vocab for i in range(o.prompt)]
        llama.reset()
        begin = time.perf_counter()
        llama.eval(ids)
        prompt = o.prompt / (time.perf_counter() - begin)
        llama.reset()
        llama.eval([ids[0]])
        begin = time.perf_counter()
        for i in range(o.tokens):
            llama.eval([ids[i % len(ids)]])
        return prompt, o.tokens / (time.perf_counter() - begin)


def peak(command):
    """(seconds, peak resident MiB, what it printed) of a process."""
    begin = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    said = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = status
    if status:
        raise SystemExit(f"{command}: {status}")
    return time.perf_counter() - begin, usage.ru_maxrss / 1024, said


def rlx_peak(build, model):
    """(seconds, peak MiB, of that neither weights nor state nor scratch)"""
    taken, most, said = peak([str(build / "rlx"), "generate", str(model), "-p", "a", "-n", "1", "--context", "64", "--device", "cpu",
                              "--json"])
    told = json.loads(said)
    return taken, most, most - (told["weights"] + told["state"] + told["scratch"]) / 2**20


def one_token(model, threads):
    """Run in a process of its own: load and make one token."""
    Llama(model, threads, 64).llama.eval([1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("models", type=pathlib.Path, nargs="+")
    parser.add_argument("-t", dest="threads", default="1,2")
    parser.add_argument("-p", dest="prompt", type=int, default=512)
    parser.add_argument("-n", dest="tokens", type=int, default=128)
    parser.add_argument("-r", dest="repeats", type=int, default=3)
    parser.add_argument("--memory", action="store_true", help="only RLX's time to load and memory")
    parser.add_argument("--one-token", action="store_true", help=argparse.SUPPRESS)
    o = parser.parse_args()
    if o.one_token:
        return one_token(o.models[0], int(o.threads))
    if o.memory:
        print("| model | RLX: load and a token | peak MiB | beyond weights, state, scratch |\n|---|---|---|---|")
        for model in o.models:
            print("| {} | {:.2f} s | {:.0f} | {:.1f} |".format(model.stem, *rlx_peak(o.build, model)), flush=True)
        return None
    try:
        import llama_cpp
    except ImportError:
        raise SystemExit("lm_llama_cpp: the package llama-cpp-python is not installed")
    print(f"llama-cpp-python {llama_cpp.__version__}; medians of {o.repeats}, turn by turn\n")
    # First, while this process is small: a child begins with its parent's peak.
    print("| model | llama.cpp: load and a token | peak MiB | RLX: the same | peak MiB | beyond weights, state, scratch |\n"
          "|---|---|---|---|---|---|")
    for model in o.models:
        a = peak([sys.executable, __file__, str(o.build), str(model), "-t", "2", "--one-token"])
        b = rlx_peak(o.build, model)
        print(f"| {model.stem} | {a[0]:.2f} s | {a[1]:.0f} | {b[0]:.2f} s | {b[1]:.0f} | {b[2]:.1f} |", flush=True)
    print()
    print("| model | threads | llama.cpp pp | RLX pp | ratio | llama.cpp tg | RLX tg | ratio |\n|---|---|---|---|---|---|---|---|")
    for model in o.models:
        for threads in map(int, o.threads.split(",")):
            other, theirs, ours = Llama(model, threads, o.prompt + o.tokens + 8), [], []
            other.rates(o)
            for _ in range(o.repeats):
                theirs.append(other.rates(o))
                ours.append(rlx_rates(o.build, model, threads, o))
            del other
            a, b = ([statistics.median(r[i] for r in side) for i in (0, 1)] for side in (theirs, ours))
            print(f"| {model.stem} | {threads} | {a[0]:.1f} | {b[0]:.1f} | **{b[0] / a[0]:.2f}** | {a[1]:.2f} | {b[1]:.2f} | "
                  f"**{b[1] / a[1]:.2f}** |", flush=True)

if __name__ == "__main__":
    main()
