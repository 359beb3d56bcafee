import { describe, type ErrorDetail, ProvecError } from '../../lib/errors.ts';
import { PLAN_NAMES, type PlanName } from '../../lib/plans.ts';
import { SCOPES, type Scope } from '../../lib/store/keys.ts';
import { parseTime } from './expiry-time.ts';

export interface KeyArguments {
  name: string;
  scopes: Scope[];
  /** ISO 8601 UTC, or null for never. */
  expiresAt: string | null;
}

/** Checks what a client sends to create a key. Throws INVALID_ARGUMENT that names every bad field. */
export function readKeyArguments(
  sent: { name?: unknown; scopes?: unknown; expires_at?: unknown },
  bounds: { nameMaxChars: number; nowMs: number },
): KeyArguments {
  const details: ErrorDetail[] = [];
  const name = readName(sent.name, bounds.nameMaxChars, details);
  const scopes = readScopes(sent.scopes, details);
  const expiresAt = readExpiry(sent.expires_at, bounds.nowMs, details);
  refuse(details);
  return { name, scopes, expiresAt };
}

/** Checks what an operator sends to create an account. Throws INVALID_ARGUMENT that names every bad field. */
export function readAccountArguments(
  sent: { name?: unknown; plan?: unknown },
  bounds: { nameMaxChars: number },
): { name: string; plan: PlanName } {
  const details: ErrorDetail[] = [];
  const name = readName(sent.name, bounds.nameMaxChars, details);
  const plan = readPlan(sent.plan, details);
  refuse(details);
  return { name, plan };
}

/** Checks a plan's name. Throws INVALID_ARGUMENT. */
export function readPlanArgument(sent: unknown): PlanName {
  const details: ErrorDetail[] = [];
  const plan = readPlan(sent, details);
  refuse(details);
  return plan;
}

/** What a terminal would carry out, and what would break a line of a list. */
const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u;

function readName(value: unknown, maxChars: number, details: ErrorDetail[]): string {
  if (typeof value === 'string' && value.isWellFormed() && value !== '' && !CONTROL.test(value)) {
    // Characters as people count them: an emoji outside the BMP is one, though it is two UTF-16 units.
    if (value.length <= maxChars || (value.length <= 2 * maxChars && [...value].length <= maxChars)) return value;
  }
  details.push({
    path: 'name',
    expected: `a string of 1 to ${maxChars} characters, none of them a control character`,
    got: describeName(value),
  });
  return '';
}

function describeName(value: unknown): string {
  if (typeof value !== 'string') return describe(value);
  if (!value.isWellFormed()) return 'ill-formed Unicode';
  return CONTROL.test(value) ? 'one with a control character' : describe(value);
}

function readScopes(value: unknown, details: ErrorDetail[]): Scope[] {
  if (value === undefined) return [...SCOPES];
  const expected = `one of ${SCOPES.join(', ')}`;
  if (!Array.isArray(value) || value.length === 0 || value.length > SCOPES.length) {
    details.push({
      path: 'scopes',
      expected: `an array of 1 to ${SCOPES.length} of ${SCOPES.join(', ')}`,
      got: describe(value),
    });
    return [];
  }
  const scopes = value as Scope[];
  for (const [i, scope] of scopes.entries()) {
    if (!SCOPES.includes(scope)) details.push({ path: `scopes[${i}]`, expected, got: describe(scope) });
    else if (scopes.indexOf(scope) !== i) {
      details.push({ path: `scopes[${i}]`, expected: 'a scope not yet in the array', got: `${scope} again` });
    }
  }
  return [...scopes];
}

function readExpiry(value: unknown, nowMs: number, details: ErrorDetail[]): string | null {
  if (value === undefined || value === null) return null;
  const epochMs = typeof value === 'string' ? parseTime(value) : null;
  if (epochMs === null) {
    const expected = 'an ISO 8601 time with its offset, such as 2030-01-31T00:00:00Z, or null';
    details.push({ path: 'expires_at', expected, got: describe(value) });
    return null;
  }
  const utc = new Date(epochMs).toISOString();
  if (epochMs <= nowMs) details.push({ path: 'expires_at', expected: 'a time in the future, or null', got: utc });
  return utc;
}

function readPlan(value: unknown, details: ErrorDetail[]): PlanName {
  if (!PLAN_NAMES.includes(value as PlanName)) {
    details.push({ path: 'plan', expected: `one of ${PLAN_NAMES.join(', ')}`, got: describe(value) });
  }
  return value as PlanName;
}

function refuse(details: ErrorDetail[]): void {
  if (details.length === 0) return;
  const sentences = details.map(({ path, expected, got }) => `${path} must be ${expected}, but is ${got}.`);
  throw new ProvecError('INVALID_ARGUMENT', sentences.join(' '), { details });
}
