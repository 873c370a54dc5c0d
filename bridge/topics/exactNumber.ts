/** A JSON number exactly as it was written: no binary float ever stands between an event and the ledger. */
export class ExactNumber {
  /** In JSON's own grammar, e.g. `2.50`, `-0`, `1E+2`. */
  constructor(readonly text: string) {}
}
