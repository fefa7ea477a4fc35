/**
 * The functions of webgpu.h that the wasm module imports (src/webgpu/functions.def), over navigator.gpu.
 *
 * C calls them with structs in its memory, laid out as src/webgpu/api.h has them on wasm32: pointers and sizes of 4
 * bytes, u64 and f64 at multiples of 8. An object of WebGPU is a number in C, its index in a table here. A struct that
 * C passes by value is a pointer to it.
 *
 * What takes time is a promise here and a callback in C. Settled promises wait in a list, and C runs the list with
 * wgpuInstanceProcessEvents. That call suspends the module (JSPI) until there is something in it, so the export that
 * led there must be wrapped by WebAssembly.promising. Callbacks are called through the exported function table; texts
 * for them are put into memory that the module offers (rlx_wgpu_scratch).
 *
 * Where there is no JSPI, the objects of WebGPU are in another worker than the module, which waits for them by Atomics
 * (gpu_remote.js, gpu_worker.js). Memory is then shared, and callbacks are what that worker sends back.
 *
 * A call that throws here, where webgpu.h only reports an error, reports it to the device's error callback.
 */

/** The numbers of webgpu.h. */
const SUCCESS = 1;
const FAILED = 4; // of every kind of status: "error", or more than the status knows
const NO_ERROR = 1;
const ERROR_TYPES = {GPUValidationError: 2, GPUOutOfMemoryError: 3, GPUInternalError: 4};
const FILTERS = [, 'validation', 'out-of-memory', 'internal'];
const FEATURES = {0x09: 'timestamp-query', 0x0b: 'shader-f16', 0x12: 'subgroups'};
const BINDING_TYPES = {2: 'uniform', 3: 'storage', 4: 'read-only-storage'};
const BACKEND_WEBGPU = 2;
const ADAPTER = {discrete: 1, integrated: 2, cpu: 3};
const LOST = {unknown: 1, destroyed: 2};

/** Fields of WGPULimits: name, offset, and whether it has 64 bits. */
const LIMITS = [
  ['maxTextureDimension1D', 4], ['maxTextureDimension2D', 8], ['maxTextureDimension3D', 12],
  ['maxTextureArrayLayers', 16], ['maxBindGroups', 20], ['maxBindGroupsPlusVertexBuffers', 24],
  ['maxBindingsPerBindGroup', 28], ['maxDynamicUniformBuffersPerPipelineLayout', 32],
  ['maxDynamicStorageBuffersPerPipelineLayout', 36], ['maxSampledTexturesPerShaderStage', 40],
  ['maxSamplersPerShaderStage', 44], ['maxStorageBuffersPerShaderStage', 48],
  ['maxStorageTexturesPerShaderStage', 52], ['maxUniformBuffersPerShaderStage', 56],
  ['maxUniformBufferBindingSize', 64, true], ['maxStorageBufferBindingSize', 72, true],
  ['minUniformBufferOffsetAlignment', 80], ['minStorageBufferOffsetAlignment', 84], ['maxVertexBuffers', 88],
  ['maxBufferSize', 96, true], ['maxVertexAttributes', 104], ['maxVertexBufferArrayStride', 108],
  ['maxInterStageShaderVariables', 112], ['maxColorAttachments', 116], ['maxColorAttachmentBytesPerSample', 120],
  ['maxComputeWorkgroupStorageSize', 124], ['maxComputeInvocationsPerWorkgroup', 128],
  ['maxComputeWorkgroupSizeX', 132], ['maxComputeWorkgroupSizeY', 136], ['maxComputeWorkgroupSizeZ', 140],
  ['maxComputeWorkgroupsPerDimension', 144], ['maxImmediateSize', 148],
];
const UNDEFINED = 0xffffffff; // a limit, a query, the length of a text that ends with zero

const errorType = error => ERROR_TYPES[error.constructor.name] ?? ERROR_TYPES.GPUInternalError;

/** Whether this thread can use WebGPU from a wasm module in it: it has WebGPU, and the module can suspend. */
export function hasGpu() {
  return Boolean(globalThis.navigator?.gpu) && typeof WebAssembly.Suspending === 'function';
}

/** The functions that return a future, a BigInt. */
export const FUTURES = new Set(['InstanceRequestAdapter', 'AdapterRequestDevice', 'DevicePopErrorScope',
  'DeviceCreateComputePipelineAsync', 'QueueOnSubmittedWorkDone', 'BufferMapAsync']);

/**
 * The import object of module "webgpu", for a module in this thread.
 *
 * @param {() => WebAssembly.Instance} getInstance the instance, once it exists: its exports memory,
 *   __indirect_function_table and rlx_wgpu_scratch are used
 * @returns {Record<string, Function>}
 */
export function gpuImports(getInstance) {
  const exports = () => getInstance().exports;
  const {functions, run, wait} = gpuFunctions({
    isThere: hasGpu,
    memory: () => exports().memory,
    scratch: () => exports().rlx_wgpu_scratch() >>> 0,
    callback: at => exports().__indirect_function_table.get(at),
  });
  /** Suspends only where a promise is returned. */
  const processEvents = () => wait()?.then(() => run()) ?? run();
  const imports = {wgpuInstanceProcessEvents: hasGpu() ? new WebAssembly.Suspending(processEvents) : processEvents};
  for (const [name, f] of Object.entries(functions)) imports[`wgpu${name}`] = f;
  return imports;
}

/**
 * The functions, without "wgpu" before their names, over a module's memory.
 *
 * @param {object} host
 * @param {() => boolean} host.isThere whether an instance can be created
 * @param {() => WebAssembly.Memory} host.memory
 * @param {() => number} host.scratch address of the module's scratch memory, of 4096 bytes
 * @param {(at: number) => Function} host.callback an entry of the module's function table
 * @returns {{functions: Record<string, Function>, wait: () => Promise | null, run: () => void}} wait: null if a promise
 *   has settled, else a promise that one has; run: calls the callbacks of those that have
 */
export function gpuFunctions(host) {
  // ---- memory. It may grow, and then it has another buffer. Addresses arrive as signed numbers. ----

  let seen = new DataView(new ArrayBuffer(0));
  function view() {
    const {buffer} = host.memory();
    if (seen.buffer !== buffer) seen = new DataView(buffer);
    return seen;
  }
  const u32 = at => view().getUint32(at >>> 0, true);
  const u64 = at => Number(view().getBigUint64(at >>> 0, true));
  const f64 = at => view().getFloat64(at >>> 0, true);
  const putU32 = (at, v) => view().setUint32(at >>> 0, v, true);
  const putU64 = (at, v) => view().setBigUint64(at >>> 0, BigInt(v), true);

  /** @returns {Uint8Array} of the module's memory itself, which may be shared between threads */
  const bytes = (at, n) => new Uint8Array(host.memory().buffer, at >>> 0, n >>> 0);

  /** The same for those who take no shared memory: a copy of it. */
  function ownBytes(at, n) {
    const found = bytes(at, n);
    return found.buffer instanceof ArrayBuffer ? found : found.slice();
  }

  const decoder = new TextDecoder();
  const encoder = new TextEncoder();

  /** A WGPUStringView. */
  function text(at) {
    const data = u32(at), length = u32(at + 4);
    if (!data) return '';
    const end = length === UNDEFINED ? new Uint8Array(host.memory().buffer).indexOf(0, data) : data + length;
    return decoder.decode(ownBytes(data, end - data));
  }

  const {scratch, callback} = host;

  /**
   * Puts at most four texts into the scratch memory, behind 16 bytes for others; the next call overwrites them.
   * @returns {number[]} address and length of each
   */
  function putTexts(...texts) {
    let at = scratch() + 16;
    return texts.flatMap(t => {
      const encoded = encoder.encode((t ?? '').slice(0, 320));
      bytes(at, encoded.length).set(encoded);
      at += encoded.length;
      return [at - encoded.length, encoded.length];
    });
  }

  /** A WGPUStringView in the scratch memory. */
  function putMessage(message) {
    putTexts(message).forEach((v, i) => putU32(scratch() + 4 * i, v));
    return scratch();
  }

  // ---- objects ----

  const objects = [null];
  const unused = [];

  function add(object) {
    const at = unused.pop() ?? objects.length;
    objects[at] = object;
    return at;
  }

  const get = at => objects[at >>> 0];

  function release(at) {
    objects[at >>> 0] = null;
    unused.push(at >>> 0);
  }

  // ---- callbacks ----

  const settled = []; // what C has not been told yet
  let pending = 0; // promises that are not in `settled` yet
  let wake = () => {};

  function tell(call) {
    settled.push(call);
    wake();
  }

  /**
   * Calls the callback of a WGPU..CallbackInfo when what `begin` returned is settled, with what `args` makes of the
   * value or the error. C waits for it, so it is called in any case.
   */
  function answer(begin, info, args) {
    const f = u32(info + 8), user1 = u32(info + 12), user2 = u32(info + 16);
    const call = (...result) => tell(() => {
      pending--;
      callback(f)(...args(...result), user1, user2);
    });
    pending++;
    new Promise(resolve => resolve(begin())).then(call, error => call(null, error));
    return 0n; // a future, which nobody asks about
  }

  // ---- the device's own callbacks ----

  const devices = new Set();

  /** A pointer to the device's number, as its callbacks get it. */
  function pointTo(device) {
    putU32(scratch() + 8, device.number);
    return scratch() + 8;
  }

  const reportError = (device, type, message) =>
    callback(device.onError)(pointTo(device), type, putMessage(message), ...device.errorUsers);

  const reportLoss = (device, lost) =>
    callback(device.onLost)(pointTo(device), LOST[lost.reason] ?? 1, putMessage(lost.message), ...device.lostUsers);

  /** The callbacks of a WGPUDeviceDescriptor. */
  const readCallbacks = at => ({onLost: u32(at + 44), lostUsers: [u32(at + 48), u32(at + 52)],
    onError: u32(at + 60), errorUsers: [u32(at + 64), u32(at + 68)]});

  function addDevice(object, callbacks) {
    const device = {object, ...callbacks};
    const ifOpen = call => tell(() => { if (devices.has(device)) call(); });
    device.number = add(device);
    devices.add(device);
    object.addEventListener('uncapturederror', event => {
      event.preventDefault();
      ifOpen(() => reportError(device, errorType(event.error), event.error.message));
    });
    object.lost.then(lost => ifOpen(() => reportLoss(device, lost)));
    return device.number;
  }

  // ---- structs ----

  const list = (n, at, size, read) => Array.from({length: n}, (_, i) => read(at + i * size));

  function readLimits(at) {
    const limits = {};
    for (const [name, offset, isWide] of at ? LIMITS : []) {
      const value = isWide ? u64(at + offset) : u32(at + offset);
      if (value < (isWide ? 2 ** 63 : UNDEFINED)) limits[name] = value;
    }
    return limits;
  }

  const readLayoutEntry = at => ({binding: u32(at + 4), visibility: u64(at + 8),
    buffer: {type: BINDING_TYPES[u32(at + 28)], hasDynamicOffset: u32(at + 32) !== 0, minBindingSize: u64(at + 40)}});

  const readEntry = at => ({binding: u32(at + 4),
    resource: {buffer: get(u32(at + 8)), offset: u64(at + 16), size: u64(at + 24)}});

  const readPipeline = at => ({label: text(at + 4), layout: get(u32(at + 12)),
    compute: {module: get(u32(at + 20)), entryPoint: text(at + 24),
      constants: Object.fromEntries(list(u32(at + 32), u32(at + 36), 24, readConstant))}});

  const readConstant = at => [text(at + 4), f64(at + 16)];

  /** A fallback is software. Browsers report no more than that; NVIDIA's are taken for discrete, others not. */
  function adapterType(info) {
    return info.isFallbackAdapter ? ADAPTER.cpu : info.vendor === 'nvidia' ? ADAPTER.discrete : ADAPTER.integrated;
  }

  // ---- the functions ----

  /** An adapter makes one device; for more, another one is requested. */
  async function requestDevice(adapter, wanted) {
    const made = adapter.isUsed ? await navigator.gpu.requestAdapter(adapter.options) : adapter.object;
    if (!made) throw new Error('the adapter is gone');
    adapter.isUsed = true;
    return made.requestDevice(wanted);
  }

  const functions = {
    CreateInstance: () => host.isThere() ? add(navigator.gpu) : 0,
    InstanceRequestAdapter(instance, options, info) {
      const wanted = {powerPreference: u32(options + 8) === 2 ? 'high-performance' : undefined,
        forceFallbackAdapter: u32(options + 12) !== 0};
      return answer(() => get(instance).requestAdapter(wanted), info, (object, error) => [object ? SUCCESS : FAILED,
        object ? add({object, options: wanted}) : 0, putMessage(error?.message)]);
    },
    InstanceRelease: release,

    AdapterGetInfo(adapter, out) {
      const info = get(adapter).object.info;
      const texts = putTexts(info.vendor, info.architecture, info.device, info.description);
      texts.forEach((v, i) => putU32(out + 4 + 4 * i, v));
      [BACKEND_WEBGPU, adapterType(info), 0, 0, info.subgroupMinSize ?? 0, info.subgroupMaxSize ?? 0]
        .forEach((v, i) => putU32(out + 36 + 4 * i, v));
      return SUCCESS;
    },
    AdapterInfoFreeMembers: () => {},
    AdapterGetLimits(adapter, out) {
      const limits = get(adapter).object.limits;
      for (const [name, offset, isWide] of LIMITS) {
        if (isWide) putU64(out + offset, limits[name]);
        else putU32(out + offset, limits[name] ?? UNDEFINED);
      }
      return SUCCESS;
    },
    AdapterHasFeature: (adapter, feature) => Number(get(adapter).object.features.has(FEATURES[feature])),
    AdapterRequestDevice(adapter, at, info) {
      const callbacks = readCallbacks(at);
      const wanted = {requiredFeatures: list(u32(at + 12), u32(at + 16), 4, u32).map(f => FEATURES[f]),
        requiredLimits: readLimits(u32(at + 20))};
      return answer(() => requestDevice(get(adapter), wanted), info, (object, error) => [object ? SUCCESS : FAILED,
        object ? addDevice(object, callbacks) : 0, putMessage(error?.message)]);
    },
    AdapterRelease: release,

    DeviceGetQueue: device => add(get(device).object.queue),
    DeviceDestroy: device => get(device).object.destroy(),
    DeviceRelease(device) {
      devices.delete(get(device));
      get(device).object.destroy();
      release(device);
    },
    DevicePushErrorScope: (device, filter) => get(device).object.pushErrorScope(FILTERS[filter]),
    DevicePopErrorScope: (device, info) => answer(() => get(device).object.popErrorScope(), info,
      (error, failed) => [failed ? FAILED : SUCCESS, error ? errorType(error) : NO_ERROR,
        putMessage(error?.message)]),
    DeviceCreateBuffer: (device, at) => add(get(device).object.createBuffer({usage: u64(at + 16), size: u64(at + 24)})),
    DeviceCreateBindGroup: (device, at) => add(get(device).object.createBindGroup({label: text(at + 4),
      layout: get(u32(at + 12)), entries: list(u32(at + 16), u32(at + 20), 40, readEntry)})),
    DeviceCreateBindGroupLayout: (device, at) => add(get(device).object.createBindGroupLayout({label: text(at + 4),
      entries: list(u32(at + 12), u32(at + 16), 88, readLayoutEntry)})),
    DeviceCreatePipelineLayout: (device, at) => add(get(device).object.createPipelineLayout({label: text(at + 4),
      bindGroupLayouts: list(u32(at + 12), u32(at + 16), 4, p => get(u32(p)))})),
    DeviceCreateShaderModule: (device, at) => add(get(device).object.createShaderModule({label: text(at + 4),
      code: text(u32(at) + 8)})),
    DeviceCreateComputePipeline: (device, at) => add(get(device).object.createComputePipeline(readPipeline(at))),
    DeviceCreateComputePipelineAsync: (device, at, info) =>
      answer(() => get(device).object.createComputePipelineAsync(readPipeline(at)), info, (object, error) =>
        [object ? SUCCESS : FAILED, object ? add(object) : 0, putMessage(error?.message)]),
    DeviceCreateCommandEncoder: device => add(get(device).object.createCommandEncoder()),
    DeviceCreateQuerySet: (device, at) => add(get(device).object.createQuerySet({type: 'timestamp',
      count: u32(at + 16)})),

    QueueSubmit: (queue, n, at) => get(queue).submit(list(n, at, 4, p => get(u32(p)))),
    QueueOnSubmittedWorkDone: (queue, info) => answer(() => get(queue).onSubmittedWorkDone(), info,
      (_, failed) => [failed ? FAILED : SUCCESS, putMessage(failed?.message)]),
    QueueWriteBuffer: (queue, buffer, offset, at, n) => get(queue).writeBuffer(get(buffer), Number(offset),
      ownBytes(at, n)),
    QueueRelease: release,

    BufferMapAsync: (buffer, mode, offset, n, info) =>
      answer(() => get(buffer).mapAsync(Number(mode), offset >>> 0, n >>> 0), info,
        (_, failed) => [failed ? FAILED : SUCCESS, putMessage(failed?.message)]),
    BufferReadMappedRange(buffer, offset, at, n) {
      bytes(at, n).set(new Uint8Array(get(buffer).getMappedRange(offset >>> 0, n >>> 0)));
      return SUCCESS;
    },
    BufferUnmap: buffer => get(buffer).unmap(),
    BufferDestroy: buffer => get(buffer).destroy(),
    BufferRelease: release,

    CommandEncoderBeginComputePass(e, at) {
      const writes = at ? u32(at + 12) : 0;
      const query = offset => u32(writes + offset) === UNDEFINED ? undefined : u32(writes + offset);
      return add(get(e).beginComputePass(writes ? {timestampWrites: {querySet: get(u32(writes + 4)),
        beginningOfPassWriteIndex: query(8), endOfPassWriteIndex: query(12)}} : undefined));
    },
    CommandEncoderCopyBufferToBuffer: (e, from, fromOffset, to, toOffset, n) =>
      get(e).copyBufferToBuffer(get(from), Number(fromOffset), get(to), Number(toOffset), Number(n)),
    CommandEncoderClearBuffer: (e, buffer, offset, n) => get(e).clearBuffer(get(buffer), Number(offset), Number(n)),
    CommandEncoderResolveQuerySet: (e, set, first, n, buffer, offset) =>
      get(e).resolveQuerySet(get(set), first, n, get(buffer), Number(offset)),
    CommandEncoderFinish: e => add(get(e).finish()),
    CommandEncoderRelease: release,
    CommandBufferRelease: release,

    ComputePassEncoderSetPipeline: (pass, pipeline) => get(pass).setPipeline(get(pipeline)),
    ComputePassEncoderSetBindGroup: (pass, i, group, n, at) =>
      get(pass).setBindGroup(i, get(group), Array.isArray(at) ? at : list(n, at, 4, u32)), // an array: already read
    ComputePassEncoderDispatchWorkgroups: (pass, x, y, z) => get(pass).dispatchWorkgroups(x >>> 0, y >>> 0, z >>> 0),
    ComputePassEncoderEnd: pass => get(pass).end(),
    ComputePassEncoderRelease: release,

    BindGroupRelease: release,
    BindGroupLayoutRelease: release,
    PipelineLayoutRelease: release,
    ShaderModuleRelease: release,
    ComputePipelineRelease: release,
    QuerySetRelease: release,
  };

  /** A call that throws reports an error and returns zero. */
  function guarded(name, f) {
    return (...args) => {
      try {
        return f(...args);
      } catch (error) {
        for (const device of devices)
          reportError(device, ERROR_TYPES.GPUValidationError, `wgpu${name}: ${error.message}`);
        return FUTURES.has(name) ? 0n : 0;
      }
    };
  }

  /** Where nothing is under way, the page's own events still get their turn: the loss of a device is one. */
  function wait() {
    if (settled.length) return null;
    return new Promise(resolve => {
      wake = resolve;
      if (!pending) setTimeout(resolve);
    });
  }

  /** @param {() => boolean} isFull ends it early; the rest is for the next call */
  function run(isFull = () => false) {
    while (settled.length && !isFull()) settled.shift()();
  }

  const all = Object.entries(functions).map(([name, f]) => [name, guarded(name, f)]);
  return {functions: Object.fromEntries(all), wait, run};
}
