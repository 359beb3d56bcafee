import type { Colouring } from './colouring.ts';
import { MARKERS, REST_MARKER } from './marker.ts';
import { DARK, LIGHT, type Palette, rampColour } from './palette.ts';
import type { Size, Viewport } from './viewport.ts';

/** What a map shows. */
export interface MapContent {
  /** Two numbers for each record. */
  points: Float32Array;
  colouring: Colouring;
  /** Numbers of the selected records. */
  selected: ReadonlySet<number>;
}

/** What is drawn over the points. */
export interface MapOverlay {
  /** The point that is pointed at; -1 for none. */
  pointed: number;
  /** Pixels of the lasso one after another. */
  lasso: readonly number[];
}

/** Colours of the page around a map. */
export interface MapTheme {
  palette: Palette;
  text: string;
  surface: string;
  accent: string;
}

const RADIUS_MIN = 2;
const RADIUS_MAX = 5;
const RAMP_STEPS = 24;
/** Opacity of what is not selected while something is. */
const FADED = 0.25;
const OPACITY = 0.85;

/** Reads the colours that a canvas must use now; its style has them. */
export function themeOf(canvas: HTMLCanvasElement): MapTheme {
  const { color: text, backgroundColor: surface, outlineColor: accent } = getComputedStyle(canvas);
  const channels = surface.match(/[\d.]+/g)?.map(Number) ?? [];
  const isDark = channels.slice(0, 3).reduce((sum, one) => sum + one, 0) < 3 * 128;
  return { palette: isDark ? DARK : LIGHT, text, surface, accent };
}

/** Draws a map. Points of one colour are one path, which is what makes thousands quick. */
export function drawMap(
  context: CanvasRenderingContext2D,
  size: Size,
  view: Viewport,
  content: MapContent,
  overlay: MapOverlay,
  theme: MapTheme,
): void {
  context.clearRect(0, 0, size.width, size.height);
  const count = content.points.length / 2;
  const room = Math.sqrt((size.width * size.height) / Math.max(1, count));
  const radius = Math.min(RADIUS_MAX, Math.max(RADIUS_MIN, room / 4));
  const classes = classesOf(content.colouring, count, theme.palette);
  const hasSelection = content.selected.size > 0;
  for (const isTop of hasSelection ? [false, true] : [true]) {
    context.globalAlpha = isTop ? OPACITY : FADED;
    for (const { marker, colour, isHollow, members } of classes) {
      context.beginPath();
      for (const at of members) {
        if (hasSelection && content.selected.has(at) !== isTop) continue;
        const x = content.points[at * 2]! * view.scale + view.left;
        const y = content.points[at * 2 + 1]! * view.scale + view.top;
        if (x < -radius || y < -radius || x > size.width + radius || y > size.height + radius) continue;
        marker(context, x, y, radius);
      }
      context.fillStyle = colour;
      context.strokeStyle = colour;
      if (isHollow) context.stroke();
      else context.fill();
    }
  }
  context.globalAlpha = 1;
  drawOverlay(context, view, content, overlay, theme, radius);
}

function drawOverlay(
  context: CanvasRenderingContext2D,
  view: Viewport,
  { points }: MapContent,
  { pointed, lasso }: MapOverlay,
  theme: MapTheme,
  radius: number,
): void {
  context.lineWidth = 2;
  if (pointed >= 0) {
    const [x, y] = [points[pointed * 2]! * view.scale + view.left, points[pointed * 2 + 1]! * view.scale + view.top];
    context.strokeStyle = theme.text;
    context.beginPath();
    context.arc(x, y, radius + 4, 0, 2 * Math.PI);
    context.stroke();
  }
  if (lasso.length >= 4) {
    context.strokeStyle = theme.accent;
    context.setLineDash([6, 4]);
    context.beginPath();
    for (let at = 0; at < lasso.length; at += 2) context.lineTo(lasso[at]!, lasso[at + 1]!);
    context.closePath();
    context.stroke();
    context.setLineDash([]);
  }
  context.lineWidth = 1;
}

interface PointClass {
  marker: (typeof MARKERS)[number];
  colour: string;
  isHollow: boolean;
  members: number[];
}

/** Returns the points by colour and shape in the order of drawing: small groups come last. */
function classesOf(colouring: Colouring, count: number, palette: Palette): PointClass[] {
  const all = Array.from({ length: count }, (_, at) => at);
  if (colouring.kind === 'plain')
    return [{ marker: REST_MARKER, colour: palette.groups[0]!, isHollow: false, members: all }];
  const rest = { marker: REST_MARKER, colour: palette.rest };
  if (colouring.kind === 'groups') {
    const classes = colouring.groups.map(({ kind }, at) => ({
      ...(kind === 'value' ? { marker: MARKERS[at]!, colour: palette.groups[at]! } : rest),
      isHollow: kind === 'missing',
      members: [] as number[],
    }));
    for (const at of all) classes[colouring.groupOf[at]!]!.members.push(at);
    const rankOf = (at: number) => (colouring.groups[at]!.kind === 'value' ? 1 : 0);
    return classes
      .map((one, at) => ({ one, at }))
      .sort((left, right) => rankOf(left.at) - rankOf(right.at))
      .map(({ one }) => one);
  }
  const steps = Array.from({ length: RAMP_STEPS }, (_, at) => ({
    marker: REST_MARKER,
    colour: rampColour(palette.ramp, at / (RAMP_STEPS - 1)),
    isHollow: false,
    members: [] as number[],
  }));
  const missing = { ...rest, isHollow: true, members: [] as number[] };
  for (const at of all) {
    const share = colouring.shareOf[at]!;
    (Number.isNaN(share) ? missing : steps[Math.round(share * (RAMP_STEPS - 1))]!).members.push(at);
  }
  return [missing, ...steps];
}
