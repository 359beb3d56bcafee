import { TextInput } from '../components/text-input.ts';
import { html } from '../html.ts';

/** What the reader trusts, as typed. */
export interface Trust {
  basis: 'ledger' | 'root';
  authority: string;
  node: string;
  root: string;
}

interface TrustFieldsProps {
  trust: Trust;
  onChange(change: Partial<Trust>): void;
  /** By field. */
  errors: Readonly<Record<string, string>>;
}

const BASES = { ledger: 'The ledger', root: 'A root that I know' } as const;

/** Asks for the authority and a node of the ledger, or for a root. */
export function TrustFields({ trust, onChange, errors }: TrustFieldsProps) {
  const set = (field: keyof Trust) => (value: string) => onChange({ [field]: value });
  return html`<section class="card" aria-labelledby="trust-title">
    <h2 id="trust-title">What you trust</h2>
    <div class="segments" role="group" aria-labelledby="trust-title">
      ${Object.entries(BASES).map(
        ([name, text]) =>
          html`<button
            type="button"
            aria-pressed=${name === trust.basis ? 'true' : 'false'}
            onClick=${() => onChange({ basis: name as Trust['basis'] })}
          >${text}</button>`,
      )}
    </div>
    ${
      trust.basis === 'root'
        ? html`<${TextInput}
          label="Root"
          isCode
          value=${trust.root}
          onInput=${set('root')}
          hint="64 hex digits, from a source that you trust."
          error=${errors.root}
        />`
        : html`<${TextInput}
            label="Authority"
            isCode
            value=${trust.authority}
            onInput=${set('authority')}
            hint="The address that alone may write the collection's account. Take it from your own notes, never from what you check."
            error=${errors.authority}
          />
          <${TextInput}
            label="Node of the ledger"
            isCode
            value=${trust.node}
            onInput=${set('node')}
            placeholder="https://api.mainnet-beta.solana.com"
            hint="https, or a node on this machine. It sees which collection you check."
            error=${errors.node}
          />`
    }
  </section>`;
}
