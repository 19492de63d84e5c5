/**
 * DNS messages, as far as a NAPTR question needs them: written, and read without trusting a single length or pointer.
 * Node's resolver gives NAPTR records without their time to live, so the question is asked here.
 * @source RFC 1035 section 4, RFC 3403 section 4, RFC 2308 section 5, RFC 6891 section 6
 */
import { LIMITS } from "../../base/limits.js";

/** The answers of a DNS server that are told apart. @source RFC 1035 section 4.1.1 */
export const RCODE = { noError: 0, serverFailure: 2, noSuchName: 3 } as const;

const TYPE = { cname: 5, soa: 6, naptr: 35, opt: 41 } as const;
const CLASS_IN = 1;
/** Answers larger than this come over TCP: it fits an IPv6 packet everywhere. */
const UDP_BYTES = 1_232;
const HEADER_BYTES = 12;

/** One NAPTR record. @source RFC 3403 section 4.1 */
export interface Naptr {
  readonly order: number;
  readonly preference: number;
  readonly flags: string;
  readonly service: string;
  readonly regexp: string;
  readonly replacement: string;
}

/** An answer to our question; without records when there are none or the name does not exist. */
export interface DnsAnswer {
  readonly kind: "answer";
  readonly rcode: number;
  /** The answer did not fit; ask again over TCP. */
  readonly truncated: boolean;
  readonly naptr: readonly Naptr[];
  /**
   * Seconds: the smallest of the records used; for an empty answer what its SOA says. Undefined when nothing says it.
   */
  readonly ttl_s: number | undefined;
}

/** What came is no DNS message, or answers another question. */
interface DnsGarbage {
  readonly kind: "garbage";
}

/** A question for the NAPTR records of a name, recursion desired. @throws Error for a name that is none */
export function naptrQuestion(id: number, name: string): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt16BE(id, 0);
  header.writeUInt16BE(0x0100, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(1, 10);
  const options = Buffer.from([0, 0, TYPE.opt, UDP_BYTES >> 8, UDP_BYTES & 0xff, 0, 0, 0, 0, 0, 0]);
  return Buffer.concat([header, encodeName(name), Buffer.from([0, TYPE.naptr, 0, CLASS_IN]), options]);
}

function encodeName(name: string): Buffer {
  const labels = name.split(".");
  const good = name.length <= LIMITS.dns_name_chars_max && labels.every((label) => /^[A-Za-z0-9_-]{1,63}$/.test(label));
  if (!good) throw new Error("not a host name");
  return Buffer.concat([
    ...labels.flatMap((label) => [Buffer.from([label.length]), Buffer.from(label, "latin1")]),
    Buffer.from([0]),
  ]);
}

class Malformed extends Error {}

interface DnsRecord {
  readonly name: string;
  readonly type: number;
  readonly ttl_s: number;
  readonly start: number;
  readonly end: number;
}

/**
 * Reads an answer to `naptrQuestion(id, name)`. Aliases inside the answer are followed, at most LIMITS.dns_aliases_max.
 * @returns garbage for anything that is not a whole, consistent answer to this question.
 */
export function readNaptrAnswer(message: Buffer, id: number, name: string): DnsAnswer | DnsGarbage {
  try {
    return new Reader(message).answer(id, name.toLowerCase());
  } catch (error) {
    if (error instanceof Malformed || error instanceof RangeError) return { kind: "garbage" };
    throw error;
  }
}

class Reader {
  readonly #message: Buffer;
  #at = HEADER_BYTES;

  constructor(message: Buffer) {
    this.#message = message;
  }

  answer(id: number, name: string): DnsAnswer {
    const flags = this.#message.readUInt16BE(2);
    const isResponse = (flags & 0x8000) !== 0 && (flags & 0x7800) === 0;
    if (this.#message.readUInt16BE(0) !== id || !isResponse || this.#message.readUInt16BE(4) !== 1)
      throw new Malformed();
    if (this.#name() !== name || this.#u16() !== TYPE.naptr || this.#u16() !== CLASS_IN) throw new Malformed();
    const rcode = flags & 0x000f;
    const truncated = (flags & 0x0200) !== 0;
    if (truncated) return { kind: "answer", rcode, truncated, naptr: [], ttl_s: undefined };
    const answers = this.#records(this.#message.readUInt16BE(6));
    const authorities = this.#records(this.#message.readUInt16BE(8));
    const { owner, ttls } = this.#follow(name, answers);
    const records = answers.filter((record) => record.type === TYPE.naptr && record.name === owner);
    const naptr = records.map((record) => this.#naptr(record));
    const known =
      naptr.length === 0
        ? authorities.flatMap((record) => this.#negativeTtl(record))
        : [...ttls, ...records.map(({ ttl_s }) => ttl_s)];
    return { kind: "answer", rcode, truncated, naptr, ttl_s: known.length === 0 ? undefined : Math.min(...known) };
  }

  /** The last name of the chain of aliases that begins with `name`. */
  #follow(name: string, answers: readonly DnsRecord[]): { readonly owner: string; readonly ttls: number[] } {
    let owner = name;
    const ttls: number[] = [];
    for (let hops = 0; ; hops += 1) {
      const alias = answers.find((record) => record.type === TYPE.cname && record.name === owner);
      if (alias === undefined) return { owner, ttls };
      if (hops === LIMITS.dns_aliases_max) throw new Malformed();
      this.#at = alias.start;
      owner = this.#name();
      ttls.push(alias.ttl_s);
    }
  }

  #records(count: number): DnsRecord[] {
    if (count > LIMITS.dns_records_max) throw new Malformed();
    return Array.from({ length: count }, () => {
      const name = this.#name();
      const type = this.#u16();
      const isInternet = this.#u16() === CLASS_IN;
      const ttl = this.#u32();
      const length = this.#u16();
      const start = this.#at;
      this.#at += length;
      if (this.#at > this.#message.length) throw new Malformed();
      // RFC 2181 section 8: a time to live with its highest bit set is zero.
      return { name, type: isInternet ? type : -1, ttl_s: ttl > 0x7fff_ffff ? 0 : ttl, start, end: this.#at };
    });
  }

  #naptr({ start, end }: DnsRecord): Naptr {
    this.#at = start;
    const order = this.#u16();
    const preference = this.#u16();
    const [flags, service, regexp] = [this.#text(end), this.#text(end), this.#text(end)];
    const replacement = this.#name();
    if (this.#at !== end) throw new Malformed();
    return { order, preference, flags, service, regexp, replacement };
  }

  #text(end: number): string {
    const length = this.#message.readUInt8(this.#at);
    const start = this.#at + 1;
    this.#at = start + length;
    if (this.#at > end) throw new Malformed();
    return this.#message.toString("latin1", start, this.#at);
  }

  /** RFC 2308: the smaller of the SOA's own time to live and its last field. */
  #negativeTtl(record: DnsRecord): number[] {
    if (record.type !== TYPE.soa || record.end - record.start < 22) return [];
    return [Math.min(record.ttl_s, this.#message.readUInt32BE(record.end - 4))];
  }

  /** A name in lower case; compression pointers must lead backwards, so that they end. */
  #name(): string {
    const labels: string[] = [];
    let chars = 0;
    let at = this.#at;
    let lowest = at;
    let jumped = false;
    for (;;) {
      const length = this.#message.readUInt8(at);
      if ((length & 0xc0) === 0xc0) {
        const target = this.#message.readUInt16BE(at) & 0x3fff;
        if (!jumped) this.#at = at + 2;
        if (target >= lowest) throw new Malformed();
        jumped = true;
        lowest = target;
        at = target;
        continue;
      }
      if (length > 63) throw new Malformed();
      if (!jumped) this.#at = at + 1 + length;
      if (length === 0) return labels.join(".");
      chars += length + 1;
      if (chars > LIMITS.dns_name_chars_max + 1 || at + 1 + length > this.#message.length) throw new Malformed();
      labels.push(this.#message.toString("latin1", at + 1, at + 1 + length).toLowerCase());
      at += 1 + length;
    }
  }

  #u16(): number {
    const value = this.#message.readUInt16BE(this.#at);
    this.#at += 2;
    return value;
  }

  #u32(): number {
    const value = this.#message.readUInt32BE(this.#at);
    this.#at += 4;
    return value;
  }
}
