#!/usr/bin/env python3
"""Schemas as grammars, judged by PyPI's jsonschema: what random walks through the masks write is valid, valid instances
are accepted, invalid ones are not, and what is not enforced is refused by name.

The schemas are those of json_schemas.json, and the standard's own test suite as it comes with the sources of jsonschema.
tools/lm_grammar.c does what is asked here, with the vocabulary of models/shakespeare, and with that of SmolLM2 if
`tools/fetch_model smollm2` has been run.
"""

import collections
import importlib.metadata
import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from cli import BUILD, EVERYTHING, ROOT, SECONDS, Skip, check, equal, main, test  # noqa: E402
from lm_packages import TOOLS, packages  # noqa: E402

OWN = json.loads((pathlib.Path(__file__).parent / "json_schemas.json").read_text(encoding="utf-8"))
VOCABULARIES = [ROOT / "models/shakespeare/shakespeare.gguf"]
VOCABULARIES += sorted((pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "rlx/models").glob("SmolLM2*.gguf"))[:1]
SCHEMA = 1  # RLX_GRAMMAR_JSON_SCHEMA


class Grammars:
    """tools/lm_grammar.c at work."""

    def __init__(self, vocabulary):
        program = BUILD / "tools/lm_grammar"
        if not program.is_file():
            raise Skip(f"{program} is not built")
        self.process = subprocess.Popen([program, vocabulary], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        equal(self.process.wait(SECONDS), 0, "lm_grammar ends")

    def ask(self, command, data=b""):
        self.process.stdin.write(command.encode() + b"\n" + data)
        self.process.stdin.flush()
        return self.process.stdout.readline().decode().rstrip("\n")

    def make(self, schema, kind=SCHEMA):
        text = schema if isinstance(schema, bytes) else json.dumps(schema, ensure_ascii=False).encode()
        return self.ask(f"grammar {kind} {len(text)}", text)

    def accepts(self, text):
        data = text.encode("utf-8", "surrogatepass")
        return self.ask(f"accept {len(data)}", data)

    def walk(self, seed, tokens):
        told = self.ask(f"walk {seed} {tokens}")
        check(told.startswith("text "), f"a walk: {told}")
        text = self.process.stdout.read(int(told.split()[1]))
        self.process.stdout.readline()
        return text.decode()


def validator(schema):
    jsonschema, = packages("jsonschema")
    kind = jsonschema.Draft202012Validator
    return kind(schema, format_checker=kind.FORMAT_CHECKER)


def texts_of(value):
    """A value as programs write it."""
    return [json.dumps(value, ensure_ascii=False), json.dumps(value, ensure_ascii=False, separators=(",", ":")),
            json.dumps(value, ensure_ascii=False, indent=2)]


def walks(grammars, schema, n):
    judge = validator(schema)
    for seed in range(n):
        try:
            text = grammars.walk(seed, 12 << seed % 4)
        except AssertionError as error:
            raise AssertionError(f"{json.dumps(schema)}: seed {seed}: {error}")
        error = next(judge.iter_errors(json.loads(text)), None)
        check(error is None, f"{json.dumps(schema)}: wrote {text!r}, which is not valid: {error}"[:2000])


@test
def own_schemas():
    """Each schema of the list: its instances, and walks"""
    packages("jsonschema")
    accepted = refused = 0
    for vocabulary in VOCABULARIES:
        with Grammars(vocabulary) as grammars:
            for case in OWN:
                schema = case["schema"]
                told = grammars.make(schema)
                if "refused" in case:
                    check(told.startswith(case["refused"] + " ") and case["at"] in told,
                          f"{json.dumps(schema)}: expected {case['refused']} at {case['at']}, got {told}")
                    refused += 1
                    continue
                equal(told, "ok", json.dumps(schema))
                accepted += 1
                for value in case["valid"]:
                    check(validator(schema).is_valid(value), f"{json.dumps(schema)}: {value!r} is not valid")
                    for text in texts_of(value):
                        equal(grammars.accepts(text), "yes", f"{json.dumps(schema)}: {text[:200]!r}")
                for value in case["invalid"]:
                    for text in texts_of(value):
                        check(grammars.accepts(text) != "yes", f"{json.dumps(schema)}: took {text[:200]!r}")
                walks(grammars, schema, 12 if EVERYTHING else 4 if vocabulary == VOCABULARIES[0] else 2)  # four are all lengths
    print(f"own schemas: {accepted} kept in walks, {refused} refused by name; {len(VOCABULARIES)} vocabularies")


def suite():
    """[(file, group)] of draft 2020-12 from the sources of jsonschema."""
    packages("jsonschema")
    version = importlib.metadata.version("jsonschema")
    folder = TOOLS / "json-schema-suite"
    if not list(folder.glob("*.tar.gz")):
        folder.mkdir(parents=True, exist_ok=True)
        python = TOOLS / "bin/python" if (TOOLS / "bin/python").exists() else sys.executable
        done = subprocess.run([python, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:",
                               f"jsonschema=={version}", "-d", folder], capture_output=True, text=True, timeout=SECONDS)
        if not list(folder.glob("*.tar.gz")):
            raise Skip(f"the sources of jsonschema cannot be had: {done.stderr[-200:]}")
    archive = tarfile.open(sorted(folder.glob("*.tar.gz"))[0])
    for member in archive.getmembers():
        path = pathlib.PurePosixPath(member.name)
        if member.isfile() and path.suffix == ".json" and "/tests/draft2020-12/" in member.name:
            groups = json.load(io.TextIOWrapper(archive.extractfile(member), "utf-8"))
            for group in groups if isinstance(groups, list) else []:
                yield member.name.split("draft2020-12/")[1], group


def in_order(value, schema):
    """A value with its members in the order of the schema's, as far as `properties` says it."""
    if isinstance(value, list):
        return [in_order(v, schema.get("items") if isinstance(schema, dict) else None) for v in value]
    if not isinstance(value, dict):
        return value
    listed = schema.get("properties", {}) if isinstance(schema, dict) else {}
    first = [k for k in listed if k in value]
    return {k: in_order(value[k], listed.get(k)) for k in first + [k for k in value if k not in listed]}


@test
def standard_suite():
    """Each schema of the standard's suite is kept or refused by name"""
    count = collections.Counter()
    narrow, groups = collections.Counter(), list(suite())
    if not groups:
        raise Skip("the sources of jsonschema have no test suite")
    with Grammars(VOCABULARIES[0]) as grammars:
        for file, group in groups:
            schema = group["schema"]
            told = grammars.make(schema)
            if told != "ok":
                check(told.startswith(("unsupported schema: #", "unsupported pattern", "unsupported schema: pattern", "invalid no text", "limit",
                                       "unsupported grammar")) or "no text matches" in told or (
                          told.startswith("invalid") and ("refers to nothing" in told or "left-recursive" in told)) or "pattern" in told or "too big" in told,
                      f"{file}: {json.dumps(schema)[:300]}: {told}")
                count["refused"] += 1
                continue
            count["kept"] += 1
            for case in group["tests"]:
                is_format = file.startswith("optional/format") or file == "format.json"
                texts = texts_of(in_order(case["data"], schema))
                found = {grammars.accepts(text) == "yes" for text in texts}
                check(len(found) == 1, f"{file}: {case['description']}: the spellings of {texts[0]} differ")
                if found == {True}:
                    check(case["valid"], f"{file}: {group['description']}: {case['description']}: took {texts[0]}")
                count["valid accepted" if case["valid"] and found == {True} else "valid, not accepted" if case["valid"] else "invalid rejected"] += 1
                if case["valid"] and found == {False} and not is_format:
                    narrow[f"{file}: {group['description']}: {case['description']}"] += 1
            if "ecmascript-regex" not in file:  # Python's classes are Unicode's, ECMA's are ASCII's
                try:
                    walks(grammars, schema, 6)
                    count["walked"] += 1
                except AssertionError as error:  # texts that chance does not find
                    check("does not end" in str(error), f"{file}: {group['description']}: {error}")
                except Exception:  # a reference that the validator would fetch, a pattern that Python does not know
                    count["not judged"] += 1
    print("standard suite:", ", ".join(f"{n} {what}" for what, n in sorted(count.items())))
    for what in narrow:
        print("  narrower:", what)
    check(sum(narrow.values()) < 0.05 * count["valid accepted"], f"{len(narrow)} valid instances are not accepted")
    check(count["kept"] > 150 and count["walked"] > 120, str(count))


if __name__ == "__main__":
    sys.exit(main())
