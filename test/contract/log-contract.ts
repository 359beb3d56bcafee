import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { invalidHead } from '../../lib/shard/head.ts';
import { damagedEntry } from '../../store/log.ts';
import type { StoreUnderTest } from './store-contract.ts';
import { entry, head, newCollection } from './store-rows.ts';

const MIB = 1024 * 1024;

export function logContract(subject: StoreUnderTest): void {
  describe('log', () => {
    let account: string;
    beforeEach(() => {
      account = randomUUID();
    });

    test('an entry is returned as it was appended, with its head', async () => {
      const { log } = subject.store;
      const shard = `${newCollection().id}.255`;
      const tally = { accountId: account, month: '2026-11', writes: 3, vectors: -2 };
      const entries = [
        entry(shard, 1, { kind: 'open', epoch: 7, body: new Uint8Array(0) }),
        entry(shard, 2, {
          tally,
          head: { seq: 2, version: 2, type: 'leaf', hash: new Uint8Array(32).fill(9), count: 1 },
        }),
        entry(shard, 3, { kind: 'void' }),
      ];
      for (const each of entries) expect(await log.append(each)).toBe('committed');
      expect(await log.read(shard, 0, MIB)).toEqual(entries);
      expect(await log.head(shard)).toEqual(entries[2].head);
      expect(await log.firstSeq(shard)).toBe(1);
    });

    test('a shard without entries has no head', async () => {
      const { log } = subject.store;
      const { id } = newCollection();
      expect(await log.head(`${id}.0`)).toBeNull();
      expect(await log.heads(id)).toEqual(new Map());
      expect(await log.read(`${id}.0`, 0, MIB)).toEqual([]);
      expect(await log.firstSeq(`${id}.0`)).toBeNull();
    });

    test('a taken seq is a conflict and changes nothing', async () => {
      const { log, usage } = subject.store;
      const shard = `${newCollection().id}.0`;
      const tally = { accountId: account, month: '2026-11', writes: 1, vectors: 1 };
      const first = entry(shard, 1, { tally });
      expect(await log.append(first)).toBe('committed');
      expect(await log.append(entry(shard, 1, { tally, epoch: 2 }))).toBe('conflict');
      expect(await log.read(shard, 0, MIB)).toEqual([first]);
      expect(await usage.read(account, '2026-11')).toEqual({ writes: 1, queries: 0, vectors: 1 });
    });

    test('of many appends at one seq exactly one is committed', async () => {
      const { log, usage } = subject.store;
      const shard = `${newCollection().id}.0`;
      const tally = { accountId: account, month: '2026-11', writes: 1, vectors: 1 };
      for (let seq = 1; seq <= 5; seq++) {
        const rivals = Array.from({ length: 16 }, (_, epoch) => entry(shard, seq, { epoch, tally }));
        const outcomes = await Promise.all(rivals.map((rival) => log.append(rival)));
        expect(outcomes.filter((outcome) => outcome === 'committed')).toHaveLength(1);
        expect(await log.read(shard, seq - 1, MIB)).toEqual([rivals[outcomes.indexOf('committed')]]);
      }
      expect(await usage.read(account, '2026-11')).toEqual({ writes: 5, queries: 0, vectors: 5 });
    });

    test('heads returns every shard of the collection that has one, and no others', async () => {
      const { log } = subject.store;
      const [mine, other] = [newCollection().id, newCollection().id];
      for (const index of [0, 1, 127, 128, 255]) await log.append(entry(`${mine}.${index}`, 1));
      await log.append(entry(`${mine}.128`, 2));
      await log.append(entry(`${other}.5`, 1));
      const heads = await log.heads(mine);
      expect([...heads.keys()].sort((a, b) => a - b)).toEqual([0, 1, 127, 128, 255]);
      expect(heads.get(128)).toEqual(head(2));
    });

    test('read returns at least one entry, then as many as fit', async () => {
      const { log } = subject.store;
      const shard = `${newCollection().id}.0`;
      for (let seq = 1; seq <= 300; seq++) await log.append(entry(shard, seq, { body: new Uint8Array(100) }));
      const seqs = async (after: number, maxBytes: number) =>
        (await log.read(shard, after, maxBytes)).map(({ seq }) => seq);
      expect(await seqs(0, 0)).toEqual([1]);
      expect(await seqs(254, 300)).toEqual([255, 256, 257]);
      expect(await seqs(254, 399)).toEqual([255, 256, 257]);
      expect(await seqs(297, MIB)).toEqual([298, 299, 300]);
      expect(await seqs(300, MIB)).toEqual([]);
    });

    test('a trimmed log keeps its head, and its seqs stay taken', async () => {
      const { log } = subject.store;
      const [shard, beside] = [`${newCollection().id}.0`, `${newCollection().id}.0`];
      for (let seq = 1; seq <= 600; seq++) await log.append(entry(shard, seq));
      await log.append(entry(beside, 1));
      await log.trim(shard, 599);
      expect(await log.firstSeq(shard)).toBe(600);
      expect((await log.read(shard, 0, MIB)).map(({ seq }) => seq)).toEqual([600]);
      await log.trim(shard, 600);
      await log.trim(shard, 600);
      expect(await log.firstSeq(shard)).toBeNull();
      expect(await log.read(shard, 0, MIB)).toEqual([]);
      expect(await log.head(shard)).toEqual(head(600));
      expect(await log.append(entry(shard, 600))).toBe('conflict');
      expect(await log.append(entry(shard, 601))).toBe('committed');
      expect(await log.firstSeq(shard)).toBe(601);
      expect(await log.firstSeq(beside)).toBe(1);
    });

    test('an audit finds nothing in an unchanged log, trimmed or not, on any connection', async () => {
      const shard = `${newCollection().id}.0`;
      const { log } = subject.store;
      expect(await log.audit(shard, Number.MAX_SAFE_INTEGER)).toBeNull();
      const kinds = ['open', 'write', 'void', 'write'] as const;
      for (let seq = 1; seq <= 40; seq++) {
        const tally = seq % 3 === 0 ? { accountId: account, month: '2026-11', writes: 1, vectors: 1 } : null;
        const body = seq === 7 ? Buffer.alloc(3 * MIB, 7) : new Uint8Array(seq);
        await log.append(entry(shard, seq, { kind: kinds[seq % 4], tally, body }));
      }
      expect(await log.audit(shard, Number.MAX_SAFE_INTEGER)).toBeNull();
      await log.trim(shard, 5);
      expect(await log.audit(shard, 20)).toBeNull();
      const reopened = (await subject.reopen()).log;
      await reopened.append(entry(shard, 41));
      expect(await reopened.audit(shard, Number.MAX_SAFE_INTEGER)).toBeNull();
      await reopened.trim(shard, 41);
      await reopened.append(entry(shard, 42));
      expect(await reopened.audit(shard, Number.MAX_SAFE_INTEGER)).toBeNull();
    });

    test('an entry written without the secret is damaged, and its head is no state: the log continues after both', async () => {
      const { log } = subject.store;
      const { id } = newCollection();
      const [shard, beside] = [`${id}.0`, `${id}.1`];
      const own = [entry(shard, 1), entry(shard, 2)];
      for (const each of own) await log.append(each);
      await log.append(entry(beside, 1));
      await subject.forge((forger) => forger.log.append(entry(shard, 3)));
      expect(await log.read(shard, 1, MIB)).toEqual([own[1], damagedEntry(shard, 3)]);
      expect(await log.head(shard)).toEqual(invalidHead(3));
      expect(await log.heads(id)).toEqual(
        new Map([
          [0, invalidHead(3)],
          [1, head(1)],
        ]),
      );
      expect(await log.audit(shard, Number.MAX_SAFE_INTEGER)).toBe(3);
      expect(await log.append(entry(shard, 3))).toBe('conflict');
      expect(await log.append(entry(shard, 4))).toBe('committed');
      expect(await log.head(shard)).toEqual(head(4));
      expect(await log.audit(shard, Number.MAX_SAFE_INTEGER)).toBe(3);
    });

    test("a head's seal shows that it follows a contradiction, and no later head without one shows it", async () => {
      const { id } = newCollection();
      const shard = `${id}.2`;
      const { log } = subject.store;
      const contradicted = { ...head(2), contradicted: true } as const;
      await log.append(entry(shard, 1));
      await log.append(entry(shard, 2, { head: contradicted }));
      const { log: reopened } = await subject.reopen();
      expect(await reopened.head(shard)).toEqual(contradicted);
      expect(await reopened.heads(id)).toEqual(new Map([[2, contradicted]]));
      expect((await reopened.read(shard, 0, MIB)).map(({ head }) => head)).toEqual([head(1), contradicted]);
      expect(await reopened.audit(shard, Number.MAX_SAFE_INTEGER)).toBeNull();
      await reopened.append(entry(shard, 3));
      expect(await reopened.head(shard)).toEqual(head(3));
      expect(await reopened.audit(shard, Number.MAX_SAFE_INTEGER)).toBeNull();
    });

    test('survives a restart', async () => {
      const { id } = newCollection();
      const entries = [1, 2, 3].map((seq) => entry(`${id}.3`, seq));
      for (const each of entries) await subject.store.log.append(each);
      await subject.store.log.trim(`${id}.3`, 1);
      const { log } = await subject.reopen();
      expect(await log.read(`${id}.3`, 0, MIB)).toEqual(entries.slice(1));
      expect(await log.heads(id)).toEqual(new Map([[3, head(3)]]));
      expect(await log.append(entry(`${id}.3`, 3))).toBe('conflict');
    });

    test('accepts a body of 64 MiB', async () => {
      const { log } = subject.store;
      const shard = `${newCollection().id}.0`;
      const body = Buffer.alloc(64 * MIB);
      for (let i = 0; i < body.length; i += 4_096) body.writeUInt32LE(i, i);
      expect(await log.append(entry(shard, 1, { body }))).toBe('committed');
      const [found] = await log.read(shard, 0, 1);
      expect(Buffer.compare(found.body, body)).toBe(0);
    });

    test('the caller may transfer what it returns', async () => {
      const { log } = subject.store;
      const shard = `${newCollection().id}.0`;
      await log.append(entry(shard, 1));
      const [found] = await log.read(shard, 0, MIB);
      structuredClone(found.body, { transfer: [found.body.buffer] });
      expect(found.head.hash).toEqual(head(1).hash);
      const newest = await log.head(shard);
      newest!.hash.fill(0);
      expect(await log.head(shard)).toEqual(head(1));
      expect(await log.read(shard, 0, MIB)).toMatchObject([{ seq: 1 }]);
    });
  });
}
