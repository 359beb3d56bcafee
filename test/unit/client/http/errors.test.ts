import { expect, test } from '@jest/globals';
import { errorOf } from '../../../../client/http/errors.ts';
import { APIStatusError, ProvecError, ServerError } from '../../../../client/index.ts';
import { ERROR_TABLE } from '../../../../lib/errors.ts';

test.each(Object.entries(ERROR_TABLE))('%s has its own error class', (code, { status }) => {
  const body = { error: 'A sentence.', code, status, requestId: 'r1' };
  const error = errorOf(new Response(null, { status }), JSON.stringify(body));
  expect(error).toBeInstanceOf(ProvecError);
  expect(error).toBeInstanceOf(APIStatusError);
  expect(error).toMatchObject({ message: 'A sentence.', code, status, requestId: 'r1', details: [] });
  expect(error instanceof ServerError).toBe(['INTERNAL', 'NOT_IMPLEMENTED'].includes(code));
  expect(error.name).toBe(error.constructor.name);
});

test.each([-5, 'soon', null, []])('ignores an invalid Retry-After: %j', (retryAfterSeconds) => {
  for (const header of ['Wed, 32 Oct', 'soon', '']) {
    const response = new Response(null, { status: 503, headers: { 'retry-after': header } });
    const body = { error: 'A sentence.', code: 'UNAVAILABLE', retryAfterSeconds };
    const error = errorOf(response, JSON.stringify(body));
    expect([null, 0]).toContain(error.retryAfterSeconds);
  }
});

test('accepts a date in Retry-After', () => {
  const told = (moment: number) => {
    const headers = { 'retry-after': new Date(moment).toUTCString() };
    return errorOf(new Response(null, { status: 503, headers }), 'a proxy').retryAfterSeconds;
  };
  expect(told(Date.now() + 20_000)).toBeGreaterThan(15);
  expect(told(Date.now() + 20_000)).toBeLessThanOrEqual(20);
  expect(told(0)).toBe(0);
});

test.each(['', '<html>', 'null', '{"error": {"code": 1}}', '{"error": "only"}'])(
  'the answer %j comes from another service',
  (text) => {
    expect(errorOf(new Response(null, { status: 404 }), text)).toMatchObject({
      name: 'NotFoundError',
      code: null,
      requestId: null,
      message: expect.stringContaining("not Provec's"),
    });
  },
);
