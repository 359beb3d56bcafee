import type { OpenApiSchema, OpenApiSchemas } from '../schema.ts';
import type { Example } from './example.ts';
import { STORY } from './story.ts';

type Named = readonly (readonly [name: string, example: OpenApiSchema])[];
type Contents = Readonly<Record<string, OpenApiSchema>>;

const OF_OPERATION = Map.groupBy(STORY, ({ operation }) => operation);

/** Returns an example's name, which is the same in parameters, body and response. */
const nameOf = ({ summary }: Example): string => summary.toLowerCase().replaceAll(/\W+/g, '-');

/**
 * Lists an example's values. A schema of newline-delimited JSON describes one line, so each line
 * becomes a value of its own.
 */
function valuesOf(example: Example, value: unknown): Named {
  const { summary } = example;
  if (value === undefined) return [];
  if (!Array.isArray(value)) return [[nameOf(example), { summary, value }]];
  return value.map((line, at) => [
    `${nameOf(example)}-${at + 1}`,
    { summary: `${summary}, line ${at + 1}`, value: line },
  ]);
}

const withNamed = (holder: OpenApiSchema, examples: Named): OpenApiSchema =>
  examples.length === 0 ? holder : { ...holder, examples: Object.fromEntries(examples) };

function withContents(holder: OpenApiSchema, examples: Named): OpenApiSchema {
  const contents = Object.entries(holder.content as Contents);
  return {
    ...holder,
    content: Object.fromEntries(contents.map(([type, media]) => [type, withNamed(media, examples)])),
  };
}

const isAnsweredBy = (status: string, { status: refusal }: Example): boolean =>
  refusal === undefined ? status.startsWith('2') : status === `${refusal}`;

/** Adds the examples to an operation object, including its query parameters. */
export function withExamples(operation: OpenApiSchema): OpenApiSchema {
  const examples = OF_OPERATION.get(operation.operationId as string) ?? [];
  const named = (part: (example: Example) => unknown): Named =>
    examples.flatMap((example) => valuesOf(example, part(example)));
  const { parameters, requestBody } = operation as { parameters?: OpenApiSchema[]; requestBody?: OpenApiSchema };
  const responses = Object.entries(operation.responses as OpenApiSchemas).map(([status, response]) => {
    const answers = named((example) => (isAnsweredBy(status, example) ? example.answer : undefined));
    return [status, answers.length === 0 ? response : withContents(response, answers)] as const;
  });
  return {
    ...operation,
    ...(parameters && {
      parameters: parameters.map((each) =>
        withNamed(
          each,
          named(({ query }) => query?.[each.name as string]),
        ),
      ),
    }),
    ...(requestBody && {
      requestBody: withContents(
        requestBody,
        named(({ body }) => body),
      ),
    }),
    responses: Object.fromEntries(responses),
  };
}
