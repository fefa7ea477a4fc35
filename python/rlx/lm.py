"""Language models: generation as it comes, conversations, embeddings.

    with rlx.lm.load("model.gguf") as lm:
        for piece in lm.chat([{"role": "user", "content": "What is gravity?"}], max_tokens=80):
            print(piece, end="", flush=True)

A generation that is iterated over, also with ``async for``, runs in a thread of its own; leaving the loop, or Ctrl-C in
it, stops it after the token that is being computed. ``text()`` runs it in the calling thread.
"""

from __future__ import annotations

import atexit
import json
import os
import queue
import threading
import weakref
from typing import Any, AsyncIterator, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import report as reports
from ._core import (Handle, Info, Limits, Watch, c_path, c_text, done, enum_value, error_of, ffi, has_kept, info, keep,
                    lib, owned_text, sized, switches, text)
from .enums import GrammarKind, LmCache, LmSpecial, ReportKind, Status, TokenFlags
from .session import Session

__all__ = ["Generation", "Grammar", "Lm", "Tokenizer", "chat_templates", "load"]

Message = Union[Dict[str, str], Tuple[str, str]]
Ids = Union[Sequence[int], "np.ndarray[Any, Any]"]


# ---- tokenizers --------------------------------------------------------------------------------------------------

class Tokenizer:
    """The tokenizer of a model: ``lm.tokenizer``, or ``Tokenizer(path)`` of a file alone. Any thread may use it."""

    __slots__ = ("_c", "_owner")

    def __init__(self, path: Union[str, "os.PathLike[str]", None] = None, _c: Any = None, _owner: Any = None):
        if path is not None:
            from .files import File
            out = ffi.new("rlx_tokenizer **")
            with File(path) as file:
                done(lib.rlx_tokenizer_create(file.c, out))
            _c = ffi.gc(out[0], lib.rlx_tokenizer_destroy)
        self._c, self._owner = _c, _owner

    @property
    def c(self) -> Any:
        if self._owner is not None:
            self._owner.c  # raises where the model is closed
        return self._c

    def encode(self, source: Union[str, bytes], add_special: bool = False, parse_special: bool = False
               ) -> "np.ndarray[Any, Any]":
        """The tokens of a text. add_special: with what the model expects around a text; parse_special: "<|x|>" in the
        text is that token, not its letters."""
        data = source.encode() if isinstance(source, str) else source
        flags = add_special * TokenFlags.ADD_SPECIAL | parse_special * TokenFlags.PARSE_SPECIAL
        ids, n = ffi.new("int32_t **"), ffi.new("size_t *")
        done(lib.rlx_tokenizer_encode(self.c, data, len(data), flags, ids, n))
        return _taken_ids(ids[0], n[0])

    def decode(self, ids: Ids, special: bool = False) -> str:
        """The text of tokens; special tokens only if `special`. What is no UTF-8 becomes U+FFFD."""
        array = _ids(ids)
        out, n = ffi.new("char **"), ffi.new("size_t *")
        done(lib.rlx_tokenizer_decode(self.c, ffi.from_buffer("int32_t[]", array), len(array), special, out, n))
        result = text(out[0], n[0])
        lib.rlx_free(out[0])
        return result

    def __len__(self) -> int:
        return int(lib.rlx_tokenizer_size(self.c))

    @property
    def kind(self) -> str:
        return text(lib.rlx_tokenizer_kind(self.c))

    @property
    def bos(self) -> Optional[int]:
        found = int(lib.rlx_tokenizer_bos(self.c))
        return found if found >= 0 else None

    @property
    def eos(self) -> Optional[int]:
        found = int(lib.rlx_tokenizer_eos(self.c))
        return found if found >= 0 else None

    def spelling(self, token: int) -> Optional[str]:
        """The vocabulary's own spelling of a token."""
        found = lib.rlx_tokenizer_spelling(self.c, token)
        return text(found) if found != ffi.NULL else None

    def find(self, spelling: str) -> Optional[int]:
        found = int(lib.rlx_tokenizer_find(self.c, c_text(spelling)))
        return found if found >= 0 else None

    def is_special(self, token: int) -> bool:
        return bool(lib.rlx_tokenizer_is_special(self.c, token))

    def is_end(self, token: int) -> bool:
        """It ends a generation."""
        return bool(lib.rlx_tokenizer_is_end(self.c, token))

    def __repr__(self) -> str:
        return f"<Tokenizer: {self.kind}, {len(self)} tokens>"


class Grammar:
    """What a generated text must match, for one vocabulary: ``lm.generate(prompt, grammar=Grammar(lm.tokenizer, ..))``.

    One of: gbnf, a text; json_schema, a text or what it says as a dict; regex, a pattern that matches the whole text.
    Without any: any JSON object. Any number of generations, and any thread, may use it."""

    __slots__ = ("_c",)

    def __init__(self, tokenizer: Tokenizer, gbnf: Optional[str] = None,
                 json_schema: Union[str, bool, Dict[str, Any], None] = None, regex: Optional[str] = None):
        kinds = [(GrammarKind.GBNF, gbnf), (GrammarKind.JSON_SCHEMA, json_schema), (GrammarKind.REGEX, regex)]
        given = [(kind, source) for kind, source in kinds if source is not None] or [(GrammarKind.JSON, "")]
        if len(given) > 1:
            raise TypeError("a grammar is one of gbnf, json_schema and regex")
        kind, source = given[0]
        data = (source if isinstance(source, str) else json.dumps(source)).encode()
        out = ffi.new("rlx_grammar **")
        done(lib.rlx_grammar_create(tokenizer.c, int(kind), data, len(data), out))
        self._c = ffi.gc(out[0], lib.rlx_grammar_destroy)

    @property
    def c(self) -> Any:
        return self._c


def _taken_ids(pointer: Any, n: int) -> "np.ndarray[Any, Any]":
    array = np.frombuffer(ffi.buffer(pointer, 4 * n)[:] if n else b"", np.int32)
    lib.rlx_free(pointer)
    return array


def _ids(ids: Ids) -> "np.ndarray[Any, Any]":
    array = np.asarray(ids)
    if array.size and (array.ndim != 1 or array.dtype.kind not in "iu"):
        raise error_of(Status.INVALID, f"tokens: expected a list of whole numbers, got {array.dtype} with {array.ndim} "
                                       "axes")
    if array.size and (array.max() > 2 ** 31 - 1 or array.min() < -2 ** 31):
        raise error_of(Status.INVALID, "tokens: a number beyond 32 bits")
    return np.ascontiguousarray(array.reshape(-1), np.int32)


def chat_templates() -> List[str]:
    """The names of the chat templates that the library knows."""
    return [text(lib.rlx_chat_template_name(i)) for i in range(lib.rlx_chat_template_count())]


# ---- generations -------------------------------------------------------------------------------------------------

class _Call:
    """One call that generates: what its callbacks see."""

    __slots__ = ("put", "is_stopped", "thread", "__weakref__")

    def __init__(self, put: Callable[[Any], Any]):
        self.put, self.is_stopped = put, False
        self.thread: Optional[threading.Thread] = None

    def cancel(self) -> bool:
        return self.is_stopped

    def stop(self) -> None:
        """Ends it and waits for its thread."""
        self.is_stopped = True
        thread = self.thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()


_calls: "weakref.WeakSet[_Call]" = weakref.WeakSet()  # with a thread: all of them end before the interpreter does


@atexit.register
def _stop_all() -> None:
    for call in list(_calls):
        call.stop()


@ffi.def_extern(onerror=keep)
def rlx_py_text(user: Any, piece: Any, size: int) -> None:
    if not has_kept():
        ffi.from_handle(user).put(text(piece, size))


@ffi.def_extern(error=False, onerror=keep)
def rlx_py_id(user: Any, token: int) -> bool:
    call = ffi.from_handle(user)
    call.put(token)
    return not call.is_stopped


@ffi.def_extern(error=False, onerror=keep)
def rlx_py_sequence_id(user: Any, sequence: int, token: int) -> bool:
    call = ffi.from_handle(user)
    call.put((sequence, token))
    return not call.is_stopped


_END = object()


class Generation:
    """What a model writes, as it comes: ``for``, ``async for``, or ``text()``. It begins when it is first asked for.

    settings: how tokens are sampled, with the seed; stats: counts and times, once it has ended."""

    def __init__(self, lm: "Lm", start: Callable[[Any, Any, Any], int], options: Any, alive: Any,
                 settings: Dict[str, Any]):
        self._lm, self._start, self._options, self._alive = lm, start, options, alive
        self.settings = settings
        self.stats: Optional[Info] = None
        self._call: Optional[_Call] = None

    def _run(self, call: _Call) -> None:
        """The whole of it, in this thread."""
        handle, stats = ffi.new_handle(call), sized("rlx_lm_stats")
        self._options.cancel = lib.rlx_py_cancel
        self._lm._active.add(call)
        try:
            done(self._start(self._options, handle, stats))
        finally:
            self._lm._active.discard(call)
            self.stats = info(stats)

    def _begin(self, put: Callable[[Any], Any]) -> _Call:
        if self._call is not None:
            raise error_of(Status.INVALID, "this generation has begun already: ask the model for another")
        self._call = _Call(put)
        return self._call

    def _begin_thread(self, put: Callable[[Any], Any]) -> _Call:
        call = self._begin(put)

        def work() -> None:
            try:
                self._run(call)
                put(_END)
            except BaseException as error:
                put(error)

        call.thread = threading.Thread(target=work, name="rlx generation", daemon=True)
        _calls.add(call)
        call.thread.start()
        return call

    def text(self) -> str:
        """All of it, computed in the calling thread. Ctrl-C ends it."""
        pieces: List[str] = []
        self._run(self._begin(pieces.append))
        return "".join(pieces)

    def cancel(self) -> None:
        """Ends it after the token that is being computed; a loop over it then ends."""
        if self._call is None:
            self._begin(lambda _: None)
        assert self._call is not None
        self._call.is_stopped = True

    def __iter__(self) -> Iterator[str]:
        pieces: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
        call = self._begin_thread(pieces.put)
        return self._pieces(call, pieces)

    def _pieces(self, call: _Call, pieces: Any) -> Iterator[str]:
        try:
            while True:
                piece = pieces.get()
                if piece is _END:
                    return
                if isinstance(piece, BaseException):
                    raise piece
                yield piece
        finally:
            call.stop()

    async def __aiter__(self) -> AsyncIterator[str]:
        import asyncio
        loop, pieces = asyncio.get_running_loop(), asyncio.Queue()  # type: ignore[var-annotated]

        def put(piece: Any) -> None:
            try:
                loop.call_soon_threadsafe(pieces.put_nowait, piece)
            except RuntimeError:  # the loop was closed: nobody reads any more
                call.is_stopped = True

        call = self._begin_thread(put)
        try:
            while True:
                piece = await pieces.get()
                if piece is _END:
                    return
                if isinstance(piece, BaseException):
                    raise piece
                yield piece
        finally:
            call.is_stopped = True
            await loop.run_in_executor(None, call.stop)

    def __repr__(self) -> str:
        return f"<Generation: {'not begun' if self._call is None else self.stats.ended if self.stats else 'running'}>"


# ---- models ------------------------------------------------------------------------------------------------------

class Lm(Handle):
    """A language model or an encoder. One call at a time; see load() for the options."""

    __slots__ = ("_watch", "_active", "_session")

    def __init__(self, path: Union[str, "os.PathLike[str]"], session: Optional[Session] = None,
                 device: Optional[str] = None, threads: int = 0, context: int = 0, sequences: int = 1, chunk: int = 0,
                 cache: Union[str, LmCache] = "f16", switches: Any = 0, dry_run: bool = False,
                 progress: Optional[Callable[[str, int, int], Any]] = None,
                 cancel: Optional[Callable[[], Any]] = None, limits: Optional[Limits] = None):
        desc, alive = sized("rlx_lm_desc"), [ffi.new("char[]", c_path(path))]
        desc.path = alive[0]
        if session is not None:
            desc.session = session.c
        if device is not None:
            alive.append(ffi.new("char[]", c_text(str(device))))
            desc.device = alive[-1]
        desc.n_threads, desc.context, desc.n_sequences, desc.chunk = threads, context, sequences, chunk
        desc.cache_type, desc.switches = enum_value(LmCache, cache), _switches(switches)
        desc.dry_run = dry_run
        self._watch, self._session = Watch(progress, cancel, limits), session
        self._watch.fill(desc.watch)
        out = ffi.new("rlx_lm **")
        done(lib.rlx_lm_load(desc, out), is_file=True)
        super().__init__(out[0], lib.rlx_lm_destroy)
        self._active: "weakref.WeakSet[_Call]" = weakref.WeakSet()

    def close(self) -> None:
        """Frees it. Generations that are running end first."""
        for call in list(getattr(self, "_active", ())):
            call.stop()
        super().close()

    # ---- facts ----

    @property
    def info(self) -> Info:
        """Family, sizes, and the memory it takes."""
        out = sized("rlx_lm_info")
        done(lib.rlx_lm_describe(self.c, out))
        return info(out)

    @property
    def device(self) -> Info:
        out = sized("rlx_device_info")
        done(lib.rlx_lm_device(self.c, out))
        return info(out)

    @property
    def tokenizer(self) -> Tokenizer:
        found = lib.rlx_lm_tokenizer(self.c)
        if found == ffi.NULL:
            raise error_of(Status.UNSUPPORTED, "the model's file has no tokenizer")
        return Tokenizer(_c=found, _owner=self)

    @property
    def chat_template(self) -> Optional[str]:
        """The name of the template of the model's file; None: it has none, or one that the library does not know."""
        found = lib.rlx_chat_template_of(lib.rlx_lm_file(self.c))
        return text(found) if found != ffi.NULL else None

    @property
    def sampling(self) -> Optional[Info]:
        """What the model's authors recommend; chat() uses it. None: the file says nothing."""
        out = sized("rlx_lm_sampling")
        done(lib.rlx_lm_sampling_of(lib.rlx_lm_file(self.c), out))
        return info(out) if out.is_given else None

    @property
    def plan(self) -> reports.Plan:
        """The memory plan of the program that computes one token, with its picture."""
        return reports.plan_of(lib.rlx_lm_executable(self.c))

    def report(self, kind: Union[str, ReportKind] = ReportKind.DISPATCH) -> reports.Report:
        """What runs where, and why."""
        return reports.report_of(lib.rlx_lm_executable(self.c), ReportKind(enum_value(ReportKind, kind)))

    def __repr__(self) -> str:
        if self.closed:
            return "<closed Lm>"
        found = self.info
        return f"<Lm: {found.family} {found.name!r}, {found.n_parameters:,} parameters, {found.weights}>"

    # ---- generating ----

    def _options(self, settings: Dict[str, Any]) -> Tuple[Any, Any, Dict[str, Any]]:
        """rlx_lm_options, what must live as long, and the settings as they are."""
        options, alive = sized("rlx_lm_options"), []
        stop, special, limits = settings.pop("stop", ()), settings.pop("parse_special", None), settings.pop("limits", None)
        grammar, adapters = settings.pop("grammar", None), settings.pop("adapters", None)
        if settings.get("seed") is None:
            settings["seed"] = int.from_bytes(os.urandom(6), "little") if settings.get("temperature") else 0
        for name, value in settings.items():
            if name == "struct_bytes" or not hasattr(options, name):
                raise TypeError(f"'{name}' is no setting of a generation")
            if isinstance(value, Lm):  # draft
                alive.append(value)
                value = value.c
            setattr(options, name, value)
        stops = [stop] if isinstance(stop, str) else list(stop)
        if stops:
            texts = [ffi.new("char[]", c_text(s)) for s in stops]
            alive += [*texts, ffi.new("char *[]", texts)]
            options.stops, options.n_stops = alive[-1], len(stops)
        if grammar is not None:
            options.grammar = grammar.c
            alive.append(grammar)
        if adapters is not None:
            alive.append(_adapters(adapters or {0: 0.0}))  # an empty dict is a choice too: none
            options.adapters, options.n_adapters = alive[-1], len(alive[-1])
        if special is not None:
            options.special = LmSpecial.PARSE if special else LmSpecial.TEXT
        if limits:
            limits.fill(options.limits)
        kept = {name: value for name, value in (("grammar", grammar), ("adapters", adapters)) if value is not None}
        return options, alive, {**settings, "stop": stops, **kept}

    def generate(self, prompt: Union[str, bytes], resume: bool = False, **settings: Any) -> Generation:
        """Continues a text. resume: after what the sequence holds, otherwise from the start.

        settings: max_tokens (0: until the model ends), temperature (0: the most likely token), top_k, top_p, min_p,
        seed, stop (a text or several), ignore_end, shift (drop the oldest half at the end of the context),
        repetition_penalty, penalty_tokens, parse_special, ahead, sequence, limits, lookup (tokens to guess from
        what came before), draft (an Lm that guesses), n_draft, grammar (a Grammar), adapters ({number: scale})
        """
        data = prompt.encode() if isinstance(prompt, str) else bytes(prompt)
        options, alive, kept = self._options(settings)

        def start(options: Any, user: Any, stats: Any) -> int:
            if not resume:
                done(lib.rlx_lm_truncate(self.c, options.sequence, 0))
            return int(lib.rlx_lm_generate(self.c, data, len(data), options, lib.rlx_py_text, user, stats))

        return Generation(self, start, options, alive, kept)

    def chat(self, messages: Iterable[Message], template: Optional[str] = None, **settings: Any) -> Generation:
        """The next turn of a conversation, given all its messages: {"role": .., "content": ..} or (role, content).

        Tokens are sampled as the model's file says, else with temperature 0.7 and top_p 0.95, unless a setting of
        sampling is given. At the end of the context the oldest turns are dropped (shift=False: an error). The other
        settings are those of generate()."""
        sampling = ("temperature", "top_k", "top_p", "min_p", "repetition_penalty", "penalty_tokens")
        given = self.sampling
        usual = {n: given[n] for n in sampling} if given else {"temperature": 0.7, "top_p": 0.95}
        if "temperature" in settings and not settings["temperature"]:
            usual = {}
        options, alive, kept = self._options({"shift": True, **usual, **settings})
        pairs = [(m["role"], m["content"]) if isinstance(m, dict) else m for m in messages]
        array = ffi.new("rlx_chat_message[]", max(len(pairs), 1))
        for i, (role, content) in enumerate(pairs):
            alive += [ffi.new("char[]", c_text(role)), ffi.new("char[]", c_text(content))]
            array[i].role, array[i].text = alive[-2], alive[-1]
        name = ffi.NULL if template is None else ffi.new("char[]", c_text(template))
        alive += [array, name]

        def start(options: Any, user: Any, stats: Any) -> int:
            return int(lib.rlx_lm_reply(self.c, name, array, len(pairs), options, lib.rlx_py_text, user, stats))

        return Generation(self, start, options, alive, kept)

    def generate_tokens(self, ids: Ids, resume: bool = False, **settings: Any) -> Generation:
        """generate() with tokens in and out: the pieces are numbers."""
        array = _ids(ids)
        options, alive, kept = self._options(settings)

        def start(options: Any, user: Any, stats: Any) -> int:
            if not resume:
                done(lib.rlx_lm_truncate(self.c, options.sequence, 0))
            return int(lib.rlx_lm_generate_ids(self.c, ffi.from_buffer("int32_t[]", array), len(array), options,
                                               lib.rlx_py_id, user, stats))

        return Generation(self, start, options, alive, kept)

    def generate_batch(self, prompts: Sequence[Union[str, Ids]], resume: bool = False, **settings: Any
                       ) -> List["np.ndarray[Any, Any]"]:
        """Several sequences in one step, prompt i continuing sequence i; the model needs `sequences` of at least as
        many. Returns the tokens of each."""
        arrays = [self.tokenizer.encode(p, add_special=not resume, parse_special=True) if isinstance(p, str) else _ids(p)
                  for p in prompts]
        options, alive, _ = self._options(settings)
        c_prompts = ffi.new("rlx_lm_prompt[]", max(len(arrays), 1))
        for i, array in enumerate(arrays):
            alive.append(ffi.from_buffer("int32_t[]", array))
            c_prompts[i].ids, c_prompts[i].n = alive[-1], len(array)
        found: List[List[int]] = [[] for _ in arrays]
        call = _Call(lambda one: found[one[0]].append(one[1]))
        handle, stats = ffi.new_handle(call), sized("rlx_lm_stats")
        options.cancel = lib.rlx_py_cancel
        if not resume:
            for i in range(len(arrays)):
                done(lib.rlx_lm_truncate(self.c, i, 0))
        done(lib.rlx_lm_generate_batch(self.c, c_prompts, len(arrays), options, lib.rlx_py_sequence_id, handle, stats))
        del alive
        return [np.array(ids, np.int32) for ids in found]

    # ---- encoders ----

    def embed(self, texts: Union[str, Sequence[str]], truncate: bool = True,
              dimensions: Optional[int] = None) -> "np.ndarray[Any, Any]":
        """The embedding of a text (a vector of unit length), or of each of several (a matrix).

        truncate: cut a text that is longer than the context; otherwise such a text is an error
        dimensions: only so many numbers, of unit length again, for models that were trained for it (Matryoshka)"""
        many = [texts] if isinstance(texts, str) else list(texts)
        result = np.empty((len(many), self.info.width), np.float32)
        cut, watch = ffi.new("size_t *") if truncate else ffi.NULL, ffi.new("rlx_watch *")
        self._watch.fill(watch)
        watch.progress = ffi.NULL
        for i, one in enumerate(many):
            data = one.encode()
            done(lib.rlx_lm_embed_watched(self.c, data, len(data), watch, ffi.from_buffer("float[]", result[i]), cut))
        if dimensions is not None:
            result = result[:, :dimensions]
            result = result / np.maximum(np.linalg.norm(result, axis=1, keepdims=True), 1e-30)
        return result[0] if isinstance(texts, str) else result

    def rank(self, query: str, texts: Sequence[str], truncate: bool = True) -> "np.ndarray[Any, Any]":
        """How well each text answers the query, by a cross-encoder: one number each, more is better.

        truncate: cut what does not fit the context; otherwise such a text is an error"""
        result, pair = np.empty(len(texts), np.float32), sized("rlx_lm_pair")
        cut, watch, score = ffi.new("size_t *") if truncate else ffi.NULL, ffi.new("rlx_watch *"), ffi.new("float *")
        self._watch.fill(watch)
        watch.progress = ffi.NULL
        asked = ffi.from_buffer(query.encode())
        pair.query, pair.query_bytes, pair.watch = asked, len(asked), watch
        for i, one in enumerate(texts):
            data = ffi.from_buffer(one.encode())
            pair.text, pair.text_bytes = data, len(data)
            done(lib.rlx_lm_score(self.c, pair, score, cut))
            result[i] = score[0]
        return result

    # ---- adapters ----

    def load_adapter(self, path: Union[str, "os.PathLike[str]"]) -> int:
        """Loads an adapter (LoRA): a GGUF, or PEFT's safetensors or folder. Its number, for `adapters` of a generation and
        for use_adapters."""
        number = ffi.new("uint32_t *")
        done(lib.rlx_lm_adapter_load(self.c, c_path(path), number), is_file=True)
        return int(number[0])

    def use_adapters(self, adapters: Mapping[int, float]) -> None:
        """Those of calls that name none: {number: scale}."""
        array = _adapters(adapters)
        done(lib.rlx_lm_adapters_use(self.c, array, len(array)))

    # ---- sequences ----

    def length(self, sequence: int = 0) -> int:
        """How many tokens a sequence holds."""
        return int(lib.rlx_lm_length(self.c, sequence))

    def tokens(self, sequence: int = 0) -> "np.ndarray[Any, Any]":
        """The tokens that a sequence holds."""
        n = ffi.new("size_t *")
        found = lib.rlx_lm_tokens(self.c, sequence, n)
        return np.frombuffer(ffi.buffer(found, 4 * n[0])[:] if found != ffi.NULL and n[0] else b"", np.int32)

    def truncate(self, tokens: int = 0, sequence: int = 0) -> None:
        """Drops all tokens after the first `tokens`."""
        done(lib.rlx_lm_truncate(self.c, sequence, tokens))

    def append(self, ids: Ids, sequence: int = 0, all: bool = False) -> "np.ndarray[Any, Any]":
        """Appends tokens and returns the logits of the last, or with `all` a row for each."""
        array = _ids(ids)
        width = self.info.n_vocabulary
        logits = np.empty((len(array), width) if all else width, np.float32)
        done(lib.rlx_lm_append(self.c, sequence, ffi.from_buffer("int32_t[]", array), len(array), all,
                               ffi.from_buffer("float[]", logits)))
        return logits

    def save(self, path: Union[str, "os.PathLike[str]"], sequence: int = 0) -> None:
        """A sequence's tokens and cache as a file."""
        done(lib.rlx_lm_save(self.c, sequence, c_path(path)))

    def restore(self, path: Union[str, "os.PathLike[str]"], sequence: int = 0) -> None:
        done(lib.rlx_lm_restore(self.c, sequence, c_path(path)), is_file=True)

    def format_chat(self, messages: Iterable[Message], template: Optional[str] = None, reply: bool = True) -> str:
        """A conversation as text, for display."""
        pairs = [(m["role"], m["content"]) if isinstance(m, dict) else m for m in messages]
        alive, array = [], ffi.new("rlx_chat_message[]", max(len(pairs), 1))
        for i, (role, content) in enumerate(pairs):
            alive += [ffi.new("char[]", c_text(role)), ffi.new("char[]", c_text(content))]
            array[i].role, array[i].text = alive[-2], alive[-1]
        name = template or self.chat_template
        if name is None:
            raise error_of(Status.UNSUPPORTED, text(lib.rlx_message()) or "the model has no chat template")
        out = ffi.new("char **")
        done(lib.rlx_chat_format(c_text(name), array, len(pairs), reply, out))
        return owned_text(out[0])


_switches = switches


def _adapters(adapters: Mapping[int, float]) -> Any:
    array = ffi.new("rlx_lm_adapter[]", len(adapters))
    for i, (number, scale) in enumerate(adapters.items()):
        array[i].number, array[i].scale = number, scale
    return array


def load(path: Union[str, "os.PathLike[str]"], **options: Any) -> Lm:
    """Loads a model: a GGUF (any part of a split one), or a Hugging Face folder.

    session: where it runs; or device and threads of a session of its own
    context: tokens that a conversation can hold; 0: the model's own, at most 4096
    sequences: computed together by generate_batch
    chunk: tokens of a prompt that are computed together; 0: automatic
    cache: "f16", "f32", "q8_0" or "q4_0", the type of the K/V cache
    switches: as of rlx.Program; "exact": activations stay f32 where weights are of a block type
    dry_run: determine the memory needed and load nothing: info and plan work
    progress: called with (stage, done, total); cancel: returns true to end loading; limits: of loading
    """
    return Lm(path, **options)
