import { printable } from '../../client/cli/printable.ts';
import type { Api } from '../../client/index.ts';
import { green, red } from '../output/table.ts';
import type { Contradiction } from './contradiction.ts';

/** What a watch reports. With --json, each is a line. */
export type WatchEvent = { at: string; collection: string; collectionId: string } & (
  | { event: 'watching'; version: number; merkleRoot: string; anchoredVersion: number | null }
  | ({ event: 'anchored' } & Pick<Api.Anchor, 'version' | 'merkleRoot' | 'vectorCount' | 'ledgerTx' | 'confirmedAt'>)
  | { event: 'verified'; version: number; merkleRoot: string }
  | { event: 'unverified'; state: string; reason: string }
  | { event: 'deleted' }
  | ({ event: 'alarm' } & Contradiction)
);

/** Returns the line for people. */
export function eventLine(event: WatchEvent): string {
  return `${event.at}  ${printable(event.collection)}  ${textOf(event)}`;
}

function textOf(event: WatchEvent): string {
  switch (event.event) {
    case 'watching':
      return `watching from version ${event.version}, ${event.anchoredVersion === null ? 'no anchor yet' : `anchored version ${event.anchoredVersion}`}`;
    case 'anchored':
      return `anchored version ${event.version}, root ${event.merkleRoot}, transaction ${printable(event.ledgerTx)}`;
    case 'verified':
      return `${green('verified')} version ${event.version}, root ${event.merkleRoot}`;
    case 'unverified':
      return `not verified (${printable(event.state)}): ${printable(event.reason)}`;
    case 'deleted':
      return 'deleted, or out of sight of this key';
    case 'alarm':
      return `${red('ALARM')} ${event.reason}: ${printable(event.message)}`;
  }
}
