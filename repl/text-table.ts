import { stripVTControlCharacters, styleText } from 'node:util';
import { itemAt } from '../lib/checked-access.ts';

export interface Column<R> {
  title: string;
  /** Numbers are right-aligned. */
  isNumber?: boolean;
  cell(row: R): string;
}

/** Removes control characters: text from users must not control the terminal. */
export function printable(text: string): string {
  return stripVTControlCharacters(text).replaceAll(/\p{Cc}|\p{Cf}/gu, '?');
}

/** Formats rows in aligned columns. Titles are bold on a terminal. No line break at the end. */
export function textTable<R>(columns: readonly Column<R>[], rows: readonly R[]): string {
  const laidOut = columns.map(({ title, cell, isNumber }) => {
    const texts = [title, ...rows.map((row) => printable(cell(row)))];
    const width = Math.max(...texts.map(({ length }) => length));
    return texts.map((text) => (isNumber ? text.padStart(width) : text.padEnd(width)));
  });
  const lineAt = (at: number): string =>
    laidOut
      .map((texts) => itemAt(texts, at))
      .join('  ')
      .trimEnd();
  return [styleText('bold', lineAt(0)), ...rows.map((_, at) => lineAt(at + 1))].join('\n');
}

/** Formats `1536` as `1.5 KiB`. */
export function inBytes(bytes: number | null): string {
  if (bytes === null) return '-';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** power;
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[power]}`;
}

/** Formats `4000` as `1h 6m`. */
export function inTime(seconds: number | null): string {
  if (seconds === null) return '-';
  if (seconds < 60) return `${Math.round(seconds)}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m ${Math.round(seconds) % 60}s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours}h ${minutes % 60}m` : `${Math.floor(hours / 24)}d ${hours % 24}h`;
}

export function inNumber(value: number | null): string {
  return value === null ? '-' : value.toLocaleString('en-US', { maximumFractionDigits: 2 });
}
