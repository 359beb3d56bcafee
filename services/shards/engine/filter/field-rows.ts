/**
 * What is asked of a row: of the bits that `cares` sets, all or one at least must be as in `wants`.
 */
export interface RowTest {
  all: boolean;
  cares: Uint32Array;
  wants: Uint32Array;
}

/** The rows of a field's conditions that the records have. */
export interface FieldRows {
  /** 32-bit words of a row. */
  readonly width: number;
  /** Whether records have to be parsed for it. */
  readonly parses: boolean;
  /** Those of the slots set in `mask`, of the 32 from `word * 32` on, whose rows pass. */
  match(word: number, mask: number, test: RowTest): number;
}

/** Those of 32 `rows` that pass, as far as they are set in `mask`. */
export function matchRows(rows: Uint32Array, width: number, mask: number, { all, cares, wants }: RowTest): number {
  let matching = 0;
  for (let i = 0; i < 32; i++) {
    if ((mask & (1 << i)) === 0) continue;
    let same = 0;
    let differs = 0;
    for (let word = 0; word < width; word++) {
      const different = (rows[i * width + word] ^ wants[word]) & cares[word];
      differs |= different;
      same |= ~different & cares[word];
    }
    if (all ? differs === 0 : same !== 0) matching |= 1 << i;
  }
  return matching;
}
