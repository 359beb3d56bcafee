import { html } from '../html.ts';

const LOCAL = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const SECOND = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });

interface TimeProps {
  /** ISO 8601 in UTC. */
  at: string;
  isDay?: boolean;
  isToTheSecond?: boolean;
}

/** A time in the reader's zone, with UTC on hover. */
export function Time({ at, isDay = false, isToTheSecond = false }: TimeProps) {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return html`<span>${at}</span>`;
  return html`<time class="time" datetime=${at} title=${`${at.replace('T', ' ').replace(/(\.\d+)?Z$/, '')} UTC`}>
    ${(isDay ? DAY : isToTheSecond ? SECOND : LOCAL).format(date)}
  </time>`;
}
