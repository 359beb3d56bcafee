/**
 * Adapter to moleculer-web, which finds the route of a request and creates the context for its
 * calls. Only this file depends on it.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ServiceSchema, ServiceSettingSchema } from 'moleculer';
import ApiGateway from 'moleculer-web';
import type { Caller } from '../../contracts/actions/call.ts';
import { patternOf, type Route, UNDECODABLE } from './route.ts';

/** Decoded path parameters; empty if the path has none. */
export interface PathParameters {
  /** Name of the collection, an alias or an id. */
  target: string;
  /** Name of the resource within the collection. */
  item: string;
}

interface RouterEvents {
  onRoute(req: IncomingMessage, route: Route, path: PathParameters, caller: Caller): void;
  /** No route has that path and method. */
  onNone(req: IncomingMessage): void;
  onError(req: IncomingMessage, error: unknown): void;
  requestId(req: IncomingMessage): string;
}

/** Properties that moleculer-web adds to a routed request. */
type RoutedRequest = IncomingMessage & { $params: { params: Record<string, string> }; $ctx: Caller };
type RootCallOptions = { requestID?: string; tracking?: boolean };

/** Parts of a service with the mixin that the router uses. */
interface WebService {
  httpHandler(req: IncomingMessage, res: ServerResponse): Promise<void>;
  aliases: { method: string; match(path: string): object | false }[];
}

export class Router {
  readonly #routes: readonly Route[];
  readonly #events: RouterEvents;
  /** Maximum number of segments in any route, plus one for a trailing slash. */
  readonly #segmentsMax: number;
  #service: WebService | null = null;

  constructor(routes: readonly Route[], events: RouterEvents) {
    this.#routes = routes;
    this.#events = events;
    this.#segmentsMax = Math.max(...routes.map((route) => patternOf(route).split('/').length)) + 1;
  }

  /** Moleculer mixin for the gateway's service. */
  get mixin(): Partial<ServiceSchema> {
    const { onError, onNone, requestId } = this.#events;
    const settings: ServiceSettingSchema & Record<string, unknown> = {
      $secureSettings: ['routes', 'rootCallOptions'],
      server: false,
      optimizeOrder: false,
      logRequest: null,
      logRequestParams: null,
      logResponse: null,
      logRouteRegistration: null,
      rootCallOptions: (options: RootCallOptions, req: IncomingMessage) => {
        options.requestID = requestId(req);
        // The gateway itself waits for running requests when it stops.
        options.tracking = false;
      },
      routes: [...Map.groupBy(this.#routes, ({ surface }) => surface.base)].map(([path, routes]) => ({
        path,
        bodyParsers: false,
        mergeParams: false,
        mappingPolicy: 'restrict',
        logging: false,
        pathToRegexpOptions: { sensitive: true },
        aliases: Object.fromEntries(routes.map((route) => [aliasOf(route), this.#handlerOf(route)])),
      })),
    };
    return {
      // The mixin's events only serve automatic aliases, which the gateway does not use.
      mixins: [{ ...ApiGateway, events: {} }],
      settings,
      actions: { listAliases: false, addRoute: false, removeRoute: false },
      methods: {
        // The query string is parsed strictly, after authentication: see `readQueryString` in
        // pipeline.ts.
        parseQueryString: (req: IncomingMessage) => ({ url: req.url, query: {} }),
        errorHandler: (req: IncomingMessage, _res: ServerResponse, error: unknown) => onError(req, error),
        sendError: (req: IncomingMessage, _res: ServerResponse, error: unknown) => onError(req, error),
        send404: (req: IncomingMessage) => onNone(req),
      },
    };
  }

  /** Must be called with the service once it is created. */
  attach(service: unknown): void {
    this.#service = service as WebService;
  }

  /** Routes a request to one of the events. `path` has no query string. */
  handle(req: IncomingMessage, res: ServerResponse, path: string): void {
    const routable = this.#routable(path);
    if (routable === null) {
      this.#events.onNone(req);
      return;
    }
    req.url = routable;
    void this.#service!.httpHandler(req, res);
  }

  /** Returns a path's methods with HEAD and OPTIONS, or null if no route has the path. */
  methodsOf(path: string): string[] | null {
    const trimmed = path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
    const routable = this.#routable(trimmed);
    if (routable === null) return null;
    const aliases = this.#service!.aliases.filter((alias) => alias.match(routable) !== false);
    const methods = aliases.map(({ method }) => method);
    return methods.length === 0 ? null : [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'];
  }

  /**
   * Returns a path that moleculer-web can decode, or null if it has more segments than any route. A
   * path can have 1 MiB, and every segment that cannot be decoded costs an exception.
   */
  #routable(path: string): string | null {
    return path.split('/', this.#segmentsMax + 1).length > this.#segmentsMax ? null : decodablePath(path);
  }

  #handlerOf(route: Route): (req: RoutedRequest) => void {
    return (req) => {
      const [target = '', item = ''] = Object.values(req.$params.params);
      this.#events.onRoute(req, route, { target, item }, req.$ctx);
    };
  }
}

/** Returns a route in moleculer-web's syntax: `POST collections/:name/query`. */
function aliasOf({ method, path }: Route): string {
  return `${method} ${path.slice(1).replaceAll(/\{(\w+)\}/g, ':$1')}`;
}

/** Replaces every segment that cannot be percent-decoded. */
function decodablePath(path: string): string {
  if (!path.includes('%')) return path;
  return path
    .split('/')
    .map((segment) => {
      try {
        decodeURIComponent(segment);
        return segment;
      } catch {
        return encodeURIComponent(UNDECODABLE);
      }
    })
    .join('/');
}
