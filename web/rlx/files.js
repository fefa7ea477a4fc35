/* Sources of bytes for virtual files (wasi.js): a URL, a File, memory, the private file system, in Node a path.
 *
 * A source answers synchronously, because C reads with pread. Nothing is held whole in memory. A URL is read by range
 * requests, in pieces of 4 MiB, the latest of which are kept, and so is a File; a caller that moves forward gets
 * several pieces per request. Where memory can be shared a helper (reader.js) reads them and the caller waits.
 * Elsewhere the synchronous forms serve that workers have, with which Chromium keeps all that was read until the
 * worker is idle. A server that has no ranges sends the file as a whole, which then goes to the private file system
 * (in Node to a temporary file), and is read from there.
 *
 *   source = await openSource(spec, { onDownload(done, total), signal })
 *   source.size, source.mtime, source.read(offset, target) -> bytes read, source.close()
 *
 * spec: { url } | { blob } | { bytes } | { path } (Node) | { opfs } | { handle }, each with an optional name. */

const PIECE = 4 << 20;
const KEPT_PIECES = 8;
const AHEAD_PIECES = 4; // per request of a reader that moves forward
const TRIES = 3;
const HELD_IN_MEMORY = 64 << 20; // of a server without ranges, where there is no private file system

export const isNode =
  typeof process === "object" && !!process.versions?.node && typeof WorkerGlobalScope === "undefined";

/* An error with the status that the library uses for it. */
export class SourceError extends Error {
  constructor(status, message) {
    super(message);
    this.name = "SourceError";
    this.status = status;
  }
}

const plural = (n) => `${n} byte${n === 1 ? "" : "s"}`;

/* ---- Pieces ---- */

/* A source over `fetch(begin, end)`, which returns exactly those bytes, synchronously, or throws; the caller may
 * overwrite them afterwards. Pieces are copied into buffers that are used again. */
class Pieces {
  constructor({ size, mtime = 0, fetch, first, close = () => {} }) {
    this.size = size;
    this.mtime = mtime;
    this.fetch = fetch;
    this.closeFetch = close;
    this.pieces = new Map(); // in order of use
    this.free = [];
    this.last = -2;
    if (first) this.#keep(0, first);
  }

  #keep(index, bytes) {
    const buffer = this.free.pop() ?? new Uint8Array(Math.min(PIECE, this.size));
    buffer.set(bytes);
    const piece = buffer.subarray(0, bytes.length);
    this.#use(index, piece);
    return piece;
  }

  /* Makes a piece the latest, and drops the one that was not used for the longest time. */
  #use(index, piece) {
    this.#drop(index, piece);
    this.pieces.set(index, piece);
    if (this.pieces.size > KEPT_PIECES) this.#drop(this.pieces.keys().next().value);
  }

  #drop(index, unless) {
    const old = this.pieces.get(index);
    if (old && old !== unless) this.free.push(new Uint8Array(old.buffer));
    this.pieces.delete(index);
  }

  #piece(index) {
    let piece = this.pieces.get(index);
    if (piece) {
      this.#use(index, piece);
    } else {
      const ahead = index === this.last + 1 ? AHEAD_PIECES : 1;
      const begin = index * PIECE,
        end = Math.min(this.size, begin + ahead * PIECE);
      const bytes = this.fetch(begin, end);
      for (let at = PIECE, i = index + 1; at < bytes.length; at += PIECE, i++)
        this.#keep(i, bytes.subarray(at, at + PIECE));
      piece = this.#keep(index, bytes.subarray(0, PIECE));
    }
    this.last = index;
    return piece;
  }

  read(offset, target) {
    if (offset >= this.size) return 0;
    const index = Math.floor(offset / PIECE),
      piece = this.#piece(index),
      at = offset - index * PIECE;
    const n = Math.min(target.length, piece.length - at);
    target.set(piece.subarray(at, at + n));
    return n;
  }

  close() {
    this.pieces.clear();
    this.free.length = 0;
    this.closeFetch();
  }
}

/* ---- The helper that reads ---- */

export const READER_HEAD = 4096; // bytes of the shared memory before those of the file
const START_MILLISECONDS = 10_000;
const decoder = new TextDecoder();

async function startWorker() {
  const url = new URL("./reader.js", import.meta.url);
  if (isNode) {
    const { Worker: Thread } = await import("node:worker_threads");
    const worker = new Thread(url);
    worker.unref();
    return { worker, on: (name, fn) => worker.once(name, fn) };
  }
  // Written so that bundlers find the worker.
  const worker = new Worker(new URL("./reader.js", import.meta.url), { type: "module", name: "rlx-reader" });
  return { worker, on: (name, fn) => worker.addEventListener(name, fn, { once: true }) };
}

/* One for all files of this worker: who reads waits, so there is one request at a time. */
class Reader {
  static #started = null;

  /* null: there is none, and files are read by the synchronous forms. */
  static start() {
    const isShared = typeof SharedArrayBuffer === "function" && (isNode || globalThis.crossOriginIsolated === true);
    return (Reader.#started ??= isShared ? Reader.#create().catch(() => null) : Promise.resolve(null));
  }

  static async #create() {
    const shared = new SharedArrayBuffer(READER_HEAD + AHEAD_PIECES * PIECE),
      { worker, on } = await startWorker();
    try {
      await new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error("it did not start in time")), START_MILLISECONDS);
        const settle = (fn) => (event) => {
          clearTimeout(timer);
          fn(event);
        };
        on("message", settle(resolve));
        on("error", settle(reject));
        worker.postMessage(shared);
      });
    } catch (error) {
      worker.terminate();
      throw error;
    }
    return new Reader(worker, shared);
  }

  #blobs = 0;

  constructor(worker, shared) {
    this.worker = worker;
    this.shared = shared;
    this.head = new Int32Array(shared, 0, 2);
  }

  /* A number for the blob in requests. */
  add(blob) {
    this.worker.postMessage({ add: ++this.#blobs, blob });
    return this.#blobs;
  }

  remove(number) {
    this.worker.postMessage({ remove: number });
  }

  /* { bytes, status, headers } or { error, isCut }; the bytes are valid until the next call. */
  read(part) {
    Atomics.store(this.head, 0, 0);
    this.worker.postMessage({ part });
    Atomics.wait(this.head, 0, 0);
    const result = JSON.parse(decoder.decode(new Uint8Array(this.shared, 8, this.head[1]).slice()));
    if (result.error !== undefined) return result;
    // One more than was asked for: then it is the wrong number whatever it is.
    const room = this.shared.byteLength - READER_HEAD;
    return { ...result, bytes: new Uint8Array(this.shared, READER_HEAD, Math.min(result.n, room)) };
  }
}

/* ---- Memory, files ---- */

function bytesSource(bytes) {
  const all = bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes);
  return {
    size: all.length,
    mtime: 0,
    read(offset, target) {
      const part = all.subarray(offset, offset + target.length);
      target.set(part);
      return part.length;
    },
    close() {},
  };
}

async function blobSource(blob) {
  const mtime = blob.lastModified ?? 0,
    reader = await Reader.start();
  if (!reader) return synchronousBlob(blob, mtime);
  const number = reader.add(blob);
  const fetch = (begin, end) => {
    const { bytes, error } = reader.read({ blob: number, begin, end });
    if (bytes?.length === end - begin) return bytes;
    throw new SourceError("io", `the file can no longer be read: ${error ?? "it has another size"}`);
  };
  return new Pieces({ size: blob.size, mtime, fetch, close: () => reader.remove(number) });
}

function synchronousBlob(blob, mtime) {
  const reader = new FileReaderSync();
  return {
    size: blob.size,
    mtime,
    read(offset, target) {
      let part;
      try {
        part = new Uint8Array(reader.readAsArrayBuffer(blob.slice(offset, offset + target.length)));
      } catch (error) {
        throw new SourceError("io", `the file can no longer be read: ${error.message}`);
      }
      target.set(part);
      return part.length;
    },
    close() {},
  };
}

/* A file of the origin's private file system, through a handle that reads synchronously. */
function accessSource(access, mtime, close) {
  return {
    size: access.getSize(),
    mtime,
    read: (offset, target) => access.read(target, { at: offset }),
    close() {
      access.close();
      close?.();
    },
  };
}

async function handleSource(handle) {
  const file = await handle.getFile();
  if (!handle.createSyncAccessHandle) return blobSource(file);
  try {
    return accessSource(await handle.createSyncAccessHandle({ mode: "read-only" }), file.lastModified);
  } catch {
    return blobSource(file); // a file outside the private file system
  }
}

async function opfsSource(path) {
  const names = path.split("/").filter(Boolean);
  let folder = await navigator.storage.getDirectory();
  try {
    for (const name of names.slice(0, -1)) folder = await folder.getDirectoryHandle(name);
    return await handleSource(await folder.getFileHandle(names[names.length - 1]));
  } catch (error) {
    throw new SourceError("not found", `${path}: not in the private file system: ${error.message}`);
  }
}

async function pathSource(path) {
  const fs = await import("node:fs");
  let fd;
  try {
    const stat = fs.statSync(path);
    if (stat.isDirectory()) throw new SourceError("invalid", `${path}: is a folder; give its files by name`);
    fd = fs.openSync(path, "r");
    return {
      size: stat.size,
      mtime: stat.mtimeMs,
      read: (offset, target) => fs.readSync(fd, target, 0, target.length, offset),
      close: () => fs.closeSync(fd),
    };
  } catch (error) {
    if (error instanceof SourceError) throw error;
    throw new SourceError(error.code === "ENOENT" ? "not found" : "io", `${path}: ${error.message}`);
  }
}

/* The files of a folder in Node, by name, as specs. */
export async function folderSpecs(path) {
  const fs = await import("node:fs"),
    { join } = await import("node:path");
  const specs = {};
  for (const entry of fs.readdirSync(path, { withFileTypes: true }))
    if (entry.isFile() || entry.isSymbolicLink()) specs[entry.name] = { path: join(path, entry.name) };
  return specs;
}

/* ---- URLs ---- */

/* What must stay the same while a file is read. */
const versionOf = (header) => header("etag") ?? header("last-modified") ?? "";

/* "bytes 0-99/1000" -> { begin, end, total }; null if it is something else. */
function contentRange(text) {
  const match = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(text ?? "");
  return match && { begin: Number(match[1]), end: Number(match[2]) + 1, total: Number(match[3]) };
}

/* Checks the answer to a request for `begin` .. `end` - 1. */
function checkPart(file, begin, end, { status, header, bytes }) {
  if (status !== 206) throw new SourceError("io", `${file.url}: asked for a part, got HTTP ${status}`);
  const range = contentRange(header("content-range"));
  if ((range && range.total !== file.size) || (file.version && versionOf(header) && versionOf(header) !== file.version))
    throw new SourceError("io", `${file.url}: changed on the server while it was being read`);
  if (bytes.length !== end - begin || (range && range.begin !== begin)) {
    throw passing(
      `${file.url}: the connection ended: expected bytes ${begin} to ${end - 1}, got ${bytes.length} of ` +
        `${end - begin}`,
    );
  }
  return bytes;
}

/* What may work at a second try: a failure of the connection. */
const passing = (message) => Object.assign(new SourceError("io", message), { isPassing: true });
const isPassing = (error) => error.isPassing || !(error instanceof SourceError);

function tryAgain(url, once) {
  for (let i = 1; ; i++) {
    try {
      return once();
    } catch (error) {
      if (!isPassing(error)) throw error;
      if (i === TRIES)
        throw error instanceof SourceError ? error : new SourceError("io", `${url}: no connection: ${error.message}`);
    }
  }
}

/* By the helper, or without one in a browser's worker by a synchronous request. */
async function urlFetcher(file) {
  const reader = await Reader.start();
  const ask = reader ? (begin, end) => reader.read({ url: file.url, begin, end }) : requestSynchronously(file.url);
  return (begin, end) =>
    tryAgain(file.url, () => {
      const { error, isCut, status, headers, bytes } = ask(begin, end);
      if (error !== undefined)
        throw passing(`${file.url}: ${isCut ? "the connection ended" : "no connection"}: ${error}`);
      return checkPart(file, begin, end, { status, header: (name) => headers[name] ?? null, bytes });
    });
}

function requestSynchronously(url) {
  return (begin, end) => {
    const request = new XMLHttpRequest();
    request.open("GET", url, false);
    request.responseType = "arraybuffer";
    request.setRequestHeader("Range", `bytes=${begin}-${end - 1}`);
    request.send();
    const headers = {};
    for (const name of ["content-range", "etag", "last-modified"]) headers[name] = request.getResponseHeader(name);
    return { status: request.status, headers, bytes: new Uint8Array(request.response ?? new ArrayBuffer(0)) };
  };
}

async function fetchFirst(url, signal) {
  for (let i = 1; ; i++) {
    try {
      return await fetch(url, { headers: { Range: `bytes=0-${PIECE - 1}` }, signal });
    } catch (error) {
      if (signal?.aborted) throw error;
      if (i === TRIES) throw new SourceError("io", `${url}: no connection: ${error.cause?.message ?? error.message}`);
    }
  }
}

/* The size of a file whose server does not show it with a part, as those of other origins may not. */
async function askSize(url, signal) {
  const response = await fetch(url, { method: "HEAD", signal });
  const size = Number(response.headers.get("content-length"));
  if (!response.ok || !size)
    throw new SourceError(
      "io",
      `${url}: the server does not tell the file's size (Access-Control-Expose-Headers: Content-Range)`,
    );
  return size;
}

async function rangeSource(url, response, signal) {
  const header = (name) => response.headers.get(name);
  const range = contentRange(header("content-range"));
  const file = {
    url: response.url || url,
    size: range?.total ?? (await askSize(url, signal)),
    version: versionOf(header),
  };
  let first;
  try {
    first = new Uint8Array(await response.arrayBuffer());
  } catch {
    if (signal?.aborted) throw signal.reason;
  }
  if (first?.length !== Math.min(PIECE, file.size)) first = null; // asked for again when it is read
  const mtime = Date.parse(header("last-modified") ?? "") || 0;
  return new Pieces({ size: file.size, mtime, fetch: await urlFetcher(file), first });
}

/* ---- Servers without ranges ---- */

/* Somewhere to write a whole download to: { write(bytes), finish() -> source, discard() }. */
async function openStore(url, total) {
  if (isNode) return nodeStore();
  try {
    return await opfsStore();
  } catch {
    if (total && total <= HELD_IN_MEMORY) return memoryStore();
    throw new SourceError(
      "unsupported",
      `${url}: the server has no range requests, and this browser offers no private ` + "file system to download to",
    );
  }
}

function memoryStore() {
  const parts = [];
  return {
    write: (bytes) => parts.push(bytes),
    async finish() {
      return bytesSource(new Uint8Array(await new Blob(parts).arrayBuffer()));
    },
    discard() {},
  };
}

async function opfsStore() {
  const root = await navigator.storage.getDirectory();
  const folder = await root.getDirectoryHandle("rlx-downloads", { create: true });
  const name = crypto.randomUUID(),
    handle = await folder.getFileHandle(name, { create: true });
  const access = await handle.createSyncAccessHandle(),
    remove = () => folder.removeEntry(name).catch(() => {});
  let at = 0;
  return {
    write(bytes) {
      at += access.write(bytes, { at });
    },
    async finish() {
      access.flush();
      return accessSource(access, 0, remove);
    },
    discard() {
      access.close();
      remove();
    },
  };
}

async function nodeStore() {
  const fs = await import("node:fs"),
    os = await import("node:os"),
    path = await import("node:path");
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "rlx-")),
    file = path.join(folder, "download");
  const fd = fs.openSync(file, "w+");
  fs.rmSync(folder, { recursive: true }); // the descriptor keeps the bytes; where it cannot, the folder stays behind
  let size = 0;
  return {
    write(bytes) {
      for (let at = 0; at < bytes.length;) at += fs.writeSync(fd, bytes, at);
      size += bytes.length;
    },
    async finish() {
      const read = (offset, target) => fs.readSync(fd, target, 0, target.length, offset);
      return { size, mtime: 0, read, close: () => fs.closeSync(fd) };
    },
    discard: () => fs.closeSync(fd),
  };
}

async function downloadSource(url, response, { onDownload, signal }) {
  const isPlain = !response.headers.get("content-encoding");
  const total = isPlain ? Number(response.headers.get("content-length")) : 0;
  const store = await openStore(url, total);
  let done = 0;
  try {
    for (const reader = response.body.getReader(); ;) {
      const { value, done: isOver } = await reader.read();
      if (isOver) break;
      store.write(value);
      onDownload?.((done += value.length), total);
    }
    if (total && done !== total)
      throw new SourceError("io", `${url}: the connection ended after ${done} of ${plural(total)}`);
    return await store.finish();
  } catch (error) {
    store.discard();
    if (signal?.aborted || error instanceof SourceError) throw error;
    if (error.name === "QuotaExceededError")
      throw new SourceError("no memory", `${url}: no room to download it to after ${plural(done)}: ${error.message}`);
    throw new SourceError(
      "io",
      `${url}: the connection ended after ${done}${total ? ` of ${total}` : ""} bytes: ` +
        `${error.cause?.message ?? error.message}`,
    );
  }
}

async function urlSource(url, options) {
  const response = await fetchFirst(url, options.signal);
  if (response.status === 206) return rangeSource(url, response, options.signal);
  if (response.status === 200) return downloadSource(url, response, options);
  await response.body?.cancel();
  const status = response.status === 404 || response.status === 410 ? "not found" : "io";
  throw new SourceError(status, `${url}: the server answered HTTP ${response.status} ${response.statusText}`.trim());
}

/* ---- Any source ---- */

export async function openSource(spec, options = {}) {
  if (spec.url !== undefined) return urlSource(spec.url, options);
  if (spec.blob !== undefined) return isNode ? bytesSource(await spec.blob.arrayBuffer()) : blobSource(spec.blob);
  if (spec.bytes !== undefined) return bytesSource(spec.bytes);
  if (spec.opfs !== undefined) return opfsSource(spec.opfs);
  if (spec.handle !== undefined) return handleSource(spec.handle);
  if (spec.path !== undefined && isNode) return pathSource(spec.path);
  throw new SourceError("invalid", "expected a URL, a File, a Blob, an ArrayBuffer or (in Node) a path");
}
