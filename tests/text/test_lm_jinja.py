#!/usr/bin/env python3
"""Chat templates that are run, against Python's jinja2 set up as transformers sets it up: the templates in tests/text/templates over all
conversations of jinja_cases.py, and some hundred small ones of one construct each. Each is equal, or fails in both; what is refused
here and not there is listed, and none of tests/text/templates is.

RLX_TEMPLATES=FOLDER does the same with all *.jinja in a folder, and says which are refused and why:

  RLX_BUILD_DIR=build/release RLX_TEMPLATES=some/folder tests/text/test_lm_jinja.py
"""

import datetime
import json
import os
import pathlib
import subprocess
import sys
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from cli import BUILD, EVERYTHING, ROOT, Skip, check, main, test  # noqa: E402
from lm_packages import packages  # noqa: E402

import jinja_cases  # noqa: E402

warnings.simplefilter("ignore", SyntaxWarning)  # what Python remarks on the code that jinja2 makes
NOW = datetime.datetime(2026, 7, 26, 9, 5, 3)
RENDER = BUILD / "tools/lm_render_chat"


def reference(jinja2):
    """As transformers' apply_chat_template: its sandbox, extensions, filter and functions."""
    from jinja2.ext import Extension, loopcontrols
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Generation(Extension):
        tags = {"generation"}

        def parse(self, parser):
            line = next(parser.stream).lineno
            body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
            return jinja2.nodes.CallBlock(self.call_method("give"), [], [], body).set_lineno(line)

        def give(self, caller):
            return caller()

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def namespace(*args, **kwargs):
        attributes = dict(*args, **kwargs)
        if any(isinstance(name, str) and name.startswith("_") for name in attributes):
            raise jinja2.exceptions.SecurityError("underscore")
        return Namespace(attributes)

    class Namespace(jinja2.utils.Namespace):
        def __setitem__(self, name, value):
            if name.startswith("_"):
                raise jinja2.exceptions.SecurityError("underscore")
            super().__setitem__(name, value)

    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
    env.filters["tojson"] = tojson
    env.globals.update(raise_exception=raise_exception, namespace=namespace, strftime_now=lambda f: NOW.strftime(f))
    return env


class Both:
    """Runs templates here and there."""

    def __init__(self):
        [jinja2] = packages("jinja2")
        if not RENDER.is_file():
            raise Skip(f"{RENDER} is not built")
        self.env = reference(jinja2)
        self.equal = self.failing = 0
        self.refused, self.different = {}, []

    def there(self, template, inputs):
        try:
            program = self.env.from_string(template)
        except Exception as e:
            return [(None, f"{type(e).__name__}: {e}")] * len(inputs)
        out = []
        for variables in inputs:
            try:
                out.append((program.render(**{"tools": None, "documents": None, "add_generation_prompt": False, **variables}), None))
            except Exception as e:
                out.append((None, f"{type(e).__name__}: {e}"))
        return out

    def here(self, templates, inputs):
        lines = []
        for template in templates:
            for i, variables in enumerate(inputs):
                query = {"input": {"messages": [], "strftime_now": NOW.isoformat(), **variables}}
                lines.append(json.dumps({"template": template, **query} if i == 0 else query))
        done = subprocess.run([RENDER], input="\n".join(lines) + "\n", capture_output=True, text=True, encoding="utf-8")
        check(done.returncode == 0, f"{RENDER.name} ended with {done.returncode}: {done.stderr[-2000:]}")
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        check(len(answers) == len(lines), f"{len(answers)} answers to {len(lines)} queries")
        return [answers[i:i + len(inputs)] for i in range(0, len(answers), len(inputs))]

    def compare(self, named_templates, named_inputs):
        names, inputs = [n for n, _ in named_inputs], [v for _, v in named_inputs]
        found = self.here([t for _, t in named_templates], inputs)
        for (title, template), answers in zip(named_templates, found):
            for name, (text, error), answer in zip(names, self.there(template, inputs), answers):
                where = f"{title}, {name}" if name else title
                if "status" in answer and error is None:
                    self.refused.setdefault(title, []).append(f"{name}: {answer['status']}: {answer['message']}")
                elif "status" in answer:
                    self.failing += 1
                elif answer.get("text") == text:
                    self.equal += 1
                else:
                    self.different.append(f"{where}: expected {(text if error is None else error)!r}, got {answer.get('text')!r}"[:1500])

    def report(self, what):
        n = sum(map(len, self.refused.values()))
        print(f"  {what}: {self.equal} equal, {self.failing} refused by both, {n} refused here alone, {len(self.different)} different")
        for line in self.different[:20]:
            print(f"    {line}")
        check(not self.different, f"{len(self.different)} differ")


def own_templates():
    found = sorted((ROOT / "tests/text/templates").glob("*.jinja"))
    return [(p.name, p.read_text(encoding="utf-8")) for p in found]


TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}


@test
def conversations():
    """Every template of ours over every conversation"""
    both, inputs, templates = Both(), jinja_cases.conversations(), own_templates()
    check(len(templates) >= 15 and len(inputs) >= 40, f"{len(templates)} templates, {len(inputs)} conversations")
    both.compare(templates, [(name, {**TOKENS, **v}) for name, v in inputs])
    both.report(f"{len(templates)} templates, {len(inputs)} conversations")
    check(not both.refused, f"refused: {both.refused}")


@test
def constructs():
    """Small templates, one construct each"""
    both = Both()
    lines = [line for line in jinja_cases.EXPRESSIONS.splitlines()]
    expressions = []
    for line in lines:
        depth, start, quote = 0, 0, None
        for i, c in enumerate(line + "|"):  # "|" between blanks is a filter's
            if quote:
                quote = None if c == quote and line[i - 1] != "\\" else quote
            elif c in "'\"":
                quote = c
            elif c in "([{":
                depth += 1
            elif c in ")]}":
                depth -= 1
            elif c == "|" and depth == 0 and not (i + 1 < len(line) and line[i - 1] == " "):
                expressions.append(line[start:i])
                start = i + 1
    templates = [(e, "{{ " + e + " }}") for e in expressions] + [(s, s) for s in jinja_cases.STATEMENTS]
    check(len(templates) > 800, f"{len(templates)} templates")
    both.compare(templates, [("", jinja_cases.VALUES)])
    for title, why in sorted(both.refused.items()) if os.environ.get("RLX_TEMPLATES_VERBOSE") else []:
        print(f"    refused here: {title!r}{why[0]}")
    both.report(f"{len(templates)} constructs")
    wrong = {t: w for t, w in both.refused.items() if ": unsupported: " not in w[0]}
    check(not wrong, f"refused as wrong, and fine in Python: {wrong}")


@test
def random_templates():
    """RLX_RANDOM of them, or 400 (2000 with RLX_TEST_ALL); what fails in both is most of them"""
    both, n = Both(), int(os.environ.get("RLX_RANDOM") or (2000 if EVERYTHING else 400))
    seed = int(os.environ.get("RLX_SEED") or 1)
    templates = [jinja_cases.Maker(seed * 1000000 + i).template() for i in range(n)]
    both.compare([(t, t) for t in templates], [("", jinja_cases.VALUES)])
    both.report(f"{n} random templates")
    for title, why in both.refused.items():
        if os.environ.get("RLX_TEMPLATES_VERBOSE") and ": unsupported: " not in why[0]:
            print(f"    refused here{why[0]}: {title!r}")


@test
def others_templates():
    """The templates of RLX_TEMPLATES"""
    folder = os.environ.get("RLX_TEMPLATES")
    if not folder:
        raise Skip("RLX_TEMPLATES is not set: a folder with *.jinja")
    paths = sorted(pathlib.Path(folder).rglob("*.jinja"))
    inputs = [(name, {**TOKENS, **v}) for name, v in jinja_cases.conversations()]
    total, whole = Both(), 0
    for path in paths:
        one = Both()
        one.compare([(path.name, path.read_text(encoding="utf-8"))], inputs)
        n = sum(map(len, one.refused.values()))
        whole += not n and not one.different
        for reason in sorted({why.split(": ", 1)[1] for list_ in one.refused.values() for why in list_}):
            print(f"    {path.name}: refused: {reason}")
        total.equal += one.equal
        total.failing += one.failing
        total.different += one.different
        total.refused.update(one.refused)
    total.report(f"{len(paths)} templates, {len(inputs)} conversations, {whole} templates equal in all")


if __name__ == "__main__":
    sys.exit(main())
