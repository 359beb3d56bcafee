/** Generates JSON in spellings that parsers and printers get wrong, from random numbers. */
const { floor } = Math;

const NUMBERS = [
  ...[
    '0',
    '-0',
    '-0.0',
    '0e99',
    '1',
    '1.0',
    '10e-1',
    '1e0',
    '1E+2',
    '100',
    '-1.50',
    '0.1',
    '1e-6',
    '0.000001',
    '1e-7',
    '1E-7',
  ],
  ...['1e20', '1e21', '-1e21', '1E+21', '123456789012345680000', '1234567890123456789012', '9007199254740991'],
  ...[
    '9007199254740993',
    '-9007199254740993',
    '12345678901234567890123456789012345678901234567890',
    '5e-324',
    '4.9e-324',
  ],
  ...[
    '2.2250738585072011e-308',
    '2.2250738585072014e-308',
    '1.7976931348623157e308',
    '1e-400',
    '-1e-400',
    '333333333.33333329',
  ],
  ...[
    '0.30000000000000004',
    '2.5e-5',
    '1.2345678901234567e-5',
    '4503599627370496.5',
    '295147905179352825855',
    '1e23',
    '8.5e22',
  ],
];

/**
 * Includes values that are hard for float32: midpoints between two of its numbers, values that
 * underflow, and its largest number.
 */
const VALUES = [
  ...[
    '0',
    '-0',
    '-0.0',
    '1',
    '-2.5',
    '0.1',
    '1e-40',
    '-1e-46',
    '1e-46',
    '-7.006492321624085e-46',
    '7.006492321624086e-46',
  ],
  ...[
    '16777217',
    '16777219',
    '1.00000005960464477539062500001',
    '1.000000059604644775390625',
    '1.1754943508222875e-38',
  ],
  ...[
    '3.4028234663852886e38',
    '-3.4028235677973362e38',
    '3.4028235E+38',
    '0.30000000000000004',
    '1E-7',
    '123456789e-8',
  ],
];

/**
 * Code points of every kind: controls, quotes, line ends, combining characters, noncharacters, and
 * beyond the BMP.
 */
const RANGES: readonly (readonly [first: number, count: number])[] = [
  [0x00, 0x20],
  [0x20, 0x60],
  [0x80, 0x80],
  [0x300, 0x20],
  [0x2028, 2],
  [0x3b1, 0x20],
  [0xd7f0, 0x10],
  [0xe000, 0x10],
  [0xfeff, 1],
  [0xff00, 0x100],
  [0x1f600, 0x40],
  [0x10fff0, 0x10],
];
const KEYS = [
  '',
  'a',
  'b',
  '1',
  '10',
  '9',
  '\uff21',
  '😀',
  '\ufb33',
  '€',
  '\r',
  '"',
  '\\',
  '\u0000',
  'é',
  'e\u0301',
  'constructor',
];
const ESCAPES: Readonly<Record<string, string>> = {
  '\b': '\\b',
  '\t': '\\t',
  '\n': '\\n',
  '\f': '\\f',
  '\r': '\\r',
  '/': '\\/',
};
const LEVELS_MAX = 5;

export class AwkwardJson {
  readonly #random: () => number;
  readonly #hasKeysTwice: boolean;

  /** `hasKeysTwice`: objects may repeat a key, which the service refuses. */
  constructor(random: () => number, hasKeysTwice = true) {
    this.#random = random;
    this.#hasKeysTwice = hasKeysTwice;
  }

  below(bound: number): number {
    return floor(this.#random() * bound);
  }

  oneOf<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }

  text(maxChars: number): string {
    const chars = Array.from({ length: this.below(maxChars + 1) }, () => {
      const [first, count] = this.oneOf(RANGES);
      return String.fromCodePoint(first + this.below(count));
    });
    return chars.join('');
  }

  /** Returns one of the ways to write a string in JSON. */
  written(text: string): string {
    const units = Array.from(text, (char) => {
      const hex = () => Array.from({ length: char.length }, (_, at) => `\\u${this.#hex(char.charCodeAt(at))}`).join('');
      if (char === '"' || char === '\\') return this.below(2) === 0 ? `\\${char}` : hex();
      if (char in ESCAPES && this.below(2) === 0) return ESCAPES[char]!;
      return char < ' ' || this.below(6) === 0 ? hex() : char;
    });
    return `"${units.join('')}"`;
  }

  #hex(unit: number): string {
    const hex = unit.toString(16).padStart(4, '0');
    return this.below(2) === 0 ? hex : hex.toUpperCase();
  }

  /** Returns a double of any size; half of them are common numbers. */
  number(): string {
    if (this.below(2) === 0) return this.oneOf(NUMBERS);
    for (;;) {
      const bits = new DataView(new ArrayBuffer(8));
      bits.setUint32(0, this.below(2 ** 32));
      bits.setUint32(4, this.below(2 ** 32));
      const number = bits.getFloat64(0);
      if (Number.isFinite(number)) return this.#spelled(number);
    }
  }

  /** Returns a number that float32 represents exactly or rounds. */
  value(): string {
    if (this.below(3) === 0) return this.oneOf(VALUES);
    for (;;) {
      const bits = new DataView(new ArrayBuffer(8));
      bits.setUint32(0, this.below(2 ** 32));
      const exact = bits.getFloat32(0);
      const number = this.below(2) === 0 ? exact : exact * (1 + this.#random() / 1e7);
      if (Number.isFinite(Math.fround(number))) return this.#spelled(number);
    }
  }

  #spelled(number: number): string {
    const spellings = [
      String(number),
      number.toExponential(),
      number.toExponential().toUpperCase(),
      number.toPrecision(25),
    ];
    return this.oneOf(spellings);
  }

  #space(): string {
    return this.oneOf(['', '', ' ', '\n', '\t\r ']);
  }

  any(level = 0): string {
    const kind = this.below(level < LEVELS_MAX ? 8 : 5);
    if (kind < 2) return this.number();
    if (kind < 4) return this.written(this.text(12));
    if (kind === 4) return this.oneOf(['null', 'true', 'false']);
    return kind === 5 ? this.#list(level) : this.object(level);
  }

  #list(level: number): string {
    const items = Array.from({ length: this.below(4) }, () => `${this.#space()}${this.any(level + 1)}${this.#space()}`);
    return `[${items.join(',')}]`;
  }

  /** A repeated key may be spelt differently each time. */
  object(level = 0): string {
    const drawn = Array.from({ length: this.below(6) }, () => (this.below(2) === 0 ? this.oneOf(KEYS) : this.text(6)));
    const members = (this.#hasKeysTwice ? drawn : [...new Set(drawn)]).map((key) => {
      return `${this.#space()}${this.written(key)}${this.#space()}:${this.#space()}${this.any(level + 1)}`;
    });
    return `{${members.join(',')}${this.#space()}}`;
  }
}
