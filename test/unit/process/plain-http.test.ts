import { expect, test } from '@jest/globals';
import { readConfig } from '../../../process/config.ts';
import { warnOfPlainHttp } from '../../../process/plain-http.ts';

const warningsWith = (environment: Record<string, string>): string[] => {
  const warnings: string[] = [];
  warnOfPlainHttp(readConfig(environment), { warn: (text: unknown) => void warnings.push(String(text)) });
  return warnings;
};

test.each(['127.0.0.1', '127.1.2.3', '::1', 'localhost'])('%s is not warned about', (host) => {
  expect(warningsWith({ PROVEC_HOST: host })).toEqual([]);
});

test.each(['0.0.0.0', '::', '10.0.0.7', 'vectors.example.com'])('%s is, unless TLS is served or in front', (host) => {
  const [warning, ...more] = warningsWith({ PROVEC_HOST: host });
  expect(more).toEqual([]);
  expect(warning).toContain(`listens on ${host} without TLS`);
  expect(warningsWith({ PROVEC_HOST: host, PROVEC_PUBLIC_URL: 'http://vectors.example.com' })).toHaveLength(1);
  expect(warningsWith({ PROVEC_HOST: host, PROVEC_PUBLIC_URL: 'https://vectors.example.com' })).toEqual([]);
  expect(warningsWith({ PROVEC_HOST: host, PROVEC_TLS_CERT: '/a.pem', PROVEC_TLS_KEY: '/b.pem' })).toEqual([]);
});
