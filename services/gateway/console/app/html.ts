import htm from 'htm';
import { type ComponentChild, type ComponentChildren, h, type VNode } from 'preact';

type Template = (strings: TemplateStringsArray, ...values: unknown[]) => VNode;

/** Template tag that builds a tree of elements and components. */
export const html = (htm as unknown as { bind(create: typeof h): Template }).bind(h);

export type Child = ComponentChild;
export type Children = ComponentChildren;
