/** Goal: an SMP that says nothing keeps no document from being accepted. */
import { afterEach, expect, test, vi } from "vitest";

import { askRecipient } from "../../../../engine/documents/accept/send.js";
import type { ParticipantId } from "../../../../engine/base/ids.js";
import { BILLING_CAPABILITIES } from "../../../../engine/peppol/envelope/identifiers.js";
import { createSmpRecipients } from "../../../../engine/peppol/discovery/smp-recipients.js";

afterEach(() => {
  vi.useRealTimers();
});

test("a send whose recipient's SMP never answers is told that the look-up failed, not that we are away", async () => {
  vi.useFakeTimers();
  const silent = {
    lookup: () => new Promise<never>(() => undefined),
    documentTypes: () => new Promise<never>(() => undefined),
    forget: () => undefined,
  };
  const asked = askRecipient(
    { recipients: createSmpRecipients(silent) },
    {
      receiver: "0245:2120000025" as ParticipantId,
      documentTypeId: BILLING_CAPABILITIES[0]?.documentTypeId ?? "",
      processId: BILLING_CAPABILITIES[0]?.processId ?? "",
    },
  );
  await Promise.all([
    vi.runAllTimersAsync(),
    expect(asked).resolves.toEqual({ status: "lookup_failed", capability: "unknown" }),
  ]);
});
