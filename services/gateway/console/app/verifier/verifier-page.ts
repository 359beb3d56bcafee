import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../components/button.ts';
import { numberText } from '../components/number-text.ts';
import { html } from '../html.ts';
import { Brand } from '../shell/brand.ts';
import { ThemeSelect } from '../shell/theme-select.ts';
import { type Expectation, ExpectationFields } from './expectation-fields.ts';
import { takeHandover } from './handover.ts';
import { bytesText, type Subject, SubjectField } from './subject-field.ts';
import { type Trust, TrustFields } from './trust-fields.ts';
import { type CheckState, type StartWorker, useCheck } from './use-check.ts';
import { VerdictCard } from './verdict-card.ts';

interface VerifierPageProps {
  startWorker: StartWorker;
  /** Address of the verifier as one file; null in that file. */
  fileUrl: string | null;
}

const LOOPBACK = ['127.0.0.1', 'localhost'];
const NO_TRUST: Trust = { basis: 'ledger', authority: '', node: '', root: '' };
const NO_EXPECTATION: Expectation = { collectionId: '', id: '', namespace: '', record: '', signature: '' };

/** The verifier: checks a proof or an export against what the reader trusts, and nothing else. */
export function VerifierPage({ startWorker, fileUrl }: VerifierPageProps) {
  const [subject, setSubject] = useState<Subject>({ file: null, text: '' });
  const [trust, setTrust] = useState(NO_TRUST);
  const [expectation, setExpectation] = useState(NO_EXPECTATION);
  const [isTried, setTried] = useState(false);
  const { now, start, cancel } = useCheck(startWorker);
  const errors = isTried ? errorsIn(subject, trust) : {};
  useEffect(
    () =>
      takeHandover(({ proof, record }) => {
        setSubject({ file: null, text: proof });
        setExpectation({ ...NO_EXPECTATION, record });
      }),
    [],
  );
  const submit = (event: Event) => {
    event.preventDefault();
    setTried(true);
    if (Object.keys(errorsIn(subject, trust)).length > 0) return;
    const { authority, node, root } = trust;
    start({
      ...trimmed(expectation),
      subject: subject.file ?? new Blob([subject.text]),
      trust: trust.basis === 'root' ? { root: root.trim() } : { authority: authority.trim(), node: node.trim() },
    });
  };
  return html`<div class="verifier">
    <header class="verifier-head"><${Brand} /><${ThemeSelect} /></header>
    <main id="main">
      <h1>Verify a proof or an export</h1>
      <p class="verifier-about">
        This page asks the node of the ledger that you name, and no other server. It needs no key.${' '}
        ${fileUrl !== null && html`<a href=${fileUrl} download>Save it as one file</a>, which works from your disk.`}
      </p>
      <${Result} now=${now} cancel=${cancel} />
      <form onSubmit=${submit} novalidate>
        <${SubjectField} subject=${subject} onChange=${setSubject} error=${errors.subject ?? null} />
        <${TrustFields} trust=${trust} onChange=${(change: Partial<Trust>) => setTrust({ ...trust, ...change })} errors=${errors} />
        <${ExpectationFields}
          expectation=${expectation}
          onChange=${(change: Partial<Expectation>) => setExpectation({ ...expectation, ...change })}
        />
        <${Button} kind="primary" type="submit" isBusy=${now.state === 'checking'}>Verify<//>
      </form>
    </main>
  </div>`;
}

/** Where the check stands; moves into sight when it ends. */
function Result({ now, cancel }: { now: CheckState; cancel(): void }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (now.state === 'done') place.current?.scrollIntoView({ block: 'nearest' });
  }, [now]);
  return html`<div class="verifier-result" ref=${place} role="status" aria-live="polite">
    ${now.state === 'checking' && html`<${Progress} ...${now} cancel=${cancel} />`}
    ${now.state === 'done' && html`<${VerdictCard} outcome=${now.outcome} />`}
  </div>`;
}

function Progress({ readBytes, bytes, cancel }: { readBytes: number; bytes: number; cancel(): void }) {
  return html`<div class="progress">
    <progress max=${Math.max(bytes, 1)} value=${readBytes} aria-label="Bytes read"></progress>
    <span>${bytesText(readBytes)} of ${bytesText(bytes)}, ${numberText.percent(readBytes / Math.max(bytes, 1))}</span>
    <${Button} onClick=${cancel}>Cancel<//>
  </div>`;
}

const trimmed = ({ collectionId, id, namespace, record, signature }: Expectation): Expectation => ({
  // An id and a namespace may begin or end with spaces.
  id,
  namespace,
  collectionId: collectionId.trim(),
  record: record.trim(),
  signature: signature.trim(),
});

/** Returns what is wrong with the fields, by field. */
function errorsIn({ file, text }: Subject, { basis, authority, node, root }: Trust): Record<string, string> {
  const errors: Record<string, string> = {};
  if (file === null && text.trim() === '') errors.subject = 'Choose a file, or paste a proof.';
  if (basis === 'root') {
    if (!/^[0-9a-f]{64}$/.test(root.trim())) errors.root = 'A root is 64 lower-case hex digits.';
    return errors;
  }
  if (authority.trim() === '') errors.authority = 'Give the address of the authority.';
  if (!isAllowedNode(node.trim()))
    errors.node = 'Give an address that begins with https://, or with http://127.0.0.1:.';
  return errors;
}

/** Whether the policy of this page lets it ask the node. */
function isAllowedNode(node: string): boolean {
  if (!URL.canParse(node)) return false;
  const { protocol, hostname } = new URL(node);
  return protocol === 'https:' || (protocol === 'http:' && LOOPBACK.includes(hostname));
}
