import { expect, test } from '@jest/globals';
import { Provec, ProvecOperator } from '../../../../client/index.ts';

const made = (options: object) => () => new Provec({ url: 'http://x', apiKey: 'k', ...options } as never);
const URLS = ['ftp://x', 'notes', 'x:8080', 'http://me:secret@x', '', 'http://x?key=secret', 'http://:secret@x'];

test.each([...URLS, 'http://x/api/v1', 'http://', 'http://x:secret', undefined, null, 5, {}])(
  'refuses the url %j without repeating it',
  (url) => {
    expect(made({ url })).toThrow(TypeError);
    expect(made({ url })).toThrow(/^url must be the address of a Provec/);
    expect(made({ url })).not.toThrow(/secret/);
  },
);

test.each(['', 'secret\n', 'secret ü', 'two words', undefined, null, 5])(
  'refuses the key %j without repeating it',
  (key) => {
    const operator = () => new ProvecOperator({ url: 'http://x', adminToken: key as string });
    expect(made({ apiKey: key })).toThrow(/^apiKey must be/);
    expect(operator).toThrow(/^adminToken must be/);
    for (const call of [made({ apiKey: key }), operator]) expect(call).not.toThrow(/secret/);
  },
);

/** Invalid values by option. */
const WRONG: Record<string, unknown[]> = {
  timeoutMs: [0],
  retryForMs: [],
  maxRetries: [0.5],
  maxRetryAfterMs: [],
  maxAnswerBytes: [0],
  fetch: [{}],
  onWarning: [{}],
  signal: [{}],
};
/** Values that are invalid for every option. */
const NEVER = [Number.NaN, -1, Number.NEGATIVE_INFINITY, '1000', true, null, 1n];

test.each([...NEVER.filter((value) => value !== true), 'gzip', {}])('names an invalid compress: %p', (compress) => {
  expect(made({ compress })).toThrow(/^compress must be true or false\. It is /);
});

test.each(Object.entries(WRONG))('names an invalid %s, for a client and for a call', async (name, values) => {
  const notes = made({})().collection('notes');
  for (const value of [...NEVER, ...values]) {
    const says = new RegExp(`^${name} must be .*\\. It is `);
    expect(made({ [name]: value })).toThrow(TypeError);
    expect(made({ [name]: value })).toThrow(says);
    const options = { [name]: value } as object;
    for (const call of [notes.count({}, options), notes.upsert({ records: [] }, options), notes.export(options)])
      await expect(call).rejects.toThrow(says);
  }
});

test('accepts valid options', () => {
  for (const value of [1, 0.5, 1e300, Number.POSITIVE_INFINITY, undefined])
    made({ timeoutMs: value, retryForMs: value, maxRetryAfterMs: value, maxRetries: value === 0.5 ? 0 : value })();
  made({ url: 'https://x:8443/below/', retryForMs: 0, maxRetryAfterMs: 0 })();
});

test.each([undefined, null, 'http://x'])('refuses %j as options', (options) => {
  expect(() => new Provec(options as never)).toThrow(/^The options must be an object\.$/);
  expect(() => new ProvecOperator(options as never)).toThrow(/^The options must be an object\.$/);
});
