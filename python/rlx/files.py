"""Weight files: GGUF, safetensors, and Hugging Face folders of them. Read, check, write, convert.

    with rlx.files.File("model.gguf") as file:
        print(file.format, file.meta["general.architecture"])
        embedding = file["token_embd.weight"]
"""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple, Union

import numpy as np

from ._core import (NUMPY_OF, Error, Handle, Info, Limits, Tensor, Watch, c_dims, c_path, c_text, dims_of, done,
                    error_of, ffi, fill_tensor, lib, sized, text)
from .enums import DType, MetaKind, Status

__all__ = ["File", "convert", "save"]

Path = Union[str, "os.PathLike[str]"]


class File(Handle):
    """A weight file: a mapping from names of tensors to their values, which are read when they are asked for."""

    __slots__ = ()

    def __init__(self, path: Path):
        out, watch = ffi.new("rlx_file **"), ffi.new("rlx_watch *")
        Watch().fill(watch)
        done(lib.rlx_file_open(c_path(path), watch, out), is_file=True)
        super().__init__(out[0], lib.rlx_file_close)

    @property
    def format(self) -> str:
        """"GGUF v3", "safetensors"."""
        return text(lib.rlx_file_format(self.c))

    @property
    def parts(self) -> List[str]:
        """The paths of the files with tensors."""
        return [text(lib.rlx_file_part_at(self.c, i)) for i in range(lib.rlx_file_part_count(self.c))]

    def __len__(self) -> int:
        return int(lib.rlx_file_tensor_count(self.c))

    def __iter__(self) -> Iterator[str]:
        return iter([text(lib.rlx_file_tensor_at(self.c, i).name) for i in range(len(self))])

    keys = __iter__

    def __contains__(self, name: str) -> bool:
        return bool(lib.rlx_file_tensor_find(self.c, c_text(name)) != ffi.NULL)

    def _find(self, name: str) -> Any:
        found = lib.rlx_file_tensor_find(self.c, c_text(name))
        if found == ffi.NULL:
            raise error_of(Status.NOT_FOUND, f"the file has no tensor '{name}'")
        return found

    def describe(self, name: str) -> Info:
        """Type, shape and bytes of a tensor."""
        c = self._find(name)
        return Info({"name": text(c.name), "dtype": DType(c.dtype), "type": text(c.type), "shape": dims_of(c.shape),
                     "bytes": int(c.bytes), "part": int(c.part)})

    def __getitem__(self, name: str) -> Union["np.ndarray[Any, Any]", Tensor]:
        """The value of a tensor: an array, or a Tensor for a type that NumPy does not have (numpy() decodes it)."""
        c = self._find(name)
        data = np.empty(c.bytes, np.uint8)
        done(lib.rlx_file_read_tensor(self.c, c, 0, ffi.from_buffer(data), c.bytes))
        if c.dtype in NUMPY_OF:
            return data.view(NUMPY_OF[c.dtype]).reshape(dims_of(c.shape))
        return Tensor(DType(c.dtype), dims_of(c.shape), data)

    @property
    def meta(self) -> Dict[str, Any]:
        """All metadata."""
        found, c = {}, ffi.new("rlx_meta *")
        for i in range(lib.rlx_file_meta_count(self.c)):
            if lib.rlx_file_meta_at(self.c, i, c):
                found[text(c.key)] = _meta_value(c)
        return found

    def check(self) -> List[Tuple[bool, str]]:
        """Reads all data. Returns (is_remark, text) of each finding."""
        found: List[Tuple[bool, str]] = []
        handle, watch = ffi.new_handle(found), ffi.new("rlx_watch *")
        Watch().fill(watch)
        try:
            done(lib.rlx_file_check_each(self.c, watch, lib.rlx_py_found, handle))
        except Error:
            if not any(not is_remark for is_remark, _ in found):
                raise
        return found

    def __repr__(self) -> str:
        return "<closed File>" if self.closed else f"<File: {self.format}, {len(self)} tensors>"


def _meta_value(c: Any) -> Any:
    kind = c.kind
    if kind == MetaKind.BOOL:
        return bool(c.integer)
    if kind == MetaKind.INT:
        return int(c.integer)
    if kind == MetaKind.FLOAT:
        return float(c.number)
    if kind == MetaKind.TEXT:
        return text(c.text, c.n)
    if kind == MetaKind.LIST:
        element, values = ffi.new("rlx_meta *"), []
        for i in range(c.n):
            if lib.rlx_meta_element(c, i, element):
                values.append(_meta_value(element))
        return values
    return None


def save(path: Path, tensors: Dict[str, Any], meta: Optional[Dict[str, Any]] = None) -> None:
    """Writes arrays (or Tensors) and metadata as .gguf or .safetensors, by the path's extension; an old file is
    replaced when the new one is complete."""
    out = ffi.new("rlx_file_writer **")
    done(lib.rlx_file_writer_create(c_path(path), out))
    writer = ffi.gc(out[0], lib.rlx_file_writer_destroy)
    try:
        for key, value in (meta or {}).items():
            alive: List[Any] = []
            done(lib.rlx_file_writer_meta(writer, _c_meta(key, value, alive)))
        views = []
        for name, value in tensors.items():
            c = ffi.new("rlx_tensor *")
            views.append((c, fill_tensor(c, value)))
            shape = c_dims(dims_of(c.shape))
            done(lib.rlx_file_writer_tensor(writer, c_text(name), c.dtype, shape))
        for c, _ in views:
            done(lib.rlx_file_writer_bytes(writer, c.data, c.bytes))
        done(lib.rlx_file_writer_finish(writer))
    finally:
        ffi.release(writer)


def _c_meta(key: str, value: Any, alive: List[Any], into: Any = None) -> Any:
    c = into if into is not None else ffi.new("rlx_meta *")
    alive.append(c)
    if key:
        alive.append(ffi.new("char[]", c_text(key)))
        c.key = alive[-1]
    if isinstance(value, (bool, np.bool_)):
        c.kind, c.integer = MetaKind.BOOL, int(value)
    elif isinstance(value, (int, np.integer)):
        c.kind, c.integer, c.number = MetaKind.INT, int(value), float(value)
    elif isinstance(value, (float, np.floating)):
        c.kind, c.number = MetaKind.FLOAT, float(value)
    elif isinstance(value, str):
        data = value.encode()
        alive.append(ffi.new("char[]", data))
        c.kind, c.text, c.n = MetaKind.TEXT, alive[-1], len(data)
    elif isinstance(value, (list, tuple)):
        array = ffi.new("rlx_meta[]", max(len(value), 1))
        alive.append(array)
        for i, one in enumerate(value):
            _c_meta("", one, alive, array[i])
        c.kind, c.n, c.opaque = MetaKind.LIST, len(value), array
        c.elements = array[0].kind if value else MetaKind.NONE
    else:
        raise error_of(Status.INVALID, f"metadata '{key}': a {type(value).__name__} cannot be stored")
    return c


def convert(source: Union[Path, File], path: Path, type: Optional[str] = None, pure: bool = False,
            progress: Optional[Callable[[str, int, int], Any]] = None, cancel: Optional[Callable[[], Any]] = None,
            limits: Optional[Limits] = None, importance: Optional[Path] = None,
            tensor_types: Optional[Mapping[str, str]] = None) -> None:
    """Writes a file again, in the format of the path's extension; `type` is that of matrices ("f16", "q4_k"), or a mix of
    types ("q4_k_m"). A model from a Hugging Face folder becomes a GGUF that other programs can run. importance: the file of
    an importance matrix; tensor_types: the types of matrices whose names match a pattern, {"blk.0.*": "q8_0"}."""
    file = source if isinstance(source, File) else File(source)
    options, watch = sized("rlx_convert_options"), Watch(progress, cancel, limits)
    name = ffi.NULL if type is None else ffi.new("char[]", c_text(type))
    options.type, options.pure = name, pure
    texts = [ffi.new("char[]", c_text(f"{pattern}={t}")) for pattern, t in (tensor_types or {}).items()]
    overrides, matrix = ffi.new("char *[]", texts), ffi.new("rlx_importance **")
    options.overrides, options.n_overrides = overrides, len(texts)
    watch.fill(options.watch)
    is_model = "config.json" in file.meta and os.fspath(path).endswith(".gguf")
    function = lib.rlx_lm_convert if is_model else lib.rlx_file_convert
    try:
        if importance is not None:
            done(lib.rlx_importance_open(c_path(importance), matrix), is_file=True)
            options.importance = matrix[0]
        done(function(file.c, c_path(path), options))
    finally:
        lib.rlx_importance_destroy(matrix[0])
        if file is not source:
            file.close()
