/** Media type of newline-delimited JSON, as exports are sent and imports should be. */
export const NDJSON_TYPE = 'application/x-ndjson';
