import type { ServiceSchema } from 'moleculer';
import { type Caller, call } from '../../contracts/actions/call.ts';
import { INTERNAL_LIMITS } from '../../lib/limits.ts';
import { moduleBeside } from '../../lib/module-beside.ts';
import { SYSTEM_TIMERS, type Timers } from '../../lib/time/timers.ts';
import type { Readiness } from '../../mixins/health/health-pages.ts';
import { Metrics } from '../../mixins/metrics.ts';
import { serviceGauges } from '../../mixins/metrics-gauges.ts';
import type { Runtime } from '../../process/runtime.ts';
import { BodyPool, bodyWorkers } from './bodies/body-pool.ts';
import { DIALECTS } from './dialects.ts';
import { FrontDoor } from './front-door.ts';
import type { HttpTimeouts } from './http-server.ts';
import { embeddingsOf } from './mcp/embeddings/embeddings.ts';
import { MCP_ROUTES } from './mcp/routes.ts';
import { openApiDocument } from './openapi/document.ts';
import { webPages } from './operations.ts';
import { Overload, type OverloadBounds } from './overload/overload.ts';
import { PINECONE_DOCUMENT_PATH, pineconeDocument } from './pinecone/openapi/document.ts';
import { PINECONE_ROUTES } from './pinecone/routes.ts';
import { rateLimitOf } from './rate-limit.ts';
import { RECALL_ROUTES } from './recall/routes.ts';
import { RequestHandler } from './request-handler.ts';
import type { MinimumPace } from './responses/reading-pace.ts';
import { routesOf } from './routes.ts';

const DRAIN_MAX_MS = 20_000;
/** Time after the stop begins during which queued requests may still start. */
const DRAIN_WAIT_MAX_MS = 10_000;

export interface GatewayOptions {
  /** Default: ready as soon as the gateway listens. */
  readiness?: () => Promise<Readiness>;
  /** Metrics of the process, if its broker also counts actions with `metrics.middleware`. */
  metrics?: Metrics;
  timeouts?: HttpTimeouts;
  /** Front door that may be listening already; default: a new one with `timeouts`. */
  door?: FrontDoor;
  /** Minimum rate at which clients must read large responses. */
  minimumPace?: MinimumPace;
  /** Timers for reading the parts of a response; default: the system's. */
  timers?: Timers;
  /** Overload limits; default: `INTERNAL_LIMITS`. */
  bounds?: OverloadBounds;
}

/** HTTP service: `HttpServer` -> `RequestHandler` -> router -> pipeline -> action -> `Sender`. */
export default function gateway(runtime: Runtime, options: GatewayOptions = {}): ServiceSchema {
  const { clock, config, log } = runtime;
  const { metrics = new Metrics(), bounds = {}, timers = SYSTEM_TIMERS } = options;
  let broker: Caller | null = null;
  const caller: Caller = { call: (...args) => broker!.call(...args) };
  const parsers = bodyWorkers();
  const { queryConcurrency: queryPermits } = config;
  const overload = new Overload({ metrics, clock, queryPermits, parsePermits: parsers.workers, bounds, caller });
  const thread = moduleBeside('./body-thread', import.meta.url);
  const bodies = new BodyPool(INTERNAL_LIMITS.bodyParsedOffThreadMinBytes, thread, parsers, (request) =>
    overload.queues.parse.enter(request),
  );
  const embeddings = embeddingsOf(config, overload.queues.embed, log);
  const { door = new FrontDoor(config, log, options.timeouts, options.minimumPace) } = options;
  const { sender, responder } = door;
  const rateLimit = rateLimitOf(config.rateLimitPerSecond, 'This API key');
  const operatorRateLimit = rateLimitOf(INTERNAL_LIMITS.operatorRequestsPerSecond, "The operator's token");
  const linkRateLimit = rateLimitOf(INTERNAL_LIMITS.auditLinkRequestsPerSecond, 'Readers of this audit link');
  const addressRateLimit = rateLimitOf(INTERNAL_LIMITS.auditAddressRequestsPerSecond, 'This address');
  const findPage = webPages({
    readiness: options.readiness ?? (async () => ({ status: 'ready', reasons: [] })),
    isStopping: () => door.isDraining,
    config,
    clock,
    metrics,
    refresh: serviceGauges(metrics.registry, {
      shards: () => call(caller, 'shards.stats', {}),
      anchoring: () => call(caller, 'anchoring.stats', {}),
    }),
    documents: { '/openapi.json': openApiDocument(config), [PINECONE_DOCUMENT_PATH]: pineconeDocument(config) },
  });
  const routes = [...routesOf(config.adminToken !== null), ...PINECONE_ROUTES, ...RECALL_ROUTES, ...MCP_ROUTES];
  const parts = {
    config,
    clock,
    timers,
    log,
    metrics,
    overload,
    rateLimit,
    operatorRateLimit,
    linkRateLimit,
    addressRateLimit,
    bodies,
    embeddings,
    sender,
    responder,
  };
  const handler = new RequestHandler({ ...parts, findPage, routes, dialects: DIALECTS });
  const { actions, ...mixin } = handler.router.mixin;

  return {
    name: 'gateway',
    ...mixin,
    actions: {
      ...actions,
      /**
       * Starts taking requests and returns the address. The launcher calls it separately, since the
       * services that the gateway calls may start after it.
       */
      listen: {
        visibility: 'protected',
        async handler() {
          const address = await door.listen();
          door.open((...request) => handler.handle(...request));
          return address;
        },
      },
    },
    created() {
      broker = this.broker as Caller;
      handler.router.attach(this);
    },
    async stopped() {
      const refuseWaiting = setTimeout(() => overload.close(), bounds.drainWaitMaxMs ?? DRAIN_WAIT_MAX_MS);
      await door.close(DRAIN_MAX_MS);
      clearTimeout(refuseWaiting);
      overload.close();
      await bodies.close();
      responder.close();
      embeddings?.close();
    },
  };
}
