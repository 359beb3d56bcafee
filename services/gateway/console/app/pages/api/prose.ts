import { html } from '../../html.ts';

/** A description of the document: paragraphs, with code between backticks. */
export function Prose({ text }: { text: string }) {
  return text
    .split(/\n{2,}/)
    .filter(Boolean)
    .map(
      (paragraph) =>
        html`<p>${paragraph.split('`').map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : part))}</p>`,
    );
}
