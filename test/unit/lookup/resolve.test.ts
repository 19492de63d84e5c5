/** What the sender of an invoice is told to do about a recipient that does not take it. */
import { expect, test } from "vitest";

import type { KeyId, ParticipantId } from "../../../engine/base/ids.js";
import type { ParticipantFound } from "../../../engine/lookup/participants.js";
import { resolveRecipient } from "../../../engine/lookup/resolve.js";

const PARTICIPANT = "0245:2199000010" as ParticipantId;
const FOUND: ParticipantFound = {
  found: true,
  accepts: false,
  routingStatus: "process_not_supported",
  participantId: PARTICIPANT,
  accessPoint: null,
  supportedDocumentTypes: [],
  matchedDocumentType: null,
  documentTypeId: "type",
  processId: "process",
  internal: false,
  source: "smp",
  temporaryFailure: false,
};

/** The next action for a recipient that takes the type in another process. */
async function actionFor(processId: string | undefined): Promise<string | undefined> {
  const unused = () => Promise.reject(new Error("nobody asks for this"));
  const ports = {
    directory: { source: "engine", search: unused, find: () => Promise.resolve(undefined) },
    participants: { one: () => Promise.resolve(FOUND), many: unused },
  } as const;
  const asked = { company: { by: "participant", value: PARTICIPANT }, documentTypeId: undefined, processId } as const;
  return (await resolveRecipient(ports, "key" as KeyId, asked)).nextAction;
}

test("who has named no process is not told to leave it out, but to name the one that the recipient takes", async () => {
  expect(await actionFor(undefined)).toContain("name the one that it takes as processId");
  expect(await actionFor("urn:other")).toContain("leave out processId");
});
