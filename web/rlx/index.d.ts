/** Language models, ONNX models and graphs on the page's own machine. See docs/web.md. */

export type Status =
  "invalid" | "no memory" | "not found" | "unsupported" | "io" | "busy" | "cancelled" | "device lost" | "over a limit";

/** What the library reported: its status and its message. */
export class RlxError extends Error {
  readonly status: Status;
  constructor(status: Status, message: string);
}

/** A URL (relative to the page), "opfs:PATH" of the origin's private file system, a File, bytes; in Node a path. */
export type Source = string | URL | Blob | ArrayBuffer | ArrayBufferView | FileSystemFileHandle;
/** One source, or several by file name: a Hugging Face folder, an ONNX model with external data. */
export type Files = Source | Record<string, Source>;

export interface WorkerOptions {
  /** "auto" (the default): a GPU if there is one. "cpu", "webgpu", or a device's name. */
  device?: string;
  /** Whether JavaScript Promise Integration may be used to wait for a GPU, where there is one (the default). */
  jspi?: boolean;
  /** The module: a .wasm file, or a folder (ending with "/") with its variants. Default: beside index.js. */
  wasmUrl?: string | URL;
}

export interface LoadOptions extends WorkerOptions {
  onProgress?: (progress: { stage: string; done: number; total: number }) => void;
  signal?: AbortSignal;
  threads?: number;
  /** Bytes that the library may use, on the host and on the device each. */
  memoryLimit?: number;
  /** With several files: the name of the one to open. */
  main?: string;
}

export interface DeviceInfo {
  name: string;
  backend: string;
  uuid: string;
  kind: "discrete" | "integrated" | "cpu" | "software" | "null";
  driver: string;
  features: string;
  units: number;
  memory: number;
  free: number;
  maxBlock: number;
  maxWindow: number;
}

interface Loaded {
  readonly device: DeviceInfo;
  /** The memory plan; as a picture: "svg". */
  plan(format?: "json"): Promise<Record<string, unknown>>;
  plan(format: "text" | "svg"): Promise<string>;
  /** What runs where, and why. */
  dispatch(format?: "json"): Promise<Record<string, unknown>>;
  dispatch(format: "text"): Promise<string>;
  /** Frees it. A second call does nothing. */
  close(): Promise<void>;
}

/* ---- Language models ---- */

export interface Sampling {
  temperature: number;
  topK: number;
  topP: number;
  minP: number;
  repetitionPenalty: number;
  penaltyTokens: number;
}

export interface GenerateOptions extends Partial<Sampling> {
  /** 0 (the default): until the model ends or the context is full. */
  maxTokens?: number;
  /** Below 2^53. Without one, a fresh seed where the temperature is above 0. */
  seed?: number;
  /** Texts that end the generation. */
  stop?: string | string[];
  signal?: AbortSignal;
  ignoreEnd?: boolean;
  /** At the end of the context drop what is oldest. chat: true by default. */
  shift?: boolean;
  /** Whether "<|x|>" in a text is a token. Default: in a prompt yes, in a message no. */
  parseSpecial?: boolean;
  /** Tokens per step; the text does not depend on it. */
  ahead?: number;
}

export interface Stats {
  promptTokens: number;
  tokens: number;
  /** Messages that the context had no room for. */
  dropped: number;
  promptSeconds: number;
  seconds: number;
  ended: "end" | "length" | "stop" | "cancelled" | "context";
}

/** Text as it comes. Leaving the loop stops it. */
export interface Generation extends AsyncIterable<string> {
  /** Once it has ended. */
  readonly stats: Stats | null;
  readonly settings: Sampling & { seed: number; maxTokens: number };
  text(): Promise<string>;
}

export interface LmInfo {
  family: string;
  name: string;
  weights: string;
  /** Its name; "own": none of the known ones, but it can be run. */
  chatTemplate: string | null;
  tokenizer: string | null;
  /** What the model's authors recommend; `chat` uses it. */
  sampling: Sampling | null;
  layers: number;
  width: number;
  heads: number;
  kvHeads: number;
  vocabulary: number;
  experts: number;
  context: number;
  modelContext: number;
  chunk: number;
  isEncoder: boolean;
  parameters: number;
  weightBytes: number;
  stateBytes: number;
  scratchBytes: number;
  loadSeconds: number;
  device: DeviceInfo;
}

export interface LmOptions extends LoadOptions {
  /** Tokens that a conversation can hold. Default: the model's own, at most 4096. */
  context?: number;
  /** Tokens of a prompt that are computed together. */
  chunk?: number;
  /** Activations stay f32 where weights are of a block type. */
  exact?: boolean;
  /** The type of the KV cache. Default: "f16". */
  cache?: "f16" | "f32";
  /** Determine the memory needed, load nothing: `info` and `plan` work. */
  dryRun?: boolean;
}

export interface Message {
  role: "system" | "user" | "assistant" | string;
  content: string;
}

export interface Lm extends Loaded {
  readonly info: LmInfo;
  /** The next turn of a conversation, given all its messages. */
  chat(messages: Iterable<Message>, options?: GenerateOptions & { template?: string }): Generation;
  /** Continues a text; with `continue`, after what the model holds. */
  generate(prompt: string, options?: GenerateOptions & { continue?: boolean }): Generation;
  embed(text: string, options?: { signal?: AbortSignal }): Promise<Float32Array>;
  tokenize(text: string, options?: { addSpecial?: boolean; parseSpecial?: boolean }): Promise<Int32Array>;
  detokenize(ids: Iterable<number>, options?: { special?: boolean }): Promise<string>;
}

export function loadLm(source: Files, options?: LmOptions): Promise<Lm>;

/* ---- ONNX models, graphs ---- */

export type Data =
  | Float32Array
  | Float64Array
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array
  | number[]
  | bigint[]
  | boolean[]
  | number
  | bigint
  | boolean;
export interface Tensor {
  data: Data;
  /** Default: one axis. */
  shape?: number[];
  /** Default: that of the typed array; of a plain array, the one that the model declares. */
  dtype?: string;
}
export interface OutputTensor {
  data: Exclude<Data, number[] | bigint[] | boolean[] | number | bigint | boolean>;
  shape: number[];
  dtype: string;
}
export interface ValueInfo {
  name: string;
  dtype: string;
  /** A size that inputs decide is the name of its symbol, or null. */
  shape: (number | string | null)[] | null;
}

export interface Runnable extends Loaded {
  readonly inputs: ValueInfo[];
  readonly outputs: ValueInfo[];
  readonly info: Record<string, unknown>;
  run(inputs: Record<string, Tensor | Data>, options?: { signal?: AbortSignal }): Promise<Record<string, OutputTensor>>;
}

export function loadOnnx(source: Files, options?: LoadOptions): Promise<Runnable>;
/** A graph in text form (docs/text-form.md). */
export function graph(text: string, options?: Omit<LoadOptions, "onProgress" | "main">): Promise<Runnable>;

/* ---- Devices, conformance, workers ---- */

/** Why WebGPU cannot be used here; null if it can. */
export function whyNoWebGpu(options?: { jspi?: boolean }): string | null;
export function devices(options?: WorkerOptions & { signal?: AbortSignal }): Promise<{
  devices: DeviceInfo[];
  absent: { backend: string; why: string }[];
}>;
export interface ConformRow {
  op: string;
  name: string;
  result: "pass" | "host" | "unsupported" | "fail";
  why: string;
  error: number;
}
/** Every case of every op (or of those that match `pattern`) on a device, against the reference. */
export function conform(
  options?: WorkerOptions & {
    pattern?: string;
    onRow?: (row: ConformRow) => void;
    signal?: AbortSignal;
  },
): Promise<{ pass: number; host: number; unsupported: number; fail: number }>;
export function about(options?: WorkerOptions): Promise<{
  version: string;
  wasm: string;
  features: { simd: boolean; relaxed: boolean; threads: boolean; jspi: boolean };
  memory: { bytes: number; live: number };
  /** Of the CPU: those of a model that asks for no number; those there are; those in use; why there is only one. */
  threads: { usual: number; started: number; inUse: number; why: string | null };
}>;
export function setLog(fn: ((level: number, text: string) => void) | null, options?: WorkerOptions): Promise<void>;
/** Ends all workers; what was loaded is closed. */
export function shutdown(): Promise<void>;
