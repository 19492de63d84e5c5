/** Secrets that sign, in clear while they are in use: each is opened once, and not for every attempt. */
import { BoundedMap } from "../../base/bounded.js";
import { LIMITS } from "../../base/limits.js";
import type { Sealer } from "../../storage/sealer.js";
import { secretContext } from "./subscriptions.js";

/** What was opened, by its subscription and its sealed octets: a secret that is replaced is another entry. */
const opened = new WeakMap<Sealer, BoundedMap<string, string>>();

/**
 * The secret of a subscription in clear.
 * @param sealed  as it is stored
 * @throws Error when the key is unknown, or the octets are not those of this subscription
 */
export function openedSecret(sealer: Sealer, subscriptionId: string, keyId: string, sealed: Buffer): string {
  let known = opened.get(sealer);
  if (known === undefined) opened.set(sealer, (known = new BoundedMap(LIMITS.webhook_secrets_open_max)));
  const name = `${subscriptionId} ${keyId} ${sealed.toString("base64")}`;
  return (
    known.use(name) ?? known.keep(name, sealer.open(keyId, sealed, secretContext(subscriptionId)).toString("utf8"))
  );
}
