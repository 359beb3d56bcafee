/** A row as it is stored: with what proves that the service wrote it, 64 hex digits. */
export type Sealed<Row> = Row & { seal: string };
