import { ERROR_TABLE } from '../../lib/errors.ts';
import { type JsonSchema, ref } from '../../lib/json/schema.ts';
import { LIMITS } from '../../lib/limits.ts';
import { openApiDocument } from '../../services/gateway/openapi/document.ts';
import { STORY } from '../../services/gateway/openapi/examples/story.ts';
import { FIXED_LIMIT_ROWS, LIMIT_ROWS } from '../limit-rows.ts';
import { table, wrapText } from '../markdown.ts';
import { Fields } from './fields.ts';
import { type Operation, operationText } from './operations.ts';

interface ApiDescription {
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: Record<string, Record<string, JsonSchema>>;
}

const METRICS = [
  [
    '`cosine`',
    'cosine of the angle between the vectors',
    '-1 to 1',
    'exactly 1 for a vector equal to the query; refuses one that is all zero',
  ],
  ['`dot`', 'dot product', 'any number', 'grows with the lengths of the vectors'],
  ['`euclidean`', '1 / (1 + `distance`)', 'above 0, to 1', 'each match has `distance`, the euclidean distance'],
];

const INTRODUCTION = `\`GET /openapi.json\` says the same to tools, with the limits of the service that answers. A test
sends every request of this page to a fresh service, in one order, and compares the complete
answers. Only ids, times, secrets and the values of the ledger differ from service to service.

* Send the key as \`Authorization: Bearer <API key>\`.
* Bodies are JSON in UTF-8. Provec answers 400 to a field or parameter that it does not know, and
  suggests the nearest one that it knows. It also answers 400 to an object with a duplicate member,
  even in metadata, because JSON parsers differ in which of the two they keep.
* Field names are camelCase, except for counts, times and keys in collections, keys, accounts and
  usage, which are snake_case. Times are ISO 8601 in UTC.
* Answers above 1 KB are compressed for a client that sends \`Accept-Encoding: zstd\` or \`gzip\`,
  as long as the gateway compresses fewer than 64 others. Bodies may be compressed, with
  \`Content-Encoding: gzip\` or \`zstd\`. Limits hold for their content. It may be 100 times as large
  as the body, and 1 MiB in any case.
* Every answer has an \`X-Request-Id\`: the request's own if it matches
  \`^[A-Za-z0-9._:-]{1,128}$\`, else a new one.
* A read reflects every write acknowledged before it began, unless it asks for \`eventual\`.
* [filters.md](filters.md) says what a filter matches, [consistency.md](consistency.md) what holds
  under faults, [recipes.md](recipes.md) how to put the operations together.`;

/** Returns docs/api.md: the OpenAPI document and the default limits, for people. */
export function apiPage(mark: string): string {
  const description = openApiDocument({ limits: LIMITS, adminToken: 'any' }) as ApiDescription;
  const fields = new Fields(description.components);
  const operations = Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const areas = description.tags.map(({ name, description: words }) => {
    const ofArea = operations
      .filter(({ operation }) => operation.tags[0] === name)
      .sort((one, other) => firstExample(one.operation) - firstExample(other.operation));
    const texts = ofArea.map(({ method, path, operation }) => operationText(method, path, operation, fields));
    return [`## ${name}`, wrapText(words), ...texts].join('\n\n');
  });
  return `${['# API', mark, INTRODUCTION, scoresText(), errorsText(fields), limitsText(), ...areas, objectsText(fields)].join('\n\n')}\n`;
}

/** The position of an operation's first example; operations appear in the order of the examples. */
const firstExample = ({ operationId }: Operation): number =>
  STORY.findIndex(({ operation }) => operation === operationId);

const scoresText = (): string => `## What a score means

A higher score is a better match, whatever the metric. Provec computes scores from the stored
float32 vectors with float64 sums and rounds nothing; the index only proposes candidates. Matches
come best first, under \`euclidean\` by their distance, and ties by id.

${table(['metric', 'score', 'range', 'note'], METRICS)}`;

/** Lists the codes of each status. docs/errors.md explains the codes. */
function errorsText(fields: Fields): string {
  const body = fields.resolved(ref('Error'));
  const code = { type: 'string', description: 'For programs: one of those below.' };
  const codes = Object.entries(ERROR_TABLE).map(([code, { status }]) => ({ code: `\`${code}\``, status }));
  const rows = [...Map.groupBy(codes, ({ status }) => status)].sort(([one], [other]) => one - other);
  return `## Errors

Every error is a JSON object, whatever the operation returns on success. [errors.md](errors.md)
says what each code means, and what to do after it.

${fields.tables({ ...body, properties: { ...(body.properties as object), code } }).join('\n\n')}

${table(
  ['status', 'codes'],
  rows.map(([status, of]) => [status, of.map(({ code }) => code).join(', ')]),
)}`;
}

const limitsText = (): string => `## Limits

Operators can lower them with \`PROVEC_LIMITS\`.

${table(['limit', 'value', 'of what'], LIMIT_ROWS)}

These are fixed:

${table(['limit', 'value', 'of what'], FIXED_LIMIT_ROWS)}

The head of a request has at most 16 KiB. It must arrive within 15 s, and the whole request within
75 s. [configuration.md](configuration.md) says what each plan allows, and how an operator limits
the requests that a key makes in a second.`;

/** Tables of the components that other tables link to. These tables can add more links. */
function objectsText(fields: Fields): string {
  const texts: string[] = [];
  for (const name of fields.linked) texts.push(`### ${name}`, ...fields.tables(ref(name)));
  return ['## Objects', ...texts].join('\n\n');
}
