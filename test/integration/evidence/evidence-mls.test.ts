/** The Message Level Status in a document's evidence: the one that came for what we sent, the one that we owe for what we received. */
import { createHash, randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";

import { isoInstant } from "../../../engine/base/clock.js";
import { readDocumentEvidence } from "../../../engine/documents/reads/evidence.js";
import type { EvidenceRecordView } from "../../../engine/documents/reads/evidence.js";
import { newServiceMessage } from "../../../engine/documents/provider.js";
import { sealPayload } from "../../../engine/storage/payloads/payloads.js";
import { newId } from "../../../engine/base/ids.js";
import type { DocumentId, FirmId, ParticipantId } from "../../../engine/base/ids.js";
import { silentLog } from "../../../engine/base/log.js";
import { BILLING_CAPABILITIES } from "../../../engine/peppol/envelope/identifiers.js";
import { buildMls } from "../../../engine/peppol/responses/mls-builder.js";
import { MLS_DOCUMENT_TYPE, MLS_PROCESS } from "../../../engine/peppol/responses/mls.js";
import type { MlsIssue } from "../../../engine/peppol/responses/mls.js";
import { acceptDocuments } from "../../../engine/storage/documents/documents.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import { endServiceAttempt, takeServiceMessages } from "../../../engine/storage/documents/service-messages.js";
import { endDuty } from "../../../engine/storage/documents/duties.js";
import { storeBusiness } from "../../../engine/storage/documents/received.js";
import { applyStatus, settleStatus, storeStatus } from "../../../engine/storage/documents/received-responses.js";
import type { NewExchange } from "../../../engine/storage/documents/exchanges.js";
import { memoryArchive } from "../../support/as4/evidence.js";
import { fakeClock } from "../../support/fake-clock.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { inlineReader } from "../../support/as4/responses.js";
import { newDocumentRow, seedFirm } from "../../support/database/seed.js";
import { findDocumentState } from "../../support/documents/moves.js";

const US = "0245:1010101010" as ParticipantId;
const PEER = "0245:2020202020" as ParticipantId;
const INVOICE = BILLING_CAPABILITIES[0] ?? { documentTypeId: "", processId: "" };
const clock = fakeClock();
const sealer = createSealer([Buffer.alloc(32, 7)]);
const ISSUES: readonly MlsIssue[] = [
  { location: "/Invoice", reason: "SV", description: "Not of the syntax." },
  { location: "NA", reason: "BV", description: "Against a rule." },
  { location: "NA", reason: "BV", description: "Against another." },
];
let db: TestDatabase;
let firmId: FirmId;

beforeAll(async () => {
  db = await freshDatabase();
  firmId = await seedFirm(db.sql, US);
});
afterAll(async () => {
  await db.drop();
});

const view = (id: string, firm = firmId): Promise<EvidenceRecordView> =>
  readDocumentEvidence(
    { sql: db.sql, archive: memoryArchive(), log: silentLog, sealer, validators: inlineReader },
    firm,
    id,
  );
const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");
const status = (code: "AP" | "AB" | "RE", reference: string): Buffer =>
  buildMls({
    id: randomUUID(),
    issuedAt: clock.now(),
    sender: "000777",
    receiver: "000001",
    code,
    description: code === "RE" ? "Rejected." : undefined,
    reference,
    issues: code === "RE" ? ISSUES : [],
  });
const exchange = (id: string, kind: NewExchange["kind"]): NewExchange => ({
  id,
  direction: "incoming",
  kind,
  firmId: kind === "business" ? firmId : undefined,
  c2Seat: "POP000777",
  c3Seat: "PSK000001",
  ...INVOICE,
  transportProfile: "t",
  c1Country: "AT",
  c4Country: "SK",
  endUser: US,
  exchangedAt: clock.now(),
});

async function sent(): Promise<{ readonly id: DocumentId; readonly sbdhInstanceId: string }> {
  const row = newDocumentRow(firmId, US, { acceptedAt: clock.now() });
  await acceptDocuments(db.sql, [row]);
  return row;
}

/** A status of the peer that was stored; its bytes are what must be shown the digest of. */
async function arrived(payload: Buffer): Promise<string> {
  const id = newId(clock);
  await storeStatus(
    db.sql,
    {
      id,
      kind: "mls",
      sender: "0242:000777" as ParticipantId,
      receiver: "0242:000001" as ParticipantId,
      peerSeat: "POP000777",
      as4MessageId: `${randomUUID()}@peer`,
      sbdhInstanceId: randomUUID(),
      receivedAt: clock.now(),
      payloadKeyId: sealer.keyId,
      payloadSealed: await sealPayload(sealer, id, payload),
      payloadSha256: sha256(payload),
    },
    exchange(id, "mls"),
    undefined,
  );
  return id;
}

test("a sent document has none until one comes; then its code, its reasons once each, its words, its times and its digest", async () => {
  const document = await sent();
  expect((await view(document.id)).mls).toBeNull();
  const payload = status("RE", document.sbdhInstanceId);
  const issuedAt = isoInstant(clock.now());
  clock.advance(5_000);
  const id = await arrived(payload);
  expect((await view(document.id)).mls).toBeNull();
  const state = await findDocumentState(db.sql, document.id);
  await applyStatus(
    db.sql,
    { status: id, outcome: "applied", content: { code: "RE", responseId: "r", issuedAt: clock.now() } },
    {
      id: document.id,
      version: state?.version ?? 0,
      status: "rejected",
      trigger: "mls_re",
      detail: undefined,
      now: clock.now(),
      events: [],
      changes: {},
    },
  );
  expect((await view(document.id)).mls).toEqual({
    direction: "received",
    state: "received",
    code: "RE",
    reasonCodes: ["BV", "SV"],
    description: "Rejected.",
    issuedAt,
    receivedAt: isoInstant(clock.now()),
    deliveredAt: null,
    sha256: sha256(payload),
  });
});

test("a status that was not followed is not shown", async () => {
  const document = await sent();
  const id = await arrived(status("RE", document.sbdhInstanceId));
  await settleStatus(db.sql, id, {
    outcome: "foreign",
    now: clock.now(),
    content: { code: "RE", responseId: "r", issuedAt: clock.now() },
    documentId: document.id,
    fault: undefined,
  });
  expect((await view(document.id)).mls).toBeNull();
});

async function received(owed = true): Promise<string> {
  const id = newId(clock);
  const payload = Buffer.from("<Invoice/>");
  await storeBusiness(db.sql, {
    document: {
      id: id as never,
      firmId,
      participantKey: US,
      sender: PEER,
      receiver: US,
      ...INVOICE,
      creationDateTime: clock.now(),
      payloadSha256: sha256(payload),
      as4MessageId: `${randomUUID()}@peer`,
      sbdhInstanceId: randomUUID(),
      facts: {},
      receivedAt: clock.now(),
      payloadKeyId: sealer.keyId,
      payloadSealed: await sealPayload(sealer, id, payload),
      payloadBytes: payload.length,
      status: "RECEIVED",
    },
    exchange: exchange(id, "business"),
    duty: owed
      ? {
          firmId,
          sbdhInstanceId: "i",
          documentTypeId: INVOICE.documentTypeId,
          receiver: "0242:000777" as ParticipantId,
          always: true,
          receivedAt: clock.now(),
          payloadBytes: 1_000,
        }
      : undefined,
  });
  return id;
}

test("the status of a received document is owed, then queued, then delivered", async () => {
  const id = await received();
  expect((await view(id)).mls).toMatchObject({
    direction: "sent",
    state: "owed",
    code: null,
    reasonCodes: [],
    sha256: null,
  });
  const payload = status("RE", "i");
  const issuedAt = isoInstant(clock.now());
  await endDuty(db.sql, id, {
    code: "RE",
    message: await newServiceMessage(
      { sealer, clock },
      {
        kind: "mls",
        subject: `mls/${id}`,
        firmId,
        about: id,
        code: "RE",
        sender: "0242:000001" as ParticipantId,
        receiver: "0242:000777" as ParticipantId,
        documentTypeId: MLS_DOCUMENT_TYPE,
        processId: MLS_PROCESS,
        payload,
      },
    ),
  });
  const said = {
    direction: "sent",
    code: "RE",
    reasonCodes: ["BV", "SV"],
    description: "Rejected.",
    issuedAt,
    receivedAt: null,
    sha256: sha256(payload),
  };
  expect((await view(id)).mls).toEqual({ ...said, state: "queued", deliveredAt: null });
  const [taken] = await takeServiceMessages(db.sql, { owner: "n/1", lease_ms: 1_000, limit: 10 });
  clock.advance(3_000);
  await endServiceAttempt(db.sql, {
    id: taken?.id ?? "",
    version: taken?.version ?? 0,
    status: "delivered",
    now: clock.now(),
    wait_ms: undefined,
    uses: "answer",
    attempt: { number: 1, outcome: "receipt", code: undefined, detail: undefined },
    exchange: null,
  });
  expect((await view(id)).mls).toEqual({ ...said, state: "delivered", deliveredAt: isoInstant(clock.now()) });
});

test("nothing is owed for a success that nobody asked to be told of, nor to a sender without an envelope", async () => {
  const silent = await received();
  await endDuty(db.sql, silent, { code: undefined, message: undefined });
  expect((await view(silent)).mls).toBeNull();
  expect((await view(await received(false))).mls).toBeNull();
});

test("another firm's document is not found", async () => {
  const other = await seedFirm(db.sql, "0245:3030303030");
  await expect(view(await received(), other)).rejects.toMatchObject({ reason: "NOT_FOUND" });
});
