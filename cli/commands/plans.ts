import { Command, InvalidArgumentError, Option } from 'commander';
import { InputError } from '../../client/cli/json-file.ts';
import type { Api } from '../../client/index.ts';
import { examples, wholeNumber } from '../option-values.ts';
import { tableLines } from '../output/table.ts';
import { inSession } from '../session.ts';

const LIMITS = ['vectors', 'writes', 'queries', 'collections', 'keys', 'shards', 'anchoring'] as const;
/** Means no limit, in options and tables. */
const UNLIMITED = 'none';

export const plansCommand = (): Command =>
  new Command('plans')
    .description('list, set and delete the plans of accounts')
    .addCommand(listCommand())
    .addCommand(setCommand())
    .addCommand(deleteCommand())
    .addHelpText('after', examples('provec plans list'));

const listCommand = (): Command =>
  new Command('list')
    .description('list the plans with their limits, and where each comes from')
    .addHelpText('after', examples('provec plans list'))
    .action(
      inSession(async (session) => {
        const plans = await (await session.operator()).listPlans(session.request);
        await session.print({ plans }, () => planLines(plans));
      }),
    );

type SetOptions = { like?: string } & { [name in keyof Api.PutPlan]?: Api.PutPlan[name] | typeof UNLIMITED };

const setCommand = (): Command =>
  new Command('set')
    .description('create a plan, or change some of its limits')
    .argument('<name>', '1 to 40 characters of a-z 0-9 _ -')
    .option('--like <plan>', 'plan with the limits that are not given; default: the plan itself')
    .addOption(limitOption('vectors', 'stored vectors'))
    .addOption(limitOption('writes', 'records written per month'))
    .addOption(limitOption('queries', 'queries per month'))
    .addOption(limitOption('collections', 'collections'))
    .option('--keys <count>', 'API keys', wholeNumber)
    .addOption(limitOption('shards', 'shards of a new collection'))
    .option('--anchoring', 'write roots to the ledger')
    .option('--no-anchoring', 'write no roots to the ledger')
    .addHelpText(
      'after',
      examples('provec plans set acme --like pro --vectors 2000000 --writes none', 'provec plans set acme --keys 50'),
    )
    .action(
      inSession(async (session, name: string, { like = name, ...given }: SetOptions) => {
        const operator = await session.operator();
        const plans = await operator.listPlans(session.request);
        const base = plans.find((plan) => plan.name === like);
        const changes = Object.entries(given).map(([limit, value]) => [limit, value === UNLIMITED ? null : value]);
        const limits = limitsOf({ ...base, ...Object.fromEntries(changes) }, like);
        const plan = await operator.putPlan(name, limits, session.request);
        await session.print({ plan }, () => planLines([plan]));
      }),
    );

const deleteCommand = (): Command =>
  new Command('delete')
    .description('delete a plan that no account has; a built-in one gets its configured limits back')
    .argument('<name>', 'its name')
    .addHelpText('after', examples('provec plans delete acme'))
    .action(
      inSession(async (session, name: string) => {
        await (await session.operator()).deletePlan(name, session.request);
        await session.print({ deleted: true }, () => [`deleted ${name}`]);
      }),
    );

const limitOption = (name: string, description: string): Option =>
  new Option(`--${name} <count>`, `${description}, or ${UNLIMITED}`).argParser((text: string) => {
    if (text === UNLIMITED) return UNLIMITED;
    try {
      return wholeNumber(text);
    } catch {
      throw new InvalidArgumentError(`Give a whole number, or ${UNLIMITED}.`);
    }
  });

/** Throws InputError if a limit is missing, because there is no plan to take it from. */
function limitsOf(limits: Partial<Api.PutPlan>, like: string): Api.PutPlan {
  const missing = LIMITS.filter((name) => limits[name] === undefined);
  if (missing.length > 0) {
    const options = missing.map((name) => `--${name}`).join(', ');
    throw new InputError(`There is no plan ${like} to take limits from: give ${options}, or --like <plan>.`);
  }
  const { vectors, writes, queries, collections, keys, shards, anchoring } = limits as Api.PutPlan;
  return { vectors, writes, queries, collections, keys, shards, anchoring };
}

const planLines = (plans: readonly Api.Plan[]): string[] =>
  tableLines(
    ['plan', ...LIMITS, 'source'],
    plans.map((plan) => [plan.name, ...LIMITS.map((name) => plan[name] ?? UNLIMITED), plan.source]),
  );
