/** Whether a subscription may lead to a URL: judged when it is named, its addresses at each connection again. */
import { Refusal } from "../../base/errors.js";
import { LIMITS } from "../../base/limits.js";
import { guardedLookup, parseOutboundUrl } from "../../peppol/network/outbound-address.js";
import type { OutboundPolicy, OutboundUrl, Resolve, URL_FAULTS } from "../../peppol/network/outbound-address.js";
import { within } from "../../base/waiting/wake.js";

/** What the judgement of a URL needs. */
export interface AddressPorts {
  readonly policy: OutboundPolicy;
  /** @default the system's */
  readonly resolve?: Resolve;
}

/** What is said of a URL that is refused. */
const REFUSALS: Readonly<Record<(typeof URL_FAULTS)[number], string>> = {
  malformed: `Must be a URL of at most ${LIMITS.outbound_url_chars_max} ASCII characters.`,
  scheme: "Must begin with https:.",
  userinfo: "Must hold no user name and no password.",
  host: "Must name its host by a full name or by an address in its usual spelling.",
  port: "Names a port that is not called.",
  address: "Must lead to a public address: private, loopback, link-local and metadata addresses are not called.",
};

const refuse = (fault: (typeof URL_FAULTS)[number]): Refusal =>
  new Refusal("REQUEST_INVALID", [{ field: "url", message: REFUSALS[fault] }]);

const isAddressRefused = (error: NodeJS.ErrnoException | null): boolean => error?.code === "EADDRESSREFUSED";

/** Whether the name of a host has a forbidden address now; a name that is not known yet has none. */
const leadsAstray = (target: OutboundUrl, resolve: Resolve | undefined): Promise<boolean> =>
  within(
    new Promise<boolean>((settle) => {
      guardedLookup(target, resolve)(target.url.hostname.replace(/^\[|\]$/g, ""), { all: true }, (error) => {
        settle(isAddressRefused(error));
      });
    }),
    LIMITS.webhook_resolve_ms,
    false,
  );

/**
 * Judges the URL of a subscription.
 * @returns its origin, by which deliveries of one owner share places
 * @throws Refusal REQUEST_INVALID that names url
 * @source spec/rulings.md, section 10, Webhook URLs
 */
export async function judgeUrl({ policy, resolve }: AddressPorts, text: string): Promise<string> {
  const target = parseOutboundUrl(text, "webhook", policy);
  if (target.kind === "refused") throw refuse(target.fault);
  if (await leadsAstray(target, resolve)) throw refuse("address");
  return target.url.origin;
}
