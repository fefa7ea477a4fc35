#!/usr/bin/env python3
"""rlx tokenize against the `tokenizers` package: small vocabularies of every kind are trained here, saved as
tokenizer.json and as GGUF, and both readers must give the package's ids for some hundred texts. See cli.py."""

import json
import os
import pathlib
import random
import struct
import sys
import unicodedata

from cli import IS_SANITIZED, ROOT, Skip, check, equal, fails, main, part, rlx, rlx_json, test, write
from lm_files import gguf, need_lm
from lm_packages import packages

SPECIAL = ["<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>"]
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
FIXED = ["", " ", "  ", "   ", "\t", "\n", "\n\n", "\n\n\n", "\t\n", "\r\n", " \r\n \t x", "Hello world", " Hello world",
         "Hello, World!", " Hello, world! ", "this is 🦙.cpp", "w048 7tuijk dsdfhu", "нещо на Български", "Жи́знь; ИВАН ЙОД",
         "កាន់តែពិសេសអាចខលចេះ", "🚀 (normal) 😶‍🌫️ (multiple emojis concatenated) ✅ (only emoji with its own token)",
         "👨‍👩‍👧‍👦 🏳️‍🌈 👍🏽", "Hello", " Hello", "    Hello\n    Hello", " (", "\n =", "' era", "Hello, y'all! How are you 😁 ?我想在apple工作1314151天～",
         "I'm, we'll, they've, she'd, it's, can't; I'M, WE'LL, IT'S", "!!!!!!", "3", "33", "333", "3333", "33333333333", "1,234,567.89",
         "٣٤٥ ½ ² Ⅷ ①", "a\u00a0b\u00a0\u00a0c", "\u3000全角\u3000スペース", "\u2028line\u2029par", "\u200b\u200czero\u200dwidth\ufeff",
         "x\u0000y", "\u0001\u001b[0m\u007f", "ﬁ ﬂ Å Å Å ㎏ ½", "e\u0301 é ñ n\u0303 ỗ o\u0302\u0303", "İstanbul IĞDIR ıı", "ΑΣ ὈΔΥΣΣΕΎΣ ς",
         "한국어 텍스트 각각", "日本語のテキスト。漢字かな交じり文", "中文，标点。混合English和123", "עִבְרִית العربيّة हिन्दी क्या বাংলা ไทย",
         "a" * 300, "ab" * 200, " " * 100, "\n" * 50, "." * 77, "-" * 33 + ">", "0" * 100, "é" * 120, "🙂" * 40, "aA" * 60,
         "def f(x):\n\treturn x  # comment\n\n\nclass A:\n    pass\n", "<html>\n  <b>&amp;</b>\n</html>", "https://example.org/a_b?c=d&e=%20#f",
         "<|im_start|>user\nhi<|im_end|>\n", "a<s>b </s> c", "<unk><|im_start|>", " <|im_end|> x", "<|im_", "snake_case camelCase SCREAMING_CASE x2y",
         "...?!?...", "“quotes” ‘single’ «guillemets» – — …", "$1 €2 £3 +4 =5 <6 >7 ^8 ~9 `0 |1", "word\u0301\u0302\u0303\u0304", "\ufffd\ufffd"]


def random_texts(n, seed):
    r = random.Random(seed)
    pools = ["abcdefghij ABCDE", "  \t\n\r", "0123456789", "'sStTreVEll.,!?-_/()<>|", "éèüñçøåßœ", "абвгдЖЗИ ", "漢字かなカナ한글", "😀🦙👍🏽\u200d️❤",
             "اردوعربى ", "देवनागरी ", "\u00a0\u2003\u3000\u0085", "\u0301\u0308\u0327", "▁<0x41>##", "①②½Ⅳ৩"]
    out = []
    for _ in range(n):
        text = ""
        for _ in range(r.randint(1, 12)):
            if r.random() < 0.15:
                c = chr(r.choice([r.randint(0x20, 0x2fff), r.randint(0x3000, 0xffef), r.randint(0x10000, 0x1f9ff)]))
                # Old enough that all agree on what it is.
                if unicodedata.ucd_3_2_0.category(c) not in ("Cn", "Cs", "Co"):
                    text += c
            else:
                text += "".join(r.choices(r.choice(pools), k=r.randint(1, 6)))
        out.append(text)
    return out


TEXTS = FIXED + random_texts(30 if IS_SANITIZED else 200, 1)


def corpus():
    lines = []
    for path in sorted((ROOT / "docs").glob("*.md")):
        lines += path.read_text(encoding="utf-8").splitlines()[:200]
    return lines + [t for t in FIXED if "<" not in t and "\0" not in t] * 5 + random_texts(200, 2)


def folder(name, text):
    """A model's folder with no weights but the file that must be there."""
    need_lm()
    os.makedirs(name, exist_ok=True)
    pathlib.Path(name, "tokenizer.json").write_text(text, encoding="utf-8")
    write(f"{name}/config.json", "{}")
    pathlib.Path(f"{name}/model.safetensors").write_bytes(struct.pack("<Q", 2) + b"{}")
    return name


def ask(path, texts, *options):
    """Ids of many texts in one call; those with NUL inside one by one."""
    plain = [t for t in texts if "\0" not in t]
    out = rlx("tokenize", path, "--ids", "-0", *options, stdin=b"".join(t.encode() + b"\0" for t in plain), expect=0).out
    rows = iter(out.splitlines())
    found = []
    for t in texts:
        line = next(rows) if "\0" not in t else rlx("tokenize", path, "--ids", *options, stdin=t.encode(), expect=0).out
        found.append([int(x) for x in line.split()])
    return found


def same(path, tokenizer, what, texts=TEXTS):
    for options, add, keep in (([], True, False), (["--no-special"], False, True)):
        tokenizer.encode_special_tokens = keep
        for text, found in zip(texts, ask(path, texts, *options)):
            expected = tokenizer.encode(text, add_special_tokens=add).ids
            made = {tokenizer.token_to_id(s) for s in SPECIAL[1:]} - {None}
            if keep and made & set(expected):  # the package's Unigram finds them in letters; here text stays text
                check(not made & set(found), f"{what} {text!r}")
                continue
            equal(found, expected, f"{what} {options} {text!r}")
    tokenizer.encode_special_tokens = False


def check_json(tokenizer, what, decodes=True):
    path = folder(what, tokenizer.to_str())
    same(path, tokenizer, what)
    for text in part(FIXED, 8 if IS_SANITIZED else 20, f"{what}: texts decoded") if decodes else []:
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        for options, skip in (([], False), (["--no-special"], True)):
            found = rlx("tokenize", path, "--decode", *options, stdin=" ".join(map(str, ids)).encode(), expect=0).out
            equal(found, tokenizer.decode(ids, skip_special_tokens=skip), f"{what}: decode {text!r}")
    return path


def byte_level(pre, size=700, normalizer=None, **model):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    t = Tokenizer(models.BPE(**model))
    t.pre_tokenizer = pre
    t.decoder = decoders.ByteLevel()
    if normalizer:
        t.normalizer = normalizer
    t.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=size, show_progress=False, special_tokens=SPECIAL,
                                                       initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return t


# ---- tokenizer.json


@test
def json_byte_level():
    packages("tokenizers")
    from tokenizers import AddedToken, Regex, normalizers, pre_tokenizers as p, processors
    plain = byte_level(p.ByteLevel(add_prefix_space=False))
    plain.add_tokens(["camelCase", AddedToken("word", single_word=True), AddedToken(" (", lstrip=True, rstrip=True)])
    check_json(plain, "gpt2")
    prefixed = byte_level(p.ByteLevel(add_prefix_space=True), normalizer=normalizers.NFC())
    prefixed.post_processor = processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> $B </s>",
                                                            special_tokens=[("<s>", 1), ("</s>", 2)])
    check_json(prefixed, "prefixed", decodes=False)
    split = byte_level(p.Sequence([p.Split(Regex(LLAMA3), "isolated"), p.ByteLevel(add_prefix_space=False, use_regex=False)]))
    check_json(split, "llama3")
    data = json.loads(split.to_str())
    data["model"]["ignore_merges"] = True
    from tokenizers import Tokenizer
    check_json(Tokenizer.from_str(json.dumps(data)), "ignoring")
    check_json(byte_level(p.Sequence([p.Digits(individual_digits=True), p.ByteLevel(add_prefix_space=False)])), "digits")
    bloom = Regex(r" ?[^(\s|[.,!?…。，、।۔،])]+")  # a set inside a set
    check_json(byte_level(p.Sequence([p.Split(bloom, "isolated"), p.ByteLevel(add_prefix_space=False, use_regex=False)])), "bloom")
    falcon = p.Sequence([p.Punctuation("contiguous"), p.ByteLevel(add_prefix_space=False), p.Digits(individual_digits=False),
                         p.Split(Regex("[0-9][0-9][0-9]"), "isolated")])
    check_json(byte_level(falcon), "falcon")


@test
def json_behaviors():
    packages("tokenizers")
    from tokenizers import Regex, pre_tokenizers as p
    for behavior in ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"):
        for pattern in (Regex(r"\s"), Regex(r"[a-e]+"), ".", " "):
            for invert in (False, True):
                pre = p.Sequence([p.Split(pattern, behavior, invert), p.ByteLevel(add_prefix_space=False, use_regex=False)])
                t = byte_level(pre, size=400)
                path = folder("behavior", t.to_str())
                same(path, t, f"{behavior} {pattern} {invert}", TEXTS[::3])


@test
def json_sentencepiece():
    packages("tokenizers")
    from tokenizers import AddedToken, Tokenizer, decoders as d, models, normalizers as n, pre_tokenizers as p, trainers
    bytes_of = [f"<0x{i:02X}>" for i in range(256)]
    t = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    t.normalizer = n.Sequence([n.Prepend("▁"), n.Replace(" ", "▁")])
    t.decoder = d.Sequence([d.Replace("▁", " "), d.ByteFallback(), d.Fuse(), d.Strip(" ", 1, 0)])
    t.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=900, show_progress=False, limit_alphabet=60,
                                                       special_tokens=SPECIAL + bytes_of))
    data = json.loads(t.to_str())  # byte tokens are no special tokens in such files
    data["added_tokens"] = [a for a in data["added_tokens"] if not a["content"].startswith("<0x")]
    check_json(Tokenizer.from_str(json.dumps(data)), "llama2", decodes=False)
    for scheme in ("always", "first", "never"):
        m = Tokenizer(models.BPE(unk_token="<unk>"))
        m.pre_tokenizer = p.Metaspace(prepend_scheme=scheme)
        m.decoder = d.Metaspace(prepend_scheme=scheme)
        m.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=700, show_progress=False, limit_alphabet=80,
                                                           special_tokens=SPECIAL))
        m.add_tokens([AddedToken("Hello", normalized=True)])
        check_json(m, f"metaspace-{scheme}", decodes=False)


@test
def json_unigram():
    packages("tokenizers")
    from tokenizers import Tokenizer, decoders as d, models, normalizers as n, pre_tokenizers as p, trainers
    t = Tokenizer(models.Unigram())
    t.normalizer = n.Sequence([n.NFKC(), n.Lowercase(), n.Strip()])
    t.pre_tokenizer = p.Metaspace()
    t.decoder = d.Metaspace()
    t.train_from_iterator(corpus(), trainers.UnigramTrainer(vocab_size=1500, show_progress=False, special_tokens=SPECIAL,
                                                           unk_token="<unk>"))
    check_json(t, "unigram", decodes=False)


@test
def json_words():
    packages("tokenizers")
    from tokenizers import Tokenizer, decoders as d, models, normalizers as n, pre_tokenizers as p, processors, trainers
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    for lower, accents in ((True, None), (False, None), (True, False), (False, True)):
        t = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
        t.normalizer = n.BertNormalizer(lowercase=lower, strip_accents=accents)
        t.pre_tokenizer = p.BertPreTokenizer()
        t.decoder = d.WordPiece()
        t.train_from_iterator(corpus(), trainers.WordPieceTrainer(vocab_size=900, show_progress=False, special_tokens=special))
        t.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
        check_json(t, f"bert-{lower}-{accents}")
    t = Tokenizer(models.BPE(unk_token="<unk>"))
    t.normalizer = n.Sequence([n.NFD(), n.StripAccents(), n.Lowercase(), n.Replace("x", "yz"), n.Strip(right=False)])
    t.pre_tokenizer = p.Sequence([p.Whitespace(), p.Digits(individual_digits=False), p.CharDelimiterSplit("e")])
    t.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=600, show_progress=False, special_tokens=SPECIAL))
    check_json(t, "whitespace", decodes=False)


@test
def json_refused():
    packages("tokenizers")
    from tokenizers import pre_tokenizers as p
    good = json.loads(byte_level(p.ByteLevel()).to_str())
    for change, says in ((lambda t: t.update(normalizer={"type": "Nmt"}), "Nmt"),
                         (lambda t: t.update(pre_tokenizer={"type": "UnicodeScripts"}), "UnicodeScripts"),
                         (lambda t: t.update(decoder={"type": "CTC"}), "CTC"),
                         (lambda t: t.update(post_processor={"type": "Odd"}), "Odd"),
                         (lambda t: t["model"].update(type="WordLevel"), "WordLevel"),
                         (lambda t: t["model"].update(end_of_word_suffix="</w>"), "</w>"),
                         (lambda t: t["model"]["merges"].append(["zz", "zzz"]), "zz"),
                         (lambda t: t["model"]["merges"].append("one"), "expected two tokens"),
                         (lambda t: t["model"]["vocab"].update(odd=5), "has the id 5, and so has"),
                         (lambda t: t["model"]["vocab"].update(odd=-5), "-5"),
                         (lambda t: t["model"]["vocab"].update(odd=2**40), "too many are missing"),
                         (lambda t: t["model"]["vocab"].update(odd="1"), "expected an integer"),
                         (lambda t: t["added_tokens"].append({"id": 700, "content": "!"}), "'!'"),
                         (lambda t: t.update(pre_tokenizer={"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated"}), "pattern '('"),
                         (lambda t: t.update(pre_tokenizer={"type": "Split", "pattern": {"Regex": "[a&&[b]]"}, "behavior": "Isolated"}), "sets"),
                         (lambda t: t.update(model=3), "no model")):
        data = json.loads(json.dumps(good))
        change(data)
        fails("tokenize", folder("bad", json.dumps(data)), stdin=b"x", says=["tokenizer.json", says], lines=1)
    fails("tokenize", folder("bad", "{\"a\": "), stdin=b"x", says="line 1", lines=1)
    fails("tokenize", folder("bad", "[" * 100000), stdin=b"x", says="tokenizer.json", lines=1)


# ---- GGUF


def write_gguf(path, model, tokens, types, template=None, **more):
    """A vocabulary and nothing else."""
    need_lm()
    metas = [("general.architecture", "string", "llama"), ("tokenizer.ggml.model", "string", model),
             ("tokenizer.ggml.tokens", ["string"], tokens), ("tokenizer.ggml.token_type", ["i32"], types)]
    kinds = {"pre": "string", "merges": ["string"], "scores": ["f32"]}
    for key, value in more.items():
        metas.append((f"tokenizer.ggml.{key}", kinds.get(key, "bool" if isinstance(value, bool) else "u32"), value))
    if template:
        metas.append(("tokenizer.chat_template", "string", template))
    gguf(path, metas)
    return path


def tables(tokenizer):
    data = json.loads(tokenizer.to_str())
    size = tokenizer.get_vocab_size()
    tokens = [tokenizer.id_to_token(i) for i in range(size)]
    types = [1] * size
    for a in data["added_tokens"]:
        types[a["id"]] = 3 if a["special"] else 4
    return tokens, types, [m if isinstance(m, str) else " ".join(m) for m in data["model"].get("merges", [])]


@test
def gguf_byte_level():
    packages("tokenizers")
    from tokenizers import Regex, pre_tokenizers as p, processors
    for pre, steps in (("gpt-2", p.ByteLevel(add_prefix_space=False)),
                       ("smollm", p.Sequence([p.Digits(individual_digits=True), p.ByteLevel(add_prefix_space=False)])),
                       ("llama-bpe", p.Sequence([p.Split(Regex(LLAMA3.replace("(?i:'s|'t|'re|'ve|'m|'ll|'d)", "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])")), "isolated"),
                                                 p.ByteLevel(add_prefix_space=False, use_regex=False)]))):
        t = byte_level(steps)
        if pre == "llama-bpe":
            data = json.loads(t.to_str())
            data["model"]["ignore_merges"] = True
            from tokenizers import Tokenizer
            t = Tokenizer.from_str(json.dumps(data))
        t.add_tokens(["  ", "   "])
        t.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)])
        tokens, types, merges = tables(t)
        same(write_gguf(f"{pre}.gguf", "gpt2", tokens, types, pre=pre, merges=merges, bos_token_id=1, eos_token_id=2,
                        add_bos_token=True, add_eos_token=True), t, pre)


@test
def gguf_sentencepiece():
    packages("tokenizers")
    from tokenizers import Tokenizer, models, normalizers as n, processors, trainers
    seed = Tokenizer(models.BPE(unk_token="<unk>"))
    seed.normalizer = n.Sequence([n.Prepend("▁"), n.Replace(" ", "▁")])
    seed.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=600, show_progress=False, limit_alphabet=60))
    learnt = [seed.id_to_token(i) for i in range(seed.get_vocab_size()) if seed.id_to_token(i) not in SPECIAL]
    tokens = SPECIAL + [f"<0x{i:02X}>" for i in range(256)] + learnt
    types = [2, 3, 3, 3, 3] + [6] * 256 + [1] * len(learnt)
    scores = [0.0] * 261 + [-float(i) for i in range(len(learnt))]
    rank = {t: i for i, t in enumerate(tokens)}
    # As the package itself reads such vocabularies: every way to make a token is a merge, the best token first.
    merges = sorted(((scores[rank[t]], t[:k], t[k:]) for t in learnt for k in range(1, len(t)) if t[:k] in rank and t[k:] in rank),
                    key=lambda m: -m[0])
    t = Tokenizer(models.BPE(vocab=rank, merges=[(a, b) for _, a, b in merges], unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    t.add_special_tokens(SPECIAL)
    t.normalizer = seed.normalizer
    t.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    path = write_gguf("spm.gguf", "llama", tokens, types, scores=scores, bos_token_id=1, eos_token_id=2, unknown_token_id=0)
    same(path, t, "spm", [x for x in TEXTS if not any(s in x for s in SPECIAL)])
    t.normalizer = n.Replace(" ", "▁")
    path = write_gguf("spm2.gguf", "llama", tokens, types, scores=scores, add_space_prefix=False)
    same(path, t, "spm without prefix")


@test
def gguf_wordpiece():
    packages("tokenizers")
    from tokenizers import Tokenizer, models, normalizers as n, pre_tokenizers as p, processors, trainers
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    t = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    t.normalizer = n.BertNormalizer()
    t.pre_tokenizer = p.BertPreTokenizer()
    t.train_from_iterator(corpus(), trainers.WordPieceTrainer(vocab_size=900, show_progress=False, special_tokens=special))
    t.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokens, types, _ = tables(t)
    tokens = [x if x in special else x[2:] if x.startswith("##") and len(x) > 2 else "▁" + x for x in tokens]
    path = write_gguf("bert.gguf", "bert", tokens, types, cls_token_id=2, seperator_token_id=3, unknown_token_id=1)
    same(path, t, "bert", [x for x in TEXTS if "▁" not in x])


@test
def gguf_refused():
    letters = [chr(c) for c in range(33, 127)]
    types = [1] * len(letters)
    write_gguf("odd.gguf", "gpt2", letters, types, pre="no-such-one", merges=["a b"])
    fails("tokenize", "odd.gguf", stdin=b"x", says=["no-such-one", "llama-bpe", "qwen2"], lines=1)
    write_gguf("odd.gguf", "gpt2", letters, types, pre="gpt-2", merges=["a b"])
    fails("tokenize", "odd.gguf", stdin=b"x", says=["merge 0", "'ab'"], lines=1)
    write_gguf("odd.gguf", "gpt2", letters, types, pre="gpt-2", merges=["aqq b"])
    fails("tokenize", "odd.gguf", stdin=b"x", says=["merge 0", "'aqq'"], lines=1)
    write_gguf("odd.gguf", "gpt2", letters, types, pre="gpt-2", merges=["ab"])
    fails("tokenize", "odd.gguf", stdin=b"x", says=["merge 0", "blank"], lines=1)
    write_gguf("odd.gguf", "gpt2", letters, types, pre="gpt-2")
    fails("tokenize", "odd.gguf", stdin=b"x", says="merges", lines=1)
    write_gguf("odd.gguf", "llama", letters + ["a"], types + [1])
    fails("tokenize", "odd.gguf", stdin=b"x", says=["token 94", "token 64", "'a'"], lines=1)
    write_gguf("odd.gguf", "llama", letters, types[1:])
    fails("tokenize", "odd.gguf", stdin=b"x", says="93 entries for 94 tokens", lines=1)
    write_gguf("odd.gguf", "llama", letters, [9] + types[1:])
    fails("tokenize", "odd.gguf", stdin=b"x", says="token_type of token 0 is 9", lines=1)
    for kind in ("rwkv", "plamo2", "no_vocab", "odd"):
        write_gguf("odd.gguf", kind, letters, types)
        fails("tokenize", "odd.gguf", stdin=b"x", says=f"'{kind}'", lines=1)
    write_gguf("odd.gguf", "gpt2", letters + ["ab"], types + [1], merges=["a b"])
    check("names no pre-tokenizer" in rlx("tokenize", "odd.gguf", stdin=b"x", expect=0).err, "no pre-tokenizer is told")


# ---- The command


@test
def output_forms():
    tokens = ["<s>", "</s>", "a", "b", "ab", "\u0120"]
    write_gguf("t.gguf", "gpt2", tokens, [3, 3, 1, 1, 1, 1], pre="gpt-2", merges=["a b"], bos_token_id=0, eos_token_id=1, add_bos_token=True)
    equal(rlx("tokenize", "t.gguf", "--ids", stdin=b"ab b</s>", expect=0).out, "0 4 5 3 1\n")
    equal(rlx("tokenize", "t.gguf", "--ids", "--no-special", stdin=b"ab b</s>", expect=0).out, "4 5 3\n")
    equal(rlx("tokenize", "t.gguf", "--ids", "--no-special", stdin=b"", expect=0).out, "\n")
    equal(rlx("tokenize", "t.gguf", stdin=b"ab", expect=0).out, '      0  "<s>"\n      4  "ab"\n')
    equal(rlx_json("tokenize", "t.gguf", stdin=b"ab"), {"ids": [0, 4], "tokens": ["<s>", "ab"]})
    equal(rlx_json("tokenize", "t.gguf", "-0", "--no-special", stdin=b"ab\0\0b"),
          {"texts": [{"ids": [4], "tokens": ["ab"]}, {"ids": [], "tokens": []}, {"ids": [3], "tokens": ["b"]}]})
    equal(rlx("tokenize", "t.gguf", "--decode", stdin=b"0 4\n5,3", expect=0).out, "<s>ab b")
    equal(rlx("tokenize", "t.gguf", "--decode", "--no-special", stdin=b"0 4 5 3", expect=0).out, "ab b")
    equal(rlx_json("tokenize", "t.gguf", "--decode", stdin=b"4"), {"text": "ab"})
    fails("tokenize", "t.gguf", "--decode", stdin=b"4 x", says="'x'")
    fails("tokenize", "t.gguf", "--decode", stdin=b"4 6", says=["token 6", "id 1 of 2"])
    fails("tokenize", says="one file", code=2)
    fails("tokenize", "a", "b", says="one file", code=2)
    fails("tokenize", "nowhere.gguf", stdin=b"", says="nowhere.gguf")
    write("x.txt", "hello")
    fails("tokenize", "x.txt", stdin=b"", says="x.txt")


# ---- Conversations

# Templates of our own, in the pieces that real ones have.
CHATML = ("{% for m in messages %}{% if loop.first and m['role'] != 'system' %}{{ '<|im_start|>system\nYou are a helpful assistant<|im_end|>\n' }}"
          "{% endif %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>' + '\n' }}{% endfor %}"
          "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")
LLAMA3_CHAT = ("{{ bos_token }}{% for m in messages %}{{ '<|start_header_id|>' + m['role'] + '<|end_header_id|>\n\n' + m['content'] | trim + "
               "'<|eot_id|>' }}{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}")
GEMMA = ("{{ bos_token }}{% for m in messages %}{{ '<start_of_turn>' + ('model' if m['role'] == 'assistant' else 'user') + '\n' + m['content'] | trim + "
         "'<end_of_turn>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}")


def check_conversations(path, template, systems=(None, "Be brief.")):
    jinja2, = packages("jinja2")
    render = jinja2.Environment(trim_blocks=True, lstrip_blocks=True).from_string(template).render
    for said in (["Hi"], [" Hello, world "], ["Hi", "Yes?", "No\n"], ["a", "b", "c", "d", "e"]):
        for system in systems:
            messages = [{"role": "system", "content": system}] if system else []
            messages += [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(said)]
            expected = render(messages=messages, add_generation_prompt=True, bos_token="", eos_token="</s>")
            found = rlx("tokenize", path, "--ids", "--chat", "-0", *(["--system", system] if system else []),
                        stdin="\0".join(said).encode(), expect=0).out
            equal(found, rlx("tokenize", path, "--ids", stdin=expected.encode(), expect=0).out, f"{template[:60]!r} {messages}")


@test
def conversations():
    packages("jinja2")
    letters = [chr(c) for c in range(33, 127)] + ["\u0120", "\u010a", "ab"]
    special = ["<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<start_of_turn>", "<end_of_turn>"]
    for template, systems in ((CHATML, (None, "Be brief.")), (LLAMA3_CHAT, (None, "Be brief.")), (GEMMA, (None,)), ("{{ messages }}", ())):
        write_gguf("chat.gguf", "gpt2", special + letters, [3] * len(special) + [1] * len(letters), pre="gpt-2", merges=["a b"],
                   bos_token_id=0, add_bos_token=True, template=template)
        if systems:
            check_conversations("chat.gguf", template, systems)
    fails("tokenize", "chat.gguf", "--chat", stdin=b"Hi", says=["not supported", "chatml", "--template"], lines=1)
    equal(rlx("tokenize", "chat.gguf", "--chat", "--template", "chatml", "--ids", stdin=b"Hi", expect=0).out,
          rlx("tokenize", "chat.gguf", "--ids", stdin=b"<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n", expect=0).out)
    fails("tokenize", "chat.gguf", "--chat", "--template", "odd", stdin=b"Hi", says=["'odd'", "chatml"], lines=1)
    fails("tokenize", "chat.gguf", "--chat", "--decode", stdin=b"Hi", says="--chat", code=2)


@test
def a_real_template():
    reader, _ = packages("gguf", "jinja2")
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    path = pathlib.Path(base, "rlx/models/SmolLM2-135M-Instruct.Q4_1.gguf")
    if not path.exists():
        raise Skip("SmolLM2 is not there (tools/fetch_model smollm2)")
    check_conversations(path, reader.GGUFReader(path).fields["tokenizer.chat_template"].contents())


# ---- Size


@test
def long_texts():
    """A quarter of a megabyte of one letter, and of all else that could be quadratic, in the seconds that a call may take."""
    packages("tokenizers")
    from tokenizers import pre_tokenizers as p
    tokens, types, merges = tables(byte_level(p.ByteLevel(add_prefix_space=False)))
    spm = SPECIAL + [f"<0x{i:02X}>" for i in range(256)] + ["▁", "▁▁", "▁▁▁▁", "a", "aa", "aaaa", "a▁a"]
    files = [write_gguf("l-spm.gguf", "llama", spm, [2, 3, 3, 3, 3] + [6] * 256 + [1] * 7, scores=[0.0] * 261 + [-2.0, -3.0, -1.0, -5.0, -4.0, -4.5, -6.0])]
    for pre in ("gpt-2", "llama-bpe", "deepseek-llm", "deepseek-v3", "superbpe", "gpt-4o", "kimi-k2", "falcon", "bloom", "tekken", "exaone-moe"):
        files.append(write_gguf(f"l-{pre}.gguf", "gpt2", tokens, types, pre=pre, merges=merges))
    units = ("a", " ", "\n", "1", ".", "A", " \n", "é", "漢", "🙂", "a ", "\xff", "<|im_")
    for path in files:
        for unit in part(units, 3, f"{path}: long texts") if IS_SANITIZED else units:
            data = (unit.encode("latin-1") if unit == "\xff" else unit.encode()) * (250_000 // len(unit.encode()))
            ids = rlx("tokenize", path, "--ids", "--no-special", stdin=data, expect=0).out.split()
            check(ids, f"{path} {unit!r}: no tokens")
    words = write_gguf("l-bert.gguf", "bert", ["[UNK]", "[CLS]", "[SEP]", "▁a", "a", "▁."], [3, 3, 3, 1, 1, 1], cls_token_id=1,
                       seperator_token_id=2, unknown_token_id=0)
    for unit in ("a", "a ", ".", "\u0301\u0327", "a\u0327\u0301"):
        ids = rlx("tokenize", words, "--ids", stdin=unit.encode() * (250_000 // len(unit.encode())), expect=0).out.split()
        check(len(ids) >= 2, f"{unit!r}: no tokens")


if __name__ == "__main__":
    sys.exit(main())
