import type { JsonSchema } from '../../lib/json/schema.ts';
import type { Example } from '../../services/gateway/openapi/examples/example.ts';
import { STORY } from '../../services/gateway/openapi/examples/story.ts';
import { NDJSON_TYPE } from '../../services/gateway/responses/sender.ts';
import type { Parameter } from '../client-types/described-api.ts';
import { table, WIDTH, wrapText } from '../markdown.ts';
import type { Fields } from './fields.ts';
import { jsonText } from './json-text.ts';

type Content = Readonly<Record<string, { schema: JsonSchema }>>;

export interface Operation {
  operationId: string;
  tags: [string];
  summary: string;
  description: string;
  parameters?: JsonSchema[];
  requestBody?: { content: Content };
  responses: Readonly<Record<string, { description: string; content: Content }>>;
}

const FIELD_HEAD = ['field', 'type', 'default', 'meaning'];

/** Returns an operation's section of the page: its fields, errors and examples. */
export function operationText(method: string, path: string, operation: Operation, fields: Fields): string {
  const { done = [], refused = [] } = Object.groupBy(Object.entries(operation.responses), ([status]) =>
    status.startsWith('2') ? 'done' : 'refused',
  );
  const [, { content }] = done[0]!;
  const examples = STORY.filter((example) => example.operation === operation.operationId);
  return [
    `### ${method} ${path}`,
    `${operation.summary}.`,
    ...operation.description.split('\n\n').map((paragraph) => wrapText(paragraph)),
    ...bodyText('Parameters:', parameterRows(operation, fields)),
    ...bodyText(
      'Body:',
      rowsOf(operation.requestBody?.content, fields),
      linesOf(operation.requestBody?.content, fields),
    ),
    ...answerText(done.map(([status]) => status).join(' or '), content, fields),
    wrapText(`Errors: ${refused.map(refusalText).join('; ')}.`),
    ...examples.flatMap((example) => exampleText(method, path, example, Object.keys(content)[0]!)),
  ].join('\n\n');
}

const bodyText = (title: string, rows: string[][], note: string[] = []): string[] => {
  if (rows.length === 0) return note.map((each) => `${title} ${each}`);
  return [title, table(FIELD_HEAD, rows)];
};

function parameterRows({ parameters = [] }: Operation, fields: Fields): string[][] {
  return parameters.map((parameter) => {
    const { name, required, description, schema } = fields.resolved(parameter) as unknown as Parameter;
    const resolved = fields.resolved(schema);
    const standing = required ? 'required' : resolved.default === undefined ? '' : `\`${resolved.default}\``;
    return [`\`${name}\``, fields.type(schema), standing, `${description ?? resolved.description ?? ''}`];
  });
}

const rowsOf = (content: Content | undefined, fields: Fields): string[][] => {
  const schema = content?.['application/json']?.schema;
  return schema === undefined ? [] : fields.rows(schema);
};

const linesOf = (content: Content | undefined, fields: Fields): string[] =>
  content?.[NDJSON_TYPE] === undefined
    ? []
    : [`lines of \`${NDJSON_TYPE}\`, each an ${fields.type(content[NDJSON_TYPE].schema)}.`];

function answerText(status: string, content: Content, fields: Fields): string[] {
  const [[type, { schema }]] = Object.entries(content) as [[string, { schema: JsonSchema }]];
  const [lines] = linesOf(content, fields);
  if (lines !== undefined) return [`Answers ${status} with ${lines}`];
  const { oneOf = [schema] } = schema as { oneOf?: JsonSchema[] };
  const tables = oneOf.flatMap((each) => fields.tables(each));
  if (tables.length === 0) return [`Answers ${status} with \`${type}\`.`];
  return [`Answers ${status} with:`, ...tables.flatMap((each, at) => (at === 0 ? [each] : ['or:', each]))];
}

/** Returns a response's status and error codes; a status that is not an error has no codes. */
function refusalText([status, { description }]: readonly [string, { description: string }]): string {
  const codes = [...description.matchAll(/^`([A-Z_]+)`: /gm)].map(([, code]) => `\`${code}\``);
  return codes.length === 0 ? status : `${status} ${codes.join(', ')}`;
}

function exampleText(method: string, pattern: string, example: Example, type: string): string[] {
  const { summary, path = {}, query = {}, body, answer, status } = example;
  const target = pattern.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name]!));
  const parameters = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  const first = [`${method} ${target}`, ...(parameters.length === 0 ? [] : [parameters.join('&')])].join('?');
  const request = body === undefined ? first : `${first}\n\n${text(body)}`;
  const isText = typeof answer === 'string';
  const note = status === undefined ? '' : ` (${status})`;
  const cut = example.isExcerpt || isText ? ' (a part of the answer)' : note;
  const language = isText ? 'text' : type === NDJSON_TYPE && status === undefined ? 'ndjson' : 'json';
  return [
    `Example: ${lowered(summary)}${cut}.`,
    fenced('http', request),
    fenced(language, isText ? answer.trim() : text(answer)),
  ];
}

const fenced = (language: string, body: string): string => `\`\`\`${language}\n${body}\n\`\`\``;
const text = (value: object | readonly object[]): string =>
  Array.isArray(value) ? value.map((line) => JSON.stringify(line)).join('\n') : jsonText(value, WIDTH);
const lowered = (summary: string): string => summary.charAt(0).toLowerCase() + summary.slice(1);
