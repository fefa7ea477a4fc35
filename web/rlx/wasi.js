/* WASI (wasi_snapshot_preview1) for rlx_web.wasm, in a worker of a browser or of Node.
 *
 * What wasi-libc imports, over a tree of virtual files that can be read and not written. A file is a source of bytes
 * (files.js): { size, mtime, read(offset, target) -> bytes read }, which answers synchronously, as workers can. All of
 * the tree lies below one preopened folder, "/". Standard output and error are passed on line by line.
 *
 * Nothing here throws into the module except WasiExit: a failure is an errno, and `wasi.takeError()` has its reason in
 * words. */

export class WasiExit extends Error {
  constructor(code) {
    super(`the module ended with exit code ${code}`);
    this.code = code;
  }
}

export const errno = {
  SUCCESS: 0,
  ACCES: 2,
  AGAIN: 6,
  BADF: 8,
  EXIST: 20,
  FAULT: 21,
  INVAL: 28,
  IO: 29,
  ISDIR: 31,
  MFILE: 33,
  NOENT: 44,
  NOSYS: 52,
  NOTDIR: 54,
  NOTSUP: 58,
  ROFS: 69,
  SPIPE: 70,
  NOTCAPABLE: 76,
};

const FILETYPE = { character: 2, folder: 3, file: 4 };
const OPEN = { create: 1, folder: 2, exclusive: 4, truncate: 8 };
const ALL_RIGHTS = (1n << 30n) - 1n;
const MAX_DESCRIPTORS = 1024;
const FIRST_DESCRIPTOR = 3; // after standard input, output and error: the preopened folder

/* ---- The tree ---- */

export class Tree {
  constructor() {
    this.inodes = 0;
    this.root = this.#node({ folder: new Map() });
  }

  #node(fields) {
    return { inode: ++this.inodes, ...fields };
  }

  /* Adds a file; missing folders are made. */
  add(path, source) {
    const names = path.split("/").filter(Boolean);
    let at = this.root;
    for (const name of names.slice(0, -1)) {
      if (!at.folder.has(name)) at.folder.set(name, this.#node({ folder: new Map() }));
      at = at.folder.get(name);
      if (!at.folder) throw new Error(`${path}: '${name}' is a file`);
    }
    at.folder.set(names[names.length - 1], this.#node({ source }));
  }

  /* Removes a file or a folder. Sources are not closed: who added them does that. */
  remove(path) {
    const names = path.split("/").filter(Boolean);
    const parent = this.find(this.root, names.slice(0, -1).join("/"));
    if (parent.folder) parent.folder.delete(names[names.length - 1]);
  }

  /* The node at a path below `from`, or { errno }. Nothing leads out of the tree. */
  find(from, path) {
    const names = path.split("/");
    const above = [];
    let at = from;
    for (const name of names) {
      if (name === "" || name === ".") continue;
      if (!at.folder) return { errno: errno.NOTDIR };
      if (name === "..") {
        if (!above.length) return { errno: errno.NOTCAPABLE };
        at = above.pop();
        continue;
      }
      const next = at.folder.get(name);
      if (!next) return { errno: errno.NOENT };
      above.push(at);
      at = next;
    }
    return path.endsWith("/") && !at.folder ? { errno: errno.NOTDIR } : at;
  }
}

/* ---- Helpers ---- */

/* Passes on whole lines. */
class Lines {
  constructor(pass) {
    this.pass = pass;
    this.decoder = new TextDecoder();
    this.rest = "";
  }

  write(bytes) {
    const lines = (this.rest + this.decoder.decode(bytes, { stream: true })).split("\n");
    this.rest = lines.pop();
    for (const line of lines) this.pass(line);
  }
}

/* Waits without an event loop: in a worker that may, and by looking at the clock elsewhere. */
function sleep(milliseconds) {
  if (typeof SharedArrayBuffer === "function") {
    try {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
      return;
    } catch {
      // a thread that must not block
    }
  }
  const until = performance.now() + milliseconds;
  while (performance.now() < until);
}

/* ---- The interface ---- */

export class Wasi {
  /* options: args, env (an object), onOut(line), onError(line) */
  constructor({ args = ["rlx"], env = {}, onOut = () => {}, onError = () => {} } = {}) {
    const encoder = new TextEncoder();
    this.tree = new Tree();
    this.args = args.map((text) => encoder.encode(`${text}\0`));
    this.env = Object.entries(env).map(([key, value]) => encoder.encode(`${key}=${value}\0`));
    this.out = [null, new Lines(onOut), new Lines(onError)];
    this.descriptors = [null, null, null, { node: this.tree.root, position: 0n, isPreopened: true }];
    this.error = null;
    this.memory = null;
  }

  /* The memory of the instance whose imports these are. */
  attach(memory) {
    this.memory = memory;
  }

  /* Why the last read failed, once; null if none did. */
  takeError() {
    const error = this.error;
    this.error = null;
    return error;
  }

  #view() {
    return new DataView(this.memory.buffer);
  }

  #bytes(at, n) {
    return new Uint8Array(this.memory.buffer, at >>> 0, n >>> 0);
  }

  #text(at, n) {
    return new TextDecoder().decode(this.#bytes(at, n).slice());
  }

  #descriptor(fd) {
    return fd >= FIRST_DESCRIPTOR ? this.descriptors[fd] : undefined;
  }

  #buffers(at, n) {
    const view = this.#view(),
      list = [];
    for (let i = 0; i < n; i++)
      list.push(this.#bytes(view.getUint32((at >>> 0) + 8 * i, true), view.getUint32((at >>> 0) + 8 * i + 4, true)));
    return list;
  }

  /* Reads into the buffers from an offset. Returns the bytes read, or -1 with the reason kept. */
  #readFile(node, offset, buffers) {
    let total = 0;
    for (const buffer of buffers) {
      const room = Math.min(buffer.length, Math.max(0, node.source.size - offset - total));
      let done = 0;
      while (done < room) {
        let n;
        try {
          n = node.source.read(offset + total + done, buffer.subarray(done, room));
        } catch (error) {
          this.error = error;
          return -1;
        }
        if (n <= 0) break;
        done += n;
      }
      total += done;
      if (done < buffer.length) break;
    }
    return total;
  }

  #writeStat(node, at) {
    const view = this.#view(),
      start = at >>> 0;
    const time = BigInt(Math.round((node.source?.mtime ?? 0) * 1e6));
    this.#bytes(at, 64).fill(0);
    view.setBigUint64(start, 1n, true);
    view.setBigUint64(start + 8, BigInt(node.inode), true);
    view.setUint8(start + 16, node.folder ? FILETYPE.folder : FILETYPE.file);
    view.setBigUint64(start + 24, 1n, true);
    view.setBigUint64(start + 32, BigInt(node.source?.size ?? 0), true);
    for (const field of [40, 48, 56]) view.setBigUint64(start + field, time, true);
    return errno.SUCCESS;
  }

  #writeList(list, pointers, bytes) {
    const view = this.#view();
    let at = bytes >>> 0;
    list.forEach((text, i) => {
      view.setUint32((pointers >>> 0) + 4 * i, at, true);
      this.#bytes(at, text.length).set(text);
      at += text.length;
    });
    return errno.SUCCESS;
  }

  #writeSizes(list, count, bytes) {
    const view = this.#view();
    view.setUint32(count >>> 0, list.length, true);
    view.setUint32(
      bytes >>> 0,
      list.reduce((sum, text) => sum + text.length, 0),
      true,
    );
    return errno.SUCCESS;
  }

  #open(fd, pathAt, pathBytes, flags, out) {
    const from = this.#descriptor(fd);
    if (!from) return errno.BADF;
    const path = this.#text(pathAt, pathBytes);
    if (path.startsWith("/")) return errno.NOTCAPABLE;
    const node = this.tree.find(from.node, path);
    if (node.errno === errno.NOENT && flags & OPEN.create) return errno.ROFS;
    if (node.errno) return node.errno;
    if (flags & OPEN.truncate) return errno.ROFS;
    if (flags & OPEN.exclusive && flags & OPEN.create) return errno.EXIST;
    if (flags & OPEN.folder && !node.folder) return errno.NOTDIR;
    let free = FIRST_DESCRIPTOR;
    while (this.descriptors[free]) free++;
    if (free >= MAX_DESCRIPTORS) return errno.MFILE;
    this.descriptors[free] = { node, position: 0n };
    this.#view().setUint32(out >>> 0, free, true);
    return errno.SUCCESS;
  }

  #list(fd, at, room, cookie, out) {
    const d = this.#descriptor(fd);
    if (!d) return errno.BADF;
    if (!d.node.folder) return errno.NOTDIR;
    const encoder = new TextEncoder(),
      target = this.#bytes(at, room);
    const entries = [[".", d.node], ["..", d.node], ...d.node.folder];
    let used = 0;
    for (let i = Number(cookie); i < entries.length && used < target.length; i++) {
      const [name, node] = entries[i],
        letters = encoder.encode(name),
        entry = new Uint8Array(24 + letters.length);
      const view = new DataView(entry.buffer);
      view.setBigUint64(0, BigInt(i + 1), true);
      view.setBigUint64(8, BigInt(node.inode), true);
      view.setUint32(16, letters.length, true);
      view.setUint8(20, node.folder ? FILETYPE.folder : FILETYPE.file);
      entry.set(letters, 24);
      const n = Math.min(entry.length, target.length - used); // an entry that is cut is asked for again
      target.set(entry.subarray(0, n), used);
      used += n;
    }
    this.#view().setUint32(out >>> 0, used, true);
    return errno.SUCCESS;
  }

  /* Subscriptions to a clock sleep until the first is due; those to a file are ready at once. */
  #poll(subscriptions, events, n, out) {
    const view = this.#view(),
      due = [];
    if (n === 0) return errno.INVAL;
    for (let i = 0; i < n; i++) {
      const at = (subscriptions >>> 0) + 48 * i,
        kind = view.getUint8(at + 8);
      let wait = 0;
      if (kind === 0) {
        const timeout = Number(view.getBigUint64(at + 24, true)) / 1e6,
          isAbsolute = view.getUint16(at + 40, true) & 1;
        wait = isAbsolute ? timeout - this.#now(view.getUint32(at + 16, true)) / 1e6 : timeout;
      }
      due.push({ wait: Math.max(0, wait), kind, user: view.getBigUint64(at, true) });
    }
    const first = Math.min(...due.map((d) => d.wait));
    if (first > 0) sleep(first);
    const ready = due.filter((d) => d.wait <= first);
    ready.forEach((d, i) => {
      const at = (events >>> 0) + 32 * i;
      this.#bytes(at, 32).fill(0);
      view.setBigUint64(at, d.user, true);
      view.setUint8(at + 10, d.kind);
    });
    view.setUint32(out >>> 0, ready.length, true);
    return errno.SUCCESS;
  }

  /* Nanoseconds: 0 is the calendar's clock, all others run evenly. */
  #now(clock) {
    return clock === 0 ? Date.now() * 1e6 : performance.now() * 1e6;
  }

  /* The object for `imports.wasi_snapshot_preview1`. A pointer out of the memory's range is EFAULT, not a trap. */
  imports() {
    const functions = { ...this.#ofProcess(), ...this.#ofDescriptors(), ...this.#ofPaths() };
    const guarded = {};
    for (const [name, fn] of Object.entries(functions))
      guarded[name] = (...args) => {
        try {
          return fn(...args);
        } catch (error) {
          if (error instanceof RangeError) return errno.FAULT;
          throw error;
        }
      };
    return guarded;
  }

  #ofProcess() {
    return {
      args_get: (pointers, bytes) => this.#writeList(this.args, pointers, bytes),
      args_sizes_get: (count, bytes) => this.#writeSizes(this.args, count, bytes),
      environ_get: (pointers, bytes) => this.#writeList(this.env, pointers, bytes),
      environ_sizes_get: (count, bytes) => this.#writeSizes(this.env, count, bytes),
      clock_res_get: (clock, out) => {
        this.#view().setBigUint64(out >>> 0, clock === 0 ? 1000000n : 1000n, true);
        return errno.SUCCESS;
      },
      clock_time_get: (clock, precision, out) => {
        this.#view().setBigUint64(out >>> 0, BigInt(Math.round(this.#now(clock))), true);
        return errno.SUCCESS;
      },
      random_get: (at, n) => {
        const most = 65536; // of one call of getRandomValues
        for (let i = 0; i < n; i += most) {
          const part = new Uint8Array(Math.min(most, n - i)); // which does not fill shared memory
          this.#bytes(at + i, part.length).set(crypto.getRandomValues(part));
        }
        return errno.SUCCESS;
      },
      poll_oneoff: (subscriptions, events, n, out) => this.#poll(subscriptions, events, n, out),
      sched_yield: () => errno.SUCCESS,
      proc_exit: (code) => {
        throw new WasiExit(code);
      },
      proc_raise: () => errno.NOSYS,
      sock_accept: () => errno.NOTSUP,
      sock_recv: () => errno.NOTSUP,
      sock_send: () => errno.NOTSUP,
      sock_shutdown: () => errno.NOTSUP,
    };
  }

  #ofDescriptors() {
    const readOnly = (fd) => (fd < FIRST_DESCRIPTOR || this.#descriptor(fd) ? errno.ROFS : errno.BADF);
    const seek = (fd, offset, whence, out) => {
      const d = this.#descriptor(fd);
      if (!d) return fd < FIRST_DESCRIPTOR ? errno.SPIPE : errno.BADF;
      const from = [0n, d.position, BigInt(d.node.source?.size ?? 0)][whence];
      if (from === undefined || from + offset < 0n) return errno.INVAL;
      d.position = from + offset;
      this.#view().setBigUint64(out >>> 0, d.position, true);
      return errno.SUCCESS;
    };
    const read = (fd, buffers, n, offset, out) => {
      const d = this.#descriptor(fd);
      if (fd === 0) {
        this.#view().setUint32(out >>> 0, 0, true); // standard input is empty
        return errno.SUCCESS;
      }
      if (!d) return errno.BADF;
      if (d.node.folder) return errno.ISDIR;
      const got = this.#readFile(d.node, Number(offset ?? d.position), this.#buffers(buffers, n));
      if (got < 0) return errno.IO;
      if (offset === undefined) d.position += BigInt(got);
      this.#view().setUint32(out >>> 0, got, true);
      return errno.SUCCESS;
    };
    return {
      fd_advise: () => errno.SUCCESS,
      fd_allocate: readOnly,
      fd_close: (fd) => {
        if (!this.#descriptor(fd)) return fd < FIRST_DESCRIPTOR ? errno.SUCCESS : errno.BADF;
        this.descriptors[fd] = undefined;
        return errno.SUCCESS;
      },
      fd_datasync: () => errno.SUCCESS,
      fd_sync: () => errno.SUCCESS,
      fd_fdstat_get: (fd, out) => {
        const d = this.#descriptor(fd),
          view = this.#view(),
          at = out >>> 0;
        if (!d && fd >= FIRST_DESCRIPTOR) return errno.BADF;
        this.#bytes(at, 24).fill(0);
        view.setUint8(at, !d ? FILETYPE.character : d.node.folder ? FILETYPE.folder : FILETYPE.file);
        view.setBigUint64(at + 8, ALL_RIGHTS, true);
        view.setBigUint64(at + 16, ALL_RIGHTS, true);
        return errno.SUCCESS;
      },
      fd_fdstat_set_flags: () => errno.SUCCESS,
      fd_fdstat_set_rights: () => errno.SUCCESS,
      fd_filestat_get: (fd, out) => {
        const d = this.#descriptor(fd);
        if (d) return this.#writeStat(d.node, out);
        if (fd >= FIRST_DESCRIPTOR) return errno.BADF;
        this.#bytes(out, 64).fill(0);
        this.#view().setUint8((out >>> 0) + 16, FILETYPE.character);
        return errno.SUCCESS;
      },
      fd_filestat_set_size: readOnly,
      fd_filestat_set_times: readOnly,
      fd_pread: (fd, buffers, n, offset, out) => read(fd, buffers, n, offset, out),
      fd_read: (fd, buffers, n, out) => read(fd, buffers, n, undefined, out),
      fd_pwrite: readOnly,
      fd_write: (fd, buffers, n, out) => {
        if (fd !== 1 && fd !== 2) return readOnly(fd);
        let total = 0;
        for (const buffer of this.#buffers(buffers, n)) {
          this.out[fd].write(buffer.slice());
          total += buffer.length;
        }
        this.#view().setUint32(out >>> 0, total, true);
        return errno.SUCCESS;
      },
      fd_prestat_get: (fd, out) => {
        if (!this.#descriptor(fd)?.isPreopened) return errno.BADF;
        this.#view().setUint32(out >>> 0, 0, true); // a folder
        this.#view().setUint32((out >>> 0) + 4, 1, true); // bytes of its name
        return errno.SUCCESS;
      },
      fd_prestat_dir_name: (fd, at, n) => {
        if (!this.#descriptor(fd)?.isPreopened) return errno.BADF;
        if (n < 1) return errno.INVAL;
        this.#bytes(at, 1)[0] = "/".charCodeAt(0);
        return errno.SUCCESS;
      },
      fd_readdir: (fd, at, room, cookie, out) => this.#list(fd, at, room, cookie, out),
      fd_renumber: (from, to) => {
        if (!this.#descriptor(from) || !this.#descriptor(to)) return errno.BADF;
        this.descriptors[to] = this.descriptors[from];
        if (from !== to) this.descriptors[from] = undefined;
        return errno.SUCCESS;
      },
      fd_seek: seek,
      fd_tell: (fd, out) => seek(fd, 0n, 1, out),
    };
  }

  #ofPaths() {
    const readOnly = () => errno.ROFS;
    return {
      path_open: (fd, lookup, path, bytes, flags, rights, inherited, how, out) =>
        this.#open(fd, path, bytes, flags, out),
      path_filestat_get: (fd, lookup, path, bytes, out) => {
        const from = this.#descriptor(fd);
        if (!from) return errno.BADF;
        const node = this.tree.find(from.node, this.#text(path, bytes));
        return node.errno ?? this.#writeStat(node, out);
      },
      path_readlink: (fd, path, bytes) => {
        const from = this.#descriptor(fd);
        if (!from) return errno.BADF;
        return this.tree.find(from.node, this.#text(path, bytes)).errno ?? errno.INVAL; // there are no links
      },
      path_create_directory: readOnly,
      path_filestat_set_times: readOnly,
      path_link: readOnly,
      path_remove_directory: readOnly,
      path_rename: readOnly,
      path_symlink: readOnly,
      path_unlink_file: readOnly,
    };
  }
}
