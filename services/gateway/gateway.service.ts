import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Context, ServiceSchema, ServiceSettingSchema } from 'moleculer';
import ApiGateway from 'moleculer-web';
import type { Caller } from '../../lib/actions/call.ts';
import { call } from '../../lib/actions/call.ts';
import type { Consistency } from '../../lib/actions/collections.ts';
import { answerBudget } from '../../lib/admission/answer-size.ts';
import { type MemoryBounds, MemoryBudget } from '../../lib/admission/memory-budget.ts';
import { INTERNAL_LIMITS } from '../../lib/limits.ts';
import type { Runtime } from '../../lib/runtime.ts';
import { monthOf } from '../../lib/time/month.ts';
import { SYSTEM_TIMERS } from '../../lib/time/timers.ts';
import { Metrics } from '../../mixins/metrics.ts';
import { ServiceGauges } from '../../mixins/metrics-gauges.ts';
import { Admission, type Admitted, waiterOf } from './admission.ts';
import { BodyPool, bodyWorkers } from './bodies/body-pool.ts';
import { Edge } from './edge.ts';
import type { Exchange } from './exchange.ts';
import { HttpServer, type HttpTimeouts } from './http-server.ts';
import { openApiDocument } from './openapi/document.ts';
import { Operations, type Readiness } from './operations.ts';
import { AwayLines, SHARD_WAIT_MS } from './overload/away-lines.ts';
import { OverloadMetrics } from './overload/overload-metrics.ts';
import { type QueueChanges, Queues } from './overload/queues.ts';
import { RateLimit } from './rate-limit.ts';
import type { MinimumPace } from './responses/reading-pace.ts';
import { ResponseTurns } from './responses/response-turns.ts';
import { Sender } from './responses/sender.ts';
import { aliasOf, RouteTable } from './route-table.ts';
import { BASE_PATH, type Route, routesOf } from './routes.ts';

const DRAIN_MAX_MS = 20_000;
/** What waits when the gateway stops may still begin for so long. */
const DRAIN_WAIT_MAX_MS = 10_000;
const TOO_LARGE_BODIES = 'Too many large requests are on their way; send this one again.';

export interface GatewayOptions {
  /** Default: ready as soon as the gateway listens. */
  readiness?: () => Promise<Readiness>;
  /** The process's metrics, when its broker also counts actions with `metrics.middleware`. */
  metrics?: Metrics;
  timeouts?: HttpTimeouts;
  /** At which clients must read large answers. */
  minimumPace?: MinimumPace;
  /** Of overload; default: `INTERNAL_LIMITS`. */
  bounds?: OverloadBounds;
}

export interface OverloadBounds {
  queues?: QueueChanges;
  bodies?: MemoryBounds;
  arrivalsMax?: number;
  drainWaitMaxMs?: number;
}

/** The part of moleculer-web that the gateway uses. */
interface Router extends Caller {
  httpHandler(req: IncomingMessage, res: ServerResponse): Promise<void>;
}

type Alias = { method: string; path: string };
/** As moleculer-web hands it on once it has found the alias. */
type RoutedRequest = IncomingMessage & { $params: { params: Record<string, string> }; $ctx: Context };
type RootCallOptions = { requestID?: string; tracking?: boolean };

const BODIES: MemoryBounds = {
  maxBytes: INTERNAL_LIMITS.bodiesInFlightMaxBytes,
  smallReserveBytes: INTERNAL_LIMITS.bodiesSmallReserveBytes,
  smallMaxBytes: INTERNAL_LIMITS.bodySmallMaxBytes,
};
/**
 * The HTTP edge: moleculer-web routes into actions, everything before and after is `Edge` and
 * `Admission`.
 */
export default function gateway(runtime: Runtime, options: GatewayOptions = {}): ServiceSchema {
  const { clock, config, log } = runtime;
  const metrics = options.metrics ?? new Metrics();
  const table = new RouteTable(routesOf(config.adminToken !== null));
  const { bounds = {} } = options;
  const overload = new OverloadMetrics(metrics.registry);
  const parsers = bodyWorkers();
  const queues = new Queues({
    querySeats: config.queryConcurrency,
    parseSeats: parsers.workers,
    changes: bounds.queues ?? {},
    timers: SYSTEM_TIMERS,
    nowMs: () => clock.monotonicMs(),
    metrics: overload,
  });
  const budget = new MemoryBudget(
    bounds.bodies ?? BODIES,
    TOO_LARGE_BODIES,
    overload.memoryObserverOf('bodies', (bytes) => metrics.setBodyBytes(bytes)),
  );
  const answers = answerBudget(overload.memoryObserverOf('answers', (bytes) => metrics.setAnswerBytes(bytes)));
  const minimumPace = options.minimumPace ?? {
    bytesPerSecond: INTERNAL_LIMITS.answerReadMinBytesPerSecond,
    windowMs: INTERNAL_LIMITS.answerReadWindowMs,
  };
  const bodies = new BodyPool(INTERNAL_LIMITS.bodyParsedOffThreadMinBytes, parsers, (visitor) =>
    queues.enter('parse', visitor),
  );
  const rateLimit = new RateLimit(config.rateLimitPerSecond);
  const away = new AwayLines({
    caller: { call: (...args) => router!.call(...args) },
    timers: SYSTEM_TIMERS,
    nowMs: () => clock.monotonicMs(),
    observer: overload.observerOf('away'),
  });
  const admission = new Admission({
    limits: config.limits,
    adminToken: config.adminToken,
    rateLimit,
    bodies,
    budget,
    answers,
    queues,
    monotonicMs: () => clock.monotonicMs(),
    metrics: overload,
    arrivalsMax: bounds.arrivalsMax ?? INTERNAL_LIMITS.arrivalsMaxRequests,
    nowMs: () => clock.wallMs(),
    onParsed: (seconds) => metrics.observeParse(seconds),
  });
  let router: Router | null = null;
  const caller: Caller = { call: (...args) => router!.call(...args) };
  const stats = <T>(asked: Promise<T>) => asked.catch(() => null);
  const operations = new Operations({
    readiness: options.readiness ?? (async () => ({ ready: true, reasons: [] })),
    isStopping: () => server.draining,
    metrics,
    gauges: new ServiceGauges(metrics.registry, {
      shards: () => stats(call(caller, 'shards.stats', {})),
      anchoring: () => stats(call(caller, 'anchoring.stats', {})),
    }),
    openApi: JSON.stringify(openApiDocument(config)),
  });
  const edge = new Edge({
    config,
    log,
    metrics,
    operations,
    table,
    sender: new Sender(new ResponseTurns(INTERNAL_LIMITS.answersTurnMs), minimumPace),
    nowMs: () => clock.monotonicMs(),
    router: (req, res) => void router!.httpHandler(req, res),
  });
  const timeouts = options.timeouts ?? {
    headerMs: INTERNAL_LIMITS.requestHeaderTimeoutMs,
    requestMs: INTERNAL_LIMITS.requestHeaderTimeoutMs + INTERNAL_LIMITS.requestBodyTimeoutMs,
  };
  const server = new HttpServer(timeouts, (req, res, awaitsContinue) => edge.handle(req, res, awaitsContinue));

  /**
   * For a query that was counted and then could not be answered, in the month in which it came:
   * given back in the next, it would make room for one too many.
   */
  function giveBackQuery({ accountId, startedMs }: Exchange): void {
    const month = monthOf(clock.wallMs() - (clock.monotonicMs() - startedMs));
    call(caller, 'metering.giveBackQuery', { accountId, month }).catch(() => {});
  }

  /** Checks a request and says what it asks for; its parameters are ready for the action. */
  async function admitted(req: RoutedRequest, { method, path }: Alias): Promise<Admitted> {
    const exchange = edge.of(req);
    const found = table.byAlias(`${method} ${path}`);
    exchange.pattern = BASE_PATH + found.path;
    const pathParams = req.$params.params;
    const target = pathParams.name ?? pathParams.id ?? '';
    try {
      return await admission.admit(req.$ctx as unknown as Caller, exchange, found, target);
    } catch (error) {
      // Where the client is gone, moleculer-web tells nobody.
      exchange.ended();
      throw error;
    }
  }

  /** The request's action; where a shard is away it is called again once that is back. */
  function callOf(req: RoutedRequest, route: Route, params: unknown): Promise<unknown> {
    const exchange = edge.of(req);
    // Where the route has no time-out, the action's own holds: one set here would cut a write short
    // that answers in its own time.
    const callOptions = route.timeoutMs === null ? {} : { timeout: route.timeoutMs };
    const context = req.$ctx as unknown as Caller;
    const action = async (options: object): Promise<unknown> => {
      await admission.recheck(context, exchange, route);
      return context.call(route.action, params, { ...callOptions, ...options });
    };
    if (!route.mayBeAway) return action({});
    const { name, ...terms } = params as { name: string; allowPartial?: boolean; consistency?: Consistency };
    // Others find out for themselves: copies may answer, or the rest is enough.
    const isStrong = terms.allowPartial !== true && terms.consistency !== 'eventual';
    const needsAll = route.queue === 'query' && isStrong;
    return away.run(waiterOf(exchange, name), needsAll, (leftMs) =>
      action({ meta: { shardWaitMs: SHARD_WAIT_MS }, ...(leftMs !== null && { timeout: leftMs }) }),
    );
  }

  function answered(req: IncomingMessage, route: Route, data: unknown): void {
    try {
      edge.succeed(req, route, data);
    } catch (error) {
      if (route.action === 'collections.query') giveBackQuery(edge.of(req));
      throw error;
    }
  }

  const settings: ServiceSettingSchema & Record<string, unknown> = {
    $secureSettings: ['routes', 'rootCallOptions'],
    server: false,
    optimizeOrder: false,
    logRequest: null,
    logRequestParams: null,
    logResponse: null,
    logRouteRegistration: null,
    rootCallOptions: (callOptions: RootCallOptions, req: IncomingMessage) => {
      callOptions.requestID = edge.of(req).id;
      // `stopped` waits for requests itself.
      callOptions.tracking = false;
    },
    routes: [routerRoute(table.routes)],
  };

  return {
    name: 'gateway',
    // Its events only serve automatic aliases, which there are none of.
    mixins: [{ ...ApiGateway, events: {} }],
    settings,
    actions: {
      listAliases: false,
      addRoute: false,
      removeRoute: false,
      /**
       * Begins to listen, and tells where: not when the service starts, since what it calls may not
       * have started yet.
       */
      listen: { visibility: 'protected', handler: () => server.listen(config.port, config.host) },
    },
    methods: {
      /**
       * In place of moleculer-web's, which gives up at once while no node is known that has the
       * action, and forgets a request whose client is gone when its action fails: what it holds
       * must be let go of whenever the action ends.
       */
      aliasHandler: async (req: RoutedRequest, _res: ServerResponse, alias: Alias) => {
        const { params, route } = await admitted(req, alias);
        try {
          const answer = await callOf(req, route, params);
          edge.of(req).actionEnded();
          answered(req, route, answer);
        } catch (error) {
          edge.fail(req, error);
        }
        return true;
      },
      /** Strict, and only after authentication: see `Admission`. */
      parseQueryString: (req: IncomingMessage) => ({ url: req.url, query: {} }),
      errorHandler: (req: IncomingMessage, _res: ServerResponse, error: unknown) => edge.fail(req, error),
      sendError: (req: IncomingMessage, _res: ServerResponse, error: unknown) => edge.fail(req, error),
      send404: (req: IncomingMessage) => edge.unrouted(req),
    },
    created() {
      const service = this as unknown as { httpHandler: Router['httpHandler']; broker: Caller };
      router = {
        httpHandler: service.httpHandler.bind(this),
        call: (action, params, callOptions) => service.broker.call(action, params, callOptions),
      };
    },
    async stopped() {
      const refuse = (): void => {
        queues.close();
        away.close();
      };
      const refuseWaiting = setTimeout(refuse, bounds.drainWaitMaxMs ?? DRAIN_WAIT_MAX_MS);
      await server.close(DRAIN_MAX_MS);
      clearTimeout(refuseWaiting);
      refuse();
      await bodies.close();
      edge.close();
    },
  };
}

/** moleculer-web's one route, with the aliases in order of the table (the first match wins). */
function routerRoute(routes: readonly Route[]): object {
  return {
    path: BASE_PATH,
    bodyParsers: false,
    mergeParams: false,
    mappingPolicy: 'restrict',
    logging: false,
    pathToRegexpOptions: { sensitive: true },
    aliases: Object.fromEntries(routes.map((route) => [aliasOf(route), route.action])),
  };
}
