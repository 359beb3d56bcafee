import { expect, test } from '@jest/globals';
import { acceptedCoding } from '../../../../../services/gateway/codings/accepted-coding.ts';
import { Asset } from '../../../../../services/gateway/codings/asset.ts';

test.each([
  ['', ''],
  ['identity', ''],
  ['gzip', 'gzip'],
  ['gzip, deflate, br', 'br'],
  ['GZIP;q=0.5', 'gzip'],
  ['br;q=0, gzip', 'gzip'],
  ['br; q=0.000,gzip;q=0', ''],
  ['br;q=0.001', 'br'],
  ['*', ''],
  ['brotli', ''],
])('a client that accepts "%s" gets "%s"', (accepted, coding) => {
  expect(acceptedCoding(accepted, ['br', 'gzip'])).toBe(coding === '' ? null : coding);
});

test('all responses share the bytes of a coding', async () => {
  const asset = new Asset('text/plain', 'text '.repeat(1_000));
  for (const accepted of ['', 'gzip', 'br']) {
    const [one, other] = await Promise.all([asset.bodyFor(accepted), asset.bodyFor(accepted)]);
    expect(one.body).toBe(other.body);
    expect((await asset.bodyFor(accepted)).body).toBe(one.body);
  }
});
