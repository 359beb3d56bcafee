/** A row with its seal, 64 hex digits, which proves that the service wrote it. */
export type Sealed<Row> = Row & { seal: string };
