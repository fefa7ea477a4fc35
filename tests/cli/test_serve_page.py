#!/usr/bin/env python3
"""The page of rlx serve: its files and their headers, and how it behaves in a headless Chromium (browser.py).

RLX_TEST_SCREENSHOTS=FOLDER writes the pictures of docs/serve.md there; that needs a real model (tools/fetch_model smollm2).
"""

import json
import os
import pathlib
import re
import subprocess
import sys

from browser import node_program, tools
from cli import ROOT, SECONDS, check, equal, main, test, write
from lm_server import Server, fetched, tiny_chat

FOLDER = ROOT / "src/serve/page"
LARGEST_PAGE, LARGEST_PICTURE = 60_000, 150_000  # bytes
CONTRAST = 4.5
HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache", "Referrer-Policy": "no-referrer"}
POLICY = {"default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "connect-src": "'self'", "img-src": "data:"}
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}


def drive(case, server, *args):
    """Runs a case of serve_page.mjs. What must hold for each is checked here."""
    command = [node_program(), str(ROOT / "tests/cli/serve_page.mjs"), case, f"{server.address}/", *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=2 * SECONDS, env={**os.environ, **tools()})
    if done.returncode:
        raise AssertionError(f"{case}: exit code {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    found = json.loads(done.stdout)
    equal(found["errors"], [], f"{case}: errors on the page")
    equal(found["outside"], [], f"{case}: requests that left the server")
    return found


def long_chat():
    """A model that writes for seconds."""
    return tiny_chat("tiny.gguf", context=32768), "--context", 32768


def path_of(name):
    return "/" if name == "index.html" else f"/{name}"


# ---- The files


@test
def files_have_their_headers_and_no_secrets():
    write("key", "secret\n")
    total = 0
    with Server(tiny_chat(), "--api-key-file", "key") as s:
        for source in sorted(FOLDER.iterdir()):
            answer = s.get(path_of(source.name))
            equal(answer.status, 200, source.name)
            check(answer.headers["Content-Type"].startswith(TYPES[source.suffix]), f"{source.name}: {answer.headers}")
            for name, value in HEADERS.items():
                equal(answer.headers[name], value, f"{source.name}: {name}")
            policy = dict(part.strip().split(" ", 1) for part in answer.headers["Content-Security-Policy"].split(";"))
            equal({name: policy.get(name) for name in POLICY}, POLICY, f"{source.name}: the policy")
            total += len(answer.data)
            check(not re.search(r"^ |/\*| // ", answer.text, re.MULTILINE), f"{source.name}: a comment or an indent was left in")
            tag = answer.headers["ETag"]
            again = s.get(path_of(source.name), headers={"If-None-Match": f'"other", {tag}'})
            equal((again.status, again.data, again.headers["ETag"]), (304, b"", tag), f"{source.name}: held already")
            other = s.get(path_of(source.name), headers={"If-None-Match": '"other"'})
            equal((other.status, other.data), (200, answer.data), f"{source.name}: another is held")
        check(20_000 < total < LARGEST_PAGE, f"the page has {total} bytes, expected less than {LARGEST_PAGE}")
        equal(s.get("/v1/models").status, 401, "the models without the key")
        equal(s.call("POST", "/", "x").status, 405, "POST to the page")
        equal(s.get("/health").headers["Content-Security-Policy"], None, "the policy of other routes")


@test
def it_can_be_left_out():
    with Server(tiny_chat(), "--no-page") as s:
        for source in sorted(FOLDER.iterdir()):
            equal(s.get(path_of(source.name)).status, 404, source.name)
        check("without its page" in s.get("/").json["error"]["message"], "the message does not say why")
        equal(s.get("/v1/models").status, 200)


@test
def nothing_is_made_of_strings():
    """What could turn a model's text into markup or code is not in the sources."""
    bad = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|setAttribute\(\"(on|style)|DOMParser|srcdoc")
    for source in FOLDER.iterdir():
        text = source.read_text()
        equal(bad.findall(text), [], source.name)
        found = re.findall(r"https?://[^\s\"'`\\/^]+", text)
        check(set(found) <= {"http://www.w3.org"}, f"{source.name} names {found}")
    page = (FOLDER / "index.html").read_text()
    equal(re.findall(r"<script(?! src=| type=\"module\" src=)|<style|\son\w+=|\sstyle=", page), [], "scripts and styles inside the page")


def luminance(colour):
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055)**2.4 for v in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


@test
def colours_have_contrast():
    found = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", (FOLDER / "colours.css").read_text())
    check(len(found) >= 9, f"colours: {found}")
    for scheme in (1, 2):
        colours = {row[0]: luminance(row[scheme]) for row in found}
        pairs = [(text, back) for text in ("text", "quiet", "accent", "error") for back in ("page", "card", "mine")]
        for text, back in [*pairs, ("on-accent", "accent")]:
            light, dark = sorted((colours[text], colours[back]), reverse=True)
            ratio = (light + 0.05) / (dark + 0.05)
            check(ratio >= CONTRAST, f"{text} on {back} in scheme {scheme}: a contrast of {ratio:.2f}")


# ---- Conversations


@test
def messages_stream_stop_and_change():
    model, *options = long_chat()
    with Server(model, *options) as s:
        told = drive("conversation", s)
        cancelled = s.metric("requests_cancelled_total")
    first = told["first"]
    check(first["content"], f"the first answer: {first}")
    check(re.search(r"^ended at the limit of tokens · 24 tokens, [\d.]+ tokens/s · .*prompt \d+ tokens", first["facts"]), first["facts"])
    equal(first["title"], "a the ab · RLX")
    check(told["stopped"] >= told["grown"] > 0 and told["later"] == told["stopped"], f"after Stop: {told}")
    check(told["stoppedFacts"].startswith("stopped · "), told["stoppedFacts"])
    check(cancelled >= 1, "the server did not see that the client left")
    body, messages = told["again"]["body"], told["again"]["messages"]
    equal(messages, 4)
    equal([m["role"] for m in body["messages"]], ["system", "user", "assistant", "user"])
    equal(body["messages"][0]["content"], "Be brief.")
    equal(body["messages"][2]["content"], first["content"])
    equal((body["max_tokens"], body["temperature"], body["ignore_eos"], body["stream"]), (12, 0, True, True))
    equal((told["edited"]["messages"], told["edited"]["mine"]), (2, ["the ab a"]))
    equal([m["content"] for m in told["edited"]["body"]["messages"]], ["Be brief.", "the ab a"])
    equal(told["undone"], ["a the ab", "go on"])
    equal(told["byHand"], "<p>Put <em>by hand</em></p>")
    equal(told["history"][2], {"role": "assistant", "content": "Put *by hand*"})
    equal(told["reloaded"], {"mine": ["a the ab", "go on"], "answers": 3})


@test
def several_conversations():
    model, *options = long_chat()
    with Server(model, *options) as s:
        told = drive("several", s)
    equal(told["behind"], {"running": 1, "mine": ["the second"]})
    equal(told["first"], ["the first"])
    equal(sorted(told["titles"]), ["the first", "the second"])
    equal(told["reloaded"], {"titles": told["titles"], "shown": ["the first"]})
    equal(told["deleted"], {"titles": ["Another name"], "header": "Another name"})
    equal(sorted(told["undone"]), ["Another name", "the second"])
    equal(told["exported"]["format"], "rlx.conversations")
    equal(sorted(c["title"] for c in told["exported"]["conversations"]), sorted(told["undone"]))
    equal(told["none"]["titles"], [])
    check(not any("chat" in key for key in told["none"]["stored"]), f"left: {told['none']['stored']}")
    equal(told["imported"], sorted(told["undone"]))
    equal(told["refused"], "bad.json cannot be imported: no conversations of this page.")


@test
def tabs_share_conversations():
    with Server(tiny_chat()) as s:
        told = drive("tabs", s)
    equal((told["seen"], told["left"]), (["from a tab"], []))


@test
def models_are_chosen():
    with Server(tiny_chat("one.gguf"), f"two={tiny_chat('other.gguf', 2)}") as s:
        told = drive("models", s, "two")
    equal((told["choices"], told["asked"], told["back"]), (["one", "two"], "two", "two"))
    check(told["about"].startswith("two · "), told["about"])


# ---- What models and files bring

# Elements that the page makes of messages, lists and notices.
KNOWN = set("a article blockquote br button code details div em figcaption figure h3 h4 h5 h6 hr input li ol p pre s span strong "
            "summary svg table tbody td th thead tr ul use".split())


@test
def hostile_texts_stay_texts():
    with Server(tiny_chat()) as s:
        told = drive("hostile", s)
    for place in ("shown", "imported"):
        found = told[place]
        equal((found["hacked"], found["handlers"]), (None, 0), place)
        equal(set(found["tags"]) - KNOWN, set(), f"{place}: elements")
        check(len(found["links"]) >= 3, f"{place}: links: {found['links']}")
        for link in found["links"]:
            check(link["href"].startswith("https://example.org/"), f"{place}: {link}")
            equal((link["rel"], link["target"]), ("noopener noreferrer", "_blank"))
    for part in ["<script>window.hacked = 1</script>", "<img src=x onerror=", "](javascript:window.hacked=3)", "<iframe", "&lt;script&gt;",
                 "<style>"]:
        check(part in told["text"], f"{part!r} is not shown: {told['text']!r}")
    equal(told["violations"], [], "what the policy had to stop")
    equal(told["blocked"], None, "the policy lets a script in")


MARKDOWN = [
    ("a *b* **c** ***d*** ~~e~~ `f`", "<p>a <em>b</em> <strong>c</strong> <strong><em>d</em></strong> <s>e</s> <code>f</code></p>"),
    ("2 * 3 * 4 and snake_case_name", "<p>2 * 3 * 4 and snake_case_name</p>"),
    (r"\*not\* `a\*b` `` `x` ``", r"<p>*not* <code>a\*b</code> <code>`x`</code></p>"),
    ("**open and *open", "<p>**open and *open</p>"),
    ("a\nb<br>c", "<p>a<br>b<br>c</p>"),
    ("# A #\n### B\ntext", "<h3>A</h3><h5>B</h5><p>text</p>"),
    ("#no heading\n\nC#", "<p>#no heading</p><p>C#</p>"),
    ("- a\n- b\n  - c\n    d\n- e", "<ul><li>a</li><li>b<ul><li>c<br>d</li></ul></li><li>e</li></ul>"),
    ("3. a\n4. b\n   - c", '<ol start="3"><li>a</li><li>b<ul><li>c</li></ul></li></ol>'),
    ("- a\n\n- b", "<ul><li><p>a</p></li><li><p>b</p></li></ul>"),
    ("- [ ] a\n- [x] b", "<ul><li>☐ a</li><li>☑ b</li></ul>"),
    ("In 1986. x\n1986. y", "<p>In 1986. x<br>1986. y</p>"),
    ("text:\n- a\ntext", "<p>text:</p><ul><li>a<br>text</li></ul>"),
    ("> a\n> > b\n\nc", "<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote><p>c</p>"),
    ("a\n\n---\n\nb", "<p>a</p><hr><p>b</p>"),
    ("|a|b|\n|:-:|-:|\n|1|2\\|3|\n|4|", '<div class="table" tabindex="0"><table><thead><tr><th class="middle">a</th><th class="right">b</th></tr>'
     '</thead><tbody><tr><td class="middle">1</td><td class="right">2|3</td></tr><tr><td class="middle">4</td><td class="right"></td></tr>'
     "</tbody></table></div>"),
    ("```c++\nint *a*;\n\n<b>\n```\nx", '<div class="code"><div class="bar">c++<button type="button" class="plain">Copy</button></div>'
     '<pre tabindex="0"><code>int *a*;\n\n&lt;b&gt;</code></pre></div><p>x</p>'),
    ("~~~\n```\n", '<div class="code"><div class="bar">text<button type="button" class="plain">Copy</button></div>'
     '<pre tabindex="0"><code>```\n</code></pre></div>'),
    ("1. a\n   ```\n   b\n   ```\n2. c", '<ol><li>a<div class="code"><div class="bar">text<button type="button" class="plain">Copy</button></div>'
     '<pre tabindex="0"><code>b</code></pre></div></li><li>c</li></ol>'),
    ("[a](https://x.org/(b)) (https://y.org/c).", '<p><a href="https://x.org/(b)" target="_blank" rel="noopener noreferrer">a</a> '
     '(<a href="https://y.org/c" target="_blank" rel="noopener noreferrer">https://y.org/c</a>).</p>'),
    ("[a](/b) [c](javascript:d) <script>", "<p>[a](/b) [c](javascript:d) &lt;script&gt;</p>"),
    ("![cat](https://x.org/c.png)", '<p><a href="https://x.org/c.png" target="_blank" rel="noopener noreferrer">cat</a></p>'),
    ("", ""),
]


@test
def markdown_becomes_elements():
    """Whole, and as it grows letter by letter."""
    write("rows.json", json.dumps(MARKDOWN))
    with Server(tiny_chat()) as s:
        told = drive("markdown", s, pathlib.Path("rows.json").resolve())
    equal((told["wrong"], told["n"]), ([], len(MARKDOWN)))


@test
def texts_made_to_take_long_end():
    with Server(tiny_chat()) as s:
        check(drive("deep", s)["n"] > 40, "texts were left out")


@test
def thoughts_calls_and_usage():
    with Server(tiny_chat()) as s:
        told = drive("thoughts", s)
    equal((told["isOpen"], told["thought"]), (False, "I must think."))
    equal(told["answer"], "<p>It is <strong>four</strong>.</p>")
    check("add" in told["call"] and '"a": 2' in told["call"], told["call"])
    check("5 tokens" in told["facts"] and "prompt 7 tokens, 3 of them held" in told["facts"], told["facts"])
    check("".join(told["said"]).replace(" ", "") == "Itisfour.", f"said: {told['said']}")
    equal([m["role"] for m in told["sent"]], ["user", "assistant", "user"])
    check("think" not in json.dumps(told["sent"]), f"thoughts are sent back: {told['sent']}")


@test
def text_files_are_attached():
    write("large.txt", "x" * (300 << 10))
    pathlib.Path("binary").write_bytes(b"\x7fELF\0\xff")
    with Server(tiny_chat()) as s:
        told = drive("files", s, pathlib.Path("large.txt").resolve(), pathlib.Path("binary").resolve())
    equal(told["large"], "large.txt is not attached: it has 300 KiB, and 256 KiB is the limit.")
    equal(told["binary"], "binary is not attached: it is no text in UTF-8.")
    equal((told["over"], told["left"]), (True, 0))
    equal(told["sent"], "Read this.\n\nFile notes.md:\n````\none\n```\ntwo\n````")
    equal([fold.split()[0] for fold in told["folds"]], ["notes.md"])


# ---- What goes wrong


@test
def a_key_is_asked_for():
    write("key", "right-key\n")
    with Server(tiny_chat(), "--api-key-file", "key") as s:
        told = drive("key", s, "right-key")
    check("until the tab closes" in told["first"] and "not the server" in told["second"], f"{told['first']} {told['second']}")
    equal((told["inLocal"], told["inSession"], told["asksAgain"]), (False, True, 0))
    check(told["answers"][0] and "wants an API key" in told["refused"], f"{told}")


@test
def a_server_that_ends_is_no_end_of_the_page():
    model, *options = long_chat()
    with Server(model, *options) as s:
        told = drive("gone", s, s.process.pid)
    check("before the answer was complete" in told["during"] and told["kept"] > 0, f"{told}")
    check("does not answer" in told["after"], told["after"])
    equal(told["messages"], 4)
    equal(told["sent"], ["user", "assistant", "user"])


@test
def refusals_are_shown_in_words():
    with Server(tiny_chat()) as s:
        told = drive("refused", s)
    check("The server cannot do this: min_p: expected a number" in told["said"], told["said"])
    check("no JSON object" in told["note"], told["note"])
    check("min_p" not in told["body"] and told["answers"] > 0, f"{told}")


@test
def a_browser_without_room():
    with Server(tiny_chat()) as s:
        told = drive("noRoom", s)
    check("no room" in told["notice"] and told["answers"] > 0, f"{told}")


# ---- Everybody


@test
def the_keyboard_is_enough():
    model, *options = long_chat()
    with Server(model, *options) as s:
        told = drive("keyboard", s)
    equal(told["begins"], "text")
    check(told["skip"]["text"] == "Skip to the message" and told["skip"]["left"] >= 0, f"{told['skip']}")
    equal((told["skipped"], told["mine"], told["after"]), ("text", ["one\ntwo"], "text"))
    check(told["facts"].startswith("stopped"), told["facts"])
    check({"log", "model", "settings-open", "theme", "export", "import", "new", "Copy", "Edit", "Regenerate"} <= set(told["order"]),
          f"Tab reaches {told['order']}")
    equal(told["unseen"], [], "focus that cannot be seen")
    equal(told["dialog"], {"open": 0, "back": "settings-open"})
    equal(told["cancelled"], {"mine": ["one\ntwo"], "focused": "Edit"})
    equal(told["fresh"], {"focused": "text", "messages": 0})


@test
def everybody_can_use_it():
    with Server(tiny_chat()) as s:
        told = drive("access", s)
    equal(told["unnamed"], [], "controls without a name")
    check({"said", "notice", "more-note"} <= set(told["live"]), f"live regions: {told['live']}")
    check(told["said"] and "Title" in told["said"][0], f"said: {told['said']}")
    for scheme in ("light", "dark", "switched"):
        check(told[scheme]["ratio"] >= CONTRAST, f"{scheme}: a contrast of {told[scheme]}")
    check(told["light"]["page"] != told["dark"]["page"], "light and dark are the same")
    equal((told["switched"]["page"], told["kept"]), (told["light"]["page"],) * 2, "the switch")


@test
def a_phone_does_not_scroll_sideways():
    with Server(tiny_chat()) as s:
        told = drive("phone", s)
    for place in ("empty", "attached", "messages", "settings"):
        check(told[place] <= 0, f"{place}: {told[place]} pixels too wide")
    equal((told["side"], told["fresh"]), ([False, True, False, False], 0))


@test
def pictures():
    folder = pathlib.Path(os.environ.get("RLX_TEST_SCREENSHOTS") or ".").resolve()
    tools()
    with Server(f"SmolLM2={fetched('smollm2')}") as s:
        drive("screenshots", s, folder)
    for name in ["serve-desktop.png", "serve-desktop-dark.png", "serve-phone.png", "serve-phone-dark.png"]:
        size = (folder / name).stat().st_size
        check(5_000 < size < LARGEST_PICTURE, f"{name} has {size} bytes")


if __name__ == "__main__":
    sys.exit(main())
