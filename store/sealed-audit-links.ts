/**
 * Audit links under seals: a forged link, or one that was moved to another collection or account or
 * whose expiry was changed, shows nothing. A person with write access to the store can restore a
 * revoked link, but cannot make one.
 */
import type { MacPayload, Seals } from '../lib/secret/seals.ts';
import type { AuditLinkRow, AuditLinkStore, StoredAuditLinks } from './audit-links.ts';
import type { ForgedRows } from './forged-rows.ts';
import type { Sealed } from './sealed.ts';

export function sealedAuditLinks(stored: StoredAuditLinks, seals: Seals, forged: ForgedRows): AuditLinkStore {
  const ifValid = (row: Sealed<AuditLinkRow>): AuditLinkRow[] => {
    const { seal, ...link } = row;
    if (seals.verifyHex(payloadOfAuditLink(link), seal)) return [link];
    forged.report('audit link', link.id);
    return [];
  };
  return {
    create: (row, maxLinks) => stored.create({ ...row, seal: seals.sealHex(payloadOfAuditLink(row)) }, maxLinks),
    async findByHash(hash) {
      const found = await stored.findByHash(hash);
      return found?.hash === hash ? (ifValid(found)[0] ?? null) : null;
    },
    async list(collectionId) {
      const links = (await stored.list(collectionId)).flatMap(ifValid);
      const own = links.filter((link) => link.collectionId === collectionId);
      return own.sort((a, b) => (a.createdAt === b.createdAt ? 0 : a.createdAt < b.createdAt ? 1 : -1));
    },
    remove: (collectionId, id) => stored.remove(collectionId, id),
  };
}

/** Returns what the seal of an audit link covers. */
export function payloadOfAuditLink(link: AuditLinkRow): MacPayload {
  const { id, accountId, collectionId, hash, label, createdAt, expiresAt } = link;
  return ['audit link', id, accountId, collectionId, hash, label, createdAt, expiresAt];
}
