/**
 * Finds the addresses of names that somebody else chose, in DNS alone and without a thread. The system's own look-up
 * holds one of the two threads that node has for names until a name server answers: two names of a stranger whose
 * servers say nothing would hold up the connections to everybody else.
 */
import { promises } from "node:dns";

import { LIMITS } from "../../base/limits.js";
import type { Resolve } from "./outbound-address.js";

/** A name without addresses, or one that nobody could say anything of; with the codes of the system's look-up. */
class NotFound extends Error {
  override readonly name = "NotFound";
  readonly code: "ENOTFOUND" | "EAI_AGAIN";
  constructor(code: NotFound["code"]) {
    super("DNS has no address of the name.");
    this.code = code;
  }
}

/** What DNS answers where there is no such name, or none with an address of the kind. */
const SAYS_NONE: ReadonlySet<unknown> = new Set(["ENOTFOUND", "ENODATA"]);

const isNone = (reason: unknown): boolean => reason instanceof Error && "code" in reason && SAYS_NONE.has(reason.code);

/**
 * Makes the look-up of strangers' names. Addresses of version 4 come first: everybody has a way to them.
 * @param servers  `192.0.2.1` or `192.0.2.1:5353`. @default the system's, read again for every name
 */
export const dnsAddresses =
  (servers?: readonly string[]): Resolve =>
  async (host) => {
    const resolver = new promises.Resolver({ timeout: LIMITS.dns_address_timeout_ms, tries: LIMITS.dns_attempts });
    if (servers !== undefined) resolver.setServers(servers);
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const found = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
    if (found.length > 0) return found;
    throw new NotFound(
      answers.every((answer) => answer.status === "fulfilled" || isNone(answer.reason)) ? "ENOTFOUND" : "EAI_AGAIN",
    );
  };
