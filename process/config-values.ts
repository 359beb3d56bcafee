/** Parsers of configuration values, given as text in a variable or in a file that it names. */

import { readFileSync } from 'node:fs';
import { BlockList, isIP } from 'node:net';
import { systemCode } from '../lib/host/system-error.ts';

/** Its message completes "<NAME> must be ...". */
export class InvalidSetting extends Error {}

/** Throws InvalidSetting. */
export const invalidSetting = (expected: string): never => {
  throw new InvalidSetting(expected);
};

/** Parses a whole number from `min` to `max`. */
export function integerSetting(fallback: () => number, min: number, max: number): (raw: string | undefined) => number {
  return (raw) => {
    if (raw === undefined) return fallback();
    if (!/^\d{1,12}$/.test(raw)) invalidSetting(`a whole number from ${min} to ${max}`);
    const value = Number(raw);
    return value >= min && value <= max ? value : invalidSetting(`a whole number from ${min} to ${max}`);
  };
}

/** Parses one of `values`. */
export function choiceSetting<T extends string>(values: readonly T[], fallback: T): (raw: string | undefined) => T {
  return (raw) => {
    if (raw === undefined) return fallback;
    return values.find((value) => value === raw) ?? invalidSetting(`one of ${values.join(', ')}`);
  };
}

/** Splits at commas and drops empty parts. */
export function listSetting(raw: string | undefined): string[] {
  return (raw ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** Parses IP addresses and networks in CIDR notation, separated by commas. */
export function networksSetting(raw: string | undefined): BlockList {
  const networks = new BlockList();
  for (const part of listSetting(raw)) {
    const [address = '', bits, ...more] = part.split('/');
    const version = isIP(address);
    const maxBits = version === 4 ? 32 : 128;
    const length = bits === undefined ? maxBits : /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN;
    if (version === 0 || more.length > 0 || !(length <= maxBits))
      return invalidSetting('IP addresses or networks such as 10.0.0.0/8, separated by commas');
    networks.addSubnet(address, length, version === 4 ? 'ipv4' : 'ipv6');
  }
  return networks;
}

const isHttpUrl = (raw: string): boolean => URL.canParse(raw) && /^https?:$/.test(new URL(raw).protocol);

/** Returns an http or https URL unchanged. */
export function httpUrl(raw: string): string {
  return isHttpUrl(raw) ? raw : invalidSetting('an http or https URL');
}

/** Parses one or more http or https URLs, separated by commas. */
export function httpUrls(raw: string): string[] {
  const urls = listSetting(raw);
  return urls.length > 0 && urls.every(isHttpUrl) ? urls : invalidSetting('http or https URLs, separated by commas');
}

/** Returns a MongoDB URL unchanged. */
export function mongoUrl(raw: string): string {
  return /^mongodb(\+srv)?:\/\/[^/?\s]+(\/\S*)?$/.test(raw) ? raw : invalidSetting('a mongodb or mongodb+srv URL');
}

/** Returns a Redis URL unchanged. */
export function redisUrl(raw: string): string {
  const url = URL.canParse(raw) ? new URL(raw) : null;
  return url && /^rediss?:$/.test(url.protocol) && url.hostname !== '' ? raw : invalidSetting('a redis or rediss URL');
}

/** Parses a token that clients can send in a header; null if unset. */
export function token(raw: string | undefined): string | null {
  const isToken = raw === undefined || /^[\x21-\x7e]{16,256}$/.test(raw);
  return isToken ? (raw ?? null) : invalidSetting('16 to 256 printable ASCII characters without spaces');
}

/** Parses a bearer token of another service; null if unset. */
export function bearer(raw: string | undefined): string | null {
  const isBearer = raw === undefined || /^[\x21-\x7e]{1,4096}$/.test(raw);
  return isBearer ? (raw ?? null) : invalidSetting('1 to 4096 printable ASCII characters without spaces');
}

export function json(raw: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(raw);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Not JSON: refused below, as any other value is.
  }
  return invalidSetting('a JSON object');
}

/** Returns the text of a file, trimmed. Throws InvalidSetting, which never contains that text. */
export function textOfFile(path: string): string {
  let text: string;
  try {
    text = readFileSync(path, 'utf8').trim();
  } catch (error) {
    const code = systemCode(error);
    return invalidSetting(
      `the value, but ${code === 'ENOENT' ? 'it does not exist' : `Provec cannot read it (${code})`}`,
    );
  }
  return text === '' ? invalidSetting('the value, but it is empty') : text;
}
