import { expect } from '@jest/globals';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/**
 * Matches a refusal with exactly this status and these members in its body. `extras`: members that
 * only some codes have.
 */
export function refusal(status: number, code: string, extras: Record<string, unknown> = {}) {
  return {
    status,
    headers: expect.any(Headers),
    body: {
      error: expect.stringMatching(/^\S.{15,}[^\s]$/),
      code,
      status,
      requestId: expect.stringMatching(UUID),
      ...extras,
    },
  };
}

/** Matches a 400 whose details name exactly these fields, in this order. */
export function refusalOf(...paths: string[]) {
  const detail = (path: string) => ({ path, expected: expect.any(String), got: expect.any(String) });
  return refusal(400, 'INVALID_ARGUMENT', { details: paths.map(detail) });
}
