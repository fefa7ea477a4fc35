#!/usr/bin/env python3
"""Clients at once against a server of OpenAI's interface: tokens/s, time to the first token, gaps between tokens.

    bench/serve_load.py BUILD MODEL.gguf [--clients 1,8,32] [--rounds 3] [-n 64] [--threads 2] [--turns 3]
                        [--llama-server PROGRAM | --peer http://127.0.0.1:8081]

Starts `rlx serve` on a free port. Every request has the same system prompt (about 500 tokens) and a question of its own. Each
number of clients is measured in turns: RLX, then the peer, if there is one, so that the ratios are of one run; of several turns
the medians are printed. --llama-server starts llama.cpp's server with the same model, context, threads and number of parallel
texts (built from llama.cpp's source: -DLLAMA_BUILD_SERVER=ON, target llama-server); --peer is one that was started by hand.

    bench/serve_load.py BUILD MODEL.gguf --prefix 5 --context 4096

The time to the first token of a new system prompt of about 2,450 tokens, and of three other questions after the same one.
"""

import argparse
import concurrent.futures
import http.client
import json
import pathlib
import socket
import statistics
import subprocess
import time
import urllib.parse
import urllib.request

SYSTEM = " ".join(f"Rule {i}: answer in plain words, keep it short, and say what you do not know." for i in range(28))
TOPICS = ["gravity", "rivers", "bread", "bees", "glass", "wind", "ships", "paper", "salt", "bridges", "clocks", "maps"]


def ask(address, number, tokens, system=SYSTEM):
    """(seconds to the first token, gaps, tokens) of one streamed answer."""
    parts = urllib.parse.urlsplit(address)
    c = http.client.HTTPConnection(parts.hostname, parts.port, timeout=3600)
    body = {"messages": [{"role": "system", "content": system},
                         {"role": "user", "content": f"({number}) Tell me about {TOPICS[number % len(TOPICS)]}."}],
            "max_tokens": tokens, "temperature": 0, "stream": True, "ignore_eos": True}
    begin = time.perf_counter()
    c.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
    r = c.getresponse()
    if r.status != 200:
        raise SystemExit(f"{address}: {r.status} {r.read()[:300]}")
    times = []
    for line in r:
        if not line.startswith(b"data: {"):
            continue
        choices = json.loads(line[6:]).get("choices")
        if choices and choices[0]["delta"].get("content"):
            times.append(time.perf_counter())
    c.close()
    gaps = [b - a for a, b in zip(times, times[1:])]
    return times[0] - begin, gaps, len(times)


def measure(address, clients, rounds, tokens, number=0):
    """With questions from `number` on: what was asked before is held by both servers."""
    begin = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        answers = list(pool.map(lambda i: ask(address, number + i, tokens), range(clients * rounds)))
    seconds = time.perf_counter() - begin
    firsts = sorted(a[0] for a in answers)
    gaps = sorted(g for a in answers for g in a[1])
    pick = lambda v, p: v[min(len(v) - 1, int(p * len(v)))] * 1e3
    return sum(a[2] for a in answers) / seconds, pick(firsts, .5), pick(firsts, .99), pick(gaps, .5), pick(gaps, .99)


def measure_prefix(address, turns):
    print("| first, ms | then, ms | part of the first |\n|---|---|---|")
    parts = []
    for turn in range(turns):
        system = f"Number {turn}. " + " ".join(SYSTEM.replace("Rule", f"Rule {k}.") for k in range(4))
        first, *then = [1e3 * ask(address, i, 4, system)[0] for i in range(4)]
        parts += [t / first for t in then]
        print(f"| {first:.0f} | {', '.join(f'{t:.0f}' for t in then)} | {100 * statistics.median(parts[-3:]):.1f} % |", flush=True)
    print(f"| | | {100 * statistics.median(parts):.1f} % |")


def start_llama(o):
    """llama.cpp's server, and its address once it answers."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    server = subprocess.Popen([o.llama_server, "-m", o.model, "-c", str(o.context * o.parallel), "-np", str(o.parallel), "-t",
                               str(o.threads), "-tb", str(o.threads), "--host", "127.0.0.1", "--port", str(port)],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    while server.poll() is None:
        try:
            urllib.request.urlopen(address + "/health").close()
            return server, address
        except OSError:
            time.sleep(.2)
    raise SystemExit(f"{o.llama_server} ended with {server.returncode}")


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("build", type=pathlib.Path)
    p.add_argument("model")
    p.add_argument("--clients", default="1,8,32")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("-n", "--tokens", type=int, default=64)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--parallel", type=int, default=8)
    p.add_argument("--device", default="cpu")
    p.add_argument("--context", type=int, default=2048, help="tokens of a text")
    p.add_argument("--turns", type=int, default=1)
    p.add_argument("--prefix", type=int, metavar="TURNS")
    p.add_argument("--peer")
    p.add_argument("--llama-server")
    o = p.parse_args()
    server = subprocess.Popen([o.build / "rlx", "serve", o.model, "--port", "0", "-q", "--device", o.device, "--threads",
                               str(o.threads), "--parallel", str(o.parallel), "--context", str(o.context)],
                              stdout=subprocess.PIPE, text=True)
    llama = None
    try:
        address = server.stdout.readline().strip()
        if o.prefix:
            ask(address, 0, 4)
            measure_prefix(address, o.prefix)
            return
        if o.llama_server:
            llama, o.peer = start_llama(o)
        print("| clients | server | pieces/s | first token p50 / p99, ms | gap p50 / p99, ms |\n|---|---|---|---|---|")
        for clients in map(int, o.clients.split(",")):
            servers = [("rlx", address)] + ([("peer", o.peer)] if o.peer else [])
            found = {name: [] for name, _ in servers}
            for name, at in servers:
                measure(at, clients, 1, 4)  # warm: programs, prefix
            for turn in range(o.turns):
                for name, at in servers:
                    found[name].append(measure(at, clients, o.rounds, o.tokens, 1000 * (turn + 1)))
            middle = {name: [statistics.median(column) for column in zip(*rows)] for name, rows in found.items()}
            for name, (rate, *ms) in middle.items():
                print(f"| {clients} | {name} | {rate:.1f} | {ms[0]:.0f} / {ms[1]:.0f} | {ms[2]:.1f} / {ms[3]:.1f} |", flush=True)
            if o.peer:
                rate, first, _, gap, _ = [a / b if i == 0 else b / a for i, (a, b) in enumerate(zip(middle["rlx"], middle["peer"]))]
                print(f"| {clients} | times better | {rate:.2f} | {first:.2f} | {gap:.2f} |", flush=True)
    finally:
        for process in filter(None, (server, llama)):
            process.terminate()
            process.wait()


if __name__ == "__main__":
    main()
