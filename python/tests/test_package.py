"""The package as people get it: its README and notebooks run, its names, its two descriptions, its stubs."""

import contextlib
import io
import json
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import onnx_files
import rlx
from conftest import ROOT

CHATML = ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' "
          "+ '\\n'}}{% endfor %}{% if add_generation_prompt %}{{'<|im_start|>assistant\\n'}}{% endif %}")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the models that README and notebooks name."""
    sys.path.insert(0, str(ROOT / "tests/cli"))
    from gguf_file import tiny_llama
    monkeypatch.chdir(tmp_path)
    weight = np.array([[1, -1], [2, 0], [0, 1]], np.float32)
    pathlib.Path("model.onnx").write_bytes(onnx_files.layer(weight))
    tiny_llama("model.gguf", more={"tokenizer.chat_template": CHATML})
    return tmp_path


def run(code, name, namespace):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, name, "exec"), namespace)
    return out.getvalue()


@pytest.mark.skipif(not rlx.HAS_LM, reason="built without language models")
def test_the_readme_runs_and_prints_what_it_says(folder):
    text = (ROOT / "python/README.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```(?:\n```text\n(.*?)```)?", text, re.DOTALL)
    assert len(blocks) > 8
    namespace = {}
    for i, (code, expected) in enumerate(blocks):
        printed = run(code, f"README.md, snippet {i + 1}", namespace)
        if expected:
            assert printed == expected, f"snippet {i + 1}"
    if "program" in namespace:
        namespace["program"].close()


NOTEBOOKS = sorted((ROOT / "python/examples").glob("*.ipynb"))


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 2


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebooks_run(path, folder, monkeypatch):
    if "language" in path.stem and not rlx.HAS_LM:
        pytest.skip("built without language models")
    monkeypatch.setenv("RLX_MODEL", str(ROOT / "models/shakespeare/shakespeare.gguf"))
    book = json.loads(path.read_text())
    cells = ["".join(c["source"]) for c in book["cells"] if c["cell_type"] == "code"]
    assert cells and book["nbformat"] == 4
    namespace = {"__name__": "__main__"}
    for i, code in enumerate(cells):
        run(code, f"{path.name}, cell {i + 1}", namespace)


def test_both_descriptions_of_the_project_are_equal():
    """pip install . and pip install ./python: only the folders differ."""
    def facts(path, up, here):
        text = "\n".join(line for line in (ROOT / path).read_text().splitlines() if not line.startswith("#"))
        text = re.sub(r"sdist\.\w+ = .*\n", "", text)
        return [line.replace(f'"{up}', '"').replace(here, "").replace('"."', '""').replace('"python"', '""')
                for line in text.splitlines() if line.strip()]
    assert facts("pyproject.toml", "", "python/") == facts("python/pyproject.toml", "../", "")


def test_names_and_version():
    header = (ROOT / "include/rlx/rlx.h").read_text()
    numbers = [re.search(rf"#define RLX_VERSION_{p} (\d+)", header)[1] for p in ("MAJOR", "MINOR", "PATCH")]
    assert rlx.__version__ == ".".join(numbers)
    for name in rlx.__all__:
        assert hasattr(rlx, name), name
    for module in (rlx, rlx.onnx, rlx.ops):
        assert module.__doc__


def test_everything_public_is_documented():
    missing = []
    for name in rlx.__all__:
        thing = getattr(rlx, name)
        if isinstance(thing, type) and thing.__module__.startswith("rlx"):
            missing += [name] if not thing.__doc__ else []
        elif callable(thing) and not thing.__doc__:
            missing.append(name)
    for name in dir(rlx.ops):
        thing = getattr(rlx.ops, name)
        if callable(thing) and getattr(thing, "__module__", "") == "rlx.ops" and not thing.__doc__:
            missing.append(name)
    assert not missing


def test_every_function_of_the_headers_is_there():
    """The compiled module has what the public headers declare."""
    lib = rlx._core.lib
    for header in ("rlx", "onnx", "experimental", *(["lm"] if rlx.HAS_LM else [])):
        text = (ROOT / f"include/rlx/{header}.h").read_text()
        names = re.findall(r"^RLX_API [^;{]*?\b(rlx_\w+)\(", text, re.MULTILINE)
        assert len(names) > 5
        for name in names:
            assert hasattr(lib, name), name


def test_enums_are_those_of_the_headers():
    text = (ROOT / "include/rlx/rlx.h").read_text()
    for name, value in re.findall(r"^  RLX_STATUS_(\w+) = (\d+)", text, re.MULTILINE):
        assert rlx.Status[name] == int(value)
    assert rlx.Status.LIMIT == 9 and rlx.Switch.FAST_F16 == 512 and rlx.DType.Q4_K == 19
    assert len(rlx.DType) == rlx._core.lib.rlx_dtype_count() + 1  # and the unknown one


def test_errors_can_be_sent_to_another_process():
    import pickle
    error = pickle.loads(pickle.dumps(rlx.MissingFileError(rlx.Status.NOT_FOUND, "no 'x'")))
    assert type(error) is rlx.MissingFileError and str(error) == "no 'x'" and error.status == rlx.Status.NOT_FOUND


def test_types_are_declared():
    """The package says that it has types, and a checker, where there is one, agrees with how it is used."""
    package = pathlib.Path(rlx.__file__).parent
    assert (package / "py.typed").is_file() and (package / "_native.pyi").is_file()
    pytest.importorskip("mypy")
    done = subprocess.run([sys.executable, "-m", "mypy", "--no-error-summary", "--no-incremental", "-c",
                           "import rlx\n"
                           "import numpy as np\n"
                           "g = rlx.Graph()\n"
                           "n: rlx.Node = (g.input('x', 'f32', ('B', 3)) @ np.eye(3)).softmax(axis=-1)\n"
                           "p: rlx.Program = rlx.compile(g)\n"
                           "y: np.ndarray = p.run({'x': [1]})['y']\n"
                           "for piece in rlx.lm.load('m').generate('a'):\n"
                           "    piece.upper()\n"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
