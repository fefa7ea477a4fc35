#!/usr/bin/env python3
"""Tokens per second of generation with guessed tokens beside without, turn by turn in one run, on the CPU.

    bench/lm_speculation.py BUILD MODEL.gguf [--draft MODEL] [-n 128] [-r 5] [-t 2] [--lookup 7,15,31]

Texts that repeat (a list, a file with a change, a poem with a refrain) and one that does not. For each the median of both, the
ratio of the medians, how many guesses were right, and whether the texts are equal. Greedy, so that a run can be compared.
"""

import argparse
import json
import pathlib
import statistics
import subprocess

TEXTS = {
    "list": "Colours: red, orange, yellow, green, blue, indigo, violet, black, white, grey.\n"
            "Colours: red, orange, yellow, green, blue, indigo, violet, black, white, grey.\nColours: red,",
    "code": "def area(width, height):\n    if width < 0 or height < 0:\n        raise ValueError('negative size')\n    return width * height\n\n"
            "# The same function, with type hints:\ndef area(width: float, height: float) -> float:\n    if width < 0",
    "refrain": "Row, row, row your boat,\nGently down the stream.\nMerrily, merrily, merrily, merrily,\nLife is but a dream.\n\n"
               "Row, row, row your boat,\nGently down the",
    "prose": "The old harbour had been quiet for years when the first of the grey ships came in, and",
}


def run(build, model, text, o, extra):
    out = subprocess.run([build / "rlx", "generate", model, "-p", text, "-n", str(o.tokens), "--temperature", "0", "--ignore-end",
                          "--device", "cpu", "--threads", str(o.threads), "--json", *extra], check=True, capture_output=True, text=True)
    return json.loads(out.stdout)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("build", type=pathlib.Path)
    p.add_argument("model")
    p.add_argument("--draft")
    p.add_argument("--lookup", default="7,15,31")
    p.add_argument("-n", "--tokens", type=int, default=128)
    p.add_argument("-r", "--repeats", type=int, default=5)
    p.add_argument("-t", "--threads", type=int, default=2)
    o = p.parse_args()
    ways = [("draft", ["--draft", o.draft])] if o.draft else [(f"lookup {n}", ["--lookup", n]) for n in o.lookup.split(",")]
    print("| text | how | without, tokens/s | with | ratio | guesses right | equal text |\n|---|---|---|---|---|---|---|")
    for name, text in TEXTS.items():
        for how, extra in ways:
            without, guessed = [], []
            for _ in range(o.repeats):
                without.append(run(o.build, o.model, text, o, []))
                guessed.append(run(o.build, o.model, text, o, extra))
            a, b = (statistics.median(r["tokens_per_second"] for r in rows) for rows in (without, guessed))
            last = guessed[-1]
            equal = "yes" if last["text"] == without[-1]["text"] else "no"
            print(f"| {name} | {how} | {a:.0f} | {b:.0f} | {b / a:.2f} | {last.get('guessed_right', 0)} of {last.get('guessed', 0)} | {equal} |",
                  flush=True)


if __name__ == "__main__":
    main()
