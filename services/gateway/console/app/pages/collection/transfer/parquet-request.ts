import type { ColumnMapping, ParquetColumn } from './parquet-mapping.ts';

/** Request to the worker that reads Parquet: the columns first, then parts, one at a time. */
export type ParquetRequest = { kind: 'open'; file: Blob } | { kind: 'read'; mapping: ColumnMapping; fromRow: number };

/** The worker's answer. */
export type ParquetAnswer =
  | { kind: 'opened'; rows: number; columns: ParquetColumn[] }
  /** Lines of the rows from `fromRow` on, counted from 0. */
  | { kind: 'part'; lines: string; fromRow: number; rows: number }
  /** The file or a row cannot be used. */
  | { kind: 'failed'; message: string };
