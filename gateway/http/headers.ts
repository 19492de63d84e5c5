/** Request headers as they came: names in lower case, repeats kept, so that a repeated header can be refused. */

export class HeaderList {
  /** Names and values in turn: name, value, name, value. This costs one allocation, a map one for each header. */
  // Bounded by LIMITS.request_headers_max, which the servers enforce.
  readonly pairs: string[] = [];

  add(name: string, value: string): void {
    this.pairs.push(name, value);
  }

  /** The first value of a header by its lower-case name. */
  get(name: string): string | undefined {
    const { pairs } = this;
    for (let i = 0; i < pairs.length; i += 2) if (pairs[i] === name) return pairs[i + 1];
    return undefined;
  }

  /** How many times the request has this header. */
  count(name: string): number {
    const { pairs } = this;
    let count = 0;
    for (let i = 0; i < pairs.length; i += 2) if (pairs[i] === name) count++;
    return count;
  }

  /** All values of a header, in order. */
  all(name: string): string[] {
    return this.pairs.filter((_, i) => i % 2 === 1 && this.pairs[i - 1] === name);
  }
}
