/** Declared here because Node's type definitions leave it to the browser's. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object) => { exports: Record<string, unknown> };
};

/** Instantiates a WebAssembly module, given in base64, with its own memory. */
export function instantiate<F>(base64: string): { memory: ArrayBuffer; functions: F } {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(base64, 'base64')));
  const { memory, ...functions } = exports as { memory: { buffer: ArrayBuffer } };
  return { memory: memory.buffer, functions: functions as F };
}
