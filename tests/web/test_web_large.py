#!/usr/bin/env python3
"""A model of 1 GiB with random weights loads in Node without the process passing twice the file's size.

What counts is the most memory of the process that was ever resident, from the kernel (VmHWM). The file is written anew
each time. Where less than 4 GiB of memory or 2 GiB of disk are free the test is skipped with that reason.
"""

import json
import pathlib
import shutil
import sys

from web import js, node, skip_all_without
from cli import Skip, check, main, test
from random_model import write_model

skip_all_without(node)
GIB = 1 << 30
NEEDED_MEMORY, NEEDED_DISK = 4 * GIB, 2 * GIB


def large_model():
    lines = pathlib.Path("/proc/meminfo").read_text().splitlines()
    free = int(next(line for line in lines if line.startswith("MemAvailable")).split()[1])
    if free * 1024 < NEEDED_MEMORY or shutil.disk_usage(".").free < NEEDED_DISK:
        raise Skip(f"{free >> 10} MiB of memory and {shutil.disk_usage('.').free >> 20} MiB of disk are free")
    path = pathlib.Path("large.gguf").resolve()
    size = write_model(path, width=2048, layers=16)
    check(GIB <= size < 1.2 * GIB, f"the file has {size} bytes")
    return path, size


@test
def in_node():
    path, size = large_model()
    told = js("large", path)
    peak, module = told["peak"] >> 20, told["module"] >> 20
    print(f"file {size >> 20} MiB, peak {peak} MiB, module {module} MiB, {told['seconds']:.1f} s")
    check(told["tokens"] == 2, json.dumps(told))
    check(told["peak"] <= 2 * size, f"a peak of {told['peak']} bytes for a file of {size}")


if __name__ == "__main__":
    sys.exit(main())
