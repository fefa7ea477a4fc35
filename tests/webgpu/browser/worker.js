// Jobs for a browser's WebGPU, each with a result that can be sent: see test_webgpu_browser.py. The C library's calls of
// the system are answered with as little as they need.
import {gpuImports} from '/gpu.js';

class Exit extends Error {
  constructor(code) {
    super(`exit ${code}`);
    this.code = code;
  }
}

function makeSystem(args, exports, print) {
  const view = () => new DataView(exports().memory.buffer);
  const bytes = (at, n) => new Uint8Array(exports().memory.buffer, at, n);
  const encoded = args.map(arg => new TextEncoder().encode(`${arg}\0`));
  const putSizes = (n, total) => (countAt, bytesAt) => {
    view().setUint32(countAt, n, true);
    view().setUint32(bytesAt, total, true);
    return 0;
  };
  return {
    args_sizes_get: putSizes(encoded.length, encoded.reduce((sum, arg) => sum + arg.length, 0)),
    args_get(list, at) {
      for (const arg of encoded) {
        view().setUint32(list, at, true);
        bytes(at, arg.length).set(arg);
        list += 4;
        at += arg.length;
      }
      return 0;
    },
    environ_sizes_get: putSizes(0, 0),
    environ_get: () => 0,
    fd_write(fd, parts, n, out) {
      let total = 0;
      for (let i = 0; i < n; i++) {
        const at = view().getUint32(parts + 8 * i, true), length = view().getUint32(parts + 8 * i + 4, true);
        print(new TextDecoder().decode(bytes(at, length).slice()));
        total += length;
      }
      view().setUint32(out, total, true);
      return 0;
    },
    fd_fdstat_get(fd, out) {
      bytes(out, 24).fill(0);
      return fd <= 2 ? 0 : 8;
    },
    clock_time_get(clock, precision, out) {
      view().setBigUint64(out, BigInt(Math.round((clock === 0 ? Date.now() : performance.now()) * 1e6)), true);
      return 0;
    },
    random_get(at, n) {
      crypto.getRandomValues(new Uint8Array(n)).forEach((v, i) => { bytes(at, n)[i] = v; });
      return 0;
    },
    proc_exit(code) { throw new Exit(code); },
    sched_yield: () => 0,
    poll_oneoff: () => 0,
  };
}

/** An instance of a module with WebGPU; calls that the system here does not have fail with "bad file". */
async function load(url, args, print) {
  const module = await WebAssembly.compileStreaming(fetch(url));
  let instance = null;
  const system = makeSystem(args, () => instance.exports, print);
  const imports = {webgpu: gpuImports(() => instance)};
  for (const {module: from, name} of WebAssembly.Module.imports(module)) {
    if (from === 'webgpu') continue;
    (imports[from] ??= {})[name] = from === 'wasi_snapshot_preview1' ? system[name] ?? (() => 8) : () => 0;
  }
  instance = await WebAssembly.instantiate(module, imports);
  return instance.exports;
}

const jobs = {
  /** Calls exports one after the other. */
  async calls({names}) {
    let text = '';
    const exports = await load('/module.wasm', [], t => { text += t; });
    exports._initialize?.();
    const results = {};
    for (const name of names) results[name] = await WebAssembly.promising(exports[name])();
    return {results, text};
  },

  /** Runs the command, once for each list of arguments. */
  async commands({lists}) {
    const results = [];
    for (const args of lists) {
      const result = {code: 0, text: ''};
      try {
        const exports = await load('/module.wasm', args, t => { result.text += t; });
        await WebAssembly.promising(exports._start)();
      } catch (error) {
        result.code = error instanceof Exit ? error.code : String(error.stack);
      }
      results.push(result);
    }
    return {results};
  },

  /** Compiles texts of WGSL; the result has what the browser says about those that it refuses. */
  async texts({texts}) {
    const adapter = await navigator.gpu.requestAdapter();
    const wanted = ['shader-f16', 'subgroups'].filter(feature => adapter.features.has(feature));
    const device = await adapter.requestDevice({requiredFeatures: wanted});
    const refused = {}, lacking = [];
    for (const [name, {needs, code}] of Object.entries(texts)) {
      if (needs.some(feature => !wanted.includes(feature))) {
        lacking.push(name);
        continue;
      }
      const info = await device.createShaderModule({code}).getCompilationInfo();
      const errors = info.messages.filter(m => m.type === 'error');
      if (errors.length) refused[name] = `line ${errors[0].lineNum}: ${errors[0].message}`;
    }
    return {refused, lacking};
  },
};

onmessage = async ({data}) => {
  try {
    postMessage(await jobs[data.kind](data));
  } catch (error) {
    postMessage({threw: String(error.stack ?? error)});
  }
};
