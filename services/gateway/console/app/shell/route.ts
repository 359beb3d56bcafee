import { useEffect, useState } from 'preact/hooks';

/** A place in the console, as the address names it after the `#`. */
export interface PageRoute {
  /** Decoded segments of the path. */
  path: readonly string[];
  query: URLSearchParams;
}

/** Reads a hash such as `#/collections/notes/query?id=a`. */
function routeOf(hash: string): PageRoute {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  return { path: path.split('/').filter(Boolean).map(decoded), query: new URLSearchParams(search) };
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    // A hand-written address; no page has this segment.
    return segment;
  }
}

/** Returns the address of a place. Never give it a key: addresses end up in histories. */
export function hrefOf(path: readonly string[], query: Readonly<Record<string, string>> = {}): string {
  const search = new URLSearchParams(query).toString();
  return `#/${path.map(encodeURIComponent).join('/')}${search === '' ? '' : `?${search}`}`;
}

/** Goes to a place; `isReplaced`: without a step in the history. */
export function goTo(href: string, isReplaced = false): void {
  if (isReplaced) location.replace(href);
  else location.hash = href;
}

/** Returns the current place, and renders again when it changes. */
export function usePageRoute(): PageRoute {
  const [route, setRoute] = useState(() => routeOf(location.hash));
  useEffect(() => {
    const follow = () => setRoute(routeOf(location.hash));
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return route;
}
