import fc from 'fast-check';

/** Strings whose UTF-16 order differs from their UTF-8 order. */
const ODD = ['\ufffd', '\u{1f600}', '\u{1f600}a', '\ue000'];
const scalar = fc.constantFrom<unknown>(0, -0, 1, 2.5, -3, 1e300, '', 'a', 'b', '1', 'ü', true, false, null, ...ODD);
const list = fc.array(fc.oneof(scalar, fc.constant({ a: 1 }), fc.constant(['a'])), { maxLength: 4 });
const leafObject = fc.dictionary(fc.constantFrom('a', 'b', '', '__proto__'), fc.oneof(scalar, list), { maxKeys: 3 });
const value = fc.oneof({ weight: 4, arbitrary: scalar }, list, leafObject, fc.record({ a: leafObject }));
export const fieldName = fc.constantFrom(
  'a',
  'b',
  'a.b',
  'a.a.b',
  '',
  '.',
  '__proto__',
  'constructor',
  'b.',
  'a.__proto__',
);
/** Metadata whose fields sometimes match `filter`, including names that trip naive code. */
export const metadata = fc
  .array(fc.tuple(fieldName, value), { maxLength: 5 })
  .map((members) => Object.fromEntries(members));

const condition = fc.oneof(
  fc.record({ $eq: scalar }),
  fc.record({ $ne: scalar }),
  fc.record({ $in: fc.array(scalar, { maxLength: 4 }) }),
  fc.record({ $nin: fc.array(scalar, { maxLength: 4 }) }),
  fc.record({ $exists: fc.boolean() }),
  ...['$gt', '$gte', '$lt', '$lte'].map((relation) =>
    fc.constantFrom<unknown>(0, 1, 2.4, 'a', '', ...ODD).map((operand) => ({ [relation]: operand })),
  ),
);
const field = fc
  .tuple(
    fieldName,
    fc.oneof(
      { weight: 3, arbitrary: condition },
      scalar,
      condition.map(($not) => ({ $not })),
    ),
  )
  .map((member) => Object.fromEntries([member]));
/** A filter as a client sends it. */
export const { filter } = fc.letrec<{ filter: Record<string, unknown> }>((tie) => ({
  filter: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    { weight: 3, arbitrary: field },
    fc.array(tie('filter'), { minLength: 1, maxLength: 3 }).map(($and) => ({ $and })),
    fc.array(tie('filter'), { minLength: 1, maxLength: 3 }).map(($or) => ({ $or })),
    tie('filter').map(($not) => ({ $not })),
  ),
}));
