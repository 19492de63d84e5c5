/**
 * Finds the addresses of names that somebody else chose, in DNS alone and without a thread. The system's own look-up
 * holds one of the two threads that node has for names until a name server answers: two names of a stranger whose
 * servers say nothing would hold up the connections to everybody else.
 */
import { promises } from "node:dns";

import { errorCode } from "../../base/errors.js";
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
/** What a server answers that will not or cannot say: the next one is asked, as the system's look-up asks it. */
const SAYS_NOTHING: ReadonlySet<unknown> = new Set(["ESERVFAIL", "EREFUSED", "ENOTIMP", "EFORMERR", "EBADRESP"]);

/** What is known of a name after one question. */
interface Said {
  readonly addresses: readonly string[];
  readonly isNone: boolean;
  readonly isNothing: boolean;
}

async function ask(resolver: promises.Resolver, host: string): Promise<Said> {
  const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  const codes = answers.flatMap((answer) => (answer.status === "rejected" ? [errorCode(answer.reason)] : []));
  return {
    addresses: answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : [])),
    isNone: codes.every((code) => SAYS_NONE.has(code)),
    isNothing: codes.some((code) => SAYS_NOTHING.has(code)),
  };
}

/**
 * Makes the look-up of strangers' names. Addresses of version 4 come first: everybody has a way to them.
 * @param servers  `192.0.2.1` or `192.0.2.1:5353`. @default the system's, read again for every name
 */
export const dnsAddresses =
  (servers?: readonly string[]): Resolve =>
  async (host) => {
    const resolver = new promises.Resolver({ timeout: LIMITS.dns_address_timeout_ms, tries: LIMITS.dns_attempts });
    if (servers !== undefined) resolver.setServers(servers);
    let said = await ask(resolver, host);
    // c-ares goes on to the next server from a silent one alone.
    const others = resolver.getServers().filter((_, place) => place > 0 && place < LIMITS.dns_servers_max);
    for (const at of others.keys()) {
      if (said.addresses.length > 0 || !said.isNothing) break;
      resolver.setServers(others.slice(at));
      said = await ask(resolver, host);
    }
    if (said.addresses.length > 0) return said.addresses;
    throw new NotFound(said.isNone ? "ENOTFOUND" : "EAI_AGAIN");
  };
