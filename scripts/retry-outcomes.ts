/**
 * Response when a successful request is sent again, by operation; only operations whose response
 * does not say so by a count of records (`test/api/sent-again`). `isHarmless`: clients may retry it
 * automatically. When the outcome of the first request is unknown, only the caller can interpret
 * another response.
 */
export const RETRY_OUTCOMES: Readonly<Record<string, { answer: string; isHarmless: boolean }>> = {
  createCollection: {
    answer: '409 `COLLECTION_EXISTS`; `GET /collections/{name}` shows whether it is the one you want',
    isHarmless: false,
  },
  updateCollection: { answer: 'the same answer', isHarmless: true },
  deleteCollection: { answer: '404 `COLLECTION_NOT_FOUND`', isHarmless: false },
  deleteNamespace: { answer: '404 `NAMESPACE_NOT_FOUND`', isHarmless: false },
  putAlias: { answer: 'the same answer, with status 200 if the first one was 201', isHarmless: true },
  deleteAlias: { answer: '404 `ALIAS_NOT_FOUND`', isHarmless: false },
  beginVerification: { answer: 'the same one while it runs, else another', isHarmless: true },
  createAuditLink: { answer: 'another link; revoke the one whose token was lost', isHarmless: false },
  revokeAuditLink: { answer: '404 `AUDIT_LINK_NOT_FOUND`', isHarmless: false },
  createKey: { answer: 'another key; revoke the one whose secret was lost', isHarmless: false },
  revokeKey: { answer: '404 `KEY_NOT_FOUND`', isHarmless: false },
  createAccount: {
    answer: 'another account with that name; delete the one whose key was lost',
    isHarmless: false,
  },
  putPlan: { answer: 'the same answer', isHarmless: true },
  deletePlan: { answer: '404 `PLAN_NOT_FOUND`', isHarmless: false },
  changePlan: { answer: 'the same answer', isHarmless: true },
  deleteAccount: { answer: '404 `ACCOUNT_NOT_FOUND`', isHarmless: false },
  createAccountKey: { answer: 'another key; revoke the one whose secret was lost', isHarmless: false },
  revokeAccountKey: { answer: '404 `KEY_NOT_FOUND`', isHarmless: false },
  drainNode: { answer: 'the same answer', isHarmless: true },
  moveShard: { answer: 'the same answer, with the new node as `previousNode`', isHarmless: true },
  startBackup: {
    answer: '400 `INVALID_ARGUMENT` while it runs or if it has the same name, else another backup',
    isHarmless: false,
  },
  resumeAnchoring: { answer: '400 `INVALID_ARGUMENT`, because it is no longer halted', isHarmless: false },
};

/** Operations that no client may send again by itself. */
export const NON_RETRYABLE_OPERATIONS = Object.keys(RETRY_OUTCOMES).filter(
  (operation) => !RETRY_OUTCOMES[operation]!.isHarmless,
);
