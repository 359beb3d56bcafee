import { useState } from 'preact/hooks';
import { html } from '../../../html.ts';
import type { TabProps } from '../tab-props.ts';
import { RecordList } from './record-list.ts';
import { RecordView } from './record-view.ts';

/** The records of a collection, and one of them. */
export default function BrowseTab({ collection, route }: TabProps) {
  const id = route.query.get('record');
  const namespace = route.query.get('namespace') ?? '';
  const [shown, setShown] = useState(namespace);
  if (id !== null)
    return html`<${RecordView} key=${`${namespace}\0${id}`} collection=${collection} id=${id} namespace=${namespace} />`;
  const filter = route.query.get('filter') ?? '';
  return html`<${RecordList} key=${filter} collection=${collection} namespace=${shown} setNamespace=${setShown} filter=${filter} />`;
}
