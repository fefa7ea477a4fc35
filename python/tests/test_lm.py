"""Language models: text as it comes, conversations, embeddings, stops, files."""

import asyncio
import json
import shutil
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import rlx
from conftest import ROOT

pytestmark = pytest.mark.skipif(not rlx.HAS_LM, reason="built without language models")
SHAKESPEARE = ROOT / "models/shakespeare/shakespeare.gguf"
ASK = [{"role": "user", "content": "hi there"}]


@pytest.fixture(scope="module")
def lm():
    with rlx.lm.load(SHAKESPEARE, device="cpu", threads=2) as made:
        yield made


def endless(lm):
    return lm.generate("ROMEO:", ignore_end=True, shift=True)


def test_facts(lm):
    assert lm.info.family == "llama" and lm.info.n_layers == 6 and lm.device.backend == "cpu"
    assert lm.chat_template is None and lm.sampling is None
    assert lm.plan.memory["state"] > 0 and lm.plan.svg.startswith("<svg") and "sample" in str(lm.report())
    assert "Shakespeare" in repr(lm) and lm.info.n_vocabulary == len(lm.tokenizer)


def test_text_is_the_same_however_it_is_read(lm):
    async def read():
        return "".join([piece async for piece in lm.generate("ROMEO:", max_tokens=40)])

    whole = lm.generate("ROMEO:", max_tokens=40)
    text = whole.text()
    assert len(text) > 20 and whole.stats.n_tokens == 40 and whole.stats.ended == "length"
    assert "".join(lm.generate("ROMEO:", max_tokens=40)) == text
    assert asyncio.run(read()) == text
    ids = lm.tokenizer.encode("ROMEO:", parse_special=True)
    assert lm.tokenizer.decode(list(lm.generate_tokens(ids, max_tokens=40))) == text
    half = lm.generate("ROMEO:", max_tokens=20).text()
    more = lm.generate(" and", resume=True, max_tokens=5)
    assert text.startswith(half) and more.text() and more.stats.n_prompt_tokens < 5


def test_seeds_and_sampling(lm):
    def write(**settings):
        return lm.generate("ROMEO:", max_tokens=30, temperature=1.2, **settings).text()
    assert write(seed=1) == write(seed=1) != write(seed=2)
    one = lm.generate("ROMEO:", max_tokens=30, temperature=1.2)
    assert one.text() == write(seed=one.settings["seed"])
    with pytest.raises(rlx.InvalidError, match="temperature"):
        lm.generate("ROMEO:", temperature=-1).text()
    with pytest.raises(TypeError, match="'warmth'"):
        lm.generate("ROMEO:", warmth=1)


def test_stop_texts(lm):
    whole = lm.generate("ROMEO:", max_tokens=60).text()
    stop = whole[15:18]
    ended = lm.generate("ROMEO:", max_tokens=60, stop=stop)
    assert ended.text() == whole[:whole.index(stop)] and ended.stats.ended == "stop"
    assert lm.generate("ROMEO:", max_tokens=60, stop=["no such text", stop]).text() == whole[:whole.index(stop)]


def test_grammars(lm):
    found = lm.generate("KING:", grammar=rlx.lm.Grammar(lm.tokenizer, regex="(yes|no)!")).text()
    assert found in ("yes!", "no!")
    schema = {"type": "object", "properties": {"age": {"type": "integer", "minimum": 1, "maximum": 99}}, "required": ["age"]}
    grammar = rlx.lm.Grammar(lm.tokenizer, json_schema=schema)
    for seed in range(3):
        assert 1 <= json.loads(lm.generate("KING:", grammar=grammar, temperature=1, seed=seed).text())["age"] <= 99
    with pytest.raises(rlx.Error, match="left-recursive"):
        rlx.lm.Grammar(lm.tokenizer, gbnf='root ::= root "x" | "y"')
    with pytest.raises(TypeError):
        rlx.lm.Grammar(lm.tokenizer, gbnf="x", regex="x")


def test_leaving_the_loop_stops_it(lm):
    generation = endless(lm)
    for n, piece in enumerate(generation):
        if n == 5:
            break
    assert generation.stats.ended == "cancelled" and generation.stats.n_tokens >= 5
    assert len(lm.generate("ROMEO:", max_tokens=3).text()) > 0  # and the model is free again


def test_cancel_from_another_thread(lm):
    import threading
    generation = endless(lm)
    pieces = iter(generation)
    next(pieces)
    threading.Timer(0.05, generation.cancel).start()
    assert len(list(pieces)) >= 0 and generation.stats.ended == "cancelled"
    with pytest.raises(rlx.InvalidError, match="begun already"):
        generation.text()


def test_a_second_caller_is_told_that_it_is_busy(lm):
    pieces = iter(endless(lm))
    next(pieces)
    with pytest.raises(rlx.BusyError):
        lm.generate("ROMEO:", max_tokens=1).text()
    with pytest.raises(rlx.BusyError):
        list(lm.generate("ROMEO:", max_tokens=1))
    pieces.close()
    assert lm.generate("ROMEO:", max_tokens=1).text()


def test_async_generation_leaves_the_loop_free(lm):
    async def main():
        beats = 0

        async def beat():
            nonlocal beats
            while True:
                beats += 1
                await asyncio.sleep(0)

        task = asyncio.ensure_future(beat())
        text, generation = "", lm.generate("ROMEO:", max_tokens=100)
        async for piece in generation:
            text += piece
        task.cancel()
        return text, beats, generation.stats

    text, beats, stats = asyncio.run(main())
    assert text == lm.generate("ROMEO:", max_tokens=100).text() and beats > 10 and stats.n_tokens == 100


def test_a_cancelled_task_stops_the_generation(lm):
    generation = endless(lm)

    async def read():
        async for _ in generation:
            pass

    async def main():
        await asyncio.wait_for(read(), 0.1)

    with pytest.raises((asyncio.TimeoutError, TimeoutError)):
        asyncio.run(main())
    assert generation.stats.ended == "cancelled"
    assert lm.generate("ROMEO:", max_tokens=1).text()


def test_close_ends_what_runs():
    lm = rlx.lm.load(SHAKESPEARE, device="cpu")
    generation = endless(lm)
    pieces = iter(generation)
    next(pieces)
    lm.close()
    list(pieces)
    assert generation.stats.ended == "cancelled"
    with pytest.raises(rlx.InvalidError, match="Lm is closed"):
        lm.generate("a").text()
    with pytest.raises(rlx.InvalidError, match="Lm is closed"):
        list(lm.generate("a"))


def test_speculation():
    how = {"device": "cpu", "switches": "exact", "cache": "f32"}  # so that no rounding decides between two tokens
    with rlx.lm.load(SHAKESPEARE, **how) as lm, rlx.lm.load(SHAKESPEARE, **how) as other:
        plain = lm.generate("ROMEO:", max_tokens=24).text()
        looked = lm.generate("ROMEO:", max_tokens=24, lookup=7, stop="zzz")
        assert looked.text() == plain
        drafted = lm.generate("ROMEO:", max_tokens=24, draft=other, stop="zzz")
        assert drafted.text() == plain
        assert drafted.stats.n_guessed == drafted.stats.n_right > 0
        with pytest.raises(rlx.InvalidError, match="itself"):
            lm.generate("ROMEO:", max_tokens=1, draft=lm).text()


@pytest.mark.parametrize("how", ["for _ in g: pass", "g.text()"])
def test_ctrl_c(how):
    done = subprocess.run([sys.executable, "-c", textwrap.dedent("""
        import os, signal, sys, threading
        import rlx
        lm = rlx.lm.load(sys.argv[1], device="cpu")
        g = lm.generate("ROMEO:", ignore_end=True, shift=True)
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            exec(sys.argv[2])
        except KeyboardInterrupt:
            print(g.stats.ended, len(lm.generate("ROMEO:", max_tokens=5).text()) > 0)
        """), str(SHAKESPEARE), how], capture_output=True, text=True, timeout=600)
    assert done.stdout.split() == ["cancelled", "True"], done.stderr


def test_the_interpreter_ends_while_one_runs():
    done = subprocess.run([sys.executable, "-c", textwrap.dedent("""
        import sys
        import rlx
        pieces = iter(rlx.lm.load(sys.argv[1], device="cpu").generate("ROMEO:", ignore_end=True, shift=True))
        print(bool(next(pieces)))
        """), str(SHAKESPEARE)], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "True", "")


def test_an_error_in_the_thread_is_the_readers(lm):
    with pytest.raises(rlx.Error) as caught:
        list(lm.generate("x" * 20_000))
    assert caught.value.message
    with pytest.raises(rlx.TimeLimitError):
        list(lm.generate("ROMEO:", ignore_end=True, shift=True, limits=rlx.Limits(seconds=0.05)))


def test_tokenizer(lm):
    ids = lm.tokenizer.encode("To be, or not")
    assert ids.dtype == np.int32 and lm.tokenizer.decode(ids) == "To be, or not"
    assert lm.tokenizer.spelling(int(ids[0])) and lm.tokenizer.find(lm.tokenizer.spelling(int(ids[0]))) == ids[0]
    assert lm.tokenizer.eos == 271 and lm.tokenizer.is_end(271) and lm.tokenizer.is_special(271)
    alone = rlx.lm.Tokenizer(SHAKESPEARE)
    assert np.array_equal(alone.encode("To be, or not"), ids) and alone.kind == lm.tokenizer.kind
    assert lm.tokenizer.encode("").shape == (0,) and lm.tokenizer.decode([]) == ""
    with pytest.raises(rlx.InvalidError):
        lm.tokenizer.decode([10 ** 6])
    with pytest.raises(rlx.InvalidError, match="whole numbers"):
        lm.tokenizer.decode([0.5])


def test_sequences_and_logits(lm, tmp_path):
    ids = lm.tokenizer.encode("ROMEO:", parse_special=True)
    lm.truncate(0)
    last = lm.append(ids)
    assert lm.length() == len(ids) and np.array_equal(lm.tokens(), ids)
    lm.truncate(0)
    rows = lm.append(ids, all=True)
    assert rows.shape == (len(ids), lm.info.n_vocabulary) and np.allclose(rows[-1], last, atol=1e-3)
    lm.save(tmp_path / "state.safetensors")
    lm.truncate(2)
    assert lm.length() == 2
    lm.restore(tmp_path / "state.safetensors")
    assert np.array_equal(lm.tokens(), ids)
    with pytest.raises(rlx.MissingFileError):
        lm.restore(tmp_path / "absent.safetensors")
    assert list(lm.generate_tokens(ids, max_tokens=1)) == [int(last.argmax())]


def test_batches():
    with rlx.lm.load(SHAKESPEARE, device="cpu", sequences=2, context=128) as lm:
        one, two = lm.generate_batch(["ROMEO:", "JULIET:\nO"], max_tokens=12)
        assert len(one) == len(two) == 12
        assert lm.tokenizer.decode(one) == lm.generate("ROMEO:", max_tokens=12).text()


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A model of random weights whose vocabulary knows the tokens of ChatML."""
    sys.path.insert(0, str(ROOT / "tests/cli"))
    from gguf_file import tiny_llama
    path = tmp_path_factory.mktemp("tiny") / "tiny.gguf"
    tiny_llama(path)
    return path


def test_chat(tiny):
    with rlx.lm.load(tiny, device="cpu") as lm:
        assert "chatml" in rlx.lm.chat_templates()
        generation = lm.chat(ASK, template="chatml", max_tokens=8, seed=4)
        text = "".join(generation)
        assert generation.settings["temperature"] == 0.7 and generation.settings["top_p"] == 0.95
        assert lm.chat([("user", "hi there")], template="chatml", max_tokens=8, seed=4).text() == text
        held = lm.length()
        lm.chat([*ASK, {"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}], template="chatml",
                max_tokens=2, temperature=0).text()
        assert lm.length() != held
        with pytest.raises(rlx.Error, match="template"):
            lm.chat(ASK).text()  # the file has none
        with pytest.raises(rlx.Error, match="no such template"):
            lm.chat(ASK, template="no such template").text()
        assert lm.format_chat(ASK, "chatml").endswith("<|im_start|>assistant\n")
        with pytest.raises(KeyError):
            lm.chat([{"role": "user"}])


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("encoder") / "bert"
    shutil.copytree(ROOT / "tests/golden/lm/bert", folder)
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abcdefghijklmnopqrstuvwxyz", *(f"##{c}" for c in "abcdefghij")]
    special = [{"id": i, "content": t, "special": True, "single_word": False, "lstrip": False, "rstrip": False,
                "normalized": False} for i, t in enumerate(names[:4])]
    (folder / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "added_tokens": special,
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
                       "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": {t: i for i, t in enumerate(names)}}}))
    return folder


def test_embeddings(encoder):
    with rlx.lm.load(encoder, device="cpu") as lm:
        assert lm.info.is_encoder
        one = lm.embed("a b c")
        many = lm.embed(["a b c", "x y z", "a b c"])
        assert one.shape == (lm.info.width,) and many.shape == (3, lm.info.width) and many.dtype == np.float32
        assert np.allclose(np.linalg.norm(many, axis=1), 1, atol=1e-5)
        assert np.array_equal(many[0], one) and np.array_equal(many[0], many[2]) and not np.allclose(many[0], many[1])
        long = "a " * 200
        assert lm.embed(long).shape == one.shape
        with pytest.raises(rlx.InvalidError):
            lm.embed(long, truncate=False)
        with pytest.raises(rlx.Error):
            lm.generate("a").text()


def test_dimensions(encoder):
    with rlx.lm.load(encoder, device="cpu") as lm:
        whole, short = lm.embed("a b c"), lm.embed("a b c", dimensions=4)
        assert short.shape == (4,) and np.allclose(short, whole[:4] / np.linalg.norm(whole[:4]), atol=1e-6)


def test_pairs(encoder, tmp_path):
    golden = ROOT / "tests/golden/lm/bert_rank"
    folder = shutil.copytree(golden, tmp_path / "ranker")
    shutil.copy(encoder / "tokenizer.json", folder)
    with rlx.lm.load(folder, device="cpu") as lm:
        assert lm.info.is_ranker
        scores = lm.rank("a b", ["c d", "e", "c d", "x " * 100])
        assert scores.shape == (4,) and scores[0] == scores[2] != scores[1] and np.all((scores > 0) & (scores < 1))
        with pytest.raises(rlx.InvalidError):
            lm.rank("a", ["x " * 100], truncate=False)
        with pytest.raises(rlx.UnsupportedError, match="score"):
            lm.embed("a")
    with rlx.lm.load(encoder, device="cpu") as lm, pytest.raises(rlx.UnsupportedError, match="embeds texts"):
        lm.rank("a", ["b"])


def test_a_model_that_only_generates_does_not_embed(lm):
    with pytest.raises(rlx.UnsupportedError, match="embed"):
        lm.embed("a")


def test_wrong_models(tmp_path):
    with pytest.raises(rlx.MissingFileError, match="absent.gguf"):
        rlx.lm.load(tmp_path / "absent.gguf", device="cpu")
    (tmp_path / "bad.gguf").write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(rlx.Error) as caught:
        rlx.lm.load(tmp_path / "bad.gguf", device="cpu")
    assert "bad.gguf" in caught.value.message or caught.value.message
    with pytest.raises(rlx.NotFoundError, match="no such device"):
        rlx.lm.load(SHAKESPEARE, device="no such device")


def test_loading_can_be_watched_and_stopped():
    seen = []
    rlx.lm.load(SHAKESPEARE, device="cpu", progress=lambda *what: seen.append(what)).close()
    assert seen and all(0 <= part <= total for _, part, total in seen)
    with pytest.raises(rlx.CancelledError):
        rlx.lm.load(SHAKESPEARE, device="cpu", cancel=lambda: True)
    with rlx.lm.load(SHAKESPEARE, device="cpu", dry_run=True) as lm:
        assert lm.info.weight_bytes > 0 and lm.plan.memory["weights"] > 0


# ---- weight files ----

@pytest.mark.parametrize("name", ["m.safetensors", "m.gguf"])
def test_files_are_written_and_read(tmp_path, rng, name):
    from rlx import files
    values = rng.standard_normal((4, 32)).astype(np.float32)
    packed = rlx.Tensor.encode(values, "q8_0")
    tensors = {"a": values, "b": np.arange(3, dtype=np.int32)}
    meta = {"note": "text"}
    if name.endswith("gguf"):
        tensors["q"] = packed
        meta.update({"count": 7, "share": 0.5, "yes": True, "list": [1, 2, 3], "words": ["a", "b"]})
    files.save(tmp_path / name, tensors, meta)
    with files.File(tmp_path / name) as file:
        assert set(file) == set(tensors) and len(file) == len(tensors) and "a" in file and "z" not in file
        assert np.array_equal(file["a"], values) and np.array_equal(file["b"], tensors["b"])
        assert {k: file.meta[k] for k in meta} == meta
        assert file.describe("a").shape == (4, 32) and file.describe("a").dtype == rlx.DType.F32
        if "q" in tensors:
            assert np.array_equal(file["q"].numpy(), packed.numpy())
        with pytest.raises(rlx.NotFoundError, match="'z'"):
            file["z"]
        assert all(is_remark for is_remark, _ in file.check())


def test_files_are_converted(tmp_path):
    from rlx import files
    files.convert(SHAKESPEARE, tmp_path / "f32.gguf", type="f32")
    with files.File(SHAKESPEARE) as old, files.File(tmp_path / "f32.gguf") as new:
        name = "blk.0.attn_k.weight"
        assert new.describe(name).dtype == rlx.DType.F32
        assert np.allclose(new[name], old[name].numpy(), atol=1e-6) and old.parts and "GGUF" in old.format
    with pytest.raises(rlx.MissingFileError):
        files.convert(tmp_path / "absent.gguf", tmp_path / "x.gguf")
    files.convert(SHAKESPEARE, tmp_path / "q.gguf", type="q4_k_m", tensor_types={"blk.0.attn_k*": "f16"})
    with files.File(tmp_path / "q.gguf") as new:
        assert new.describe("blk.0.attn_k.weight").dtype == rlx.DType.F16
    with pytest.raises(rlx.MissingFileError):
        files.convert(SHAKESPEARE, tmp_path / "x.gguf", type="q4_0", importance=tmp_path / "absent.dat")
    with pytest.raises(rlx.Error):
        files.save(tmp_path / "x.unknown", {})


def test_adapters(tmp_path):
    """One that changes a layer's keys: its text, without it, and with it for one call alone."""
    from rlx import files
    draw = np.random.default_rng(3)
    rows, width = files.File(SHAKESPEARE).describe("blk.0.attn_k.weight").shape
    files.save(tmp_path / "a.gguf", {"blk.0.attn_k.weight.lora_a": draw.normal(size=(4, width)).astype(np.float32),
                                     "blk.0.attn_k.weight.lora_b": draw.normal(size=(rows, 4)).astype(np.float32)},
               {"adapter.type": "lora", "general.architecture": "llama", "adapter.lora.alpha": 4.0})
    with rlx.lm.load(SHAKESPEARE, device="cpu", threads=2) as lm:
        def ask(**more):
            return "".join(lm.generate("ROMEO:", max_tokens=12, **more))
        plain = ask()
        number = lm.load_adapter(tmp_path / "a.gguf")
        assert number == 0 and ask() == plain
        changed = ask(adapters={number: 1.0})
        assert changed != plain and ask() == plain
        lm.use_adapters({number: 1.0})
        assert ask() == changed
        assert ask(adapters={}) == plain
        with pytest.raises(rlx.Error, match="adapter 7"):
            lm.use_adapters({7: 1.0})
        with pytest.raises(rlx.MissingFileError):
            lm.load_adapter(tmp_path / "absent.gguf")
