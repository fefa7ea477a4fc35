/* A helper thread of Node: fetches a part of a URL and wakes the thread that waits for it (files.js). */
import { workerData } from "node:worker_threads";

const { port, signal } = workerData;

async function answer({ url, begin, end }) {
  let isCut = false;
  try {
    const response = await fetch(url, { headers: { Range: `bytes=${begin}-${end - 1}` } });
    isCut = true; // what fails from here on
    const bytes = response.status === 206 ? new Uint8Array(await response.arrayBuffer()) : new Uint8Array(0);
    return { status: response.status, headers: Object.fromEntries(response.headers), bytes };
  } catch (error) {
    return { error: error.cause?.message ?? error.message, isCut };
  }
}

port.on("message", async (request) => {
  if (request === null) return port.close();
  const result = await answer(request);
  port.postMessage(result, result.bytes ? [result.bytes.buffer] : []);
  Atomics.store(signal, 0, 1);
  Atomics.notify(signal, 0);
});
