/** A result whose buffers go over to the main thread instead of being copied. */
export class Handover<T> {
  readonly value: T;
  readonly buffers: ArrayBuffer[];
  constructor(value: T, buffers: ArrayBuffer[]) {
    this.value = value;
    this.buffers = buffers;
  }
}
