"""Leaves out what headers declare and a file does not use, from its text after the preprocessor: for a checker whose time grows with
every type there is. A part of tools/test.

The text is cut into declarations, at the outermost semicolons and ends of functions. Those of the file itself are kept, and
of all others those with a name that something kept has in it.
"""

import functools
import re

MARKS = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[{};]|^# \d+ "([^"]*)".*$', re.MULTILINE)
WORD = re.compile(r"[A-Za-z_]\w*")
EXTRA = re.compile(r"__(?:attribute|asm)__\s*\(.*?\)\)?(?=\s*[;{(_])|__extension__|_Static_assert", re.DOTALL)

INSIDE = re.compile(r"\(.*\)", re.DOTALL)


def cut(text, source):
    """[(is of the source itself, declaration)]"""
    found, start, depth, own, head = [], 0, 0, False, 0
    for mark in MARKS.finditer(text):
        kind = mark[0][0]
        if kind == "#":
            own = mark[1] == source
        elif kind == "{":
            if depth == 0:
                head = mark.start()
            depth += 1
        elif kind == "}":
            depth -= 1
        if depth or kind not in ";}" or (kind == "}" and not text[start:head].rstrip().endswith(")")):
            continue
        found.append((own, text[start:mark.end()]))
        start = mark.end()
    return found + [(True, text[start:])]


@functools.lru_cache(maxsize=None)
def words(declaration):
    return frozenset(WORD.findall(declaration))


@functools.lru_cache(maxsize=None)
def declared(declaration):
    """The names that it gives to something."""
    text = re.sub(r"^#.*$", "", declaration, flags=re.MULTILINE)
    names = set(re.findall(r"\b(?:struct|union|enum)\s+(\w+)\s*\{", text))
    outside, depth = [], 0
    for part in re.split(r"([{}])", text):
        depth += (part == "{") - (part == "}")
        if depth == 0 and part != "}":
            outside.append(part)
    if re.match(r"\s*(?:typedef\s+)?enum\b", text):
        names |= words(text[text.find("{"):])
    flat = EXTRA.sub(" ", " ".join(outside))
    if "(" in flat:  # a function, a type of one, or a pointer to one
        names |= set(WORD.findall(flat[:flat.index("(")])[-1:]) | set(re.findall(r"\(\s*\*+\s*(\w+)", flat))
        flat = INSIDE.sub("", flat)
    names |= set(re.findall(r"(\w+)\s*(?:\[[^\]]*\]\s*)*(?=[;,=])", flat))
    return frozenset(names)


def without_unused(text, source):
    """`source`: the file's name as the preprocessor has it."""
    cuts = cut(text, source)
    by_name = {}
    for i, (own, declaration) in enumerate(cuts):
        for name in declared(declaration) if not own else ():
            by_name.setdefault(name, []).append(i)
    kept = [own or not declared(declaration) for own, declaration in cuts]
    new = [i for i, keep in enumerate(kept) if keep]
    seen = set()
    while new:
        names = frozenset().union(*(words(cuts[i][1]) for i in new)) - seen
        seen |= names
        new = sorted({i for name in names for i in by_name.get(name, ()) if not kept[i]})
        for i in new:
            kept[i] = True
    return "".join(declaration for (_, declaration), keep in zip(cuts, kept) if keep)
