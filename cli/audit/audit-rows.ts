import type { Api } from '../../client/index.ts';

/** A change with both of its entries, as far as they are known. */
type Change = Partial<Api.AuditEntry>;

/** Joins the two entries of each change to one line for people. */
export class AuditRows {
  readonly #begun = new Map<string, Change>();

  /** Returns the line of a change that the entry ends; null while it has no outcome. */
  lineOf(entry: Api.AuditEntry): string | null {
    const { id = '', phase } = entry;
    if (phase === 'begin') {
      this.#begun.set(id, entry);
      return null;
    }
    const begun = this.#begun.get(id);
    this.#begun.delete(id);
    return changeLine({ ...begun, ...entry });
  }

  /** Returns the lines of changes without an outcome. */
  unended(): string[] {
    return [...this.#begun.values()].map((change) => changeLine({ ...change, outcome: undefined }));
  }
}

function changeLine({ at, action, target, outcome, code, actor, address, node }: Change): string {
  const what = [action ?? '(not an entry of the service)', target].filter(Boolean).join(' ');
  const how = [outcome ?? 'no outcome', code].filter(Boolean).join(' ');
  const from = address ?? node;
  return [at, what, how, `by ${whoIs(actor)}${from ? ` from ${from}` : ''}`].filter(Boolean).join('  ');
}

function whoIs(actor: Api.AuditEntry['actor']): string {
  if (actor === undefined) return 'the service';
  if (actor.type === 'key') return `key ${actor.keyId}`;
  return actor.type === 'console' ? `a console (${actor.node})` : 'the operator';
}
