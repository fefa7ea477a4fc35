/* The worker that has the objects of WebGPU where the module cannot suspend: the other end of gpu_remote.js.
 *
 * Each message is a list of calls, made in order. If the sender waits for the last one, its result goes through shared
 * memory, with the callbacks that C is to be called with: only the module's own worker can call C. */
import { gpuFunctions } from "./gpu.js";
import { NUMBERS_AT } from "./gpu_remote.js";

const MOST_CALLBACKS = 16;
let gpu = null,
  answer = null; // (result)
let callbacks = []; // [entry of the function table, argument..]

function begin({ shared, memory, scratch }) {
  const state = new Int32Array(shared, 0, 1),
    numbers = new Float64Array(shared, NUMBERS_AT);
  gpu = gpuFunctions({
    isThere: () => Boolean(navigator.gpu),
    memory: () => memory,
    scratch: () => scratch,
    callback:
      (at) =>
      (...args) =>
        callbacks.length < MOST_CALLBACKS && callbacks.push([at, ...args]),
  });
  answer = (result) => {
    const each = callbacks.flatMap((call) => [call.length, ...call.map(Number)]);
    numbers.set([Number(result ?? 0), callbacks.length, ...each]);
    callbacks = [];
    Atomics.store(state, 0, 1);
    Atomics.notify(state, 0);
  };
}

/* One callback at a time: its text is in memory that the next one's would overwrite. */
async function processEvents() {
  await gpu.wait();
  gpu.run(() => callbacks.length > 0);
}

async function make(calls, isAwaited) {
  let result = 0;
  for (const [name, ...args] of calls)
    result = name === "InstanceProcessEvents" ? await processEvents() : gpu.functions[name](...args);
  if (isAwaited) answer(result);
}

self.onmessage = ({ data }) => {
  if (data.calls) return make(data.calls, data.isAwaited);
  if (data.memory) return begin(data);
  self.postMessage("ready");
};
