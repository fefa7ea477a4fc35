#!/usr/bin/env python3
"""rlx generate, chat, perplexity, logits, embed and bench on a tiny model of random weights. See cli.py."""

import json
import math
import os
import pathlib
import signal
import subprocess
import time

from cli import RLX, SECONDS, Skip, check, close, equal, fails, load, main, rlx, rlx_json, test, write
from gguf_file import CONTEXT, merged_llama, tiny_adapter, tiny_llama

if "generate" not in rlx("--help", expect=0).out:
    print("SKIP all: this rlx was built without language models\n0 passed, 0 failed, 1 skipped")
    raise SystemExit(0)

ON_CPU = ("--device", "cpu")


def model():
    return tiny_llama("m.gguf")


def text_of(*args, **how):
    return rlx_json("generate", "m.gguf", *ON_CPU, *args, **how)["text"]


@test
def a_text_and_what_is_reported():
    model()
    found = rlx_json("generate", "m.gguf", "-p", "the cab", "-n", "12", "--ignore-end", *ON_CPU)
    equal((found["tokens"], found["ended"]), (12, "length"), "tokens")
    told = rlx("tokenize", "m.gguf", "--decode", stdin=" ".join(map(str, found["ids"])).encode(), expect=0).out
    equal((len(found["ids"]), told.strip("\n")), (12, found["text"].strip("\n")), "their numbers")
    check(found["prompt_tokens"] >= 3 and found["text"] and found["weights"] > 0 and found["state"] > 0, found)
    shown = rlx("generate", "m.gguf", "-p", "the cab", "-n", "12", "--ignore-end", *ON_CPU, expect=0)
    equal(shown.out.encode(), ("the cab" + found["text"] + "\n").encode(), "text on standard output")
    for word in ("tokens/s", "first token after", "memory: weights", "state", "scratch", "loaded in"):
        check(word in shown.err, f"{word}: {shown.err}")
    quiet = rlx("generate", "m.gguf", "-p", "the cab", "-n", "12", "--ignore-end", "-q", *ON_CPU, expect=0)
    equal((quiet.out, quiet.err), (found["text"] + "\n", ""), "with -q")


@test
def the_same_seed_gives_the_same_text():
    model()
    drawn = ["-p", "a", "-n", "40", "--temperature", "1.2", "--top-k", "50", "--top-p", "0.9", "--ignore-end"]
    texts = [text_of(*drawn, "--seed", seed, "--threads", threads) for seed, threads in ((3, 1), (3, 2), (3, 4), (4, 1))]
    equal(texts[0], texts[1], "1 and 2 threads")
    equal(texts[0], texts[2], "1 and 4 threads")
    check(texts[0] != texts[3], "another seed gives another text")


@test
def prompts_of_all_kinds():
    model()
    for data in (b"", b"abc", b"\xff\xfe broken", b"with\0zero", "Ünïcødé 日本語 🙂".encode(), b" ", b"\n\n"):
        pathlib.Path("p.txt").write_bytes(data)
        rlx("generate", "m.gguf", "-f", "p.txt", "-n", "3", *ON_CPU, expect=0)
    equal(text_of("-f", "-", "-n", "5", stdin=b"abc"), text_of("-p", "abc", "-n", "5"), "standard input")
    fails("generate", "m.gguf", "-p", "a " * CONTEXT, *ON_CPU, says=("context", str(CONTEXT)))
    fails("generate", "m.gguf", "-p", "a", "-n", 10 * CONTEXT, "--ignore-end", *ON_CPU, says="is full")
    equal(rlx_json("generate", "m.gguf", "-p", "a", "-n", 3 * CONTEXT, "--ignore-end", "--shift", *ON_CPU)["tokens"],
          3 * CONTEXT, "with --shift")
    equal(rlx_json("generate", "m.gguf", "-p", "a", "-n", 0, "--ignore-end", *ON_CPU)["ended"], "context", "no number")


@test
def stop_texts():
    model()
    whole = text_of("-p", "the", "-n", "30", "--ignore-end")
    for stop in (whole[4:6], whole[7:12]):
        cut = rlx_json("generate", "m.gguf", "-p", "the", "-n", "30", "--ignore-end", "--stop", "never", "--stop", stop, *ON_CPU)
        equal((cut["text"], cut["ended"]), (whole[:whole.index(stop)], "stop"), f"--stop {stop!r}")


@test
def wrong_usage():
    model()
    fails("generate", says="one model", code=2)
    fails("generate", "m.gguf", says="-p TEXT or -f FILE", code=2)
    fails("generate", "m.gguf", "-p", "a", "-f", "b", says="-p TEXT or -f FILE", code=2)
    for option, values in (("--temperature", ("nan", "-1", "warm", "")), ("--context", ("0", "-1", "2147483648", "1e3")),
                           ("--top-p", ("2", "nan")), ("-n", ("-1", "x")), ("--chunk", ("0",)), ("--top-k", ("-1",))):
        for value in values:
            fails("generate", "m.gguf", "-p", "a", option, value, says=option, code=2)
    fails("generate", "m.gguf", "-p", "a", "--cache", "i8", says="f32, f16, q8_0 or q4_0")
    fails("generate", "m.gguf", "-p", "a", "--device", "none", says="none")
    fails("generate", "none.gguf", "-p", "a", *ON_CPU, says="none.gguf")
    fails("generate", "m.gguf", "-f", "none.txt", *ON_CPU, says="none.txt")
    write("text.gguf", "no model")
    fails("generate", "text.gguf", "-p", "a", *ON_CPU, says="text.gguf")
    os.mkdir("empty")
    fails("generate", "empty", "-p", "a", *ON_CPU, says="empty")
    os.mkfifo("fifo")
    fails("generate", "fifo", "-p", "a", *ON_CPU, says="fifo")
    fails("logits", "m.gguf", "--tokens", "1,x", "--out", "l.npy", says="--tokens", code=2)
    fails("logits", "m.gguf", "--tokens", "1,99999", "--out", "l.npy", *ON_CPU, says="vocabulary")
    fails("embed", "m.gguf", "a", *ON_CPU, says="does not embed")
    check(not os.path.exists("l.npy"), "an array of a failed command")


@test
def an_interrupt_keeps_what_was_written():
    model()
    process = subprocess.Popen([RLX, "generate", "m.gguf", "-p", "the", "-n", "10000000", "--ignore-end", "--shift", *ON_CPU],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    first = process.stdout.read(20)
    process.send_signal(signal.SIGINT)
    rest, err = process.communicate(timeout=SECONDS)
    equal(process.returncode, 130, f"exit code ({err})")
    check(first.startswith(b"the") and rest.endswith(b"\n") and b"cancelled" in err, (first, err))


@test
def the_second_interrupt_ends_it_at_once():
    """Nobody reads what is written, so that the first one is noted but cannot be acted on: the program waits for the pipe."""
    model()
    process = subprocess.Popen([RLX, "generate", "m.gguf", "-p", "the", "-n", "10000000", "--ignore-end", "--shift", *ON_CPU],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    process.stdout.read(3)
    time.sleep(0.5)
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
    equal(process.wait(timeout=SECONDS), 130, "exit code")
    process.stdout.close()


@test
def logits_foretell_what_is_generated():
    model()
    rlx("logits", "m.gguf", "--tokens", "1,262,270,271", "--out", "l.npy", *ON_CPU, expect=0)
    dtype, shape, values = load("l.npy")
    equal((dtype, shape[0], len(shape)), ("f32", 4, 2), "type and shape")
    one = load(rlx_logits("1,262"))[2]
    close(one, values[:2 * shape[1]], "the first tokens do not see the later ones", 1e-4)


def rlx_logits(tokens):
    rlx("logits", "m.gguf", "--tokens", tokens, "--out", "one.npy", *ON_CPU, expect=0)
    return "one.npy"


@test
def perplexity_by_hand():
    """From the logits of one window."""
    model()
    write("t.txt", "the cab, a baba")
    found = rlx_json("perplexity", "m.gguf", "t.txt", *ON_CPU)
    ids = rlx("tokenize", "m.gguf", "--ids", stdin=b"the cab, a baba", expect=0).out.split()
    rlx("logits", "m.gguf", "--tokens", ",".join(ids), "--out", "l.npy", *ON_CPU, expect=0)
    _, (_, n), values = load("l.npy")
    nats = 0.0
    for i, token in enumerate(ids[1:]):
        row = values[i * n:(i + 1) * n]
        most = max(row)
        nats += most + math.log(sum(math.exp(v - most) for v in row)) - row[int(token)]
    equal(found["tokens"], len(ids) - 1, "tokens")
    close([found["nats_per_token"], found["bits_per_byte"]], [nats / (len(ids) - 1), nats / math.log(2) / 15], "nats", 1e-3)
    windows = rlx_json("perplexity", "m.gguf", "t.txt", "--window", 6, "--stride", 2, *ON_CPU)
    equal(windows["tokens"], len(ids) - 1, "every token is judged once")
    write("short.txt", "")
    fails("perplexity", "m.gguf", "short.txt", *ON_CPU, says="two at least")
    fails("perplexity", "m.gguf", says="a model and a text", code=2)


@test
def to_be_continued():
    model()
    whole = text_of("-p", "the", "-n", "30", "--ignore-end")
    first = text_of("-p", "the", "-n", "12", "--ignore-end", "--save", "s.safetensors")
    rest = text_of("-p", "", "-n", "18", "--ignore-end", "--restore", "s.safetensors")
    equal(first + rest, whole, "in two parts")
    fails("generate", "m.gguf", "-p", "", "--restore", "m.gguf", *ON_CPU, says="m.gguf")


@test
def a_look_before():
    model()
    found = rlx_json("generate", "m.gguf", "--dry-run", "--context", "64", *ON_CPU)
    check(found["fits"] and found["weights"] > 0 and found["context"] == 64, found)
    check("it fits" in rlx("generate", "m.gguf", "--dry-run", *ON_CPU, expect=0).out, "in words")
    plain = rlx_json("generate", "m.gguf", "-p", "a", "-n", 1, "--context", 64, *ON_CPU)["state"]
    for command in ("generate", "chat", "embed", "perplexity"):
        args = (command, "m.gguf", *(["m.gguf"] if command == "perplexity" else []), "--dry-run", "--context", "64", *ON_CPU)
        state = [rlx_json(*args, *more)["state"] for more in ((), ("--cache", "f16"), ("--cache", "f32"))]
        equal(state, [plain, plain, 2 * plain], f"{command}: one default for keys and values")


@test
def a_conversation():
    model()
    once = rlx("chat", "m.gguf", "--template", "chatml", "-p", "hello", "-n", "8", "--seed", 3, *ON_CPU, expect=0).out
    talk = rlx("chat", "m.gguf", "--template", "chatml", "-n", "8", "--seed", 3, *ON_CPU, stdin=b"hello\nand you\n/quit\nnot read\n", expect=0).out
    check(talk.startswith(once.rstrip("\n")) and len(talk) > len(once), (once, talk))
    check("chatml" in rlx("chat", "--templates", expect=0).out.split(), "names of templates")
    fails("chat", "m.gguf", "-p", "hello", *ON_CPU, says=("--template", "--templates"))
    fails("chat", "m.gguf", "-p", "hello", "--template", "none", *ON_CPU, says="none")


@test
def a_template_that_is_run():
    """One that is ChatML and looks like none of the known ones, one that refuses, and one that cannot be run."""
    program = ("{% for m in messages %}{{ '<|im_' ~ 'start|>' ~ m.role }}\n{{ m.content }}{{ '<|im' + '_end|>\n' }}{% endfor %}"
               "{% if add_generation_prompt %}{{ ['<|im_', 'start|>assistant\n'] | join }}{% endif %}")
    model()
    wanted = rlx("chat", "m.gguf", "--template", "chatml", "-n", "8", "--seed", 3, "--system", "a", *ON_CPU, stdin=b"hello\nand you\n", expect=0).out
    tiny_llama("run.gguf", more={"tokenizer.chat_template": program})
    equal(rlx("chat", "run.gguf", "-n", "8", "--seed", 3, "--system", "a", *ON_CPU, stdin=b"hello\nand you\n", expect=0).out, wanted)
    tiny_llama("strict.gguf", more={"tokenizer.chat_template": "{% if messages[0].role == 'system' %}{{ raise_exception('no system text') }}{% endif %}a"})
    fails("chat", "strict.gguf", "--system", "a", "-p", "b", *ON_CPU, says=("line 1", "no system text"))
    rlx("chat", "strict.gguf", "-p", "b", "-n", "2", *ON_CPU, expect=0)
    tiny_llama("odd.gguf", more={"tokenizer.chat_template": "\n{% include 'x' %}"})
    fails("chat", "odd.gguf", "-p", "b", *ON_CPU, says=("line 2", "'include' is not supported", "--template NAME"))


CHAT = ("chat", "m.gguf", "--template", "chatml", *ON_CPU)


@test
def a_conversation_of_any_length():
    """A context of 96 tokens, and three hundred turns."""
    model()
    lines = b"".join(b"the cab %d\n" % i for i in range(300))
    found = rlx_json(*CHAT, "-n", "6", "--ignore-end", "--system", "a", stdin=lines)
    equal(len(found["turns"]), 300, "turns")
    check(all(t["tokens"] == 6 for t in found["turns"]), "every answer is whole")
    dropped = [t["dropped"] for t in found["turns"]]
    check(dropped == sorted(dropped) and dropped[0] == 0 and dropped[-1] > 500, dropped)
    few = sum(t["prompt_tokens"] < 30 for t in found["turns"])
    check(few > 150, f"{few} of 300 turns compute what is new alone")
    told = rlx(*CHAT, "-n", "6", "--ignore-end", stdin=b"the cab\n" * 20, expect=0).err
    equal(told.count("messages are left out"), 1, told)
    long = b"abcdefgh " * 40 + b"\nhello\n"
    fails(*CHAT, "-n", "6", stdin=long, says=["the last message", "context holds 96"])
    fails(*CHAT, "-n", "6", stdin=b"a" * (64 << 20), says="a line of more than 64 MiB")
    equal(rlx(*CHAT, "-n", "6", "--json", stdin=b"hello\n" + long, expect=1).out.count('"error"'), 1, "a document with what was said before")


@test
def how_a_chat_draws():
    """As asked for; else as the file says; else in a way that does not loop. A seed that was not chosen is printed."""
    model()
    once = lambda *args: rlx_json(*CHAT, "-p", "the cab", "-n", "24", "--ignore-end", *args)
    settings = lambda found: [found[k] for k in ("temperature", "top_k", "top_p", "min_p")]
    a, b = once(), once()
    equal(settings(a), [0.7, 0, 0.95, 0], "no settings in the file")
    check(a["seed"] != b["seed"] and a["turns"][0]["text"] != b["turns"][0]["text"], "fresh seeds")
    equal(once("--seed", a["seed"])["turns"][0]["text"], a["turns"][0]["text"], "the printed seed gives the text again")
    told = rlx(*CHAT, "-p", "a", "-n", "4", expect=0).err
    check("temperature 0.7, top-p 0.95 (the model's file has none), seed " in told, told)
    equal(settings(once("--temperature", 0))[0], 0, "as asked for")
    tiny_llama("m.gguf", more={"general.sampling.temp": ("f32", 0.5), "general.sampling.top_k": ("i32", 7), "general.sampling.top_p": ("f32", 0.5),
                               "general.sampling.min_p": ("f32", 0.25), "general.sampling.penalty_repeat": ("f32", 1.0)})
    equal(settings(once()), [0.5, 7, 0.5, 0.25], "the file's")
    equal(settings(once("--top-k", 3)), [0.5, 3, 0.5, 0.25], "some asked for")
    told = rlx(*CHAT, "-p", "a", "-n", "4", expect=0).err
    check("temperature 0.5, top-k 7, top-p 0.5, min-p 0.25 (the model's own), seed " in told and "not applied" not in told, told)
    tiny_llama("m.gguf", more={"general.sampling.penalty_repeat": ("f32", 1.5), "general.sampling.mirostat": ("i32", 2), "general.sampling.odd": ("i32", 2)})
    told = rlx(*CHAT, "-p", "a", "-n", "4", "-q", expect=0).err
    check("not applied: mirostat 2, odd 2" in told, told)
    told = rlx(*CHAT, "-p", "a", "-n", "4", expect=0).err
    check("top-p 0.95, repeat-penalty 1.5 (the model's file has none)" in told, told)
    tiny_llama("m.gguf", more={"general.sampling.penalty_repeat": ("f32", 1.5)})
    equal([once(*args)["repeat_penalty"] for args in ((), ("--repeat-penalty", 1.25))], [1.5, 1.25], "the penalty")
    tiny_llama("m.gguf", more={"general.sampling.penalty_repeat": ("f32", 1.5), "general.sampling.penalty_last_n": ("i32", 0)})
    equal(once()["repeat_penalty"], 1, "a window of 0 tokens")
    tiny_llama("m.gguf", more={"general.sampling.penalty_last_n": ("i32", -2)})
    fails(*CHAT, "-p", "a", says=["penalty_last_n", "expected -1 or a number of tokens"])
    tiny_llama("m.gguf", more={"general.sampling.temp": ("f32", -1.0)})
    fails(*CHAT, "-p", "a", says=["general.sampling.temp", "-1"])
    tiny_llama("m.gguf", more={"general.sampling.top_k": "many"})
    fails(*CHAT, "-p", "a", says=["general.sampling.top_k", "expected a number"])
    model()
    found = [rlx_json("generate", "m.gguf", "-p", "a", "-n", "20", "--ignore-end", *args, *ON_CPU) for args in ((), (), ("--temperature", 1.5), ("--temperature", 1.5))]
    check(found[0]["text"] == found[1]["text"] and found[0]["temperature"] == 0, "generate takes the likeliest")
    check(found[2]["seed"] != found[3]["seed"] and found[2]["text"] != found[3]["text"], "or draws, with a fresh seed")
    told = rlx("generate", "m.gguf", "-p", "a", "-n", "2", "--temperature", 1, *ON_CPU, expect=0).err
    check(told.startswith("rlx: seed "), told)
    said = lambda *args: rlx("generate", "m.gguf", "-p", "a", "-n", "30", "--ignore-end", "-q", *args, *ON_CPU, expect=0).out
    check(said("--repeat-penalty", 1) == said() != said("--repeat-penalty", 1.5), "a penalty changes the text")
    check(said("--repeat-penalty", 1.5, "--repeat-last-n", 1) != said("--repeat-penalty", 1.5), "so does its window")
    fails("generate", "m.gguf", "-p", "a", "--repeat-penalty", 0.001, *ON_CPU, says="expected a number from 0.01 to 100")


@test
def adapters():
    """--lora equals a model whose weights were merged; the text that it changes is the same by every command."""
    model()
    tiny_adapter("a.gguf")
    merged_llama("w.gguf", scale=0.5)
    how = ("--exact", "--cache", "f32", *ON_CPU)
    for name, more in (("m.gguf", ()), ("m.gguf", ("--lora", "a.gguf=0.5")), ("w.gguf", ()),
                       ("m.gguf", ("--lora", "a.gguf", "--lora", "a.gguf=-0.5"))):
        rlx("logits", name, "--tokens", "1,5,9,3,40", "--out", f"l{len(more)}{name[0]}.npy", "-q", *more, *how, expect=0)
    plain, lora, merged, both = (load(f"l{n}.npy")[2] for n in ("0m", "2m", "0w", "4m"))
    check(max(abs(a - b) for a, b in zip(lora, merged)) < 1e-4, "merged")
    check(max(abs(a - b) for a, b in zip(both, merged)) < 1e-4, "two that add up")
    check(max(abs(a - b) for a, b in zip(plain, merged)) > 1e-2, "it changes nothing")
    ask = ("generate", "-p", "the cab", "-n", "12", "--ignore-end", *how)
    texts = [rlx_json(*ask[:1], name, *ask[1:], *more)["text"] for name, more in (("m.gguf", ("--lora", "a.gguf=0.5")), ("w.gguf", ()), ("m.gguf", ()))]
    check(texts[0] == texts[1] != texts[2], texts)
    write("t.txt", "the cab is a bad cab")
    found = [rlx_json("perplexity", name, "t.txt", *more, *how)["perplexity"] for name, more in (("m.gguf", ("--lora", "a.gguf=0.5")), ("w.gguf", ()))]
    close([math.log(found[0])], [math.log(found[1])], "perplexity", 1e-5)
    fails("generate", "m.gguf", "-p", "x", "--lora", "m.gguf", *ON_CPU, says="adapter.type is not 'lora'")
    fails("generate", "m.gguf", "-p", "x", "--lora", "none.gguf=2", *ON_CPU, says="none.gguf")


@test
def what_is_typed_is_text():
    """A special token's spelling is the token in a prompt, which is the program's, and letters in what a user says."""
    model()
    ids = lambda *args, text: rlx("tokenize", "m.gguf", "--ids", *args, stdin=text, expect=0).out.split()
    letters = len(ids("--no-special", text=b"a</s>")) - len(ids("--no-special", text=b"a"))
    equal(letters, 4, "letters")
    chat = ("--chat", "--template", "chatml")
    end = ids(text=b"</s>")[-1]
    check(end not in ids(*chat, text=b"a</s>b") and end in ids(*chat, "--parse-special", text=b"a</s>b"), "in a chat")
    turn = ids(text=b"<|im_end|>")[-1]
    equal([found.count(turn) for found in (ids(*chat, text=b"a"), ids(*chat, text=b"a<|im_end|>"))], [1, 1], "a marker that the file calls text")
    check(end not in ids(*chat, "-0", text=b"a</\0s>b"), "over messages")
    equal(ids(*chat, text=b"a\0b"), ids(*chat, text="a\ufffdb".encode()), "NUL is U+FFFD")
    told = lambda *args: rlx_json("generate", "m.gguf", "-n", "1", *args, *ON_CPU)["prompt_tokens"]
    equal(told("--prompt", "a"), told("-p", "a"), "--prompt is -p")
    equal(told("-p", "a</s>"), 1 + told("-p", "a"), "a prompt is parsed")
    equal(told("-p", "a</s>", "--no-special"), letters + told("-p", "a"), "or not")
    count = lambda *args: int(rlx("chat", "m.gguf", "--template", "chatml", "-n", "1", *args, *ON_CPU, expect=0).err.split("prompt: ")[1].split()[0])
    equal(count("-p", "a</s>") - count("-p", "a"), letters, "chat")
    equal(count("--prompt", "a</s>", "--parse-special") - count("-p", "a"), 1, "chat that parses")


@test
def rates():
    model()
    rows = json.loads(rlx("bench", "m.gguf", "-p", 16, "-n", 8, "-r", 2, "-t", "1,2", "-o", "json", *ON_CPU, expect=0).out)["rows"]
    equal([(r["test"], r["threads"]) for r in rows], [("pp16", 1), ("tg8", 1), ("pp16", 2), ("tg8", 2)], "rows")
    check(all(r["tokens_per_second"] > 0 for r in rows), rows)
    check("tokens/s" in rlx("bench", "m.gguf", "-p", 8, "-n", 0, "-r", 1, *ON_CPU, expect=0).out, "as a table")
    fails("bench", "m.gguf", "-p", 0, "-n", 0, *ON_CPU, says="nothing to measure", code=2)


@test
def on_other_devices():
    """The same text wherever it is computed."""
    model()
    want = text_of("-p", "the cab", "-n", "10", "--ignore-end", "--cache", "f32")
    devices = {d["backend"] for d in rlx_json("devices")["devices"]} - {"cpu"}
    for device in sorted(devices):
        found = rlx_json("generate", "m.gguf", "-p", "the cab", "-n", "10", "--ignore-end", "--cache", "f32", "--device", device)
        equal(found["text"], want, device)


@test
def places_are_judged_before_the_model_is_loaded():
    for command in (["logits", "absent.gguf", "--tokens", "1", "--out"], ["embed", "absent.gguf", "text", "--out"],
                    ["generate", "absent.gguf", "-p", "x", "--save"]):
        for place, says in (("no/where", "'no/'"), (".", "directory"), ("x" * 300, "too long"), ("", "''")):
            fails(*command, place, says=[command[-1], says], lines=1)
    model()
    before = pathlib.Path("m.gguf").read_bytes()
    fails("logits", "m.gguf", "--tokens", "1", "--out", "m.gguf", says="which is read", lines=1)
    equal(pathlib.Path("m.gguf").read_bytes(), before, "the model")
    found = rlx_json("logits", "m.gguf", "--tokens", "1,2", "--out", "l.npy")
    equal((found["file"], found["shape"][0]), ("l.npy", 2), "what was written")


@test
def the_plan_of_a_model():
    """The program of one token, without its weights being read."""
    model()
    plan = rlx_json("plan", "m.gguf", *ON_CPU)
    dry = rlx_json("generate", "m.gguf", "--dry-run", *ON_CPU)
    equal(plan["segments"]["state"], dry["state"], "the state")
    check(plan["peak"] >= plan["lower_bound"] > 0 and plan["segments"]["weights"] > 0, f"{plan}")
    half = rlx_json("plan", "m.gguf", "--context", str(CONTEXT // 2), *ON_CPU)
    equal(2 * half["segments"]["state"], plan["segments"]["state"], "half the context")
    check("weights" in rlx("plan", "m.gguf", *ON_CPU, expect=0).out, "as text")
    check("matmul" in rlx("plan", "m.gguf", "--dispatch", *ON_CPU, expect=0).out, "what runs where")
    rlx("plan", "m.gguf", "--svg", "p.svg", *ON_CPU, expect=0)
    check(pathlib.Path("p.svg").read_text().startswith("<svg"), "a picture")
    wide = rlx_json("plan", "m.gguf", "--no-views", "--no-in-place", *ON_CPU)
    check(wide["peak"] > plan["peak"], "copies take memory in a language model's plan too")
    fails("plan", "m.gguf", "--dim", "B=3", code=2, says="--dim goes with graphs", lines=1)
    fails("plan", "absent.gguf", says="absent.gguf", lines=1)
    write("bad.gguf", "GGUF")
    fails("plan", "bad.gguf", "--json", says="bad.gguf", lines=1)


if __name__ == "__main__":
    main()
