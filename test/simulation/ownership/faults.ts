const KEPT = 20;

/** What was seen that cannot be, in sentences; the first ones. */
export class Faults {
  readonly list: string[] = [];

  add(fault: string): void {
    if (this.list.length < KEPT && this.list.at(-1) !== fault) this.list.push(fault);
  }
}
