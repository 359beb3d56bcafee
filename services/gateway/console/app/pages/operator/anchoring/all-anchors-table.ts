import type * as Api from '../../../../../../../client/api/generated.ts';
import { durationText } from '../../../components/duration-text.ts';
import { numberText } from '../../../components/number-text.ts';
import { type Column, Table } from '../../../components/table.ts';
import { html } from '../../../html.ts';
import { AnchoringBadge } from '../anchoring-badge.ts';
import { CollectionName } from '../collection-name.ts';

type Row = Api.AnchorOverview;

const none = html`<span class="muted">–</span>`;
const numberOr = (value: number | null) => (value === null ? none : numberText.whole(value));
const ageOr = (seconds: number | null) => (seconds === null ? none : durationText(seconds));

const COLUMNS: readonly Column<Row>[] = [
  {
    title: 'Collection',
    cell: ({ collection, collectionId }) => html`<${CollectionName} name=${collection} id=${collectionId} />`,
  },
  { title: 'State', cell: ({ state }) => html`<${AnchoringBadge} state=${state} />` },
  { title: 'Newest version', isNumber: true, isExtra: true, cell: ({ wantedVersion }) => numberOr(wantedVersion) },
  { title: 'On the ledger', isNumber: true, isExtra: true, cell: ({ confirmedVersion }) => numberOr(confirmedVersion) },
  { title: 'Waits for', cell: ({ waitingSeconds }) => ageOr(waitingSeconds) },
  { title: 'Confirmed ago', isExtra: true, cell: ({ confirmedAgeSeconds }) => ageOr(confirmedAgeSeconds) },
];

/** What is on the ledger of each collection, and what waits. */
export function AllAnchorsTable({ anchors }: { anchors: readonly Row[] }) {
  return html`<${Table} label="Roots of all collections" columns=${COLUMNS} rows=${anchors}
    keyOf=${({ collectionId }: Row) => collectionId} />`;
}
