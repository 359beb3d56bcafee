/** The part of the plane that a canvas shows: a point of the plane is at `x * scale + left`. */
export interface Viewport {
  /** Pixels for a unit of the plane. */
  scale: number;
  left: number;
  top: number;
}

export interface Size {
  width: number;
  height: number;
}

/** Pixels around the points when all are in view. */
const MARGIN = 24;
const ZOOM_MAX = 400;

/** Returns the view with all points in it. */
export function fitted(points: Float32Array, { width, height }: Size): Viewport {
  const low = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  const high = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let at = 0; at < points.length; at++) {
    low[at % 2] = Math.min(low[at % 2]!, points[at]!);
    high[at % 2] = Math.max(high[at % 2]!, points[at]!);
  }
  const room = (pixels: number, at: number) => Math.max(1, pixels - 2 * MARGIN) / (high[at]! - low[at]!);
  const scale = Math.min(room(width, 0), room(height, 1));
  const known = Number.isFinite(scale) && scale > 0 ? scale : 1;
  const middle = (at: number) => (points.length === 0 ? 0 : (low[at]! + high[at]!) / 2);
  return { scale: known, left: width / 2 - middle(0) * known, top: height / 2 - middle(1) * known };
}

/** Zooms around a pixel, which keeps its place; between the whole map and many times that. */
export function zoomed(view: Viewport, factor: number, x: number, y: number, whole: Viewport): Viewport {
  const scale = Math.min(Math.max(view.scale * factor, whole.scale / 2), whole.scale * ZOOM_MAX);
  const by = scale / view.scale;
  return { scale, left: x - (x - view.left) * by, top: y - (y - view.top) * by };
}

/** Returns the number of the point nearest to a pixel, within a distance; -1 for none. */
export function nearestPoint(points: Float32Array, view: Viewport, x: number, y: number, distance: number): number {
  let nearest = -1;
  let least = distance ** 2;
  for (let at = 0; at < points.length; at += 2) {
    const square = (points[at]! * view.scale + view.left - x) ** 2 + (points[at + 1]! * view.scale + view.top - y) ** 2;
    if (square > least) continue;
    least = square;
    nearest = at / 2;
  }
  return nearest;
}

/** Returns the numbers of the points inside a polygon, given as pixels one after another. */
export function pointsInside(points: Float32Array, view: Viewport, polygon: readonly number[]): number[] {
  const found: number[] = [];
  for (let at = 0; at < points.length; at += 2)
    if (isInside(points[at]! * view.scale + view.left, points[at + 1]! * view.scale + view.top, polygon))
      found.push(at / 2);
  return found;
}

/** Whether a ray to the right crosses the polygon an odd number of times. */
function isInside(x: number, y: number, polygon: readonly number[]): boolean {
  let inside = false;
  for (let at = 0, before = polygon.length - 2; at < polygon.length; before = at, at += 2) {
    const [x1, y1, x2, y2] = [polygon[at]!, polygon[at + 1]!, polygon[before]!, polygon[before + 1]!];
    if (y1 > y !== y2 > y && x < ((x2 - x1) * (y - y1)) / (y2 - y1) + x1) inside = !inside;
  }
  return inside;
}
