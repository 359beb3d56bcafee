/** What a field can hold, as far as conditions tell it apart. */
export const ABSENT = 0;
/** Present, but equal to no scalar: an object. */
export const OTHER = 1;
export const NULL = 2;
export const FALSE = 3;
export const TRUE = 4;
export const NUMBER = 5;
export const STRING = 6;
export const LIST = 7;

export const KINDS = 8;

export function kindOf(value: unknown): number {
  if (value === undefined) return ABSENT;
  if (value === null) return NULL;
  if (Array.isArray(value)) return LIST;
  switch (typeof value) {
    case 'number':
      return NUMBER;
    case 'string':
      return STRING;
    case 'boolean':
      return value ? TRUE : FALSE;
    default:
      return OTHER;
  }
}
