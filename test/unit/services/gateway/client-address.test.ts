import { BlockList } from 'node:net';
import { expect, test } from '@jest/globals';
import { networksSetting } from '../../../../process/config-values.ts';
import { clientAddressOf } from '../../../../services/gateway/client-address.ts';

const addressOf = (trusted: BlockList, remoteAddress: string | undefined, forwarded?: string): string => {
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
  return clientAddressOf({ headers, socket: { remoteAddress } }, trusted);
};
const TRUSTED = networksSetting('127.0.0.1, 10.0.0.0/8, fd00::/8');

test.each([
  ['without a header', '127.0.0.1', undefined, '127.0.0.1'],
  ['from a trusted proxy', '127.0.0.1', '203.0.113.7', '203.0.113.7'],
  ['from a trusted proxy, written as IPv6', '::ffff:127.0.0.1', '203.0.113.7', '203.0.113.7'],
  ['through several', '127.0.0.1', '203.0.113.7, 10.1.2.3, fd00::1', '203.0.113.7'],
  ['an IPv6 client', '10.0.0.1', '2001:db8::7', '2001:db8::7'],
  ['what the client wrote itself is ignored', '127.0.0.1', '192.0.2.1, 203.0.113.7', '203.0.113.7'],
  ['from another sender', '203.0.113.9', '192.0.2.1', '203.0.113.9'],
  ['something that is no address', '127.0.0.1', 'unknown', '127.0.0.1'],
  ['something that is no address, behind a proxy', '127.0.0.1', '<script>, 10.1.2.3', '10.1.2.3'],
  ['empty', '127.0.0.1', '', '127.0.0.1'],
  ['an address with a port', '127.0.0.1', '203.0.113.7:4711', '127.0.0.1'],
  ['a closed connection', undefined, '203.0.113.7', ''],
])('%s', (_what, remote, forwarded, expected) => {
  expect(addressOf(TRUSTED, remote, forwarded)).toBe(expected);
});

test('without trusted proxies the header counts for nothing', () => {
  expect(addressOf(new BlockList(), '127.0.0.1', '203.0.113.7')).toBe('127.0.0.1');
});

test('a long chain costs no more than its last 32 addresses', () => {
  const chain = `203.0.113.7${', 10.1.2.3'.repeat(1_000)}`;
  expect(addressOf(TRUSTED, '127.0.0.1', chain)).toBe('10.1.2.3');
});
