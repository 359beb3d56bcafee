const KEPT = 20;

/** Violations that were observed, as sentences; only the first ones are kept. */
export class Faults {
  readonly list: string[] = [];

  add(fault: string): void {
    if (this.list.length < KEPT && this.list.at(-1) !== fault) this.list.push(fault);
  }
}
