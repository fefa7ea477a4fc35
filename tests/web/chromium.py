"""A headless Chromium for the tests of the page: what it needs, the page's server, and the cases of browser.mjs.

WebGPU runs on SwiftShader, a GPU in software. Chromium (Debian: chromium) or playwright-core (npm, by tools/setup test)
that is missing is a reason to skip.
"""

import json
import os
import subprocess

from web import ROOT, SECONDS, WASM, node, skip_all_without
from browser import tools
from cli import Skip

SERVER = object()  # an argument of a case: the process that serves its page

skip_all_without(node, tools)


class Page:
    """`with Page() as address:` serves the page by web/serve.mjs."""

    def __init__(self, *options):
        self.options = options

    def __enter__(self):
        command = [node(), str(ROOT / "web/serve.mjs"), "--port", "0", *self.options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "RLX_WASM_DIR": str(WASM)})
        return self.process.stdout.readline().strip()

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def drive(case, *args, page=()):
    """Runs a case of browser.mjs on a page of its own."""
    env = {**os.environ, **tools()}
    served = Page(*page)
    with served as address:
        given = [served.process.pid if x is SERVER else x for x in args]
        command = [node(), str(ROOT / "tests/web/browser.mjs"), case, address, *map(str, given)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=2 * SECONDS, env=env)
    if done.returncode:
        raise AssertionError(f"{case}: exit code {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return json.loads(done.stdout)


def webgpu():
    found = [d for d in drive("devices")["devices"] if d["backend"] == "webgpu"]
    if not found:
        raise Skip("this Chromium has no WebGPU adapter, not even in software")
    return found[0]
