import { useEffect, useState } from 'preact/hooks';
import { UnauthenticatedError } from '../../../../../client/http/errors.ts';

/** What a key may do, as far as the console can see without writing. */
export interface KeyScopes {
  read: boolean;
  manage: boolean;
}

export interface Session {
  /** The API key; null after a sign-out. No address and no log has it. */
  key: string | null;
  scopes: KeyScopes;
  /** Why the last session ended; null after a sign-out, and before the first sign-in. */
  ended: 'refused' | null;
}

/** Where a key stays if its owner ticks the box: until the tab closes. */
const STORED = 'provec-key';
const ALL: KeyScopes = { read: true, manage: true };

let session: Session = { key: sessionStorage.getItem(STORED), scopes: ALL, ended: null };
const listeners = new Set<() => void>();

function change(next: Session): void {
  session = next;
  for (const listener of listeners) listener();
}

export const currentSession = (): Session => session;

/** Keeps a key that the service accepted; `isKept`: beyond a reload of the tab. */
export function beginSession(key: string, scopes: KeyScopes, isKept: boolean): void {
  if (isKept) sessionStorage.setItem(STORED, key);
  else sessionStorage.removeItem(STORED);
  change({ key, scopes, ended: null });
}

/** Forgets the key; `ended` says whether the service refused it. */
export function endSession(ended: Session['ended']): void {
  sessionStorage.removeItem(STORED);
  if (session.key !== null) change({ key: null, scopes: ALL, ended });
}

/**
 * Acts with the session's key. Rejects with an AbortError without one. Ends the session if the
 * service no longer accepts the key.
 */
export async function withKey<T>(act: (key: string) => Promise<T>): Promise<T> {
  const { key } = session;
  if (key === null) throw new DOMException('You are not signed in.', 'AbortError');
  try {
    return await act(key);
  } catch (error) {
    if (error instanceof UnauthenticatedError && session.key === key) endSession('refused');
    throw error;
  }
}

/** Notes what the current key may do. */
export function setScopes(scopes: KeyScopes): void {
  change({ ...session, scopes });
}

/** Calls `listener` after each change of the session. Returns a function that ends this. */
export function watchSession(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Returns the session, and renders again when it changes. */
export function useSession(): Session {
  const [, render] = useState(0);
  useEffect(() => watchSession(() => render((count) => count + 1)), []);
  return session;
}
