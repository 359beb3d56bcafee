import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../../../components/button.ts';
import { ErrorState } from '../../../components/error-state.ts';
import { Notice } from '../../../components/notice.ts';
import { Time } from '../../../components/time.ts';
import { Waiting } from '../../../components/waiting.ts';
import { type Live, useLive } from '../../../data/use-live.ts';
import { html } from '../../../html.ts';
import { NodeTable } from '../nodes/node-table.ts';
import { AlertList } from './alert-list.ts';
import { alertsOf } from './alerts.ts';
import { type FigureSample, LiveFigures, sampleOf } from './live-figures.ts';
import { hasTrouble, type Reading, Readings, readStanding } from './reading.ts';

const FIGURES_EVERY_MS = 5_000;
/** Time in ms to the second read, which the first rates need. */
const SECOND_READ_MS = 1_000;
const STANDING_EVERY_MS = 30_000;
/** Samples in the lines beside the figures: five minutes. */
const SAMPLES = 60;

/** How the service is now, and what needs attention. */
export default function OverviewTab() {
  const [isPaused, setPaused] = useState(false);
  const readings = useRef(new Readings());
  const [hasRates, setRates] = useState(false);
  const live = useLive((signal) => readings.current.next(signal), {
    everyMs: hasRates ? FIGURES_EVERY_MS : SECOND_READ_MS,
    isPaused,
  });
  const samples = useSamples(live);
  const { value, failure, readNow } = live;
  useEffect(() => setRates(value !== null && value.figures?.rates !== null), [value]);
  if (value === null) {
    if (failure !== null) return html`<${ErrorState} failure=${failure} onRetry=${readNow} />`;
    return html`<${Waiting} what="the figures" />`;
  }
  return html`<${Alerts} key=${hasTrouble(value.nodes) ? 'trouble' : 'calm'} reading=${value} isPaused=${isPaused} />
    <section class="card">
      <div class="card-head">
        <h2>Live</h2>
        <${Button} onClick=${() => setPaused(!isPaused)}>${isPaused ? 'Go on' : 'Pause'}<//>
      </div>
      ${
        value.refusal === null
          ? html`<${LiveFigures} samples=${samples} />`
          : html`<${Notice} tone="waiting"><strong>Live figures cannot be read.</strong> ${value.refusal}<//>`
      }
      <${Caption} live=${live} isPaused=${isPaused} />
    </section>
    <section class="card">
      <h2>Nodes</h2>
      <${NodeTable} nodes=${value.nodes.shardNodes} />
    </section>`;
}

/** Keeps the figures of the last minutes. */
function useSamples({ value, readMs }: Live<Reading>): readonly FigureSample[] {
  const [samples, setSamples] = useState<readonly FigureSample[]>([]);
  useEffect(() => {
    if (value?.figures) {
      const sample = sampleOf(value);
      setSamples((before) => [...before, sample].slice(-SAMPLES));
    }
  }, [value, readMs]);
  return samples;
}

function Alerts({ reading, isPaused }: { reading: Reading; isPaused: boolean }) {
  const { nodes, figures, levels } = reading;
  const isInTrouble = hasTrouble(nodes);
  const { value, failure, readNow } = useLive((signal) => readStanding(isInTrouble, signal), {
    everyMs: STANDING_EVERY_MS,
    isPaused,
  });
  if (value === null) {
    if (failure !== null) return html`<${ErrorState} failure=${failure} onRetry=${readNow} />`;
    return html`<${Waiting} what="the alerts" />`;
  }
  return html`<${AlertList} alerts=${alertsOf({ ...value, nodes, figures, levels })} />`;
}

function Caption({ live: { failure, readMs, value }, isPaused }: { live: Live<Reading>; isPaused: boolean }) {
  const gateways = value?.nodes.others.filter(({ services }) => services.includes('gateway')).length ?? 0;
  const at = html`<${Time} at=${new Date(readMs).toISOString()} isToTheSecond />`;
  if (failure !== null)
    return html`<${Notice} tone="waiting"><strong>${failure.title}.</strong> These figures are of ${at}. The page tries again by itself.<//>`;
  return html`<p class="hint">
    ${isPaused ? 'Paused.' : 'Read every five seconds while this page is in sight.'} Last read ${at}.
    ${gateways > 1 && html` Requests are those of the gateway that answered, one of ${gateways}.`}
  </p>`;
}
