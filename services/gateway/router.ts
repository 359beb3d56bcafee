/**
 * moleculer-web, as far as Provec uses it: it finds the route of a request and makes the context
 * that the request's calls belong to. Nothing else knows it; what comes before and after is `Edge`
 * and the pipeline.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ServiceSchema, ServiceSettingSchema } from 'moleculer';
import ApiGateway from 'moleculer-web';
import type { Caller } from '../../lib/actions/call.ts';
import { patternOf, type Route, UNDECODABLE } from './route.ts';

/** Decoded; empty where the path has none. */
export interface PathParameters {
  /** The collection's name, an alias or an id. */
  target: string;
  /** What is named in the collection. */
  item: string;
}

interface RouterEvents {
  onRoute(req: IncomingMessage, route: Route, path: PathParameters, caller: Caller): void;
  /** No route has that path and method. */
  onNone(req: IncomingMessage): void;
  onError(req: IncomingMessage, error: unknown): void;
  requestId(req: IncomingMessage): string;
}

/** What moleculer-web adds to a request that it routes. */
type RoutedRequest = IncomingMessage & { $params: { params: Record<string, string> }; $ctx: Caller };
type RootCallOptions = { requestID?: string; tracking?: boolean };

/** The parts of a service with the mixin that the router needs. */
interface WebService {
  httpHandler(req: IncomingMessage, res: ServerResponse): Promise<void>;
  aliases: { method: string; match(path: string): object | false }[];
}

export class Router {
  readonly #routes: readonly Route[];
  readonly #events: RouterEvents;
  /** No route has more; a slash may follow. */
  readonly #segmentsMax: number;
  #service: WebService | null = null;

  constructor(routes: readonly Route[], events: RouterEvents) {
    this.#routes = routes;
    this.#events = events;
    this.#segmentsMax = Math.max(...routes.map((route) => patternOf(route).split('/').length)) + 1;
  }

  /** What the gateway's service is mixed from. */
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
        // The gateway waits for requests itself when it stops.
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
      // Its events only serve automatic aliases, which there are none of.
      mixins: [{ ...ApiGateway, events: {} }],
      settings,
      actions: { listAliases: false, addRoute: false, removeRoute: false },
      methods: {
        // Strict, and only after authentication: see `readQueryString` in pipeline.ts.
        parseQueryString: (req: IncomingMessage) => ({ url: req.url, query: {} }),
        errorHandler: (req: IncomingMessage, _res: ServerResponse, error: unknown) => onError(req, error),
        sendError: (req: IncomingMessage, _res: ServerResponse, error: unknown) => onError(req, error),
        send404: (req: IncomingMessage) => onNone(req),
      },
    };
  }

  /** To be called with the service once it is created. */
  attach(service: unknown): void {
    this.#service = service as WebService;
  }

  /** Ends in one of the events. `path`: of the request, without its query. */
  handle(req: IncomingMessage, res: ServerResponse, path: string): void {
    const routable = this.#routable(path);
    if (routable === null) {
      this.#events.onNone(req);
      return;
    }
    req.url = routable;
    void this.#service!.httpHandler(req, res);
  }

  /** Methods of a path, with HEAD and OPTIONS, for `Allow`; null when no route has that path. */
  methodsOf(path: string): string[] | null {
    const trimmed = path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
    const routable = this.#routable(trimmed);
    if (routable === null) return null;
    const aliases = this.#service!.aliases.filter((alias) => alias.match(routable) !== false);
    const methods = aliases.map(({ method }) => method);
    return methods.length === 0 ? null : [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'];
  }

  /**
   * What moleculer-web can decode; null for a path of more segments than any route has. A path has
   * up to 1 MiB, and each segment that cannot be decoded costs an exception.
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

/** `POST collections/:name/query`: moleculer-web's word for a route. */
function aliasOf({ method, path }: Route): string {
  return `${method} ${path.slice(1).replaceAll(/\{(\w+)\}/g, ':$1')}`;
}

/** The path, in which every segment can be percent-decoded. */
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
