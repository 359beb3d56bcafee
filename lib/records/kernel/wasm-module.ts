/** Node's types leave it to those of browsers. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object) => { exports: Record<string, unknown> };
};

/**
 * Functions of a WebAssembly module, and the memory that they work on, which is this caller's own.
 * `base64`: the module's bytes.
 */
export function instantiate<F>(base64: string): { memory: ArrayBuffer; functions: F } {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(base64, 'base64')));
  const { memory, ...functions } = exports as { memory: { buffer: ArrayBuffer } };
  return { memory: memory.buffer, functions: functions as F };
}
