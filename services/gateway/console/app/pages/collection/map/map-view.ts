import { drawMap, type MapContent, themeOf } from './draw-map.ts';
import { fitted, nearestPoint, pointsInside, type Size, type Viewport, zoomed } from './viewport.ts';

/** What a drag does: it moves the map, or draws a lasso. */
export type DragMode = 'move' | 'lasso';

interface MapEvents {
  /** A point is pointed at, at a pixel of the canvas; -1 for none. */
  pointed(at: number, x: number, y: number): void;
  opened(at: number): void;
  selected(members: number[]): void;
}

/** Distance in pixels at which a point is pointed at. */
const NEAR = 12;
/** Pixels that a pointer may move and still click. */
const CLICK_SLACK = 4;
const KEY_PAN = 48;
const KEY_ZOOM = 1.4;

/** A map on a canvas: draws it once a frame at most, and follows pointers, wheel and keys. */
export class MapView {
  mode: DragMode = 'move';
  readonly #canvas: HTMLCanvasElement;
  readonly #events: MapEvents;
  readonly #leaving = new AbortController();
  /** Pointers that are down, by their ids, with their pixels. */
  readonly #down = new Map<number, { x: number; y: number }>();
  #content: MapContent = { points: new Float32Array(0), colouring: { kind: 'plain' }, selected: new Set() };
  #size: Size = { width: 0, height: 0 };
  #view: Viewport = { scale: 1, left: 0, top: 0 };
  #whole: Viewport = this.#view;
  #pointed = -1;
  #lasso: number[] = [];
  /** Length in pixels of the path since the pointer went down. */
  #moved = 0;
  #frame = 0;

  constructor(canvas: HTMLCanvasElement, events: MapEvents) {
    this.#canvas = canvas;
    this.#events = events;
    const on = <K extends keyof HTMLElementEventMap>(name: K, act: (event: HTMLElementEventMap[K]) => void) =>
      canvas.addEventListener(name, act, { signal: this.#leaving.signal, passive: false });
    on('pointerdown', (event) => this.#press(event));
    on('pointermove', (event) => this.#move(event));
    on('pointerup', (event) => this.#release(event, true));
    on('pointercancel', (event) => this.#release(event, false));
    on('pointerleave', () => this.#point(-1, 0, 0));
    on('wheel', (event) => this.#wheel(event));
    on('keydown', (event) => this.#key(event));
    const resizes = new ResizeObserver(() => this.#resize());
    const themes = new MutationObserver(() => this.#draw());
    resizes.observe(canvas);
    themes.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#draw(), {
      signal: this.#leaving.signal,
    });
    this.#leaving.signal.addEventListener('abort', () => {
      resizes.disconnect();
      themes.disconnect();
      cancelAnimationFrame(this.#frame);
    });
  }

  /** Shows other content; other points are fitted into view. */
  show(content: MapContent): void {
    const isMoved = content.points !== this.#content.points;
    this.#content = content;
    if (isMoved) {
      this.#point(-1, 0, 0);
      this.fit();
    } else this.#draw();
  }

  /** Brings all points into view. */
  fit(): void {
    this.#whole = fitted(this.#content.points, this.#size);
    this.#view = this.#whole;
    this.#draw();
  }

  /** Zooms around the middle. */
  zoom(factor: number): void {
    this.#zoomAt(factor, this.#size.width / 2, this.#size.height / 2);
  }

  /** Selects all points in view: the lasso of those who use no pointer. */
  selectView(): void {
    const { width, height } = this.#size;
    this.#events.selected(pointsInside(this.#content.points, this.#view, [0, 0, width, 0, width, height, 0, height]));
  }

  dispose(): void {
    this.#leaving.abort();
  }

  #resize(): void {
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    if (width === 0 || (width === this.#size.width && height === this.#size.height)) return;
    this.#canvas.width = Math.round(width * devicePixelRatio);
    this.#canvas.height = Math.round(height * devicePixelRatio);
    this.#size = { width, height };
    this.fit();
  }

  #draw(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => {
      const context = this.#canvas.getContext('2d');
      if (context === null || this.#size.width === 0) return;
      context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
      const overlay = { pointed: this.#pointed, lasso: this.#lasso };
      drawMap(context, this.#size, this.#view, this.#content, overlay, themeOf(this.#canvas));
    });
  }

  #point(at: number, x: number, y: number): void {
    if (at === this.#pointed) return;
    this.#pointed = at;
    this.#events.pointed(at, x, y);
    this.#draw();
  }

  #press(event: PointerEvent): void {
    if (event.button !== 0) return;
    this.#canvas.setPointerCapture(event.pointerId);
    const place = { x: event.offsetX, y: event.offsetY };
    this.#down.set(event.pointerId, place);
    if (this.#down.size > 1) this.#lasso = [];
    else {
      this.#moved = 0;
      this.#lasso = this.#isLasso(event) ? [place.x, place.y] : [];
    }
  }

  #isLasso(event: PointerEvent): boolean {
    return this.mode === 'lasso' || event.shiftKey;
  }

  #move(event: PointerEvent): void {
    const place = { x: event.offsetX, y: event.offsetY };
    const before = this.#down.get(event.pointerId);
    if (before === undefined) {
      if (event.pointerType !== 'touch') this.#pointNear(place.x, place.y);
      return;
    }
    this.#moved += Math.hypot(place.x - before.x, place.y - before.y);
    const others = [...this.#down].filter(([id]) => id !== event.pointerId);
    this.#down.set(event.pointerId, place);
    if (others.length > 0) this.#pinch(before, place, others[0]![1]);
    else if (this.#lasso.length > 0) this.#lasso.push(place.x, place.y);
    else this.#pan(place.x - before.x, place.y - before.y);
    this.#draw();
  }

  #pinch(from: { x: number; y: number }, to: { x: number; y: number }, other: { x: number; y: number }): void {
    const distance = (place: { x: number; y: number }) => Math.max(1, Math.hypot(place.x - other.x, place.y - other.y));
    this.#pan((to.x - from.x) / 2, (to.y - from.y) / 2);
    this.#zoomAt(distance(to) / distance(from), (to.x + other.x) / 2, (to.y + other.y) / 2);
  }

  #release(event: PointerEvent, isDone: boolean): void {
    if (!this.#down.delete(event.pointerId)) return;
    const lasso = this.#lasso;
    this.#lasso = [];
    this.#draw();
    if (!isDone) return;
    const { offsetX: x, offsetY: y } = event;
    if (this.#moved <= CLICK_SLACK) {
      const at = nearestPoint(this.#content.points, this.#view, x, y, NEAR);
      // A finger shows the point first, since it did not hover over it; a second tap opens it.
      const isOpened = at >= 0 && (event.pointerType !== 'touch' || at === this.#pointed);
      if (isOpened) this.#events.opened(at);
      else this.#point(at, x, y);
    } else if (lasso.length > 0) this.#events.selected(pointsInside(this.#content.points, this.#view, lasso));
  }

  #pointNear(x: number, y: number): void {
    const at = nearestPoint(this.#content.points, this.#view, x, y, NEAR);
    this.#canvas.style.cursor = at >= 0 ? 'pointer' : '';
    this.#point(at, x, y);
  }

  #wheel(event: WheelEvent): void {
    event.preventDefault();
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    this.#zoomAt(Math.exp((-event.deltaY * lines) / 400), event.offsetX, event.offsetY);
  }

  #zoomAt(factor: number, x: number, y: number): void {
    this.#view = zoomed(this.#view, factor, x, y, this.#whole);
    this.#point(-1, 0, 0);
    this.#draw();
  }

  #pan(x: number, y: number): void {
    this.#view = { ...this.#view, left: this.#view.left + x, top: this.#view.top + y };
    this.#draw();
  }

  #key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = this.#actionOf(event.key);
    if (act === null) return;
    event.preventDefault();
    act();
  }

  #actionOf(key: string): (() => void) | null {
    const actions: Readonly<Record<string, () => void>> = {
      ArrowLeft: () => this.#pan(KEY_PAN, 0),
      ArrowRight: () => this.#pan(-KEY_PAN, 0),
      ArrowUp: () => this.#pan(0, KEY_PAN),
      ArrowDown: () => this.#pan(0, -KEY_PAN),
      '+': () => this.zoom(KEY_ZOOM),
      '=': () => this.zoom(KEY_ZOOM),
      '-': () => this.zoom(1 / KEY_ZOOM),
      '0': () => this.fit(),
      n: () => this.#step(1),
      p: () => this.#step(-1),
      Enter: () => this.#pointed >= 0 && this.#events.opened(this.#pointed),
      Escape: () => this.#events.selected([]),
    };
    return Object.hasOwn(actions, key) ? actions[key]! : null;
  }

  /** Points at the next record in view, in the order of their ids. */
  #step(by: number): void {
    const { points } = this.#content;
    const count = points.length / 2;
    const { width, height } = this.#size;
    for (let tried = 1; tried <= count; tried++) {
      const from = this.#pointed < 0 && by < 0 ? 0 : this.#pointed;
      const at = (((from + by * tried) % count) + count) % count;
      const x = points[at * 2]! * this.#view.scale + this.#view.left;
      const y = points[at * 2 + 1]! * this.#view.scale + this.#view.top;
      if (x < 0 || y < 0 || x > width || y > height) continue;
      // Keyboards have no pointer, so the text stays at its place.
      this.#point(at, 0, 0);
      return;
    }
  }
}
