import { hash, randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import type { AuditLinkRow } from '../../store/audit-links.ts';
import type { StoreUnderTest } from './store-contract.ts';
import { at } from './store-rows.ts';

function link(change: Partial<AuditLinkRow> = {}): AuditLinkRow {
  const id = randomUUID();
  return {
    id,
    accountId: randomUUID(),
    collectionId: randomUUID(),
    hash: hash('sha256', id),
    label: null,
    createdAt: at(0),
    expiresAt: null,
    ...change,
  };
}

export function auditLinksContract(subject: StoreUnderTest): void {
  describe('audit links', () => {
    test('a link is found by its hash, listed for its collection and removed once', async () => {
      const { auditLinks } = subject.store;
      const collectionId = randomUUID();
      const rows = [
        link({ collectionId, createdAt: at(1), label: "it's \u{1f517}" }),
        link({ collectionId, createdAt: at(3), expiresAt: at(9) }),
        link({ collectionId, createdAt: at(2) }),
      ];
      const other = link();
      for (const row of [...rows, other]) expect(await auditLinks.create(row, 3)).toBe('created');
      for (const row of [...rows, other]) expect(await auditLinks.findByHash(row.hash)).toEqual(row);
      expect(await auditLinks.findByHash(hash('sha256', 'unknown'))).toBeNull();
      expect(await auditLinks.list(collectionId)).toEqual([rows[1], rows[2], rows[0]]);
      expect(await auditLinks.list(randomUUID())).toEqual([]);
      expect(await auditLinks.remove(other.collectionId, rows[0]!.id)).toBe(false);
      expect(await auditLinks.remove(collectionId, rows[0]!.id)).toBe(true);
      expect(await auditLinks.remove(collectionId, rows[0]!.id)).toBe(false);
      expect(await auditLinks.findByHash(rows[0]!.hash)).toBeNull();
      expect(await auditLinks.list(other.collectionId)).toEqual([other]);
    });

    test('a collection has at most so many links, and they go with its data', async () => {
      const collectionId = randomUUID();
      const rows = [link({ collectionId }), link({ collectionId })];
      const other = link();
      await subject.store.auditLinks.create(other, 1);
      for (const row of rows) expect(await subject.store.auditLinks.create(row, 2)).toBe('created');
      expect(await subject.store.auditLinks.create(link({ collectionId }), 2)).toBe('limit');
      const { auditLinks } = await subject.reopen();
      expect(await auditLinks.list(collectionId)).toHaveLength(2);
      await subject.store.dropCollectionData(collectionId);
      await subject.store.dropCollectionData(collectionId);
      expect(await subject.store.auditLinks.list(collectionId)).toEqual([]);
      expect(await subject.store.auditLinks.findByHash(rows[0]!.hash)).toBeNull();
      expect(await subject.store.auditLinks.findByHash(other.hash)).toEqual(other);
    });

    test('a link that someone else wrote shows nothing, and can be removed', async () => {
      const { auditLinks } = subject.store;
      const own = link();
      await auditLinks.create(own, 9);
      const forged = link({ collectionId: own.collectionId, accountId: own.accountId });
      await subject.forge((store) => store.auditLinks.create(forged, 9));
      expect(await subject.store.auditLinks.findByHash(forged.hash)).toBeNull();
      expect(await subject.store.auditLinks.list(own.collectionId)).toEqual([own]);
      expect(await subject.store.auditLinks.remove(own.collectionId, forged.id)).toBe(true);
    });
  });
}
