/* A helper of worker.js: reads parts of URLs and Blobs while that worker waits in C (files.js).
 *
 * A worker that reads synchronously does not return to its event loop, and a browser may keep all that was read until
 * it does. This one returns after every part. A part goes through memory that both share: an Int32Array of the state
 * and of the letters of the answer, the answer as JSON, and from READER_HEAD on the bytes, as they arrive. */
import { READER_HEAD, isNode } from "./files.js";

const HEADERS = ["content-range", "etag", "last-modified"];
const blobs = new Map(); // by number

/* Copies a stream as it comes and returns how many bytes it had, at most one more than there is room for. */
async function copy(stream, to) {
  let n = 0;
  for (const reader = stream.getReader(); ;) {
    const { value, done } = await reader.read();
    if (done) return n;
    if (value.length > to.length - n) {
      await reader.cancel();
      return to.length + 1;
    }
    to.set(value, n);
    n += value.length;
  }
}

async function answer({ url, blob, begin, end }, to) {
  let isCut = false;
  try {
    if (blob !== undefined) return { n: await copy(blobs.get(blob).slice(begin, end).stream(), to) };
    const response = await fetch(url, { headers: { Range: `bytes=${begin}-${end - 1}` } });
    isCut = true; // what fails from here on
    const headers = Object.fromEntries(HEADERS.map((name) => [name, response.headers.get(name)]));
    if (response.status === 206) return { status: response.status, headers, n: await copy(response.body, to) };
    await response.body?.cancel();
    return { status: response.status, headers, n: 0 };
  } catch (error) {
    return { error: String(error.cause?.message ?? error.message), isCut };
  }
}

function listen(message, shared) {
  const { add, remove, blob, part } = message;
  if (add !== undefined) blobs.set(add, blob);
  if (remove !== undefined) blobs.delete(remove);
  if (!part) return;
  const head = new Int32Array(shared, 0, 2),
    room = Math.min(part.end - part.begin, shared.byteLength - READER_HEAD);
  answer(part, new Uint8Array(shared, READER_HEAD, room)).then((result) => {
    const text = new TextEncoder().encode(JSON.stringify(result)),
      fits = text.length <= READER_HEAD - 8;
    const sent = fits ? text : new TextEncoder().encode('{"error":"a very long answer"}');
    new Uint8Array(shared, 8, sent.length).set(sent);
    head[1] = sent.length;
    Atomics.store(head, 0, 1);
    Atomics.notify(head, 0);
  });
}

/* The first message is the memory, and is answered; all others are requests. */
function begin(onMessage, post) {
  let shared = null;
  onMessage((message) => {
    if (shared) return listen(message, shared);
    shared = message;
    post("ready");
  });
}

if (isNode) {
  const { parentPort } = await import("node:worker_threads");
  begin(
    (fn) => parentPort.on("message", fn),
    (answered) => parentPort.postMessage(answered),
  );
} else {
  begin(
    (fn) => (self.onmessage = (event) => fn(event.data)),
    (answered) => self.postMessage(answered),
  );
}
