/* WebGPU for a module that cannot suspend: its objects are in a helper (gpu_worker.js), which returns to its event loop
 * while this worker waits by Atomics. Both see the module's memory, so it must be shared.
 *
 * A call is a message, and most wait for its answer. Those that return nothing and read no memory wait in a list, and
 * go with the next one that must be answered: a dispatch is three of them. */
import { FUTURES } from "./gpu.js";

export const NUMBERS_AT = 8; // after the state: the result, how many callbacks, and each with its length
const BYTES = 4096;
const MOST_WAITING = 256;
const START_MILLISECONDS = 10_000;

const UNANSWERED = new Set([
  "BindGroupLayoutRelease",
  "BindGroupRelease",
  "BufferRelease",
  "CommandBufferRelease",
  "CommandEncoderClearBuffer",
  "CommandEncoderCopyBufferToBuffer",
  "CommandEncoderRelease",
  "CommandEncoderResolveQuerySet",
  "ComputePassEncoderDispatchWorkgroups",
  "ComputePassEncoderEnd",
  "ComputePassEncoderRelease",
  "ComputePassEncoderSetBindGroup",
  "ComputePassEncoderSetPipeline",
  "ComputePipelineRelease",
  "PipelineLayoutRelease",
  "QuerySetRelease",
  "ShaderModuleRelease",
]);

export class RemoteGpu {
  suspends = false;
  #shared = new SharedArrayBuffer(BYTES);
  #state = new Int32Array(this.#shared, 0, 1);
  #numbers = new Float64Array(this.#shared, NUMBERS_AT);
  #waiting = [];
  #getInstance = null;

  static async start() {
    const it = new RemoteGpu();
    // Written so that bundlers find the worker.
    it.worker = new Worker(new URL("./gpu_worker.js", import.meta.url), { type: "module", name: "rlx-gpu" });
    await new Promise((resolve, reject) => {
      const fail = (why) => reject(new Error(`the worker for the GPU cannot be started: ${why}`));
      const timer = setTimeout(() => fail("no answer"), START_MILLISECONDS);
      it.worker.onmessage = () => (clearTimeout(timer), resolve());
      it.worker.onerror = (event) => (clearTimeout(timer), fail(event.message || "its script cannot be loaded"));
      it.worker.postMessage({});
    });
    return it;
  }

  imports(getInstance, module) {
    this.#getInstance = getInstance;
    const wanted = WebAssembly.Module.imports(module).filter((i) => i.module === "webgpu" && i.kind === "function");
    return Object.fromEntries(
      wanted.map(({ name }) => [name, (...args) => this.#call(name.replace(/^wgpu/, ""), args)]),
    );
  }

  /* After the instance exists, before C calls. */
  attach({ memory, rlx_wgpu_scratch }) {
    this.worker.postMessage({ shared: this.#shared, memory, scratch: rlx_wgpu_scratch() >>> 0 });
  }

  #call(name, args) {
    if (name === "ComputePassEncoderSetBindGroup") args = this.#withOffsets(args);
    this.#waiting.push([name, ...args]);
    const isAwaited = !UNANSWERED.has(name);
    if (!isAwaited && this.#waiting.length < MOST_WAITING) return 0;
    const calls = this.#waiting;
    this.#waiting = [];
    Atomics.store(this.#state, 0, 0);
    this.worker.postMessage({ calls, isAwaited });
    if (!isAwaited) return 0;
    Atomics.wait(this.#state, 0, 0);
    const result = this.#numbers[0];
    this.#callBack();
    return FUTURES.has(name) ? 0n : result;
  }

  /* The offsets are read now: C may use their memory again. */
  #withOffsets([pass, i, group, n, at]) {
    const { buffer } = this.#getInstance().exports.memory;
    return [pass, i, group, n, n ? [...new Uint32Array(buffer, at >>> 0, n)] : []];
  }

  /* They may call functions themselves, and so overwrite the numbers. */
  #callBack() {
    const all = [];
    for (let i = 0, at = 2; i < this.#numbers[1]; i++, at += 1 + this.#numbers[at])
      all.push([...this.#numbers.subarray(at + 1, at + 1 + this.#numbers[at])]);
    const table = this.#getInstance().exports.__indirect_function_table;
    for (const [entry, ...args] of all) table.get(entry)(...args);
  }
}
