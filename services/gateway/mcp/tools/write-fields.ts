import type { WriteResult } from '../../../../contracts/actions/collections.ts';

/** Returns the members of a write's answer that an agent can use. */
export const writeFields = ({ merkleRoot, version, vectorCount, anchor }: WriteResult) => ({
  merkleRoot,
  version,
  vectorCount,
  anchor: anchor.status,
});
