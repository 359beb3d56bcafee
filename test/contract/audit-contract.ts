import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { type AuditStore, OPERATOR_TRAIL } from '../../store/audit.ts';
import { KEPT_ENTRIES } from '../../store/chained-audit.ts';
import { until } from '../support/until.ts';
import type { StoreUnderTest } from './store-contract.ts';

/** Enough to trim a trail once. */
const MANY = KEPT_ENTRIES + 2_000;
const AT_ONCE = 500;

async function appendMany(audit: AuditStore, trail: string, count: number): Promise<void> {
  for (let from = 1; from <= count; from += AT_ONCE) {
    const numbers = Array.from({ length: Math.min(AT_ONCE, count - from + 1) }, (_, index) => from + index);
    await Promise.all(numbers.map((number) => audit.append(trail, { number })));
  }
}

const numbersOf = ({ items }: Awaited<ReturnType<AuditStore['page']>>) => items.map(({ entry }) => entry?.number);
const faultsOf = ({ items }: Awaited<ReturnType<AuditStore['page']>>) => items.map(({ fault }) => fault);

export function auditContract(subject: StoreUnderTest): void {
  describe('audit trails', () => {
    test('entries are kept in order, in pages, each with the hash of the one before', async () => {
      const [mine, other] = [randomUUID(), randomUUID()];
      expect(await subject.store.audit.page(mine, 0, 10)).toEqual({ items: [], head: null });
      await appendMany(subject.store.audit, mine, 5);
      await subject.store.audit.append(other, { number: 99 });
      const { audit } = await subject.reopen();
      await audit.append(mine, { number: 6, name: 'Grüße 😀 " \n' });
      const first = await audit.page(mine, 0, 4);
      const rest = await audit.page(mine, 4, 4);
      expect([first, rest].map(numbersOf)).toEqual([
        [1, 2, 3, 4],
        [5, 6],
      ]);
      const items = [...first.items, ...rest.items];
      expect(items.map(({ seq, fault }) => [seq, fault])).toEqual([1, 2, 3, 4, 5, 6].map((seq) => [seq, null]));
      expect(items.slice(1).map(({ previous }) => previous)).toEqual(items.slice(0, -1).map(({ hash }) => hash));
      expect(rest.head).toEqual({ seq: 6, hash: items[5]!.hash });
      expect(items[5]!.entry).toEqual({ number: 6, name: 'Grüße 😀 " \n' });
      expect(await audit.page(mine, 6, 4)).toEqual({ items: [], head: rest.head });
      expect(numbersOf(await audit.page(other, 0, 4))).toEqual([99]);
    });

    test('an entry of someone without the secret is reported, and the trail continues after it', async () => {
      const trail = randomUUID();
      await subject.store.audit.append(trail, { number: 1 });
      await subject.forge((store) => store.audit.append(trail, { number: 'forged' }));
      await subject.store.audit.append(trail, { number: 3 });
      const page = await subject.store.audit.page(trail, 0, 10);
      expect(numbersOf(page)).toEqual([1, undefined, 3]);
      expect(faultsOf(page)).toEqual([null, 'The service did not write this entry.', null]);
    });

    test('an account’s trail keeps its newest entries, the operator’s keeps all', async () => {
      const trail = randomUUID();
      const { audit } = subject.store;
      await appendMany(audit, trail, MANY);
      const oldest = MANY - KEPT_ENTRIES + 1;
      await until('it is trimmed', async () => numbersOf(await audit.page(trail, 0, 1))[0] === oldest);
      const page = await audit.page(trail, 0, 10);
      expect(page.head!.seq).toBe(MANY);
      expect(faultsOf(page)).toEqual(page.items.map(() => null));
      expect(faultsOf(await audit.page(trail, 5, 10))).toEqual(page.items.map(() => null));

      const before = (await audit.page(OPERATOR_TRAIL, 0, 1)).head?.seq ?? 0;
      await appendMany(audit, OPERATOR_TRAIL, MANY);
      expect((await audit.page(OPERATOR_TRAIL, 0, 1)).items[0]!.seq).toBe(1);
      expect((await audit.page(OPERATOR_TRAIL, 0, 1)).head!.seq).toBe(before + MANY);
    });
  });
}
