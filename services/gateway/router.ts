/**
 * Adapter to moleculer-web, which owns the routes: it finds the route of a request and creates the
 * context for its calls. Only this file depends on it. It does not own the server, which listens
 * before moleculer-web is loaded.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ServiceSchema, ServiceSettingSchema } from 'moleculer';
import ApiGateway from 'moleculer-web';
import type { Caller } from '../../contracts/actions/call.ts';
import type { RequestContext, RoutedRequest } from './request-context.ts';
import { patternOf, type Route, UNDECODABLE } from './route.ts';

/** Parameters of moleculer-web's action for a request. `request` is ours. */
interface RestParams {
  req: IncomingMessage;
  res: ServerResponse;
  request: RequestContext;
}

/** Properties that moleculer-web adds to a routed request. */
type WebRequest = IncomingMessage & {
  $params: { params: Record<string, string> };
  $ctx: Caller & { params: RestParams };
};

/** Parts of a service with the mixin that the router uses. */
interface WebService {
  actions: { rest(params: RestParams, options: { requestID: string; tracking: boolean }): Promise<true | null> };
  aliases: { method: string; match(path: string): object | false }[];
}

export class Router {
  readonly #routes: readonly Route[];
  readonly #serve: (request: RoutedRequest) => void;
  /** Maximum number of segments in any route, plus one for a trailing slash. */
  readonly #segmentsMax: number;
  #service: WebService | null = null;

  /** `serve` answers a request whose route is found. */
  constructor(routes: readonly Route[], serve: (request: RoutedRequest) => void) {
    this.#routes = routes;
    this.#serve = serve;
    this.#segmentsMax = Math.max(...routes.map((route) => patternOf(route).split('/').length)) + 1;
  }

  /** Moleculer mixin for the gateway's service. */
  get mixin(): Partial<ServiceSchema> {
    const settings: ServiceSettingSchema & Record<string, unknown> = {
      $secureSettings: ['routes'],
      server: false,
      optimizeOrder: false,
      logRequest: null,
      logRequestParams: null,
      logResponse: null,
      logRouteRegistration: null,
      routes: [...Map.groupBy(this.#routes, ({ dialect }) => dialect.base)].map(([path, routes]) => ({
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
      },
    };
  }

  /** Must be called with the service once it is created. */
  attach(service: unknown): void {
    this.#service = service as WebService;
  }

  /**
   * Passes a request on to its route and resolves when its connection is done with the response.
   * Resolves to false if no route has that path and method.
   */
  async route(request: RequestContext): Promise<boolean> {
    const { id, path, req, res } = request;
    const routable = this.#routable(path);
    if (routable === null) return false;
    req.url = routable;
    // The gateway itself waits for running requests when it stops.
    const options = { requestID: id, tracking: false };
    return (await this.#service!.actions.rest({ req, res, request }, options)) !== null;
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

  #handlerOf(route: Route): (req: WebRequest) => void {
    return ({ $ctx, $params }) => {
      const { request } = $ctx.params;
      const [target = '', item = ''] = Object.values($params.params);
      this.#serve(request.routed(route, { target, item }, $ctx));
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
