/** Why a source cannot be read; it leaves the reader at once. */
export class UnreadableSource extends Error {
  readonly ruleId: string;

  constructor(ruleId: string, message: string) {
    super(message);
    this.name = "UnreadableSource";
    this.ruleId = ruleId;
  }
}
