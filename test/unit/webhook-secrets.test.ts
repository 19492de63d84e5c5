/** What signs the events of a subscription: its secret, opened once, and never the one of another. */
import { expect, test } from "vitest";

import { openedSecret } from "../../engine/events/webhooks/secrets.js";
import { secretContext } from "../../engine/events/webhooks/subscriptions.js";
import { createSealer } from "../../engine/storage/sealer.js";
import type { Sealer } from "../../engine/storage/sealer.js";

/** A sealer that counts what it opens. */
function counting(): { readonly sealer: Sealer; readonly opened: () => number } {
  const real = createSealer([Buffer.alloc(32, 1)]);
  let count = 0;
  const open: Sealer["open"] = (...asked) => {
    count += 1;
    return real.open(...asked);
  };
  return { sealer: { ...real, open }, opened: () => count };
}

const sealedFor = (sealer: Sealer, id: string, secret: string): Buffer =>
  sealer.seal(Buffer.from(secret), secretContext(id));

test("a secret is opened once for all attempts, and the one that replaces it signs from the next attempt on", () => {
  const { sealer, opened } = counting();
  const [first, second] = [sealedFor(sealer, "a", "old"), sealedFor(sealer, "a", "new")];
  for (let attempt = 1; attempt <= 3; attempt += 1) expect(openedSecret(sealer, "a", sealer.keyId, first)).toBe("old");
  expect(opened()).toBe(1);
  expect(openedSecret(sealer, "a", sealer.keyId, second)).toBe("new");
  expect(opened()).toBe(2);
});

test("the secret of one subscription does not open as that of another, also when it is open", () => {
  const { sealer } = counting();
  const sealed = sealedFor(sealer, "a", "secret of a");
  expect(openedSecret(sealer, "a", sealer.keyId, sealed)).toBe("secret of a");
  expect(() => openedSecret(sealer, "b", sealer.keyId, sealed)).toThrow();
});
