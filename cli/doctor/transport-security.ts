/** Checks whether keys travel over TLS, and how long the certificate is valid. */
import { once } from 'node:events';
import { connect } from 'node:tls';
import { isOtherMachine } from '../plain-http.ts';
import { type Finding, findingsOf } from './finding.ts';

const TIMEOUT_MS = 10_000;
const DAY_MS = 86_400_000;
const RENEW_DAYS = 14;

export async function tlsFinding(address: string, signal: AbortSignal): Promise<Finding> {
  const { ok, problem, unknown } = findingsOf('tls');
  const url = new URL(address);
  if (url.protocol === 'http:')
    return isOtherMachine(url)
      ? problem(`Keys and data go to ${url.host} without encryption: put TLS in front of the gateway, and use https.`)
      : ok(`${url.host} is this machine, so nothing leaves it.`);
  try {
    return certificateFinding(url.host, await expiryOf(url, signal), Date.now());
  } catch (error) {
    signal.throwIfAborted();
    return unknown(`The certificate of ${url.host} could not be read: ${(error as Error).message}.`);
  }
}

/** Checks a certificate that is valid until a time, in ms. */
export function certificateFinding(host: string, untilMs: number, nowMs: number): Finding {
  const { ok, warning, problem } = findingsOf('tls');
  const days = Math.floor((untilMs - nowMs) / DAY_MS);
  if (untilMs <= nowMs) return problem(`The certificate of ${host} has expired: renew it.`);
  if (days < RENEW_DAYS) return warning(`The certificate of ${host} expires in ${days} days: renew it.`);
  return ok(`The certificate of ${host} is valid for ${days} more days.`);
}

async function expiryOf({ hostname, port }: URL, signal: AbortSignal): Promise<number> {
  const host = hostname.replace(/^\[|\]$/g, '');
  // Accepts any certificate, even an expired one, because nothing is sent.
  const socket = connect({ host, port: Number(port || 443), servername: host, rejectUnauthorized: false });
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]) });
    return Date.parse(socket.getPeerCertificate().valid_to);
  } finally {
    socket.destroy();
  }
}
