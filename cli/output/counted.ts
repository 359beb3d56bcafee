/** Returns a number of records in words, such as `1 record` or `2,000 records`. */
export const countedRecords = (count: number): string =>
  `${count.toLocaleString('en')} ${count === 1 ? 'record' : 'records'}`;

/** The same with its verb, such as `1 record was` or `2,000 records were`. */
export const recordsWere = (count: number): string => `${countedRecords(count)} ${count === 1 ? 'was' : 'were'}`;
