import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Button } from '../../../components/button.ts';
import { numberText } from '../../../components/number-text.ts';
import { VisibleText } from '../../../components/visible-text.ts';
import { html } from '../../../html.ts';
import { ValueText } from '../value-text.ts';
import type { MapContent } from './draw-map.ts';
import { type DragMode, MapView } from './map-view.ts';
import type { SampleRecord } from './sample-record.ts';

interface MapCanvasProps {
  content: MapContent;
  records: readonly SampleRecord[];
  /** Field that colours the map; '' for none. */
  field: string;
  onOpen(at: number): void;
  onSelect(members: number[]): void;
}

const MODES: Readonly<Record<DragMode, string>> = { move: 'Move', lasso: 'Lasso' };
const ZOOM = 1.6;
/** Half of the most that `map.css` lets a tip be wide, so that none leaves the map. */
const HALF_TIP = 'min(140px, 30%)';
/** Characters of an id beside its point. */
const ID_MAX = 48;

interface Pointed {
  at: number;
  x: number;
  y: number;
}

/** The canvas of a map with its tools. */
export function MapCanvas({ content, records, field, onOpen, onSelect }: MapCanvasProps) {
  const id = useId();
  const canvas = useRef<HTMLCanvasElement>(null);
  const view = useRef<MapView | null>(null);
  const [mode, setMode] = useState<DragMode>('move');
  const [pointed, setPointed] = useState<Pointed | null>(null);
  const opened = useRef(onOpen);
  opened.current = onOpen;
  useEffect(() => {
    const made = new MapView(canvas.current!, {
      pointed: (at, x, y) => setPointed(at < 0 ? null : { at, x, y }),
      opened: (at) => opened.current(at),
      selected: onSelect,
    });
    view.current = made;
    return () => made.dispose();
  }, []);
  useEffect(() => view.current!.show(content), [content]);
  const choose = (next: DragMode) => {
    // At once, since an effect would come after a drag that follows quickly.
    view.current!.mode = next;
    setMode(next);
  };
  return html`<div class="card map-card">
    <${MapTools} mode=${mode} setMode=${choose} view=${() => view.current!} />
    <div class="map-place">
      <canvas
        ref=${canvas}
        class=${mode === 'lasso' ? 'map-lasso' : undefined}
        tabindex="0"
        role="application"
        aria-roledescription="map"
        aria-label=${`Map of ${numberText.count(records.length, 'record')}`}
        aria-describedby=${`${id}-keys`}
      ></canvas>
      ${pointed !== null && html`<${MapTip} record=${records[pointed.at]!} field=${field} place=${pointed} />`}
    </div>
    <p class="hint" id=${`${id}-keys`}>
      Wheel, pinch or <kbd>+</kbd> <kbd>−</kbd> zoom, <kbd>0</kbd> shows all, arrows move. <kbd>n</kbd> and <kbd>p</kbd> step through
      the records in view, <kbd>Enter</kbd> opens one. Shift and drag selects.
    </p>
  </div>`;
}

interface MapToolsProps {
  mode: DragMode;
  setMode(mode: DragMode): void;
  view(): MapView;
}

function MapTools({ mode, setMode, view }: MapToolsProps) {
  return html`<div class="map-tools">
    <div class="segments" role="group" aria-label="A drag">
      ${Object.entries(MODES).map(
        ([name, text]) => html`<button type="button" aria-pressed=${name === mode ? 'true' : 'false'}
          onClick=${() => setMode(name as DragMode)}>${text}</button>`,
      )}
    </div>
    <${Button} onClick=${() => view().selectView()}>Select all in view<//>
    <span class="map-zoom">
      <${Button} label="Zoom out" onClick=${() => view().zoom(1 / ZOOM)}>−<//>
      <${Button} label="Zoom in" onClick=${() => view().zoom(ZOOM)}>+<//>
      <${Button} onClick=${() => view().fit()}>Show all<//>
    </span>
  </div>`;
}

/** The record that is pointed at, beside its point, or at the bottom for the keyboard. */
function MapTip({ record: { id, fields }, field, place }: { record: SampleRecord; field: string; place: Pointed }) {
  const isAtPointer = place.x !== 0 || place.y !== 0;
  const left = `clamp(${HALF_TIP}, ${place.x}px, calc(100% - ${HALF_TIP}))`;
  const style = isAtPointer ? { left, top: `${place.y}px` } : {};
  return html`<div class=${isAtPointer ? 'map-tip map-tip-free' : 'map-tip'} role="status" style=${style}>
    <strong><${VisibleText} value=${id.slice(0, ID_MAX)} />${id.length > ID_MAX && '…'}</strong>
    ${field !== '' && html`<span><${ValueText} value=${fields.get(field)} /></span>`}
  </div>`;
}
