import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { CborSerializer } from '../../../transport/cbor-serializer.ts';
import { SHAPES } from './generated.ts';

const serializer = new CborSerializer();

/**
 * Simulates a transporter: the bytes arrive at any offset of a larger buffer, which is reused
 * afterwards.
 */
function acrossTheWire<T>(value: T, offset = 0): T {
  const sent = serializer.serialize(value);
  const arrived = Buffer.alloc(sent.length + offset + 3, 0xaa);
  sent.copy(arrived, offset);
  const received = serializer.deserialize(arrived.subarray(offset, offset + sent.length));
  arrived.fill(0x55);
  return received as T;
}

/**
 * Describes own keys in order, values and classes at every depth. `toEqual` cannot tell an own
 * `__proto__` from none.
 */
function described(value: unknown): unknown {
  if (typeof value === 'number') return Object.is(value, -0) ? 'number -0' : `number ${value}`;
  if (typeof value === 'string') return ['string', ...value.split('').map((unit) => unit.charCodeAt(0))];
  if (typeof value !== 'object' || value === null) return `${typeof value} ${String(value)}`;
  if (value instanceof Float32Array) return ['Float32Array', ...Array.from(value, described)];
  if (ArrayBuffer.isView(value)) return ['bytes', ...(value as Uint8Array)];
  if (Array.isArray(value)) return ['Array', ...value.map(described)];
  return [
    'Object',
    ...Object.keys(value).map((key) => [described(key), described((value as Record<string, unknown>)[key])]),
  ];
}

describe('parameters and results arrive as they were sent', () => {
  test.each(Object.entries(SHAPES))('%s', (_name, shape) => {
    fc.assert(
      fc.property(shape as fc.Arbitrary<unknown>, fc.nat(7), (value, offset) => {
        const received = acrossTheWire({ payload: value }, offset);
        expect(described(received)).toEqual(described({ payload: value }));
      }),
      { numRuns: 150 },
    );
  });
});

describe('typed arrays', () => {
  test.each([0, 1, 2, 3, 5])('are aligned and own their memory when they arrive at offset %i', (offset) => {
    const vectors = new Float32Array([1.5, -0, Number.NaN, Number.POSITIVE_INFINITY, 1e-45]).subarray(1);
    const received = acrossTheWire({ vectors, hash: new Uint8Array(32).fill(7), raw: Buffer.from('abc') }, offset);
    expect(received.vectors).toBeInstanceOf(Float32Array);
    expect(Array.from(received.vectors, described)).toEqual(Array.from(vectors, described));
    for (const array of [received.vectors, received.hash, received.raw]) {
      expect(array.byteOffset).toBe(0);
      expect(array.buffer.byteLength).toBe(array.byteLength);
      expect(Buffer.isBuffer(array)).toBe(false);
    }
    expect(structuredClone(received.vectors, { transfer: [received.vectors.buffer] })).toHaveLength(4);
  });

  test('a large one does not make later small messages large', () => {
    serializer.serialize({ vectors: new Float32Array(4 << 20) });
    expect(serializer.serialize({ small: true }).buffer.byteLength).toBeLessThan(64 * 1024);
  });
});

test('values that actions do not use are kept too', () => {
  const value = {
    map: new Map<unknown, unknown>([['__proto__', new Set([1])]]),
    date: new Date(1_700_000_000_123),
    big: 2n ** 70n,
    nothing: undefined,
    list: [undefined, null, -(2 ** 40), 2 ** 53],
  };
  expect(acrossTheWire(value)).toStrictEqual(value);
});

test('an object with more keys than 16 bits can count arrives completely', () => {
  const value = Object.fromEntries(Array.from({ length: 70_000 }, (_, i) => [`k${i}`, i]));
  expect(Object.keys(acrossTheWire(value))).toHaveLength(70_000);
});

test('sending does not change the sent value', () => {
  const value = Object.freeze({
    zero: -0,
    list: Object.freeze([-0, '\ud800']),
    filter: JSON.parse('{"__proto__":{"a":-0}}'),
  });
  acrossTheWire(value);
  expect(Object.is(value.zero, -0) && Object.is(value.list[0], -0)).toBe(true);
  expect(Object.keys(value.filter)).toEqual(['__proto__']);
});

test('a key of a message never reaches a prototype', () => {
  acrossTheWire(JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'));
  expect('polluted' in {}).toBe(false);
});

test('functions are refused, and so are bytes that are not CBOR', () => {
  expect(() => serializer.serialize({ run: () => 1 })).toThrow();
  for (const bytes of [[], [0x9a, 0xff, 0xff, 0xff, 0xff], [0x5b, 0, 0, 0, 1, 0, 0, 0, 0]])
    expect(() => serializer.deserialize(Buffer.from(bytes))).toThrow();
});
