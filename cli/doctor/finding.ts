/** What a check found. `unknown`: this machine could not check it. */
export interface Finding {
  check: string;
  status: 'ok' | 'warning' | 'problem' | 'unknown';
  /** What was found and, unless all is well, what to do about it. */
  message: string;
}

/** Returns constructors for the findings of a check. */
export const findingsOf = (check: string) => {
  const as =
    (status: Finding['status']) =>
    (message: string): Finding => ({ check, status, message });
  return { ok: as('ok'), warning: as('warning'), problem: as('problem'), unknown: as('unknown') };
};
