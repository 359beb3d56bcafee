/** What the console hands to the verifier, as texts of JSON. */
interface Handover {
  proof: string;
  /** The record on the page; empty if there is none. */
  record: string;
}

const CHANNEL = 'provec-handover-';
const HASH = /^#from=([0-9a-f-]{36})$/;
/** Time in ms during which the verifier may ask for a proof. */
const OFFERED_MS = 60_000;

/**
 * Offers a proof to a page of this origin in this browser, and returns the hash that the page finds
 * it by. No request and no storage has it.
 */
export function offerHandover(handover: Handover): string {
  const name = crypto.randomUUID?.() ?? uuidOf(crypto.getRandomValues(new Uint8Array(16)));
  const channel = new BroadcastChannel(CHANNEL + name);
  channel.onmessage = () => channel.postMessage(handover);
  setTimeout(() => channel.close(), OFFERED_MS);
  return `#from=${name}`;
}

/** Takes what the address offers, if it does; returns a function that stops waiting for it. */
export function takeHandover(take: (handover: Handover) => void): () => void {
  const [, name] = HASH.exec(location.hash) ?? [];
  if (name === undefined) return () => undefined;
  const channel = new BroadcastChannel(CHANNEL + name);
  channel.onmessage = ({ data }: MessageEvent<Handover>) => {
    channel.close();
    take(data);
  };
  channel.postMessage(null);
  return () => channel.close();
}

/** `randomUUID` is missing on pages without https. */
const uuidOf = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0'))
    .join('')
    .replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, '$1-$2-$3-$4-$5');
