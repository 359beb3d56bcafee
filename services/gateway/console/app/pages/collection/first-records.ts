import { Button } from '../../components/button.ts';
import { CodeChoice } from '../../components/code-block.ts';
import { EmptyState } from '../../components/empty-state.ts';
import { FailureNotice } from '../../components/notice.ts';
import { announce } from '../../components/toast.ts';
import { ask, SERVICE_URL } from '../../data/service.ts';
import { useAction } from '../../data/use-action.ts';
import { html } from '../../html.ts';
import { requestCode } from './request-code.ts';
import type { TabProps } from './tab-props.ts';

const SAMPLES = 24;
const TOPICS = ['history', 'physics', 'music', 'travel'] as const;
/** Numbers of a vector in the code, where more would hide the rest. */
const SHOWN = 8;

/** Returns records around four centres, so that a query finds neighbours. */
function samples(dimensions: number) {
  const random = () => Math.random() - 0.5;
  const centres = TOPICS.map(() => Array.from({ length: dimensions }, random));
  return Array.from({ length: SAMPLES }, (_, at) => {
    const topic = at % TOPICS.length;
    return {
      id: `sample-${`${at + 1}`.padStart(2, '0')}`,
      values: centres[topic]!.map((value) => Math.round((value + random() * 0.4) * 1e4) / 1e4 || 0.01),
      metadata: { topic: TOPICS[topic]!, year: 2000 + at, text: `A sample about ${TOPICS[topic]!}` },
    };
  });
}

/** A collection without records: leads to the first ones. */
export function FirstRecords({ collection: { name, dimensions }, reload }: TabProps) {
  const write = useAction(async (signal) => {
    const records = samples(dimensions);
    await ask('upsertVectors', { path: { name }, body: { records } }, signal);
    announce(`Wrote ${SAMPLES} records.`, 'good');
    reload();
  });
  const values = Array.from({ length: Math.min(dimensions, SHOWN) }, (_, at) => (at + 1) / 10);
  const codes = requestCode(SERVICE_URL, name, 'upsert', {
    records: [{ id: 'a', values, metadata: { text: 'hello' } }],
  });
  return html`<${EmptyState} title="No records yet">
      <p>Write records with your program, import a file with <code>provec import ${name}</code>, or start with samples.</p>
      <${Button} kind="primary" isBusy=${write.isBusy} onClick=${() => write.run()}>Write ${SAMPLES} sample records<//>
      <${FailureNotice} failure=${write.failure} />
    <//>
    <section class="card">
      <h2>Your first upsert</h2>
      ${
        dimensions > SHOWN &&
        html`<p class="hint">Your vectors have ${dimensions} numbers; the example shows the first ${SHOWN}.</p>`
      }
      <${CodeChoice} codes=${codes} what="the upsert" />
    </section>`;
}
