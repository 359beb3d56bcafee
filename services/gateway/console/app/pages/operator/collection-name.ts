import { VisibleText } from '../../components/visible-text.ts';
import { html } from '../../html.ts';
import { hrefOf } from '../../shell/route.ts';

interface CollectionNameProps {
  /** `<account id>/<name>`; null if the collection was deleted. */
  name: string | null;
  id: string;
}

/** A collection of any account, which leads to its shards. The account's id is in the title. */
export function CollectionName({ name, id }: CollectionNameProps) {
  if (name === null)
    return html`<span title=${id}><code>${id.slice(0, 8)}…</code> <span class="muted">(deleted)</span></span>`;
  const at = name.indexOf('/');
  return html`<a class="row-link" title=${name} href=${hrefOf(['operator', 'shards'], { collection: id })}>
    <${VisibleText} value=${name.slice(at + 1)} max=${64} />
  </a> <span class="muted extra">of <a href=${hrefOf(['operator', 'accounts', name.slice(0, at)])}><code>${name.slice(0, 8)}…</code></a></span>`;
}
