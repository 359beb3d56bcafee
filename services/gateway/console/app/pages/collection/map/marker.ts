/** Shapes of the points of a map, so that colour is never the only sign of a group. */

/** What a shape needs of a canvas. */
interface Outline {
  moveTo(x: number, y: number): void;
  lineTo(x: number, y: number): void;
  arc(x: number, y: number, radius: number, from: number, to: number): void;
  rect(x: number, y: number, width: number, height: number): void;
  closePath(): void;
}

/** Adds a shape around a point; `r`: half its size. */
type Marker = (to: Outline, x: number, y: number, r: number) => void;

function polygon(corners: readonly (readonly [number, number])[]): Marker {
  return (to, x, y, r) => {
    for (const [at, [dx, dy]] of corners.entries())
      if (at === 0) to.moveTo(x + dx * r, y + dy * r);
      else to.lineTo(x + dx * r, y + dy * r);
    to.closePath();
  };
}

const circle: Marker = (to, x, y, r) => {
  to.moveTo(x + r, y);
  to.arc(x, y, r, 0, 2 * Math.PI);
};
const square: Marker = (to, x, y, r) => to.rect(x - r * 0.9, y - r * 0.9, r * 1.8, r * 1.8);
const T = 0.38;

/** In the order of the groups; the rest are circles, too. */
export const MARKERS: readonly Marker[] = [
  circle,
  polygon([
    [0, -1.15],
    [1.1, 0.8],
    [-1.1, 0.8],
  ]),
  square,
  polygon([
    [0, -1.3],
    [1.1, 0],
    [0, 1.3],
    [-1.1, 0],
  ]),
  polygon([
    [-T, -1.1],
    [T, -1.1],
    [T, -T],
    [1.1, -T],
    [1.1, T],
    [T, T],
    [T, 1.1],
    [-T, 1.1],
    [-T, T],
    [-1.1, T],
    [-1.1, -T],
    [-T, -T],
  ]),
  polygon([
    [0, 1.15],
    [-1.1, -0.8],
    [1.1, -0.8],
  ]),
  polygon([
    [0, -1.3],
    [0.35, -0.35],
    [1.3, 0],
    [0.35, 0.35],
    [0, 1.3],
    [-0.35, 0.35],
    [-1.3, 0],
    [-0.35, -0.35],
  ]),
];
export const REST_MARKER: Marker = circle;

/** Returns a shape as the path of a picture, for a legend; its middle is at 0. */
export function markerPath(marker: Marker, r: number): string {
  const parts: string[] = [];
  const place = (x: number, y: number) => `${x.toFixed(2)} ${y.toFixed(2)}`;
  marker(
    {
      moveTo: (x, y) => parts.push(`M${place(x, y)}`),
      lineTo: (x, y) => parts.push(`L${place(x, y)}`),
      closePath: () => parts.push('Z'),
      arc: (x, y, radius) =>
        parts.push(
          `A${place(radius, radius)} 0 1 1 ${place(x - radius, y)}A${place(radius, radius)} 0 1 1 ${place(x + radius, y)}`,
        ),
      rect: (x, y, width, height) =>
        parts.push(`M${place(x, y)}h${width.toFixed(2)}v${height.toFixed(2)}h${(-width).toFixed(2)}Z`),
    },
    0,
    0,
    r,
  );
  return parts.join('');
}
