/** A result whose buffers are transferred to the main thread instead of copied. */
export class Transferred<T> {
  readonly value: T;
  readonly buffers: ArrayBuffer[];
  constructor(value: T, buffers: ArrayBuffer[]) {
    this.value = value;
    this.buffers = buffers;
  }
}

/** Frees the memory of unused buffers at once: an idle thread collects no garbage. */
export function freeBuffers(buffers: ArrayBuffer[]): void {
  for (const buffer of buffers) buffer.transfer(0);
}
