import type { Descriptions } from './operation.ts';
import {
  integerSchema,
  listSchema,
  MORE,
  nullableSchema,
  type OpenApiSchema,
  type OpenApiSchemas,
  object,
  ref,
  textSchema,
  time,
} from './schema.ts';

const position = integerSchema('Position in the trail, from 1 and without gaps.', { minimum: 1 });
const HASH = { pattern: '^[0-9a-f]{64}$' };
const nullableText = (description: string): OpenApiSchema => nullableSchema(textSchema(description));
const values = (description: string): OpenApiSchema =>
  nullableSchema({ type: 'object', description, additionalProperties: true });

const CHANGE: OpenApiSchemas = {
  id: textSchema('UUID of the change; both of its entries have it.'),
  at: time(),
  phase: textSchema('`begin` before the change is made, `end` after it.', { enum: ['begin', 'end'] }),
  action: textSchema('What was to be changed, such as `key.create`.'),
};
const BEGIN: OpenApiSchemas = {
  actor: object(
    {
      type: textSchema("`key`, `operator` for the operator's token, or `console`.", {
        enum: ['key', 'operator', 'console'],
      }),
      accountId: textSchema('Account of the key.'),
      keyId: textSchema('Id of the key.'),
      node: textSchema('Node that the console joined as.'),
    },
    ['accountId', 'keyId', 'node'],
  ),
  node: textSchema('Node that makes the change.'),
  address: nullableText('Address that the request came from. Null for a console.'),
  requestId: nullableText('X-Request-Id of the response. Null for a console.'),
  accountId: nullableText('Account that is changed. Null for the service itself.'),
  target: nullableText('Id or name of what is changed. Null for something new.'),
  asked: values('What the request asked for.'),
  before: values('Values before the change.'),
};
const END: OpenApiSchemas = {
  outcome: textSchema('`refused`: the request got a 4xx. `failed`: it got a 5xx, and the change may have been made.', {
    enum: ['done', 'refused', 'failed'],
  }),
  code: nullableText('Code of the error. Null if there was none.'),
  after: values('Values after the change.'),
};

export const AUDIT_SCHEMAS: OpenApiSchemas = {
  AuditEntry: object(
    {
      seq: position,
      ...CHANGE,
      ...BEGIN,
      ...END,
      previousHash: textSchema('`hash` of the entry before this one.', HASH),
      hash: textSchema('SHA-256 of the entry, as docs/audit.md describes.', HASH),
      fault: textSchema('What shows that the trail was changed; absent if nothing does.'),
    },
    [...Object.keys(CHANGE), ...Object.keys(BEGIN), ...Object.keys(END), 'fault'],
  ),
  AuditHead: object({ seq: position, hash: textSchema('Hash of the newest entry.', HASH) }, [], {
    description: 'Newest entry of the trail; absent if it has none. Keep it to notice if entries vanish.',
  }),
  AuditEntries: object(
    {
      entries: listSchema(ref('AuditEntry')),
      head: ref('AuditHead'),
      nextCursor: MORE,
    },
    ['head', 'nextCursor'],
  ),
};

/** Description of an account's own trail. */
export const AUDIT_DESCRIPTIONS: Descriptions = {
  'keys.auditPage': [
    'listAuditEntries',
    "List the changes made with the account's keys, oldest first",
    ref('AuditEntries'),
    'The newest 10,000 entries are kept.',
  ],
};

/** Description of the operator's view of all trails. */
export const OPERATOR_AUDIT_DESCRIPTIONS: Descriptions = {
  'keys.auditPage': [
    'listAllAuditEntries',
    'List the changes made with the operator token or at a console, oldest first',
    ref('AuditEntries'),
    "With `account`, lists those made with that account's keys, also after the account was deleted.",
  ],
};
