#!/usr/bin/env python3
"""rlx rerank: pairs of texts through a cross-encoder give transformers' scores, from a folder and from a GGUF, in the
order of the scores; what does not fit is cut as transformers cuts it; other encoders rank by cosine. See cli.py."""

import json
import sys

from cli import check, equal, fails, main, rlx, rlx_json, test, write
from lm_files import need_lm
from lm_pairs import BERT, GOLDEN, array, encoder, words

ON_CPU = ("--device", "cpu")


def pair_of(name, row):
    """The two texts of a golden row, [first] A [last].. B [last], and the score."""
    ids, length = array(GOLDEN / name / "tokens.npy", "i"), array(GOLDEN / name / "lengths.npy", "i")[row]
    ids = ids[row * 24:row * 24 + length]
    at = length // 3
    return words(ids[1:at]), words(ids[at + 1:-1]), array(GOLDEN / name / "score.npy", "f")[row]


TEMPLATE = {"type": "TemplateProcessing", "single": [],
            "pair": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                     {"SpecialToken": {"id": "[SEP]", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}},
                     {"SpecialToken": {"id": "[SEP]", "type_id": 1}}],
            "special_tokens": {t: {"id": t, "ids": [i], "tokens": [t]} for t, i in (("[CLS]", 1), ("[SEP]", 2))}}


def score(model, query, *texts):
    return {r["index"]: r for r in rlx_json("rerank", model, "--query", query, *ON_CPU, *texts)["results"]}


def near(a, b):
    check(abs(a - b) < 1e-5, f"{a} is not {b}")


@test
def scores_are_those_of_transformers():
    need_lm()
    for post in (BERT, TEMPLATE):
        encoder("bert_rank", "bert_rank", post)
        for model in ("bert_rank", "m.gguf"):
            for row in (0, 1):
                query, text, want = pair_of("bert_rank", row)
                near(score(model, query, text)[0]["score"], want)
            rlx("convert", "bert_rank", "m.gguf", expect=0)


@test
def the_best_come_first():
    need_lm()
    encoder("bert_rank", "bert_rank", BERT)
    query, text, _ = pair_of("bert_rank", 0)
    texts = [text, "w5 w6", "", "w9 " * 20, "w11"]
    found = rlx_json("rerank", "bert_rank", "--query", query, *ON_CPU, *texts)["results"]
    scores = [r["score"] for r in found]
    equal(scores, sorted(scores, reverse=True))
    equal(sorted(r["index"] for r in found), [0, 1, 2, 3, 4])
    check(all(r["text"] == texts[r["index"]] for r in found), found)
    lines = rlx("rerank", "bert_rank", "--query", query, "--top", 2, *ON_CPU, stdin="\n".join(texts).encode(), expect=0).out
    equal([line.split()[1] for line in lines.splitlines()], [str(r["index"]) for r in found[:2]])


@test
def what_does_not_fit_is_cut():
    need_lm()
    encoder("bert_rank", "bert_rank", BERT)
    ids = [3 + 7 * i % 58 for i in range(60)]
    for query, text, n_query, n_text in ((7, 60, 7, 30), (60, 5, 32, 5), (30, 40, 18, 19), (40, 30, 19, 18), (25, 25, 18, 19)):
        found = score("bert_rank", words(ids[:query]), words(ids[:text]))[0]
        short = score("bert_rank", words(ids[:n_query]), words(ids[:n_text]))[0]
        equal((found["score"], found["cut"]), (short["score"], query + text - n_query - n_text))
        equal(short["cut"], 0)


@test
def encoders_rank_by_cosine():
    need_lm()
    encoder("bert", "bert", BERT)
    texts = ["w5 w6 w7", "w9 w8", "w20"]
    vectors = rlx_json("embed", "bert", *ON_CPU, "w5 w6", *texts)["embeddings"]
    for i, found in score("bert", "w5 w6", *texts).items():
        near(found["score"], sum(a * b for a, b in zip(vectors[0], vectors[i + 1])))


@test
def wrong_uses():
    need_lm()
    encoder("bert_rank", "bert_rank", BERT)
    fails("rerank", "bert_rank", *ON_CPU, "a", code=2, says=["--query"])
    fails("embed", "bert_rank", *ON_CPU, "a", says=["gives pairs of texts a score"])
    fails("rerank", GOLDEN / "llama", "--query", "a", *ON_CPU, "a", says=["continues texts"])
    config = json.loads((GOLDEN / "bert_rank/config.json").read_text())
    for change, says in (({"sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity"}, None),
                         ({"sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Sigmoid"}}, None),
                         ({"sbert_ce_default_activation_function": "torch.nn.Tanh"}, "applies 'Tanh'")):
        write("bert_rank/config.json", json.dumps({**config, **change}))
        query, text, want = pair_of("bert_rank", 0)
        if says:
            fails("rerank", "bert_rank", "--query", query, *ON_CPU, text, says=[says])
            continue
        got = score("bert_rank", query, text)[0]["score"]
        near(1 / (1 + 2.718281828459045 ** -got) if "linear" in str(change) else got, want)
    twice = [*TEMPLATE["pair"], {"Sequence": {"id": "A", "type_id": 0}}]
    for post in (None, {**TEMPLATE, "pair": twice}, {**TEMPLATE, "pair": TEMPLATE["pair"][:2]}):
        encoder("bert_rank", "bert_rank", post)
        fails("rerank", "bert_rank", "--query", "w5", *ON_CPU, "w6", says=["how a pair of texts is written"])
    texts = [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 7}}]
    encoder("bert_rank", "bert_rank", {**TEMPLATE, "pair": texts})
    fails("rerank", "bert_rank", "--query", "", *ON_CPU, "", says=["without a token"])
    fails("rerank", "bert_rank", "--query", "", *ON_CPU, "w5", says=["token type 7"])
    for pair in ([{"Sequence": {"id": "C"}}], [{"SpecialToken": {"id": "[X]"}}], [{"SpecialToken": {"id": "[CLS]", "type_id": -1}}]):
        encoder("bert_rank", "bert_rank", {**TEMPLATE, "pair": pair})
        check("post_processor" in rlx("rerank", "bert_rank", "--query", "a", *ON_CPU, "a", expect=1).err, pair)


@test
def dimensions():
    need_lm()
    encoder("bert", "bert", BERT)
    whole = rlx_json("embed", "bert", *ON_CPU, "w5 w6")["embeddings"][0]
    short = rlx_json("embed", "bert", *ON_CPU, "--dimensions", 5, "w5 w6")["embeddings"][0]
    norm = sum(x * x for x in whole[:5]) ** 0.5
    check(len(short) == 5 and max(abs(a - b / norm) for a, b in zip(short, whole)) < 1e-6, short)
    fails("embed", "bert", *ON_CPU, "--dimensions", 37, "w5", says=["--dimensions", "36"])


if __name__ == "__main__":
    sys.exit(main())
