import { describe, expect, test } from '@jest/globals';
import { storeKeys } from '../../../lib/secret/keyring.ts';
import { LogResealing, type StoredEntry } from '../../../store/log-resealing.ts';
import { type LinkedEntry, LogSeals, NO_LINK } from '../../../store/log-seals.ts';
import { entry } from '../../contract/store-rows.ts';

const SHARD = '01234567-89ab-4cde-8f01-23456789abcd.0';
const EARLIER = storeKeys(['the secret that came first of the two']).log;
const BOTH = storeKeys(['the secret that came after it, by far', 'the secret that came first of the two']).log;
const CURRENT = storeKeys(['the secret that came after it, by far']).log;

/** A log of `count` entries under the earlier secret. */
function logOf(count: number): LinkedEntry[] {
  const seals = new LogSeals(EARLIER);
  const linked: LinkedEntry[] = [];
  for (let seq = 1; seq <= count; seq++) {
    const { body: _, ...said } = entry(SHARD, seq);
    const unlinked = { entry: said, bodyHash: new Uint8Array(32).fill(seq), before: linked.at(-1)?.link ?? NO_LINK };
    linked.push({ ...unlinked, link: seals.link(unlinked) });
  }
  return linked;
}

const stored = (linked: LinkedEntry): StoredEntry => ({
  seq: linked.entry.seq,
  linked,
  link: linked.link,
  isWhole: true,
});

function resealed(log: LinkedEntry[], resealing = new LogResealing(BOTH, false)): LinkedEntry[] {
  return log.map((linked) => ({ ...linked, ...resealing.entry(stored(linked)) }));
}

const alteredUnder = (keyring: typeof BOTH, log: LinkedEntry[]): number | null =>
  new LogSeals(keyring).firstAltered(log, { seq: log[0]!.entry.seq - 1, link: log[0]!.before });

test('a log is valid only under the current secret, and resealing it again changes nothing', () => {
  const log = logOf(5);
  expect(alteredUnder(CURRENT, log)).toBe(1);
  const anew = resealed(log);
  expect(alteredUnder(CURRENT, anew)).toBeNull();
  const again = new LogResealing(BOTH, false);
  expect(anew.map((linked) => again.entry(stored(linked)))).toEqual(anew.map(() => null));
  expect(again.found).toEqual({ current: 5, earlier: 0, none: 0, refused: 0, refusedSeqs: [] });
});

test('a log with a trimmed beginning follows what was trimmed, as before', () => {
  const log = logOf(5);
  const anew = resealed(log.slice(2));
  expect(alteredUnder(CURRENT, anew)).toBeNull();
  expect(anew[0]!.before).toEqual(log[1]!.link);
});

describe('an alteration is found at the same place', () => {
  const HASH = new Uint8Array(32).fill(99);
  test.each<[string, (log: LinkedEntry[]) => LinkedEntry[], number]>([
    ['an entry that was changed', (log) => log.map((each, at) => (at === 2 ? { ...each, bodyHash: HASH } : each)), 3],
    ['a removed entry', (log) => log.filter((_, at) => at !== 2), 3],
    ['an entry of another history, with its own good seal', (log) => [...log.slice(0, 2), ...logOf(5).slice(2)], 3],
    ['the seals of a stranger', (log) => log.map((each, at) => (at < 3 ? each : { ...each, link: HASH })), 4],
  ])('%s', (_, alter, at) => {
    const log = alter(logOf(5));
    expect(alteredUnder(BOTH, log)).toBe(at);
    expect(alteredUnder(BOTH, resealed(log))).toBe(at);
  });
});

test('a head follows its entry, and an unsealed one stays so', () => {
  const seals = new LogSeals(EARLIER);
  const log = logOf(2);
  const { entry: last, link } = log[1]!;
  const seal = seals.head(SHARD, last.head, link);
  const resealing = new LogResealing(BOTH, false);
  const anew = resealed(log, resealing);
  const head = resealing.head({ shard: SHARD, head: last.head, link, seal })!;
  expect(head.link).toEqual(anew[1]!.link);
  expect(new LogSeals(CURRENT).sealedHead(SHARD, last.head, head.link, head.seal)).toEqual(last.head);
  const other = new LogResealing(BOTH, false);
  resealed(log, other);
  const forged = other.head({ shard: SHARD, head: { ...last.head, count: 9 }, link, seal })!;
  expect(new LogSeals(BOTH).sealedHead(SHARD, { ...last.head, count: 9 }, forged.link, forged.seal)).toBeNull();
});

test('an entry after a contradiction still follows it', () => {
  const { body: _, ...said } = entry(SHARD, 1);
  const unlinked = { entry: said, bodyHash: new Uint8Array(32), before: NO_LINK };
  const head = { ...said.head, contradicted: true } as const;
  const seals = new LogSeals(EARLIER);
  const link = seals.link({ ...unlinked, entry: { ...said, head } });
  const resealing = new LogResealing(BOTH, false);
  const anew = resealed([{ ...unlinked, link }], resealing)[0]!;
  const current = new LogSeals(CURRENT);
  expect(current.linked(anew)?.head).toEqual(head);
  const stood = { shard: SHARD, head: said.head, link, seal: seals.head(SHARD, head, link) };
  const headAnew = resealing.head(stood)!;
  expect(current.sealedHead(SHARD, said.head, headAnew.link, headAnew.seal)).toEqual(head);
});

describe('when the log is trusted', () => {
  test('a log of any seals gets valid ones; what does not decode, or has another body, gets none', () => {
    const log = logOf(4);
    const resealing = new LogResealing(CURRENT, true);
    const anew = log.map((linked, at) => {
      if (at === 1) return { ...linked, ...resealing.entry({ ...stored(linked), isWhole: false }) };
      if (at === 2) return { ...linked, ...resealing.entry({ ...stored(linked), linked: null }) };
      return { ...linked, ...resealing.entry(stored(linked)) };
    });
    expect(resealing.found).toEqual({ current: 0, earlier: 0, none: 4, refused: 2, refusedSeqs: [2, 3] });
    expect(anew.map((linked) => new LogSeals(CURRENT).linked(linked) !== null)).toEqual([true, false, false, true]);
  });

  test('what the service cannot have appended gets none', () => {
    const [linked] = logOf(1);
    const impossible = [
      { kind: 'damaged' as const },
      { head: { ...linked!.entry.head, seq: 9 } },
      { epoch: 0.5 },
      { tally: { accountId: 'a', month: '2026-11', writes: 0.5, vectors: 0 } },
    ];
    for (const change of impossible) {
      const altered = { ...linked!, entry: { ...linked!.entry, ...change } };
      expect(new LogResealing(CURRENT, true).entry(stored(altered))).toBeNull();
    }
  });
});
