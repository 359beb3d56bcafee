const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
const MAX = 64;

/** Returns a tenant's name for a list of choices, which cannot contain elements. */
export const visibleName = (name: string): string =>
  `${name.slice(0, MAX).replaceAll(HIDDEN, '\ufffd')}${name.length > MAX ? '…' : ''}`;
