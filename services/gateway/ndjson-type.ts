/** Media type of newline-delimited JSON, for exports and imports. */
export const NDJSON_TYPE = 'application/x-ndjson';
