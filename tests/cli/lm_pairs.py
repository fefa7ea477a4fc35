"""Tiny encoders of tests/golden/lm with a tokenizer whose words are the numbers of tokens: "w5 w6" is 5, 6."""

import json
import shutil
import struct

from cli import ROOT, write

GOLDEN = ROOT / "tests/golden/lm"
SPECIAL = {"[PAD]": 0, "[CLS]": 1, "[SEP]": 2}
BERT = {"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]}


def array(path, kind):
    raw = path.read_bytes()
    start = 10 + struct.unpack("<H", raw[8:10])[0]
    return [v for v, in struct.iter_unpack("<" + kind, raw[start:])]


def words(ids):
    return " ".join(f"w{i}" for i in ids)


def encoder(name, to, post):
    """Copies a golden and gives it the tokenizer; post: what is put around texts."""
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(GOLDEN / name, to)
    size = json.loads((GOLDEN / name / "config.json").read_text())["vocab_size"]
    write(f"{to}/tokenizer.json", json.dumps({
        "version": "1.0", "post_processor": post, "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "added_tokens": [{"id": i, "content": t, "single_word": False, "lstrip": False, "rstrip": False,
                          "normalized": False, "special": True} for t, i in SPECIAL.items()],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
                       "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": {"type": "WordPiece", "unk_token": "[PAD]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": {**SPECIAL, **{f"w{i}": i for i in range(3, size)}}}}))
