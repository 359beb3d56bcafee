import type { Context, ServiceSchema } from 'moleculer';
import type { KeysChanged } from '../../contracts/actions/keys.ts';
import type { RoutedActions } from '../../contracts/actions/metering.ts';
import { INTERNAL_LIMITS } from '../../lib/limits.ts';
import { handledActions } from '../../mixins/handled-actions.ts';
import type { Runtime } from '../../process/runtime.ts';
import { KEPT_DAYS } from '../../store/usage.ts';
import { MeteringHandlers } from './metering-handlers.ts';

const ACCOUNT = { accountId: 'string' } as const;
const count = { type: 'number', integer: true, min: 0 } as const;
const optionalCount = { ...count, optional: true } as const;
const RESERVATION = { ...ACCOUNT, id: 'string' } as const;
const ROUTED: readonly (keyof RoutedActions)[] = [
  'metering.usage',
  'metering.reserveWrite',
  'metering.renew',
  'metering.settle',
  'metering.takeQuery',
];

/** Usage and plan limits. */
export default function meteringService(runtime: Runtime): ServiceSchema {
  let metering: MeteringHandlers;
  let timer: NodeJS.Timeout | undefined;
  return {
    name: 'metering',
    actions: handledActions<'metering'>(() => metering.actions, {
      usage: ACCOUNT,
      usageDays: { ...ACCOUNT, days: { ...count, min: 1, max: KEPT_DAYS } },
      reserveWrite: {
        ...ACCOUNT,
        writes: count,
        writesMin: optionalCount,
        vectors: count,
        ticket: { type: 'string', optional: true },
      },
      renew: RESERVATION,
      settle: RESERVATION,
      takeQuery: { ...ACCOUNT, count: optionalCount },
      forwarded: { action: { type: 'enum', values: [...ROUTED] }, params: 'object' },
      giveBackQuery: { ...ACCOUNT, month: 'string', count: optionalCount },
      yieldQueries: ACCOUNT,
      refuse: {
        ...ACCOUNT,
        limit: { type: 'enum', values: ['collections', 'keys', 'shards'] },
        requested: optionalCount,
      },
    }),
    events: {
      'keys.changed'({ params: { accountId, what } }: Context<KeysChanged>) {
        if (what === 'account') metering.forget(accountId);
      },
      // Another instance may be responsible now.
      '$services.changed': () => metering.writeQueries(),
    },
    created() {
      metering = new MeteringHandlers(runtime, this.broker);
    },
    started() {
      timer = setInterval(() => metering.tick(), INTERNAL_LIMITS.meteringTickMs);
    },
    async stopped() {
      clearInterval(timer);
      await metering.stop();
    },
  };
}
