#!/usr/bin/env python3
"""rlx serve: every route, streams and whole answers, what is refused, and what clients do wrong. See cli.py."""

import base64
import concurrent.futures
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import time

from cli import ROOT, RLX, SECONDS, Skip, check, equal, fails, main, rlx, rlx_json, test, write
from gguf_file import tiny_adapter
from lm_packages import packages
from lm_pairs import BERT, encoder
from lm_server import EXACT, SHAKESPEARE, Server, fetched, need_server, tiny_chat

CHAT, TEXT, MESSAGES, RESPONSES = "/v1/chat/completions", "/v1/completions", "/v1/messages", "/v1/responses"
HELLO = [{"role": "user", "content": "a the ab"}]


def greedy(prompt, n, path=SHAKESPEARE):
    return rlx_json("generate", path, "-p", prompt, "-n", n, "--temperature", "0", "--device", "cpu", *EXACT)["text"]


def joined(answer, pick):
    """The text of a stream, from the deltas that `pick` finds."""
    return "".join(pick(data) or "" for _, data in answer.events if data != "[DONE]")


def chat_delta(data):
    return data["choices"][0]["delta"].get("content") if data["choices"] else ""


# ---- Answers


@test
def completions_are_those_of_generate():
    """Also when several run at once, and whatever they share."""
    prompts = ["ROMEO:", "JULIET:", "First Citizen:\nBefore we", "ROMEO:\nBut soft", "KING", "a"]
    with Server(SHAKESPEARE) as s:
        def ask(prompt):
            return s.post(TEXT, {"prompt": prompt, "max_tokens": 24, "temperature": 0}).json
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(ask, prompts * 2))
        for prompt, answer in zip(prompts * 2, answers):
            equal(answer["choices"][0]["text"], greedy(prompt, 24), prompt)
        equal(answers[0]["usage"]["completion_tokens"], 24)
        equal(answers[0]["choices"][0]["finish_reason"], "length")
        both = s.post(TEXT, {"prompt": prompts[:2], "max_tokens": 8, "temperature": 0, "n": 2}).json["choices"]
        equal([c["index"] for c in both], [0, 1, 2, 3])
        equal([c["text"] for c in both], [greedy(p, 8) for p in prompts[:2] for _ in range(2)])
        echo = s.post(TEXT, {"prompt": "ROMEO:", "max_tokens": 8, "temperature": 0, "echo": True}).json["choices"][0]
        equal(echo["text"], "ROMEO:" + greedy("ROMEO:", 8))


@test
def guesses_change_no_answer():
    """From the text and from a draft model; usage and metrics count them."""
    prompts = ["abc abc abc abc", "one two one two one", "ROMEO:"]
    want = [greedy(p, 40) for p in prompts]
    for options in (["--lookup", "7"], ["--draft", SHAKESPEARE, "--draft-tokens", "3"]):
        with Server(SHAKESPEARE, *options) as s:
            def ask(prompt, **more):
                return s.post(TEXT, {"prompt": prompt, "max_tokens": 40, "temperature": 0, **more}).json
            with concurrent.futures.ThreadPoolExecutor(3) as pool:
                answers = list(pool.map(ask, prompts))
            equal([a["choices"][0]["text"] for a in answers], want, options)
            alone = ask(prompts[0])
            details = alone["usage"]["completion_tokens_details"]
            right, wrong = details["accepted_prediction_tokens"], details["rejected_prediction_tokens"]
            is_sure = options[0] == "--draft"  # the draft model is the model itself
            check(right > 0 and wrong == 0 if is_sure else right + wrong > 0, details)
            check("completion_tokens_details" not in ask(prompts[0], lookup=0)["usage"], "lookup: 0 guesses nothing")
            text = s.get("/metrics").text
            counts = {line.split()[0]: float(line.split()[1]) for line in text.splitlines() if not line.startswith("#")}
            check(counts["rlx_guessed_tokens_total"] >= counts["rlx_guessed_tokens_right_total"] >= right, text)
            s.refuses(TEXT, {"prompt": "a", "lookup": 32}, 400, "at most 31 tokens")
    fails("serve", SHAKESPEARE, "--lookup", "3", "--draft", SHAKESPEARE, says="exclude each other")
    fails("serve", SHAKESPEARE, "--draft-tokens", "3", says="without a draft model")


@test
def streams_say_what_whole_answers_say():
    with Server(SHAKESPEARE, tiny_chat()) as s:
        body = {"prompt": "ROMEO:", "max_tokens": 20, "temperature": 0}
        stream = s.post(TEXT, {**body, "stream": True, "stream_options": {"include_usage": True}})
        equal(stream.headers["Content-Type"], "text/event-stream")
        equal(joined(stream, lambda d: d["choices"][0]["text"] if d["choices"] else ""), greedy("ROMEO:", 20))
        equal(stream.events[-1][1], "[DONE]")
        equal(stream.events[-2][1]["usage"]["completion_tokens"], 20)
        chat = {"model": "tiny", "messages": HELLO, "max_tokens": 12, "temperature": 0}
        whole = s.post(CHAT, chat).json
        text = whole["choices"][0]["message"]["content"]
        equal(joined(s.post(CHAT, {**chat, "stream": True}), chat_delta), text, CHAT)
        answer = s.post(MESSAGES, chat).json
        equal([b["text"] for b in answer["content"]], [text], MESSAGES)
        equal(answer["usage"]["input_tokens"] + answer["usage"]["cache_read_input_tokens"], whole["usage"]["prompt_tokens"])
        events = s.post(MESSAGES, {**chat, "stream": True}).events
        equal([e[0] for e in events[:2]], ["message_start", "content_block_start"])
        equal([e[0] for e in events[-3:]], ["content_block_stop", "message_delta", "message_stop"])
        equal("".join(d["delta"]["text"] for n, d in events if n == "content_block_delta"), text)
        check(all(name == data["type"] for name, data in events), "an event has another name than its data")
        whole = s.post(RESPONSES, {"model": "tiny", "input": HELLO, "max_output_tokens": 12, "temperature": 0}).json
        equal(whole["output"][0]["content"][0]["text"], text, RESPONSES)
        equal((whole["status"], whole["incomplete_details"]), ("incomplete", {"reason": "max_output_tokens"}))
        events = s.post(RESPONSES, {"model": "tiny", "input": HELLO[0]["content"], "max_output_tokens": 12, "temperature": 0,
                                    "stream": True}).events
        equal("".join(d["delta"] for n, d in events if n == "response.output_text.delta"), text)
        equal([d["sequence_number"] for _, d in events], list(range(len(events))))
        equal(events[-1][1]["response"]["output"][0]["content"][0]["text"], text)


@test
def choices_seeds_stops_and_logprobs():
    with Server(SHAKESPEARE) as s:
        draw = {"prompt": "ROMEO:", "max_tokens": 16, "temperature": 1, "seed": 7}
        first, second = (s.post(TEXT, draw).json["choices"][0]["text"] for _ in range(2))
        equal(first, second, "the same seed")
        other = s.post(TEXT, {**draw, "seed": 8}).json["choices"][0]["text"]
        check(other != first, "another seed gave the same text")
        several = [c["text"] for c in s.post(TEXT, {**draw, "n": 3}).json["choices"]]
        equal((several[0], len(set(several))), (first, 3), "choices draw with seeds of their own")
        text = greedy("ROMEO:", 40)
        stopped = s.post(TEXT, {"prompt": "ROMEO:", "max_tokens": 40, "temperature": 0, "stop": [text[10:13]]}).json["choices"][0]
        equal((stopped["text"], stopped["finish_reason"]), (text[:text.index(text[10:13])], "stop"))
        told = s.post(TEXT, {"prompt": "ROMEO:", "max_tokens": 5, "temperature": 0, "logprobs": 3}).json["choices"][0]["logprobs"]
        equal([len(told[k]) for k in ("tokens", "token_logprobs", "top_logprobs")], [5, 5, 5])
        equal("".join(told["tokens"]), greedy("ROMEO:", 5))
        for token, logprob, top in zip(told["tokens"], told["token_logprobs"], told["top_logprobs"]):
            equal(len(top), 3)
            check(top[token] == logprob == max(top.values()), f"the likeliest of {top} is not {token!r} {logprob}")
        banned = s.post("/tokenize", {"content": told["tokens"][0]}).json["tokens"]
        bias = {str(banned[0]): -100}
        forbidden = s.post(TEXT, {"prompt": "ROMEO:", "max_tokens": 5, "temperature": 0, "logit_bias": bias}).json
        check(not forbidden["choices"][0]["text"].startswith(told["tokens"][0]), "a token with bias -100 came")


@test
def chat_logprobs_have_bytes():
    with Server(tiny_chat()) as s:
        body = {"messages": HELLO, "max_tokens": 6, "temperature": 0, "logprobs": True, "top_logprobs": 2}
        choice = s.post(CHAT, body).json["choices"][0]
        rows = choice["logprobs"]["content"]
        equal(len(rows), 6)
        rows = [row for row in rows if row["token"] not in ("<s>", "<unk>")]  # they have no text
        spelled = b"".join(bytes(row["bytes"]) for row in rows).decode("utf-8", "replace")
        equal(spelled.strip(), choice["message"]["content"].strip())
        streamed = s.post(CHAT, {**body, "stream": True})
        told = [row for _, d in streamed.events if d != "[DONE]" for c in d["choices"] for row in c["logprobs"]["content"]]
        equal([r["token"] for r in told], [r["token"] for r in choice["logprobs"]["content"]])


@test
def tokens_models_and_health():
    with Server(f"bard={SHAKESPEARE}", tiny_chat()) as s:
        equal(s.get("/health").json, {"status": "ok"})
        listed = s.get("/v1/models").json["data"]
        equal([(m["id"], m["state"]) for m in listed], [("bard", "ready"), ("tiny", "away")])
        equal(s.get("/v1/models/bard").json["family"], "llama")
        equal(s.get("/v1/models/none").status, 404)
        ids = s.post("/tokenize", {"content": "hello world"}).json["tokens"]
        told = rlx("tokenize", SHAKESPEARE, "--ids", "--no-special", stdin=b"hello world", expect=0).out.split()
        equal([str(i) for i in ids], told)
        equal(s.post("/detokenize", {"tokens": ids}).json, {"content": "hello world"})
        pieces = s.post("/tokenize", {"content": "hello", "with_pieces": True}).json["tokens"]
        equal("".join(p["piece"] for p in pieces), "hello")
        counted = s.post("/v1/messages/count_tokens", {"model": "tiny", "messages": HELLO}).json["input_tokens"]
        used = s.post(MESSAGES, {"model": "tiny", "messages": HELLO, "max_tokens": 1}).json["usage"]
        equal(counted, used["input_tokens"] + used["cache_read_input_tokens"])
        equal(s.metric("models_loaded"), 2)


@test
def vectors():
    minilm = fetched("minilm")
    with Server(f"minilm={minilm}", SHAKESPEARE) as s:
        texts = ["a b c", "the cat", ""]
        told = [rlx_json("embed", minilm, text)["embeddings"][0] for text in texts[:2]]
        data = s.post("/v1/embeddings", {"input": texts[:2]}).json
        for row, expected in zip(data["data"], told):
            check(max(abs(a - b) for a, b in zip(row["embedding"], expected)) < 1e-6, "embeddings differ from rlx embed")
        packed = s.post("/v1/embeddings", {"input": texts[0], "encoding_format": "base64"}).json["data"][0]["embedding"]
        raw = base64.b64decode(packed)
        equal([round(x, 6) for x in struct.unpack(f"<{len(raw) // 4}f", raw)],
              [round(x, 6) for x in data["data"][0]["embedding"]])
        short = s.post("/v1/embeddings", {"input": texts[0], "dimensions": 2}).json["data"][0]["embedding"]
        check(len(short) == 2 and abs(sum(x * x for x in short) - 1) < 1e-5, f"two dimensions: {short}")
        ranked = s.post("/rerank", {"query": "the cat", "documents": ["a b c", "the cat"], "top_n": 1}).json["results"]
        equal([r["index"] for r in ranked], [1])
        check(abs(ranked[0]["relevance_score"] - 1) < 1e-5, f"a text beside itself: {ranked}")
        s.refuses("/v1/embeddings", {"input": "x", "model": "shakespeare"}, 400, "generates text")
        s.refuses("/v1/embeddings", {"input": "x", "dimensions": 1 << 16}, 400, "dimensions")
        s.refuses("/v1/embeddings", {"input": []}, 400, "input")
        s.refuses("/v1/embeddings", {"input": ["x", 3]}, 400, "input: 1", "a text")
        s.refuses("/v1/embeddings", {"input": "a " * 4000}, 400, "context")
        s.refuses(TEXT, {"prompt": "x"}, 400, "embeds texts")
        openai, = packages("openai")
        client = openai.OpenAI(base_url=s.address + "/v1", api_key="none", max_retries=0, timeout=SECONDS)
        rows = client.embeddings.create(model="minilm", input=texts[:2]).data
        check(max(abs(a - b) for a, b in zip(rows[1].embedding, told[1])) < 1e-6, "through OpenAI's client")


@test
def pairs():
    encoder("bert_rank", "ranker", BERT)
    texts = ["w5 w6", "w7", "w8 w9 w10"]
    told = rlx_json("rerank", "ranker", "--query", "w3 w4", *texts)["results"]
    with Server("ranker=ranker") as s:
        for path in ("/rerank", "/v1/rerank"):
            found = s.post(path, {"query": "w3 w4", "documents": texts, "return_documents": True}).json
            equal([r["index"] for r in found["results"]], [r["index"] for r in told])
            for a, b in zip(found["results"], told):
                check(abs(a["relevance_score"] - b["score"]) < 1e-6 and a["document"]["text"] == b["text"], (a, b))
        equal(found["usage"]["prompt_tokens"], 12, "the tokens of both texts of each pair")
        s.refuses("/v1/embeddings", {"input": "w3"}, 400, "ranks texts")
        s.refuses("/rerank", {"query": "w3", "documents": ["w4 " * 60]}, 400, "context")


@test
def a_common_beginning_is_computed_once():
    with Server(SHAKESPEARE) as s:
        shared = "First Citizen:\nBefore we proceed any further, hear me speak.\n" * 8
        first = s.post(TEXT, {"prompt": shared + "A", "max_tokens": 2}).json["usage"]
        second = s.post(TEXT, {"prompt": shared + "B", "max_tokens": 2}).json["usage"]
        equal(first["prompt_tokens_details"]["cached_tokens"], 0)
        held = second["prompt_tokens_details"]["cached_tokens"]
        check(held >= second["prompt_tokens"] - 64 > 100, f"{held} of {second['prompt_tokens']} tokens were held")


# ---- Forms of answers, tools

PLACE = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 6}, "kind": {"enum": ["town", "river"]},
                                          "size": {"type": "integer", "minimum": 0, "maximum": 99}},
         "required": ["name", "kind", "size"], "additionalProperties": False}


def conforms(place):
    equal(sorted(place), ["kind", "name", "size"])
    check(isinstance(place["name"], str) and len(place["name"]) <= 6 and place["kind"] in ("town", "river") and 0 <= place["size"] <= 99, place)


@test
def answers_follow_a_form():
    with Server(SHAKESPEARE, tiny_chat(context=1024)) as s:
        base = {"model": "tiny", "messages": HELLO, "temperature": 1, "max_tokens": 300}
        schema = {"type": "json_schema", "json_schema": {"name": "place", "strict": True, "schema": PLACE}}
        for seed in range(4):
            answer = s.post(CHAT, {**base, "seed": seed, "response_format": schema}).json["choices"][0]
            conforms(json.loads(answer["message"]["content"]))
            equal(answer["finish_reason"], "stop")
        streamed = s.post(CHAT, {**base, "seed": 1, "response_format": schema, "stream": True})
        conforms(json.loads(joined(streamed, chat_delta)))
        conforms(json.loads(s.post(RESPONSES, {"model": "tiny", "input": "a", "text": {"format": {"type": "json_schema", "name": "p", "schema": PLACE}}})
                            .json["output"][0]["content"][0]["text"]))
        conforms(json.loads(s.post(MESSAGES, {**base, "output_config": {"format": {"type": "json_schema", "schema": PLACE}}}).json["content"][0]["text"]))
        text = s.post(TEXT, {"model": "shakespeare", "prompt": "A", "grammar": 'root ::= ("yes" | "no") "."', "temperature": 1}).json["choices"][0]["text"]
        check(text in ("yes.", "no."), text)
        text = s.post(TEXT, {"model": "shakespeare", "prompt": "A", "regex": "[0-9]{3}-[a-f]+", "max_tokens": 9, "stop": ["-"]}).json["choices"][0]["text"]
        check(len(text) == 3 and text.isdigit(), text)
        several = s.post(TEXT, {"model": "shakespeare", "prompt": ["A", "B"], "n": 3, "json_schema": PLACE, "temperature": 1, "max_tokens": 300}).json
        for choice in several["choices"]:
            conforms(json.loads(choice["text"]))
        for form, says in (({"response_format": {"type": "json_schema"}}, "schema"), ({"json_schema": {"type": "sculpture"}}, "sculpture"),
                           ({"json_schema": {"multipleOf": 3, "type": "integer"}}, "multipleOf"), ({"grammar": "root = x"}, "line 1"), ({"regex": "(a"}, "regex"),
                           ({"regex": "a", "grammar": 'root ::= "a"'}, "another form"), ({"json_schema": 5}, "json_schema")):
            s.refuses(TEXT, {"model": "shakespeare", "prompt": "A", **form}, 400, *([] if says == "regex" else [says]))


TOOLS_TEMPLATE = ("{% for t in tools or [] %}[{{ t.function.name }}]{% endfor %}{% for m in messages %}<|im_start|>{{ m.role }}\n"
                  "{{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>{{ c.function.name }} {{ c.function.arguments | tojson }}</tool_call>"
                  "{% endfor %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")


@test
def tools():
    """The template gets tools, calls and results; a call that must be is one, in each of the three interfaces."""
    from gguf_file import tiny_llama
    tiny_llama("tools.gguf", 1, {"tokenizer.chat_template": TOOLS_TEMPLATE, "llama.context_length": ("u32", 1024)})
    parameters = {"type": "object", "properties": {"where": {"$ref": "#/$defs/place"}}, "required": ["where"], "additionalProperties": False,
                  "$defs": {"place": PLACE}}
    tool = {"type": "function", "function": {"name": "look", "description": "looks", "parameters": parameters}}
    other = {"type": "function", "function": {"name": "wait", "parameters": {"type": "object", "properties": {}, "additionalProperties": False}}}
    flat = {"type": "function", "name": "look", "parameters": parameters}
    with Server("tools.gguf") as s:
        base = {"messages": HELLO, "max_tokens": 400, "temperature": 1, "seed": 3}

        def count(**more):
            return s.post(CHAT, {**base, "max_tokens": 1, **more}).json["usage"]["prompt_tokens"]
        check(count(tools=[tool]) > count(), "the template did not see the tools")
        equal(count(tools=[tool], tool_choice="none"), count(), "tool_choice none")
        call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"where": {}}'}}
        turns = [*HELLO, {"role": "assistant", "content": None, "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c1", "content": "fog"}]
        check(count(messages=turns, tools=[tool]) > count(tools=[tool]) + 10, "calls and results are in the prompt")
        for choice in ("required", {"type": "function", "function": {"name": "look"}}):
            answer = s.post(CHAT, {**base, "tools": [tool] if choice == "required" else [other, tool], "tool_choice": choice}).json["choices"][0]
            equal(answer["finish_reason"], "tool_calls")
            found, = answer["message"]["tool_calls"]
            equal((found["function"]["name"], answer["message"]["content"]), ("look", None))
            conforms(json.loads(found["function"]["arguments"])["where"])
        streamed = s.post(CHAT, {**base, "tools": [tool], "tool_choice": "required", "stream": True})
        deltas = [c for _, d in streamed.events if d != "[DONE]" for c in d["choices"][0]["delta"].get("tool_calls", [])]
        equal([d["function"]["name"] for d in deltas], ["look"])
        conforms(json.loads(deltas[0]["function"]["arguments"])["where"])
        block, = s.post(MESSAGES, {**base, "tools": [{"name": "look", "input_schema": parameters}], "tool_choice": {"type": "any"}}).json["content"]
        equal((block["type"], block["name"]), ("tool_use", "look"))
        conforms(block["input"]["where"])
        events = s.post(MESSAGES, {**base, "tools": [{"name": "look", "input_schema": parameters}], "tool_choice": {"type": "tool", "name": "look"},
                                   "stream": True}).events
        conforms(json.loads("".join(d["delta"]["partial_json"] for n, d in events if n == "content_block_delta"))["where"])
        equal([d["delta"]["stop_reason"] for n, d in events if n == "message_delta"], ["tool_use"])
        item, = s.post(RESPONSES, {"input": "a", "tools": [flat], "tool_choice": "required", "temperature": 1, "seed": 3}).json["output"]
        equal((item["type"], item["name"]), ("function_call", "look"))
        conforms(json.loads(item["arguments"])["where"])
        follow = [{"role": "user", "content": "a"}, item, {"type": "function_call_output", "call_id": item["call_id"], "output": "fog"}]
        s.post(RESPONSES, {"input": follow, "tools": [flat], "max_output_tokens": 4})
        s.refuses(CHAT, {**base, "tool_choice": "required"}, 400, "no tools")
        s.refuses(CHAT, {**base, "tools": [other], "tool_choice": {"type": "function", "function": {"name": "look"}}}, 400, "'look'")
    with Server(SHAKESPEARE, "--template", "chatml") as s:
        s.post(CHAT, {"messages": HELLO, "max_tokens": 2})
        s.refuses(CHAT, {"messages": HELLO, "tools": [tool]}, 400, "without tools")
    fails("serve", SHAKESPEARE, "--template", "nonsense", says="nonsense")


# ---- What is refused


@test
def adapters_by_request():
    """Requests with different adapters at once: each text is that of the command with that adapter."""
    tiny_chat()
    tiny_adapter("a.gguf", 2)
    tiny_adapter("b.gguf", 3)
    choices = [None, [], [{"id": 0}], [{"id": 1, "scale": 0.5}], [{"id": 0, "scale": -1}, {"id": 1}]]
    loras = [["a.gguf=0", "b.gguf"], [], ["a.gguf"], ["b.gguf=0.5"], ["a.gguf=-1", "b.gguf"]]
    def alone(which):
        more = [word for lora in which for word in ("--lora", lora)]
        return rlx_json("generate", "tiny.gguf", "-p", "the cab", "-n", "12", "--ignore-end", *more, "--exact", "--cache", "f32", "--device", "cpu")["text"]
    with Server("tiny.gguf", "--lora", "a.gguf=0", "--lora", "b.gguf") as s:
        def ask(choice):
            body = {"prompt": "the cab", "max_tokens": 12, "temperature": 0, "ignore_eos": True}
            return s.post(TEXT, body if choice is None else {**body, "lora": choice}).json["choices"][0]["text"]
        with concurrent.futures.ThreadPoolExecutor(5) as pool:
            texts = list(pool.map(ask, choices))
        equal(texts, [alone(which) for which in loras])
        equal(len(set(texts)), 5, "each adapter has its own text")
        for wrong in (5, [5], [{}], [{"id": 2}], [{"id": -1}], [{"id": 0.5}], [{"id": 0, "scale": "x"}], [{"id": 0}] * 9):
            s.refuses(TEXT, {"prompt": "x", "lora": wrong}, 400, "lora")
    fails("serve", "tiny.gguf", "b=tiny.gguf", "--lora", "a.gguf", "--port", "0", says="expected one model")
    fails("serve", "tiny.gguf", "--lora", "none.gguf", "--port", "0", says="none.gguf")


@test
def bodies_that_are_wrong():
    """Each is refused with a status and a message that says what and where."""
    chat = {"model": "tiny", "messages": HELLO}
    with Server(tiny_chat()) as s:
        for body, says in ((b"", "empty"), (b"{", "the body"), (b"[]", "expected an object"), (b"nonsense", "the body"),
                           (b"\xff\xfe{}", "the body"), (b'{"a":1,"a":2}', "duplicate"),
                           (b"{" * 3000, "nested"), (b'{"prompt":' + b"[" * 3000, "nested"),
                           (b'{"prompt":"\xff"}', "the body")):
            code = 413 if says == "nested" else 400
            s.refuses(TEXT, body, code, says)
        for change, says in (({"messages": 5}, ["messages", "a list"]), ({"messages": []}, ["messages"]),
                             ({"messages": [5]}, ["messages: 0", "object"]), ({"messages": [{"role": "user"}, {}]}, ["messages: 1", "role"]),
                             ({"messages": [{"role": "user", "content": 5}]}, ["messages: 0", "a string"]),
                             ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, ["image_url", "text"]),
                             ({"messages": [{"role": "user", "content": "x", "colour": 1}]}, ["colour"]),
                             ({"temperature": "hot"}, ["temperature", "a number"]), ({"temperature": -1}, ["temperature"]),
                             ({"temperature": 1e9}, ["temperature"]), ({"top_p": 7}, ["top_p"]), ({"max_tokens": -1}, ["max_tokens"]),
                             ({"max_tokens": 1.5}, ["max_tokens"]), ({"n": 0}, ["n:"]), ({"n": 1000}, ["n:"]),
                             ({"stop": [""]}, ["stop"]), ({"stop": ["x"] * 1000}, ["stop"]), ({"stop": {}}, ["stop"]),
                             ({"seed": "x"}, ["seed"]), ({"stream": "yes"}, ["stream"]), ({"stream_options": {"x": 1}}, ["'x'"]),
                             ({"logit_bias": {"x": 1}}, ["logit_bias", "'x'"]), ({"logit_bias": {"99999999": 1}}, ["99999999"]),
                             ({"logit_bias": {"1": 1000}}, ["logit_bias"]), ({"top_logprobs": 3}, ["top_logprobs"]),
                             ({"logprobs": True, "top_logprobs": 500}, ["top_logprobs"]), ({"frobnicate": 1}, ["'frobnicate'"]),
                             ({"response_format": {"type": "poem"}}, ["poem"]), ({"response_format": 3}, ["response_format"]),
                             ({"tool_choice": "perhaps"}, ["tool_choice"])):
            s.refuses(CHAT, {**chat, **change}, 400, *says)
        s.refuses(CHAT, {**chat, "model": "other"}, 404, "'other'", "tiny")
        s.refuses(CHAT, {"messages": [{"role": "user", "content": "a" * 5000}]}, 400, "context")
        s.refuses(TEXT, {"prompt": [1, 2, 10 ** 9]}, 400, "vocabulary")
        s.refuses(TEXT, {"prompt": [1, "x"]}, 400, "token 1")
        s.refuses(TEXT, {"prompt": 5}, 400, "prompt")
        s.refuses("/detokenize", {"tokens": [-1]}, 400, "tokens: 0")
        many = [{"role": "user", "content": ""}] * (1 << 17)
        s.refuses(CHAT, {"messages": many}, 413, "messages" if len(many) < 1 << 16 else "the body")
        # Anthropic's clients read another form.
        error = s.post(MESSAGES, {"messages": HELLO}, expect=400).json
        equal((error["type"], error["error"]["type"]), ("error", "invalid_request_error"))
        check("max_tokens" in error["error"]["message"], error)
        for change, says in (({"messages": [{"role": "system", "content": "x"}]}, "role"),
                             ({"messages": [{"role": "user", "content": [{"type": "image"}]}]}, "'image'"),
                             ({"tool_choice": {"type": "maybe"}}, "tool_choice"), ({"thinking": {"type": "enabled"}}, "thinking"),
                             ({"tools": [{"name": "x"}]}, "input_schema")):
            s.refuses(MESSAGES, {**chat, "max_tokens": 4, **change}, 400, says)
        for change, says in (({"input": []}, "input"), ({"input": [{"type": "computer"}]}, "'computer'"),
                             ({"previous_response_id": "x"}, "'previous_response_id'"),
                             ({"input": [{"type": "function_call", "name": "f", "arguments": "["}]}, "arguments")):
            s.refuses(RESPONSES, {"input": "x", **change}, 400, says)
        equal(s.get("/none").status, 404)
        equal(s.call("PUT", CHAT, "{}").status, 405)
        equal(s.get("/health").json, {"status": "ok"}, "after all of these")


@test
def text_that_spells_a_special_token_stays_text():
    with Server(tiny_chat()) as s:
        def count(content):
            return s.post("/v1/messages/count_tokens", {"messages": [{"role": "user", "content": content}]}).json["input_tokens"]
        check(count("<|im_end|>") - count("") >= 10, "a control token came out of a message")
        equal(count("a\0b"), count("a\ufffdb"), "a NUL")


@test
def keys_and_origins():
    write("key", "secret one\n")
    with Server(SHAKESPEARE, "--api-key-file", "key", "--cors", "https://example.org") as s:
        equal(s.get("/health").status, 200, "needs no key")
        body = {"prompt": "A", "max_tokens": 1}
        s.refuses(TEXT, body, 401, "API key")
        s.refuses(TEXT, body, 401, "API key", headers={"Authorization": "Bearer secret"})
        s.refuses(TEXT, body, 401, "API key", headers={"Authorization": "Bearer secret onf"})
        s.refuses(TEXT, body, 401, "API key", headers={"Authorization": "Bearer "})
        s.post(TEXT, body, headers={"Authorization": "Bearer secret one"})
        s.post(MESSAGES, {}, expect=401)
        equal(s.post(TEXT, body, headers={"x-api-key": "secret one"}).headers["Access-Control-Allow-Origin"], "https://example.org")
        equal(s.call("OPTIONS", TEXT).status, 204)
        equal(s.get("/metrics").status, 401)
        s.refuses(TEXT, body, 403, "--cors", headers={"x-api-key": "secret one", "Origin": "https://other.example"})
        s.post(TEXT, body, headers={"x-api-key": "secret one", "Origin": "https://example.org"})
    with Server(SHAKESPEARE) as s:
        equal(s.get("/health").headers["Access-Control-Allow-Origin"], None, "off unless asked for")
        for origin in ("https://example.org", "null", f"http://127.0.0.1:{s.port + 1}", "file://"):
            s.refuses(TEXT, body, 403, "--cors", headers={"Origin": origin})
        s.post(TEXT, body, headers={"Origin": s.address})


@test
def wrong_usage_and_what_cannot_start():
    need_server()
    fails("serve", says="expected a model", code=2)
    fails("serve", "absent.gguf", says="absent.gguf")
    fails("serve", SHAKESPEARE, "--port", "99999", says="--port", code=2)
    fails("serve", SHAKESPEARE, "--host", "example.org", says=["example.org", "address"])
    fails("serve", SHAKESPEARE, SHAKESPEARE, says="two models have the name 'shakespeare'")
    fails("serve", SHAKESPEARE, "--tls-key", "x", says="--tls-certificate", code=2)
    fails("serve", SHAKESPEARE, "--api-key-file", "absent", says="absent")
    write("empty", "")
    fails("serve", SHAKESPEARE, "--api-key-file", "empty", says="empty")
    write("noise", "noise")
    fails("serve", "noise", says="noise")
    fails("serve", SHAKESPEARE, "--models-memory", "1M", says=["shakespeare", "MiB"])
    with Server(SHAKESPEARE) as s:
        fails("serve", SHAKESPEARE, "--port", s.port, says=["cannot listen", str(s.port)])
    check("serve" in rlx("serve", "--help", expect=0).out, "help")
    told = rlx("serve", SHAKESPEARE, "--dry-run", "--parallel", "2", expect=0).out
    check("it fits" in told, told)


# ---- What clients do


def read_some(s, path, body):
    """A connection whose answer has begun."""
    c = s.connect()
    c.request("POST", path, json.dumps(body))
    r = c.getresponse()
    equal(r.status, 200)
    check(r.read1(1), "nothing came")
    return c


def wait_for(condition, what):
    end = time.monotonic() + SECONDS
    while not condition():
        check(time.monotonic() < end, f"never: {what}")
        time.sleep(0.02)


ENDLESS = {"prompt": "A", "max_tokens": 100000, "ignore_eos": True}


@test
def clients_that_leave_end_their_text():
    with Server(SHAKESPEARE, "--parallel", "2") as s:
        streams = [read_some(s, TEXT, {**ENDLESS, "stream": True}) for _ in range(3)]
        whole = s.connect()
        whole.request("POST", TEXT, json.dumps({**ENDLESS, "n": 2}))
        for c in [*streams, whole]:
            c.close()
        wait_for(lambda: s.metric("requests_running") + s.metric("requests_waiting") == 0, "the texts of clients that left end")
        answer = s.post(TEXT, {"prompt": "ROMEO:", "max_tokens": 12, "temperature": 0}).json
        equal(answer["choices"][0]["text"], greedy("ROMEO:", 12), "after them")


@test
def limits_of_requests():
    with Server(SHAKESPEARE, "--parallel", "1", "--max-requests", "2", "--max-body", "4K", "--max-seconds", "100000") as s:
        big = {"prompt": "x" * 5000}
        s.refuses(TEXT, big, 413, "4096")
        with socket.create_connection((s.host, s.port)) as raw:  # without a length: it ends where the limit is
            raw.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
            try:
                for _ in range(64):
                    raw.sendall(b"400\r\n" + b"x" * 1024 + b"\r\n")
                raw.settimeout(SECONDS)
                equal(raw.recv(100)[:1] in (b"", b"H"), True)
            except OSError:
                pass
        held = [read_some(s, TEXT, {**ENDLESS, "stream": True})]
        held.append(s.connect())
        held[1].request("POST", TEXT, json.dumps({**ENDLESS, "stream": True}))
        wait_for(lambda: s.metric("requests_running") + s.metric("requests_waiting") == 2, "two requests")
        answer = s.post(TEXT, {"prompt": "A"}, expect=429)
        equal(answer.headers["Retry-After"], "1")
        for c in held:
            c.close()
    with Server(SHAKESPEARE, "--max-seconds", "0.05") as s:
        s.refuses(TEXT, {"prompt": ["A"] * 200, "max_tokens": 1000, "ignore_eos": True}, 504, "longer than 0.05 s")


@test
def broken_connections():
    """Garbage, headers without end, half-closed and idle connections, slow bodies: others are answered meanwhile."""
    with Server(SHAKESPEARE, "--idle-seconds", "1") as s:
        def raw(data, close=True):
            c = socket.create_connection((s.host, s.port))
            c.settimeout(SECONDS)
            c.sendall(data)
            if close:
                c.shutdown(socket.SHUT_WR)
            return c
        many = [raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"), raw(b"GET"), raw(b"GET / HTTP/9.9\r\n\r\n"), raw(b"\r\n" * 50),
                raw(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"),
                raw(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n"),
                raw(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n"),
                raw(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
                raw(b"GET /health HTTP/1.1\r\nHost: x\r\nX: " + b"y" * (1 << 17), close=False),
                raw(b"GET /" + b"a" * 70000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", close=False),
                raw(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{\"prompt\"", close=False),
                raw(b"GET /health HTTP/1.1\r\nHost: x\r\n", close=False)]
        equal(s.get("/health").json, {"status": "ok"})
        answer = s.post(TEXT, {"prompt": "ROMEO:", "max_tokens": 12, "temperature": 0}).json
        equal(answer["choices"][0]["text"], greedy("ROMEO:", 12), "beside them")
        for c in many:
            try:
                while c.recv(4096):
                    pass
            except OSError:
                pass
            c.close()
        keep = s.connect()
        for _ in range(3):
            equal(s.get("/health", connection=keep).status, 200, "several requests on a connection")


@test
def a_slow_reader_holds_nobody_up():
    with Server(SHAKESPEARE) as s:
        with socket.create_connection((s.host, s.port)) as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            body = json.dumps({**ENDLESS, "max_tokens": 1000, "stream": True}).encode()
            slow.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            answer = s.post(TEXT, {"prompt": "ROMEO:", "max_tokens": 12, "temperature": 0}).json
            equal(answer["choices"][0]["text"], greedy("ROMEO:", 12))


@test
def interrupts_end_everything():
    with Server(SHAKESPEARE) as s:
        streams = [read_some(s, TEXT, {**ENDLESS, "stream": True}) for _ in range(3)]
        s.stop()
        for c in streams:
            c.close()


@test
def models_come_and_go():
    """Within the memory for models the least recently used one leaves; its answers are the same when it is back."""
    tiny_chat("one.gguf", 1), tiny_chat("two.gguf", 2), tiny_chat("three.gguf", 3)
    # Without batches of many sequences each takes less than 8 MiB.
    with Server("one.gguf", "two.gguf", "three.gguf", "--parallel", "1") as s:
        s.post(CHAT, {"model": "two", "messages": HELLO, "max_tokens": 1})
        each = s.metric("model_bytes") / 2
    with Server("one.gguf", "two.gguf", "three.gguf", "--parallel", "1", "--models-memory", str(int(2.5 * each))) as s:
        def ask(name):
            body = {"model": name, "messages": HELLO, "max_tokens": 8, "temperature": 0}
            return s.post(CHAT, body).json["choices"][0]["message"]["content"]
        first = {name: ask(name) for name in ("one", "two", "three")}
        equal([m["state"] for m in s.get("/v1/models").json["data"]], ["away", "ready", "ready"])
        check(s.metric("model_bytes") <= 2.5 * each, "more memory than was given")
        for name in ("one", "three", "two", "one"):
            equal(ask(name), first[name], name)
    write("broken.gguf", "GGUF")
    with Server("one.gguf", "broken.gguf") as s:
        s.refuses(CHAT, {"model": "broken", "messages": HELLO}, 400, "broken.gguf")
        s.post(CHAT, {"model": "one", "messages": HELLO, "max_tokens": 1})


@test
def many_clients_of_all_kinds():
    """Each greedy answer is the one computed alone, memory does not grow. RLX_SOAK=1: for an hour, or RLX_SOAK_SECONDS."""
    from lm_server import is_soak
    prompts = [f"{name}:\n{line}" for name in ("ROMEO", "JULIET", "KING") for line in ("I ", "What ", "No, ", "")]
    rounds, seconds = (10 ** 9, float(os.environ.get("RLX_SOAK_SECONDS") or 3600)) if is_soak() else (64, SECONDS)

    def slowly(s, prompt):
        """The answer to a body that comes in pieces."""
        body = json.dumps({"prompt": prompt, "max_tokens": 16, "temperature": 0}).encode()
        c = s.connect()
        c.putrequest("POST", TEXT)
        c.putheader("Content-Length", str(len(body)))
        c.endheaders()
        for i in range(0, len(body), 20):
            c.send(body[i:i + 20])
            time.sleep(.02)
        answer = json.loads(c.getresponse().read())
        c.close()
        return answer

    def hugely(s):
        """A body over the limit: the answer, or the end of the connection, comes before all of it is sent."""
        with socket.create_connection((s.host, s.port)) as c:
            try:
                c.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n")
                for _ in range(20):
                    c.sendall(b"x" * (1 << 20))
                check(b" 413 " in c.recv(100), "a huge body is refused")
            except OSError:
                pass

    with Server(SHAKESPEARE, "--idle-seconds", "5") as s:
        alone = {p: s.post(TEXT, {"prompt": p, "max_tokens": 16, "temperature": 0}).json["choices"][0]["text"] for p in prompts}
        for p in prompts[:3]:
            equal(alone[p], greedy(p, 16), p)
        begin, sizes = time.monotonic(), []

        def client(number):
            for turn in range(rounds):
                if time.monotonic() - begin > seconds:
                    return turn
                kind, prompt = (number + turn) % 8, prompts[(number * 5 + turn) % len(prompts)]
                if kind == 0:
                    read_some(s, TEXT, {**ENDLESS, "stream": True, "temperature": 1}).close()
                elif kind == 1:
                    c = socket.create_connection((s.host, s.port))
                    c.sendall(bytes((number * 37 + turn * 11 + i * i) % 256 for i in range(300)))
                    c.close()
                elif kind == 2:
                    s.call("POST", TEXT, b'{"prompt":' + b"x" * 200)
                elif kind == 3 and turn % 4 == 0:
                    hugely(s)
                elif kind == 4:
                    equal(slowly(s, prompt)["choices"][0]["text"], alone[prompt], prompt)
                else:
                    answer = s.post(TEXT, {"prompt": prompt, "max_tokens": 16, "temperature": 0}).json
                    equal(answer["choices"][0]["text"], alone[prompt], prompt)
                if number == 0:
                    sizes.append(s.resident())
            return rounds

        clients = 32 if is_soak() else 8
        with concurrent.futures.ThreadPoolExecutor(clients) as pool:
            turns = sum(pool.map(client, range(clients)))
        wait_for(lambda: s.metric("requests_running") + s.metric("requests_waiting") == 0, "all texts end")
        third = sizes[len(sizes) // 3]
        if is_soak():
            print(f"{turns} requests of {clients} clients in {time.monotonic() - begin:.0f} s; resident after a third "
                  f"{third >> 20} MiB, at the end {s.resident() >> 20} MiB")
            check(s.resident() < 1.05 * third, f"memory grew from {third} to {s.resident()}")


# ---- HTTPS, other programs' clients


@test
def https():
    if not shutil.which("openssl"):
        raise Skip("openssl is not installed")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "cert.pem", "-days", "2",
                    "-subj", "/CN=localhost"], check=True, capture_output=True, timeout=SECONDS)
    with Server(SHAKESPEARE, "--tls-certificate", "cert.pem", "--tls-key", "key.pem", scheme="https") as s:
        context = ssl.create_default_context(cafile="cert.pem")
        context.check_hostname = False
        import http.client
        c = http.client.HTTPSConnection(s.host, s.port, context=context, timeout=SECONDS)
        answer = s.post(TEXT, {"prompt": "ROMEO:", "max_tokens": 12, "temperature": 0}, connection=c).json
        equal(answer["choices"][0]["text"], greedy("ROMEO:", 12))


@test
def the_client_of_openai():
    openai, = packages("openai")
    with Server(SHAKESPEARE, f"chat={tiny_chat()}") as s:
        client = openai.OpenAI(base_url=s.address + "/v1", api_key="none", max_retries=0, timeout=SECONDS)
        text = client.completions.create(model="shakespeare", prompt="ROMEO:", max_tokens=12, temperature=0).choices[0].text
        equal(text, greedy("ROMEO:", 12))
        ask = dict(model="chat", messages=HELLO, max_tokens=12, temperature=0)
        answer = client.chat.completions.create(**ask, logprobs=True, top_logprobs=2)
        whole = answer.choices[0].message.content
        equal((len(answer.choices[0].logprobs.content), answer.usage.completion_tokens), (12, 12))
        parts = client.chat.completions.create(**ask, stream=True, stream_options={"include_usage": True})
        equal("".join(p.choices[0].delta.content or "" for p in parts if p.choices), whole)
        asked = client.chat.completions.create(**{**ask, "max_tokens": 300}, response_format={
            "type": "json_schema", "json_schema": {"name": "place", "schema": PLACE, "strict": True}})
        conforms(json.loads(asked.choices[0].message.content))
        response = client.responses.create(model="chat", input=HELLO, max_output_tokens=12, temperature=0)
        equal(response.output_text, whole)
        with client.responses.stream(model="chat", input=HELLO, max_output_tokens=12, temperature=0) as stream:
            events = list(stream)
            equal("".join(e.delta for e in events if e.type == "response.output_text.delta"), whole)
            equal((events[-1].type, events[-1].response.status), ("response.incomplete", "incomplete"))
        equal([m.id for m in client.models.list()], ["shakespeare", "chat"])
        for error, how in ((openai.BadRequestError, dict(temperature=-1)), (openai.NotFoundError, dict(model="none"))):
            try:
                client.chat.completions.create(**{**ask, **how})
            except error as e:
                check(e.body["message"], "an error without a message")
            else:
                raise AssertionError(f"{how}: expected {error.__name__}")


@test
def the_client_of_anthropic():
    anthropic, = packages("anthropic")
    with Server(tiny_chat(), "--api-key", "k") as s:
        client = anthropic.Anthropic(base_url=s.address, api_key="k", max_retries=0, timeout=SECONDS)
        ask = dict(model="tiny", messages=HELLO, max_tokens=12, system="a b", extra_body={"temperature": 0})
        answer = client.messages.create(**ask)
        equal((answer.stop_reason, answer.usage.output_tokens), ("max_tokens", 12))
        with client.messages.stream(**ask) as stream:
            equal("".join(stream.text_stream), answer.content[0].text)
            equal(stream.get_final_message().stop_reason, "max_tokens")
        counted = client.messages.count_tokens(model="tiny", messages=HELLO, system="a b").input_tokens
        equal(counted, answer.usage.input_tokens + (answer.usage.cache_read_input_tokens or 0))
        try:
            client.messages.create(**{**ask, "model": "none"})
        except anthropic.NotFoundError as e:
            check("tiny" in str(e), "an error without a message")
        else:
            raise AssertionError("a model that is not there was accepted")


if __name__ == "__main__":
    sys.exit(main())
