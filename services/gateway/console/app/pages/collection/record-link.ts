import { VisibleText } from '../../components/visible-text.ts';
import { html } from '../../html.ts';
import { hrefOf } from '../../shell/route.ts';

interface RecordLinkProps {
  collection: string;
  id: string;
  namespace?: string;
}

/** Characters of an id in a row. */
const MAX = 64;

/** Returns the address of a record's page. */
const recordHref = ({ collection, id, namespace = '' }: RecordLinkProps): string =>
  hrefOf(['collections', collection, 'browse'], { ...(namespace !== '' && { namespace }), record: id });

/** A record's id, leading to the record. */
export function RecordLink(record: RecordLinkProps) {
  const { id, namespace = '' } = record;
  const isCut = id.length > MAX;
  return html`<a class="row-link" href=${recordHref(record)}>
    ${namespace !== '' && html`<span class="namespace"><${VisibleText} value=${namespace.slice(0, MAX)} /></span>`}
    <${VisibleText} value=${isCut ? id.slice(0, MAX) : id} />${isCut && '…'}
  </a>`;
}
