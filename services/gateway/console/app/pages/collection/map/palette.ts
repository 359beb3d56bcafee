/** Colours of a map. Each differs from the surface by 3:1, and from the others for all eyes. */
export interface Palette {
  /** Colours of the groups, in order. */
  groups: readonly string[];
  /** Colour of all other values, and of the ring for no value. */
  rest: string;
  /** From the least number to the most. */
  ramp: readonly string[];
}

export const LIGHT: Palette = {
  groups: ['#003edf', '#c28600', '#09754e', '#9a420a', '#2694fe', '#643f64', '#311c6c'],
  rest: '#868e9c',
  ramp: ['#c98300', '#c2603f', '#9b3f6b', '#6a2f7f', '#2d1e6b'],
};
export const DARK: Palette = {
  groups: ['#8dc6ff', '#e4b41e', '#35c796', '#ff6f4e', '#4e80da', '#f07ed5', '#f5e663'],
  rest: '#868f9e',
  ramp: ['#6f63d6', '#a76bd0', '#df7aa8', '#f6a878', '#fbe38a'],
};

/** Returns the colour at a place between 0 and 1 of a ramp. */
export function rampColour(ramp: readonly string[], share: number): string {
  const place = Math.min(1, Math.max(0, share)) * (ramp.length - 1);
  const at = Math.min(ramp.length - 2, Math.floor(place));
  const [from, to] = [channelsOf(ramp[at]!), channelsOf(ramp[at + 1]!)];
  return `#${from.map((one, index) => hexOf(one + (to[index]! - one) * (place - at))).join('')}`;
}

const channelsOf = (colour: string): number[] => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
const hexOf = (channel: number): string => Math.round(channel).toString(16).padStart(2, '0');
