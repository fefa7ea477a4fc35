#!/usr/bin/env python3
"""Files next to a model must be inside its folder, or inside Hugging Face's cache of it. See cli.py."""

import json
import os
import pathlib
import shutil

from cli import check, equal, fails, file_json, main, rlx, test, write
from lm_files import gguf, safetensors

if "generate" not in rlx("--help", expect=0).out:
    print("SKIP all: this rlx was built without language models\n0 passed, 0 failed, 1 skipped")
    raise SystemExit(0)

SECRET = '{"password": "hunter2"}'


def weights(path, name="a"):
    pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
    safetensors(path, {name: ("F32", [1], bytes(4))})


def clean():
    for name in ("m", "out", "hub", "latest"):
        path = pathlib.Path(name)
        if path.is_symlink():
            path.unlink()
        shutil.rmtree(name, ignore_errors=True)
    pathlib.Path("out").mkdir()
    write("out/secret.json", SECRET)
    weights("out/w.safetensors")


def link(target, path):
    pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
    os.symlink(target, path)


def keys(path):
    return set(file_json("info", path)["metadata"])


@test
def links_out_of_the_folder():
    """Each of the files that RLX looks for by itself, as a link to somebody's secret."""
    clean()
    weights("m/model.safetensors")
    for name in ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "1_Pooling/config.json"):
        for target in (pathlib.Path("out/secret.json").resolve(), os.path.relpath("out/secret.json", pathlib.Path("m", name).parent)):
            link(target, f"m/{name}")
            told = fails("info", "m", says=[name, "leads out of the model's folder"])
            check("hunter2" not in told.out + told.err, told)
            os.unlink(f"m/{name}")
    link("../out", "m/sub")
    shutil.rmtree("m/1_Pooling")
    link(pathlib.Path("out").resolve(), "m/1_Pooling")
    write("out/config.json", SECRET)
    fails("info", "m", says=["1_Pooling/config.json", "leads out of"])


@test
def weights_that_are_links():
    clean()
    link("../out/w.safetensors", "m/model.safetensors")
    fails("info", "m", says=["model.safetensors", "leads out of"])
    equal(len(file_json("info", "m/model.safetensors")["tensors"]), 1, "who names a file gets it")
    os.unlink("m/model.safetensors")
    for name in ("../out/w.safetensors", str(pathlib.Path("out/w.safetensors").resolve()), "sub/../../out/w.safetensors", "..", "."):
        write("m/model.safetensors.index.json", json.dumps({"weight_map": {"a": name}}))
        fails("info", "m", says="plain name of a file")
    write("m/model.safetensors.index.json", json.dumps({"weight_map": {"a": "w.safetensors"}}))
    link("../out/w.safetensors", "m/w.safetensors")
    fails("info", "m", says=["w.safetensors", "leads out of"])
    fails("info", "m/model.safetensors.index.json", says=["w.safetensors", "leads out of"])
    os.unlink("m/w.safetensors")
    os.rename("m/model.safetensors.index.json", "out/index.json")
    link("../out/index.json", "m/model.safetensors.index.json")
    fails("info", "m", says=["index.json", "leads out of"])


@test
def parts_of_a_split_file():
    clean()
    pathlib.Path("m").mkdir()
    for i in range(2):
        gguf(f"m/x-0000{i + 1}-of-00002.gguf", [("split.no", "u16", i), ("split.count", "u16", 2), ("split.tensors.count", "i32", 2)],
             [(f"t{i}", [1], 0, bytes(4))])
    first, second = (f"m/x-0000{i + 1}-of-00002.gguf" for i in range(2))
    equal(len(file_json("info", first)["tensors"]), 2, "both parts")
    os.rename(second, "out/second.gguf")
    link("../out/second.gguf", second)
    fails("info", first, says=["00002-of-00002", "leads out of"])
    fails("info", "m", says=["00002-of-00002", "leads out of"])
    equal(len(file_json("info", second)["tensors"]), 2, "who names the link gets it")


@test
def links_that_stay_inside():
    clean()
    weights("m/parts/w.safetensors")
    link("parts/w.safetensors", "m/model.safetensors")
    write("m/settings.json", '{"temperature": 1}')
    link("settings.json", "m/generation_config.json")
    check("generation_config.json" in keys("m"), "a link inside the folder")
    link("nowhere", "m/config.json")
    fails("info", "m", says="config.json")  # a link that leads nowhere is not as if it were absent


@test
def the_cache_of_hugging_face():
    clean()
    blobs, at = pathlib.Path("hub/models--x--y/blobs"), "hub/models--x--y/snapshots/0123abcd"
    weights(blobs / "aa11")
    (blobs / "bb22").write_text('{"temperature": 1}')
    link("../../blobs/aa11", f"{at}/model.safetensors")
    link("../../blobs/bb22", f"{at}/generation_config.json")
    link("../../../blobs/bb22", f"{at}/1_Pooling/config.json")
    equal(keys(at), {"generation_config.json", "1_Pooling/config.json"}, "blobs are the model's own")
    link(pathlib.Path(at).resolve(), "latest")
    equal(len(keys("latest")), 2, "by a link to the snapshot")
    os.unlink(f"{at}/generation_config.json")
    for target in ("../../refs/main", "../../../models--z/blobs/cc", "../../blobs/deep/cc", "../../../../out/secret.json"):
        path = pathlib.Path(at, target)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SECRET)
        link(target, f"{at}/generation_config.json")
        fails("info", at, says=["generation_config.json", "leads out of"])
        os.unlink(f"{at}/generation_config.json")
    shutil.rmtree(blobs)
    link(pathlib.Path("out").resolve(), blobs)  # the blobs themselves lie elsewhere
    link("../../blobs/secret.json", f"{at}/generation_config.json")
    os.unlink(f"{at}/model.safetensors")
    weights(f"{at}/model.safetensors")
    fails("info", at, says="leads out of")


if __name__ == "__main__":
    main()
