import { BASE_PATH, type Route } from './routes.ts';

/**
 * U+FFFD, percent-encoded: stands for a segment that cannot be decoded, which can be the name of
 * nothing.
 */
const UNDECODABLE = '%EF%BF%BD';

/** A request path in which every segment can be percent-decoded. */
export function decodablePath(path: string): string {
  if (!path.includes('%')) return path;
  return path
    .split('/')
    .map((segment) => {
      try {
        decodeURIComponent(segment);
        return segment;
      } catch {
        return UNDECODABLE;
      }
    })
    .join('/');
}

/**
 * Routes by path, for what a router does not say: which methods a path has, and which route an
 * alias stands for.
 */
export class RouteTable {
  readonly routes: readonly Route[];
  readonly #segments: readonly string[][];
  readonly #byAlias: ReadonlyMap<string, Route>;

  constructor(routes: readonly Route[]) {
    this.routes = routes;
    this.#segments = routes.map((route) => `${BASE_PATH}${route.path}`.split('/'));
    this.#byAlias = new Map(routes.map((route) => [aliasOf(route), route]));
  }

  /** The route behind an alias of the router. */
  byAlias(alias: string): Route {
    const route = this.#byAlias.get(alias);
    if (route === undefined) throw new Error(`no route for the alias ${alias}`);
    return route;
  }

  /**
   * Methods of a request path with HEAD and OPTIONS, for `Allow`; null when no route has that path.
   */
  methodsOf(path: string): string[] | null {
    const segments = (path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path).split('/');
    const methods = this.routes.filter((_, i) => matches(this.#segments[i]!, segments)).map((route) => route.method);
    return methods.length === 0 ? null : withImplied(methods);
  }
}

/** `POST collections/:name/query`: the alias of moleculer-web. */
export function aliasOf(route: Pick<Route, 'method' | 'path'>): string {
  return `${route.method} ${route.path.slice(1).replaceAll(/\{(\w+)\}/g, ':$1')}`;
}

function withImplied(methods: string[]): string[] {
  return [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'];
}

function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  return (
    pattern.length === segments.length &&
    pattern.every((part, i) => (part.startsWith('{') ? segments[i] !== '' : part === segments[i]))
  );
}
