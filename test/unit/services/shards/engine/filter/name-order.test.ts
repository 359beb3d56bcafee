import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { NameOrder } from '../../../../../../services/shards/engine/filter/name-order.ts';
import { Namespaces } from '../../../../../../services/shards/engine/filter/namespaces.ts';
import { Slots } from '../../../../../../services/shards/engine/slots.ts';
import { runThrough, StepMeter } from '../../../../../../services/shards/steps.ts';
import { propertyRuns } from '../../../../../support/effort.ts';

const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

test('names are in the order of their bytes, whatever is added and deleted', () => {
  const name = fc.string({ unit: 'grapheme', maxLength: 4 });
  fc.assert(
    fc.property(fc.array(fc.tuple(name, fc.boolean()), { maxLength: 200 }), name, (changes, from) => {
      const order = new NameOrder();
      const held = new Set<string>();
      for (const [name, isDeletion] of changes) {
        if (isDeletion ? !held.delete(name) : held.has(name)) continue;
        if (isDeletion) order.delete(name);
        else held.add(name) && order.add(name);
      }
      const expected = [...held].filter((name) => byBytes(name, from) >= 0).sort(byBytes);
      expect([...order.from(from)]).toEqual(expected);
    }),
    { numRuns: propertyRuns(200) },
  );
});

test('thousands of names fill many chunks, and deleting them leaves none', () => {
  const order = new NameOrder();
  const names = Array.from({ length: 5_000 }, (_, i) => `n${(i * 7_919) % 5_000}`);
  for (const name of names) order.add(name);
  expect([...order.from('n2')]).toEqual(names.filter((name) => name >= 'n2').sort());
  for (const name of names.slice(1)) order.delete(name);
  expect([...order.from('')]).toEqual([names[0]]);
  order.delete(names[0]!);
  expect([...order.from('')]).toEqual([]);
});

test('the cost of a page of namespaces depends on its size, not on their number', () => {
  const slots = new Slots(1);
  const namespaces = new Namespaces(slots);
  for (let i = 0; i < 20_000; i++) {
    const id = Buffer.from(`\0tenant-${String(i).padStart(6, '0')}\0record`);
    const slot = slots.allocate(id, Float32Array.of(1), Buffer.from('{}'), 1);
    slots.makeLive(slot);
    namespaces.changed(-1, slot);
  }
  const meter = new StepMeter(Number.POSITIVE_INFINITY);
  const asked = { prefix: 'tenant-01', after: 'tenant-012344', limit: 10 };
  const page = runThrough(namespaces.list(asked, meter));
  expect(page).toEqual(Array.from({ length: 10 }, (_, i) => [`tenant-0${12_345 + i}`, 1]));
  expect(meter.spentNs).toBeLessThan(5_000);
});
