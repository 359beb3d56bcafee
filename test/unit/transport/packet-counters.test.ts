import { expect, test } from '@jest/globals';
import { PacketCounters } from '../../../transport/packet-counters.ts';
import { sealPacket } from '../../../transport/packet-seal.ts';

test('no counter is used twice, in whatever order several peers take theirs', () => {
  const counters = new PacketCounters();
  const peers = [counters.series(), counters.series(), counters.series()];
  const idle = counters.series();
  const taken = new Uint8Array(2 ** 24);
  const take = (next: () => bigint) => {
    taken[Number(next())]! += 1;
  };
  // Exceeds the first peer's range, next to peers that use few numbers.
  for (let i = 0; i < 1_100_000; i++) {
    take(peers[0]!);
    if (i % 1_000 === 0) take(peers[1]!);
    if (i % 100_000 === 0) take(peers[2]!);
    if (i % 100_000 === 0) peers[2] = counters.series();
  }
  take(idle);
  expect(taken.findIndex((times) => times > 1)).toBe(-1);
  expect(taken[0]).toBe(0);
});

test("a peer's counters have no gaps, so that its packets stay within the replay window", () => {
  const counters = new PacketCounters();
  const [one, other] = [counters.series(), counters.series()];
  const first = one();
  other();
  expect([one(), one()]).toEqual([first + 1n, first + 2n]);
});

test('past the last counter nothing is sealed', () => {
  const header = { isForAll: false, keyId: Buffer.alloc(4), session: Buffer.alloc(16), counter: 2n ** 64n };
  const content = { isProof: false, asksForProof: false, lastBroadcast: 0n, sender: 'a', packet: Buffer.alloc(0) };
  expect(() => sealPacket(Buffer.alloc(32), header, 'REQ', content)).toThrow('out of range');
});
