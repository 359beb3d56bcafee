import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { html } from '../html.ts';
import { numberText } from './number-text.ts';

interface TimeChartProps {
  /** In order of time. */
  points: readonly { seconds: number; value: number }[];
  label: string;
}

const HEIGHT = 160;
const STYLE = new URL('uPlot.min.css', import.meta.resolve('uplot')).href;

/** The course of a number over time. Follows the theme and the width of its place. */
export default function TimeChart({ points, label }: TimeChartProps) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current!;
    const chart = new uPlot(
      optionsFor(element, label),
      [points.map(({ seconds }) => seconds), points.map(({ value }) => value)],
      element,
    );
    const redraw = () => chart.redraw();
    const resizes = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: HEIGHT }));
    const themes = new MutationObserver(redraw);
    resizes.observe(element);
    themes.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    const system = matchMedia('(prefers-color-scheme: dark)');
    system.addEventListener('change', redraw);
    return () => {
      resizes.disconnect();
      themes.disconnect();
      system.removeEventListener('change', redraw);
      chart.destroy();
    };
  }, [points, label]);
  return html`<link rel="stylesheet" href=${STYLE} />
    <div class="time-chart" ref=${place} role="img" aria-label=${`${label} over time; the table below has the numbers`}></div>`;
}

function optionsFor(element: HTMLElement, label: string): uPlot.Options {
  const colour = (name: 'color' | 'borderTopColor' | 'outlineColor') => () => getComputedStyle(element)[name];
  const axis = {
    stroke: colour('outlineColor'),
    grid: { stroke: colour('borderTopColor'), width: 1 },
    ticks: { show: false },
    font: '12px system-ui, sans-serif',
  };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false },
    scales: { y: { range: (_, __, max) => [0, Math.max(max, 1) * 1.1] } },
    axes: [axis, { ...axis, size: 56, values: (_, ticks) => ticks.map(numberText.short) }],
    series: [{}, { label, stroke: colour('color'), width: 2, points: { size: 5 } }],
  };
}
