import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { OpeningGate } from '../../../../../services/shards/memory/opening-gate.ts';
import { ShardTransitioning } from '../../../../../services/shards/shard/failure.ts';

const LIMIT = 100;
const OVERDRAFT = 10;
const OVERDRAFT_AFTER_MS = 2_000;
const REFUSE_AFTER_MS = 20_000;

let nowMs: number;
/** Bytes in memory that cannot be freed. */
let held: number;
/** Bytes in memory that can be freed for others. */
let idle: number;
let memory: { opening: number; reserved: number; fits(bytes: number, overdraft: boolean): boolean };
let gate: OpeningGate;

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance', 'Date', 'hrtime'] });
  nowMs = 0;
  held = 0;
  idle = 0;
  const fits = (bytes: number, overdraft: boolean) =>
    held + idle + memory.reserved + bytes <= LIMIT + (overdraft ? OVERDRAFT : 0);
  memory = { opening: 0, reserved: 0, fits };
  gate = new OpeningGate({ monotonicMs: () => nowMs, wallMs: () => 0 }, memory, async (bytes, overdraft) => {
    const kept = idle;
    idle = 0;
    if (!fits(bytes, overdraft)) idle = kept;
    return fits(bytes, overdraft);
  });
});
afterEach(() => {
  gate.close();
  jest.useRealTimers();
});

async function settled(): Promise<void> {
  for (let count = 0; count < 10; count++) await turn();
}

async function pass(ms: number): Promise<void> {
  nowMs += ms;
  jest.advanceTimersByTime(ms);
  await settled();
}

/** Requests room, keeps it once granted, and records the outcome. */
function enter(name: string, bytes: number, fates: string[]): { leave(): void } {
  let leave: () => void = () => undefined;
  const left = new Promise<void>((resolve) => {
    leave = resolve;
  });
  gate
    .pass(bytes, async () => {
      fates.push(`${name} is in`);
      await left;
    })
    .catch((error: { code: string }) => fates.push(`${name}: ${error.code}`));
  return { leave };
}

test('a shard that waits long may use the overdraft, and not before', async () => {
  const fates: string[] = [];
  held = LIMIT - 5;
  enter('a', 5 + OVERDRAFT, fates);
  await settled();
  await pass(OVERDRAFT_AFTER_MS - 1);
  gate.changed();
  await settled();
  expect(fates).toEqual([]);
  // Only time passes.
  await pass(1);
  expect(fates).toEqual(['a is in']);
  expect(memory.reserved).toBe(5 + OVERDRAFT);
});

test('a shard without room even with the overdraft is refused with 503 in the end, and not before', async () => {
  const fates: string[] = [];
  held = LIMIT;
  enter('a', OVERDRAFT + 1, fates);
  for (let waitedMs = 0; waitedMs < REFUSE_AFTER_MS - OVERDRAFT_AFTER_MS; waitedMs += OVERDRAFT_AFTER_MS) {
    await pass(OVERDRAFT_AFTER_MS);
  }
  await pass(OVERDRAFT_AFTER_MS - 1);
  gate.changed();
  await settled();
  expect(fates).toEqual([]);
  await pass(1);
  expect(fates).toEqual(['a: UNAVAILABLE']);
  expect(memory.reserved).toBe(0);
  // The refused request does not block later ones.
  held = 0;
  enter('b', LIMIT, fates);
  await settled();
  expect(fates).toEqual(['a: UNAVAILABLE', 'b is in']);
});

test('a shard that fits passes one for which no room can be made, and that one enters as soon as there is some', async () => {
  const fates: string[] = [];
  held = LIMIT - 20;
  enter('large', 40, fates);
  const small = enter('small', 10, fates);
  enter('other', 15, fates);
  await settled();
  expect(fates).toEqual(['small is in']);
  small.leave();
  await settled();
  expect(fates).toEqual(['small is in', 'other is in']);
  held -= 80;
  idle = 60;
  gate.changed();
  await settled();
  expect(fates).toEqual(['small is in', 'other is in', 'large is in']);
  expect(idle).toBe(0);
});

test('a bounded number opens at once, and all that wait are refused at the end', async () => {
  const fates: string[] = [];
  const all = Array.from({ length: 10 }, (_, at) => enter(String(at), 1, fates));
  await settled();
  expect(fates).toHaveLength(8);
  all[0]!.leave();
  await settled();
  expect(fates).toHaveLength(9);
  const waiting = gate.pass(1, async () => undefined);
  gate.close();
  // The router can then ask the node that has room.
  await expect(waiting).rejects.toBeInstanceOf(ShardTransitioning);
  await settled();
  expect(fates.at(-1)).toBe('9: UNAVAILABLE');
  await expect(gate.pass(1, async () => undefined)).rejects.toBeInstanceOf(ShardTransitioning);
});
