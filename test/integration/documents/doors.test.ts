/**
 * One accept path for all doors, with real validation on a real Postgres, as the operations of each door will call it.
 * Goal: what a caller names at one door says nothing at another. Method: real documents through each door; and random
 * sequences of requests against a small model of the rules, written anew here.
 */
import { createHash } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { DOOR_NAMES } from "../../../engine/base/doors.js";
import type { Door } from "../../../engine/base/doors.js";
import { Refusal } from "../../../engine/base/errors.js";
import { newDocumentId } from "../../../engine/base/ids.js";
import type { FirmId, ParticipantId } from "../../../engine/base/ids.js";
import { createMetrics } from "../../../engine/base/metrics.js";
import { systemClock } from "../../../engine/base/clock.js";
import { DOORS } from "../../../engine/documents/accept/doors.js";
import { acceptSend, requestFingerprint, withBatches } from "../../../engine/documents/accept/send.js";
import type { SendReply, SendRequest } from "../../../engine/documents/accept/request.js";
import type { SendPorts } from "../../../engine/documents/accept/send.js";
import type { Validators } from "../../../engine/documents/accept/facts.js";
import { recipientFound } from "../../../engine/peppol/discovery/acceptance.js";
import { BILLING_CAPABILITIES } from "../../../engine/peppol/envelope/identifiers.js";
import { createAcceptBatches } from "../../../engine/storage/documents/accept-batches.js";
import { takeAttempt } from "../../../engine/storage/documents/attempts.js";
import { findDocument } from "../../../engine/storage/documents/documents.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import { invoiceXml } from "../../support/engines/engine.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { KEY_ID, newDocumentRow, seedFirm } from "../../support/database/seed.js";
import { inlineValidators } from "../../support/as4/statuses.js";

const SENDER = "0245:1111111111" as ParticipantId;
const SECOND = "0245:1111111112" as ParticipantId;
const RECEIVER = "0245:9999999999" as ParticipantId;
const NOW = Date.parse("2026-11-20T10:00:00Z");

let db: TestDatabase;
let firmId: FirmId;

beforeAll(async () => {
  db = await freshDatabase();
  firmId = await seedFirm(db.sql, SENDER);
  await db.sql`insert into participant (key, id, firm_id, registered_at) values (${SECOND}, ${SECOND}, ${firmId}, now())`;
});
afterAll(() => db.drop());

const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

const portsWith = (validators: Validators): SendPorts =>
  withBatches({
    sql: db.sql,
    validators,
    recipients: { recipient: () => Promise.resolve(recipientFound("lookup_failed")), forget: () => undefined },
    sealer: createSealer([Buffer.alloc(32, 7)]),
    clock: systemClock,
    metrics: createMetrics(),
    poke: () => undefined,
  });

function requestOf(door: Door, xml: string, changes: Partial<SendRequest> = {}): SendRequest {
  const payload = Buffer.from(xml);
  const payloadSha256 = sha256(payload);
  return {
    door,
    firmId,
    keyId: KEY_ID,
    sender: SENDER,
    receiver: RECEIVER,
    erpDocumentId: `external ${payloadSha256.slice(0, 8)}`,
    documentTypeId: BILLING_CAPABILITIES[0]?.documentTypeId ?? "",
    processId: BILLING_CAPABILITIES[0]?.processId ?? "",
    creationDateTime: undefined,
    idempotencyKey: `key ${payloadSha256.slice(0, 8)}`,
    payload,
    checksum: undefined,
    meaning: (digest) => [digest],
    receivedAt: NOW,
    ...changes,
  };
}

const accept = (ports: SendPorts, request: SendRequest): Promise<SendReply> =>
  acceptSend(ports, newDocumentId(systemClock), request);
const idIn = ({ body }: SendReply): string => {
  const { providerDocumentId, documentId, id } = JSON.parse(body) as Record<string, string | undefined>;
  return providerDocumentId ?? documentId ?? id ?? "";
};
const reasonOf = (answer: Promise<SendReply>): Promise<string> =>
  answer.then(
    () => "accepted",
    (error: unknown) => {
      if (error instanceof Refusal) return error.reason;
      throw error;
    },
  );

describe("each door", () => {
  test.each([
    ["sapi", 202, 202, ["providerDocumentId", "status", "receivedAt", "timestamp"]],
    ["enterprise", 201, 200, ["documentId", "messageId", "status", "payloadSha256", "links"]],
    ["box", 201, 200, ["documentId", "externalId", "status"]],
    ["connector", 201, 200, ["id", "externalId", "state"]],
  ] as const)(
    "%s accepts a document with its own reply (%i), gives a repeat the same bytes (%i), and what it accepted is due for delivery",
    async (door, status, repeatStatus, members) => {
      const ports = portsWith(inlineValidators);
      const request = requestOf(door, invoiceXml(SENDER, RECEIVER));
      const reply = await accept(ports, request);
      expect([reply.status, reply.replayed, Object.keys(JSON.parse(reply.body) as object)]).toEqual([
        status,
        false,
        members,
      ]);
      expect(await accept(ports, request)).toEqual({ status: repeatStatus, body: reply.body, replayed: true });
      const [row] = await db.sql<
        { id: string; door: string }[]
      >`select id, door from document where id = ${idIn(reply)}`;
      expect(row?.door).toBe(door);
      const taken = await takeAttempt(db.sql, { id: idIn(reply) as never, owner: "n", lease_ms: 60_000 });
      expect(taken).toMatchObject({ sender: SENDER, receiver: RECEIVER, attempt: 1 });
    },
  );

  test.each(DOOR_NAMES)("%s refuses a document that breaks the rules, and the refusal burns nothing", async (door) => {
    const ports = portsWith(inlineValidators);
    const good = requestOf(door, invoiceXml(SENDER, RECEIVER));
    const bad = requestOf(
      door,
      good.payload.toString().replace(/<cbc:DocumentCurrencyCode>.*?<\/cbc:DocumentCurrencyCode>/, ""),
      {
        erpDocumentId: good.erpDocumentId,
        idempotencyKey: good.idempotencyKey,
      },
    );
    expect(await reasonOf(accept(ports, bad))).toBe("DOCUMENT_INVALID");
    expect(await reasonOf(accept(ports, good))).toBe("accepted");
  });

  test.each([
    ["sapi", "SAPI-PROC-003", "SAPI-DOC-018"],
    ["enterprise", "SAPI-PROC-003", "DUPLICATE_INVOICE_NUMBER"],
    ["box", "SAPI-PROC-003", "BOX_EXTERNAL_ID_CONFLICT"],
    ["connector", "SAPI-PROC-003", "EXTERNAL_ID_CONFLICT"],
  ] as const)(
    "%s: a key with another body is %s, an external id with another body is %s",
    async (door, key, external) => {
      const ports = portsWith(inlineValidators);
      const first = requestOf(door, invoiceXml(SENDER, RECEIVER));
      await accept(ports, first);
      const other = requestOf(door, invoiceXml(SENDER, RECEIVER));
      expect(await reasonOf(accept(ports, { ...other, idempotencyKey: first.idempotencyKey }))).toBe(key);
      expect(await reasonOf(accept(ports, { ...other, erpDocumentId: first.erpDocumentId }))).toBe(external);
      expect(await reasonOf(accept(ports, other))).toBe("accepted");
    },
  );

  test("the day of hand-off and the debit note are checked at SAPI, whose profile has these rules, and nowhere else", () => {
    for (const door of DOOR_NAMES) {
      const reasons = DOORS[door].checks.map(({ reason }) => reason);
      const handoff = ["SAPI-DOC-027", "SAPI-DOC-028", "SAPI-DOC-029"].map((reason) =>
        reasons.some((one) => one === reason),
      );
      expect([door, ...handoff]).toEqual([door, ...handoff.map(() => door === "sapi")]);
      expect(reasons).toEqual(expect.arrayContaining(["DOCUMENT_TYPE_MISMATCH", "SAPI-DOC-025", "DOCUMENT_INVALID"]));
    }
  });
});

describe("doors without a key", () => {
  test("enterprise: without key and external id the document's number is its name, and the same request is its repeat", async () => {
    const ports = portsWith(inlineValidators);
    const changes = { idempotencyKey: undefined, erpDocumentId: undefined };
    const nameless = requestOf("enterprise", invoiceXml(SENDER, RECEIVER), changes);
    const accepted = await accept(ports, nameless);
    expect(await accept(ports, nameless)).toMatchObject({ body: accepted.body, replayed: true });
    const sameNumber = /<cbc:ID>(T-[^<]*)/.exec(nameless.payload.toString())?.[1] ?? "";
    const other = requestOf("enterprise", invoiceXml(SENDER, RECEIVER, { number: sameNumber, lines: 1 }), changes);
    expect(await reasonOf(accept(ports, other))).toBe("DUPLICATE_INVOICE_NUMBER");
  });

  test.each(["connector", "box"] as const)(
    "%s: without key and external id every request is a document; with an external id alone the same request is its repeat",
    async (door) => {
      const ports = portsWith(inlineValidators);
      const nameless = requestOf(door, invoiceXml(SENDER, RECEIVER), {
        idempotencyKey: undefined,
        erpDocumentId: undefined,
      });
      const [first, second] = [await accept(ports, nameless), await accept(ports, nameless)];
      expect(idIn(first)).not.toBe(idIn(second));
      const named = { ...nameless, erpDocumentId: `named at ${door}` };
      const accepted = await accept(ports, named);
      expect(await accept(ports, named)).toMatchObject({ body: accepted.body, replayed: true });
    },
  );

  test("SAPI has no document without key and documentId, whatever a caller inside the engine forgets", async () => {
    const batches = createAcceptBatches(db.sql);
    await expect(batches.accept(newDocumentRow(firmId, SENDER, { idempotencyKey: undefined }))).rejects.toThrow(
      /document_sapi_check/,
    );
  });

  test("a statement that is made again because its answer was lost finds its own document, also without any name", async () => {
    const batches = createAcceptBatches(db.sql);
    const row = newDocumentRow(firmId, SENDER, { door: "box", idempotencyKey: undefined, erpDocumentId: undefined });
    expect((await batches.accept(row)).kind).toBe("accepted");
    expect(await batches.accept(row)).toMatchObject({ kind: "replay", documentId: row.id, replyBody: row.replyBody });
  });
});

/** The rules of section 3 of the house's issue in a few lines: what a request comes to after those before it. */
interface Sent {
  readonly door: Door;
  readonly sender: ParticipantId;
  readonly key: string;
  readonly external: string;
  readonly payload: string;
}
type Kind = "accepted" | "replay" | "key_conflict" | "duplicate_document" | "duplicate_payload";
function expected(before: readonly Sent[], now: Sent): Kind {
  const near = before.filter(({ door, sender }) => door === now.door && (door !== "sapi" || sender === now.sender));
  const isSame = (one: Sent): boolean => one.external === now.external && one.payload === now.payload;
  const sameKey = near.find(({ key }) => key === now.key);
  if (sameKey !== undefined) return isSame(sameKey) ? "replay" : "key_conflict";
  const sameId = near.find(({ external }) => external === now.external);
  if (sameId !== undefined) return now.door !== "sapi" && isSame(sameId) ? "replay" : "duplicate_document";
  return now.door === "sapi" && near.some(({ payload }) => payload === now.payload) ? "duplicate_payload" : "accepted";
}

describe("doors are independent", () => {
  const sent = fc.record<Sent>({
    door: fc.constantFrom(...DOOR_NAMES),
    sender: fc.constantFrom(SENDER, SECOND),
    key: fc.constantFrom("k1", "k2", "k3"),
    external: fc.constantFrom("e1", "e2", "e3"),
    payload: fc.constantFrom("p1", "p2", "p3"),
  });
  const rowOf = (run: string, { door, sender, key, external, payload }: Sent) =>
    newDocumentRow(firmId, sender, {
      door,
      idempotencyKey: `${run} ${key}`,
      erpDocumentId: `${run} ${external}`,
      payloadSha256: sha256(Buffer.from(`${run} ${payload}`)),
      requestSha256: requestFingerprint([external, payload]),
    });

  test("any sequence of requests through any doors comes to what the rules of each door say, keys, external ids and payloads shared or not", async () => {
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(sent, { minLength: 2, maxLength: 14 }), async (sequence) => {
        const run = `run ${(runs += 1)}`;
        const batches = createAcceptBatches(db.sql);
        const before: Sent[] = [];
        for (const one of sequence) {
          const wanted = expected(before, one);
          expect((await batches.accept(rowOf(run, one))).kind).toBe(wanted);
          if (wanted === "accepted") before.push(one);
        }
      }),
      { numRuns: 60 },
    );
  });

  test("the same key, external id and payload through all doors at the same moment make one document each", async () => {
    const one: Omit<Sent, "door"> = { sender: SENDER, key: "k", external: "e", payload: "p" };
    const pools = [createAcceptBatches(db.sql), createAcceptBatches(db.another("second process"))];
    const outcomes = await Promise.all(
      Array.from({ length: 400 }, (_, i) => {
        const door = DOOR_NAMES[i % DOOR_NAMES.length] ?? "sapi";
        return pools[i % 2]?.accept(rowOf("at once", { ...one, door })).then((outcome) => ({ door, outcome }));
      }),
    );
    for (const door of DOOR_NAMES) {
      const kinds = outcomes.filter((item) => item?.door === door).map((item) => item?.outcome.kind);
      expect([door, kinds.filter((kind) => kind === "accepted").length]).toEqual([door, 1]);
      expect(new Set(kinds)).toEqual(new Set(["accepted", "replay"]));
    }
  });

  test("batches that mix doors and tenants and overlap in every name finish without a deadlock", async () => {
    const firms = await Promise.all(
      Array.from({ length: 12 }, async (_, i) => {
        const sender = `0245:50000000${String(i).padStart(2, "0")}` as ParticipantId;
        return { sender, firm: await seedFirm(db.sql, sender) };
      }),
    );
    const pools = [createAcceptBatches(db.sql), createAcceptBatches(db.another("second process"))];
    const outcomes = await Promise.all(
      Array.from({ length: 1_500 }, (_, i) => {
        const { sender, firm } = firms[(i * 7) % firms.length] ?? { sender: SENDER, firm: firmId };
        const door = DOOR_NAMES[(i * 3) % DOOR_NAMES.length] ?? "sapi";
        const one = { door, sender, key: `k${i % 5}`, external: `e${(i * 3) % 5}`, payload: `p${(i * 11) % 5}` };
        return pools[i % 2]?.accept({ ...rowOf("mixed", one), firmId: firm });
      }),
    );
    expect(outcomes.every((outcome) => outcome !== undefined && outcome.kind !== "lost_race")).toBe(true);
    const [count] = await db.sql<
      { n: number }[]
    >`select count(*)::integer as n from document where sender like '0245:50000000%'`;
    expect(count?.n).toBe(outcomes.filter((outcome) => outcome?.kind === "accepted").length);
  });
});

describe("a supplier's number and issue date that come again with other content", () => {
  const warningsOf = async (reply: SendReply): Promise<unknown> =>
    (
      (await findDocument(db.sql, firmId, idIn(reply) as never))?.validationResult as { warnings: { ruleId: string }[] }
    ).warnings
      .map(({ ruleId }) => ruleId)
      .filter((ruleId) => ruleId === "NUMBER-REPEATED");

  test("rulings §14: is accepted with a warning in validationResult; another number or another day has none", async () => {
    const ports = portsWith(inlineValidators);
    const number = `F-${newDocumentId(systemClock)}`;
    const send = (changes: { number?: string; issueDate?: string; lines?: number }, door: Door = "sapi") =>
      accept(ports, requestOf(door, invoiceXml(SENDER, RECEIVER, { number, issueDate: "2026-11-20", ...changes })));
    expect(await warningsOf(await send({ lines: 1 }))).toEqual([]);
    expect(await warningsOf(await send({ lines: 2 }))).toEqual(["NUMBER-REPEATED"]);
    expect(await warningsOf(await send({ lines: 3 }, "box"))).toEqual(["NUMBER-REPEATED"]);
    expect(await warningsOf(await send({ lines: 4, issueDate: "2026-11-19" }))).toEqual([]);
    expect(await warningsOf(await send({ lines: 5, number: `${number}-2` }))).toEqual([]);
  });

  test("the same payload at another door is no other content and gets no warning", async () => {
    const ports = portsWith(inlineValidators);
    const xml = invoiceXml(SENDER, RECEIVER, { number: `F-${newDocumentId(systemClock)}`, issueDate: "2026-11-20" });
    await accept(ports, requestOf("sapi", xml));
    expect(await warningsOf(await accept(ports, requestOf("enterprise", xml)))).toEqual([]);
  });
});
