/* Put before worker.js by browser_faults.mjs: what a worker gets from the browser fails when the test says so, through
 * the channel "faults", which answers "done". Defined before this text: MAX_PAGES bounds the module's memory,
 * NO_INSTANCE denies it. */
const faults = { channel: new BroadcastChannel("faults"), devices: new Set(), refused: 0 };
faults.channel.onmessage = ({ data }) => {
  if (data === "done") return;
  Object.assign(faults, data); // noDevice, noBuffers
  if (data.loseDevices) for (const device of faults.devices) device.destroy();
  faults.channel.postMessage("done");
};

if (globalThis.GPUAdapter) {
  const { requestDevice } = GPUAdapter.prototype;
  const { createBuffer, popErrorScope } = GPUDevice.prototype;
  GPUAdapter.prototype.requestDevice = async function (...wanted) {
    if (faults.noDevice) throw new DOMException("there is no device today", "OperationError");
    const device = await requestDevice.apply(this, wanted);
    faults.devices.add(device);
    return device;
  };
  /* A browser that is out of memory returns a buffer that cannot be used, and says so to an error scope. */
  GPUDevice.prototype.createBuffer = function (wanted) {
    const isLarge = wanted.size > 4096; // the library's own small ones are made when the device is opened
    if (faults.noBuffers && isLarge) faults.refused++;
    return createBuffer.call(this, wanted);
  };
  GPUDevice.prototype.popErrorScope = async function () {
    const found = await popErrorScope.call(this);
    if (!faults.refused) return found;
    faults.refused--;
    return new GPUOutOfMemoryError("not enough memory left");
  };
}

/* ---- Memory that cannot grow ---- */

function readNumber(bytes, at) {
  let value = 0;
  for (let shift = 0; ; shift += 7) {
    value += (bytes[at] & 127) * 2 ** shift;
    if (!(bytes[at++] & 128)) return [value, at];
  }
}

function writeNumber(value) {
  const bytes = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push((value % 128) | 128);
  return [...bytes, value];
}

/* The module with a maximum for its memory, which is its section 5: one memory, without a maximum before. */
function withMaximum(bytes, pages) {
  for (let at = 8; at < bytes.length; ) {
    const id = bytes[at],
      [size, begin] = readNumber(bytes, at + 1);
    if (id === 5 && bytes[begin + 1] === 0) {
      const [minimum] = readNumber(bytes, begin + 2),
        limits = [1, 1, ...writeNumber(minimum), ...writeNumber(pages)];
      const section = [5, ...writeNumber(limits.length), ...limits];
      return new Uint8Array([...bytes.subarray(0, at), ...section, ...bytes.subarray(begin + size)]);
    }
    at = begin + size;
  }
  return bytes; // its memory comes from outside
}

const { compile, instantiate } = WebAssembly;
WebAssembly.instantiate = async (...given) => {
  if (NO_INSTANCE) throw new RangeError("could not allocate memory");
  return instantiate(...given);
};
if (MAX_PAGES) WebAssembly.compile = (source) => compile(withMaximum(new Uint8Array(source), MAX_PAGES));
