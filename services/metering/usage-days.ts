import type { UsageDayView } from '../../contracts/actions/metering.ts';
import type { AccountId } from '../../lib/ids.ts';
import { daysBefore } from '../../lib/time/month.ts';
import type { UsageStore } from '../../store/usage.ts';

/** Returns what an account used on each of the `count` days up to `today`, oldest first. */
export async function usageDays(
  usage: Pick<UsageStore, 'readDays'>,
  accountId: AccountId,
  today: string,
  count: number,
): Promise<{ days: UsageDayView[] }> {
  const first = daysBefore(today, count - 1);
  const counted = new Map((await usage.readDays(accountId, first, today)).map((day) => [day.day, day]));
  const days = Array.from({ length: count }, (_, at): UsageDayView => {
    const day = daysBefore(today, count - 1 - at);
    const { writes = 0, queries = 0 } = counted.get(day) ?? {};
    return { day, write_count: writes, query_count: queries };
  });
  return { days };
}
