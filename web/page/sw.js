/* The service worker: the page and the models that were kept work without a network.
 *
 * Files of the page come from the network where there is one, so that a change is seen, and from the cache otherwise.
 * A model is kept whole when the page asks for it ("keep"); the library reads parts of it, which are cut out here. */
const PAGE = "rlx-page-1",
  MODELS = "rlx-models-1";
const FILES = [
  "./",
  "colours.css",
  "style.css",
  "app.js",
  "dom.js",
  "chat.js",
  "magika.js",
  "ocr.js",
  "icon.svg",
  "page.webmanifest",
  "models.json",
  "rlx/index.js",
  "rlx/runtime.js",
  "rlx/worker.js",
  "rlx/module.js",
  "rlx/wasi.js",
  "rlx/files.js",
  "rlx/gpu_remote.js",
  "rlx/gpu_worker.js",
  "rlx/reader.js",
  "rlx/thread.js",
  "rlx/threads.js",
  "rlx/gpu.js",
  "rlx/rlx_web.wasm",
];
const OPTIONAL = ["relaxed", "threads", "relaxed_threads"].map((variant) => `rlx/rlx_web_${variant}.wasm`);

self.addEventListener("install", (event) => {
  event.waitUntil(
    (async () => {
      const cache = await caches.open(PAGE);
      await cache.addAll(FILES);
      await Promise.all(OPTIONAL.map((file) => cache.add(file).catch(() => {})));
      await self.skipWaiting();
    })(),
  );
});

self.addEventListener("activate", (event) => {
  event.waitUntil(
    (async () => {
      for (const name of await caches.keys()) if (name !== PAGE && name !== MODELS) await caches.delete(name);
      await self.clients.claim();
    })(),
  );
});

/* The part of a kept model that a request asks for. */
async function cutOut(request, kept) {
  const match = /^bytes=(\d+)-(\d*)$/.exec(request.headers.get("range") ?? "");
  if (!match) return kept;
  const blob = await kept.blob(),
    begin = Number(match[1]);
  const end = Math.min(blob.size, match[2] ? Number(match[2]) + 1 : blob.size);
  const headers = new Headers(kept.headers);
  if (begin >= end) return new Response(null, { status: 416, headers: { "Content-Range": `bytes */${blob.size}` } });
  headers.set("Content-Length", end - begin);
  headers.set("Content-Range", `bytes ${begin}-${end - 1}/${blob.size}`);
  return new Response(blob.slice(begin, end), { status: 206, headers });
}

async function answer(request) {
  if (new URL(request.url).pathname.includes("/models/")) {
    const kept = await (await caches.open(MODELS)).match(request.url);
    return kept ? cutOut(request, kept) : fetch(request);
  }
  const cache = await caches.open(PAGE);
  try {
    const response = await fetch(request);
    if (response.status === 200) await cache.put(request, response.clone());
    return response;
  } catch (error) {
    const kept = await cache.match(request, { ignoreSearch: true });
    if (kept) return kept;
    throw error;
  }
}

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method === "GET" && new URL(request.url).origin === self.location.origin)
    event.respondWith(answer(request));
});

self.addEventListener("message", (event) => {
  const { keep } = event.data ?? {};
  if (keep)
    event.waitUntil(
      (async () => {
        const cache = await caches.open(MODELS);
        if (await cache.match(keep)) return;
        const response = await fetch(keep, { cache: "no-store" }); // parts of it may be in the browser's own cache
        if (response.status === 200) await cache.put(keep, response);
      })().catch((error) => console.warn(`${keep} is not kept: ${error.message}`)),
    ); // no room, or no network
});
