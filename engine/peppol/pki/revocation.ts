/**
 * Whether a certificate has been revoked: asked of its issuer's OCSP service, then looked up in its list.
 *
 * The answer has three values. "Unknown" is not "revoked": what it means is the operator's policy (REVOCATION), applied
 * in pki.ts. Answers are kept as long as they may be believed, failures for a short time.
 * @source design/as4.md section 13
 */
import { BoundedMap } from "../../base/bounded.js";
import { isBelieved, termOf } from "../../base/clock.js";
import type { Clock, Instant, Term } from "../../base/clock.js";
import { LIMITS } from "../../base/limits.js";
import type { Http, HttpResult } from "../network/http.js";
import type { Certificate } from "./certificate.js";
import { readCrl, statusInList } from "./crl.js";
import type { Crl } from "./crl.js";
import { ocspQuestion, readOcspAnswer } from "./ocsp.js";
import type { AnswerFault } from "./ocsp.js";

/** What can be known of a certificate's revocation. */
export const REVOCATION_STATUSES = ["good", "revoked", "unknown"] as const;
type RevocationStatus = (typeof REVOCATION_STATUSES)[number];

/** One answer, with what proves it: evidence. */
export interface RevocationAnswer {
  readonly status: RevocationStatus;
  /** `none`: the certificate names no service. `off`: nobody asked. */
  readonly source: "ocsp" | "crl" | "none" | "off";
  /** When we asked. */
  readonly checkedAt: Instant;
  /** When the answer was made. */
  readonly producedAt?: Instant;
  readonly url?: string;
  /** The signed answer, exact bytes. */
  readonly answer?: Buffer;
  /** Why it is unknown: a fault of the answer, a failure of the network, an HTTP status. */
  readonly code?: string;
}

/** Asks whether certificates are revoked. */
export interface Revocation {
  /** Never throws. */
  ask(certificate: Certificate, issuer: Certificate): Promise<RevocationAnswer>;
}

interface RevocationOptions {
  readonly http: Http;
  readonly clock: Clock;
}

interface Known extends Term {
  readonly answer: RevocationAnswer;
}

/** A list that was fetched: the proven list, or why there is none. */
interface Fetched extends Term {
  readonly crl: Crl | undefined;
  readonly code: string | undefined;
  readonly bytes: Buffer | undefined;
}

/** Makes the client of OCSP services and revocation lists, which remembers answers while they may be believed. */
export function createRevocation({ http, clock }: RevocationOptions): Revocation {
  const known = new BoundedMap<string, Known>(LIMITS.revocation_cache_entries);
  // Bounded by the look-ups and messages under way on this node.
  const asking = new Map<string, Promise<RevocationAnswer>>();
  const lists = new BoundedMap<string, Promise<Fetched>>(LIMITS.crl_cache_entries);

  /** How long something is kept: as long as the answer says, at most LIMITS.revocation_cache_ms. */
  const lifetime = (status: RevocationStatus, until: Instant | undefined): number => {
    if (status === "unknown" || until === undefined) return LIMITS.revocation_unknown_cache_ms;
    return Math.min(LIMITS.revocation_cache_ms, Math.max(LIMITS.revocation_unknown_cache_ms, until - clock.now()));
  };

  async function askOcsp(url: string, certificate: Certificate, issuer: Certificate): Promise<Timed> {
    const checkedAt = clock.now();
    const answer = await http({
      method: "POST",
      url,
      use: "revocation",
      bytes_max: LIMITS.ocsp_answer_bytes_max,
      body: ocspQuestion(certificate, issuer),
      headers: { "Content-Type": "application/ocsp-request", Accept: "application/ocsp-response" },
    });
    const base = { source: "ocsp", url, checkedAt } as const;
    if (answer.kind === "failed" || answer.status !== 200)
      return { answer: { ...base, status: "unknown", code: codeOf(answer) } };
    const finding = readOcspAnswer(answer.body, certificate, issuer, checkedAt);
    if (typeof finding === "string") return { answer: { ...base, status: "unknown", code: finding } };
    return {
      answer: { ...base, status: finding.status, producedAt: finding.producedAt, answer: answer.body },
      until: finding.until,
    };
  }

  async function fetchList(url: string, issuer: Certificate): Promise<Fetched> {
    const answer = await http({ method: "GET", url, use: "revocation", bytes_max: LIMITS.crl_bytes_max });
    const failed = (code: string): Fetched => ({
      crl: undefined,
      code,
      bytes: undefined,
      ...termOf(clock, clock.now(), LIMITS.revocation_unknown_cache_ms),
    });
    if (answer.kind === "failed" || answer.status !== 200) return failed(codeOf(answer));
    const readAt = clock.now();
    const crl: Crl | AnswerFault = readCrl(answer.body, issuer, readAt);
    if (typeof crl === "string") return failed(crl);
    return { crl, code: undefined, bytes: answer.body, ...termOf(clock, readAt, lifetime("good", crl.until)) };
  }

  /** One fetch a list at a time, shared by everybody who waits for it. */
  async function listOf(url: string, issuer: Certificate): Promise<Fetched> {
    const key = `${issuer.fingerprint} ${url}`;
    const held = lists.get(key);
    if (held !== undefined && isBelieved(await held, clock)) return held;
    // Somebody else may have begun a new fetch while this one looked at the old list.
    const current = lists.get(key);
    if (current !== undefined && current !== held) return current;
    return lists.keep(key, fetchList(url, issuer));
  }

  async function askList(url: string, certificate: Certificate, issuer: Certificate): Promise<Timed> {
    const { crl, code, bytes } = await listOf(url, issuer);
    const base = { source: "crl", url, checkedAt: clock.now() } as const;
    if (crl === undefined || bytes === undefined)
      return { answer: { ...base, status: "unknown", code: code ?? "none" } };
    const status = statusInList(crl, certificate);
    if (status === "scope") return { answer: { ...base, status: "unknown", code: status } };
    return { answer: { ...base, status, producedAt: crl.thisUpdate, answer: bytes }, until: crl.until };
  }

  async function askAll(certificate: Certificate, issuer: Certificate): Promise<Timed> {
    let last: Timed = { answer: { status: "unknown", source: "none", checkedAt: clock.now(), code: "no_service" } };
    for (const [ask, urls] of [
      [askOcsp, certificate.ocspUrls],
      [askList, certificate.crlUrls],
    ] as const) {
      for (const url of urls) {
        last = await ask(url, certificate, issuer);
        if (last.answer.status !== "unknown") return last;
      }
    }
    return last;
  }

  const keep = (key: string, { answer, until }: Timed): RevocationAnswer => {
    return known.keep(key, { answer, ...termOf(clock, answer.checkedAt, lifetime(answer.status, until)) }).answer;
  };

  return {
    ask: (certificate, issuer) => {
      const key = `${certificate.fingerprint} ${issuer.fingerprint}`;
      const remembered = known.get(key);
      if (remembered !== undefined && isBelieved(remembered, clock)) return Promise.resolve(remembered.answer);
      const running = asking.get(key);
      if (running !== undefined) return running;
      const mine = askAll(certificate, issuer)
        .then((timed) => keep(key, timed))
        .finally(() => {
          asking.delete(key);
        });
      asking.set(key, mine);
      return mine;
    },
  };
}

interface Timed {
  readonly answer: RevocationAnswer;
  readonly until?: Instant;
}

const codeOf = (answer: HttpResult): string => (answer.kind === "failed" ? answer.fault : `http_${answer.status}`);
