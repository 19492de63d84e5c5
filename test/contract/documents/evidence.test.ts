/** spec/rulings.md, section 11, Evidence, over HTTP on both forms of the server. */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { EvidenceRecordView } from "../../../engine/documents/reads/evidence.js";
import { Refusal } from "../../../engine/base/errors.js";
import { evidenceRoutes } from "../../../gateway/routes/peppol.js";
import { http } from "../../support/engines/engine.js";
import { serverForms, startGateway, TEST_FIRM, testCaller } from "../../support/engines/gateway.js";
import type { TestGateway } from "../../support/engines/gateway.js";

const SENT = "018f6a3e-0000-7000-8000-000000000001";
const RECEIVED = "018f6a3e-0000-7000-8000-000000000002";
const UNTOLD = "018f6a3e-0000-7000-8000-000000000003";
const BEARER = { authorization: "Bearer good" };
const AT = "2026-11-20T10:00:00.000Z";
const digest = (text: string): string => createHash("sha256").update(text).digest("hex");

const record = (id: string, mls: EvidenceRecordView["mls"]): EvidenceRecordView => ({
  documentId: id,
  state: "delivered",
  as4MessageId: "1@peer",
  sentAt: AT,
  deliveredAt: AT,
  receipt: { sha256: digest("receipt"), receivedAt: AT },
  envelope: { sha256: digest("envelope"), bytes: 8, storedAt: AT },
  chain: { index: 1, hash: digest("1"), previousHash: digest("0") },
  mls,
  invoiceResponse: { status: "AP" },
  links: { self: `/api/v1/documents/${id}/evidence`, envelope: `/api/v1/documents/${id}/envelope` },
});
const RECORDS: Readonly<Record<string, EvidenceRecordView>> = {
  [SENT]: record(SENT, {
    direction: "received",
    state: "received",
    code: "RE",
    reasonCodes: ["BV", "SV"],
    description: "Rejected.",
    issuedAt: AT,
    receivedAt: AT,
    deliveredAt: null,
    sha256: digest("mls"),
  }),
  [RECEIVED]: record(RECEIVED, {
    direction: "sent",
    state: "owed",
    code: null,
    reasonCodes: [],
    description: null,
    issuedAt: null,
    receivedAt: null,
    deliveredAt: null,
    sha256: null,
  }),
  [UNTOLD]: record(UNTOLD, null),
};

describe.each(serverForms)("evidence over %s", (form) => {
  let gateway: TestGateway;
  const asked: unknown[] = [];
  beforeAll(async () => {
    gateway = await startGateway(
      form,
      evidenceRoutes({
        evidence: async (firmId, id) => {
          asked.push(firmId);
          const found = RECORDS[id];
          if (found === undefined) throw new Refusal("NOT_FOUND");
          return found;
        },
        envelope: async (_, id) => {
          if (RECORDS[id] === undefined) throw new Refusal("NOT_FOUND");
          return { bytes: Buffer.from("envelope"), contentType: 'multipart/related; boundary="x"' };
        },
      }),
      { ports: { authenticate: () => testCaller({ scopes: new Set(["evidence:read"]) }) } },
    );
  });
  afterAll(() => gateway.drain());
  const get = (path: string): ReturnType<typeof http> => http("GET", `${gateway.origin}/api/v1${path}`, BEARER);

  test("the evidence of a document is `{documentId, state, as4MessageId, sentAt, deliveredAt, receipt{sha256,receivedAt}, envelope{sha256,bytes,storedAt}, chain{index,hash,previousHash}, mls|null, invoiceResponse, links}`", async () => {
    for (const [id, expected] of Object.entries(RECORDS))
      expect((await get(`/documents/${id}/evidence`)).json).toEqual({ ...expected });
    expect(asked).toEqual([TEST_FIRM, TEST_FIRM, TEST_FIRM]);
  });

  test("the envelope comes as it is, with the type that it travelled with", async () => {
    const answer = await get(`/documents/${SENT}/envelope`);
    expect([answer.status, answer.text, answer.headers.get("content-type")]).toEqual([
      200,
      "envelope",
      'multipart/related; boundary="x"',
    ]);
  });

  test.each(["018f6a3e-0000-7000-8000-00000000000f", "x"])("an unknown or malformed id is 404: %s", async (id) => {
    for (const what of ["evidence", "envelope"]) expect((await get(`/documents/${id}/${what}`)).status).toBe(404);
  });

  test("without evidence:read 403", async () => {
    const narrow = await startGateway(
      form,
      evidenceRoutes({
        evidence: () => Promise.reject(new Error("asked")),
        envelope: () => Promise.reject(new Error("asked")),
      }),
      {
        ports: { authenticate: () => testCaller({ scopes: new Set(["documents:read"]) }) },
      },
    );
    for (const what of ["evidence", "envelope"])
      expect((await http("GET", `${narrow.origin}/api/v1/documents/${SENT}/${what}`, BEARER)).status).toBe(403);
    await narrow.drain();
  });
});
