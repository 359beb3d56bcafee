/** A result whose buffers go over to the main thread instead of being copied. */
export class Transferred<T> {
  readonly value: T;
  readonly buffers: ArrayBuffer[];
  constructor(value: T, buffers: ArrayBuffer[]) {
    this.value = value;
    this.buffers = buffers;
  }
}

/**
 * Gives the memory of buffers that nobody reads any more back at once: a thread with nothing to do
 * collects no garbage.
 */
export function freeBuffers(buffers: ArrayBuffer[]): void {
  for (const buffer of buffers) buffer.transfer(0);
}
