/**
 * The operations of the look-up group, one test for each line of spec/shapes.md, section 6 (Lookup) and of
 * spec/rulings.md, section 13, on a whole engine.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { LIMITS } from "../../../engine/base/limits.js";
import { BILLING_CAPABILITIES, SELF_BILLING_PROCESS } from "../../../engine/peppol/envelope/identifiers.js";
import { addCapabilities } from "../../../engine/storage/documents/received.js";
import { accessToken, INVOICE_TYPE, invoiceXml, startTestEngine } from "../../support/engines/engine.js";
import type { HttpAnswer, TestEngine } from "../../support/engines/engine.js";
import { serverForms } from "../../support/engines/gateway.js";
import { api, faultOf, newClient, newFirmKey, newPartner, tokenOf } from "../../support/callers/partners.js";
import type { Client } from "../../support/callers/partners.js";

const NOBODY = "9999999999";
const TYPE = `busdox-docid-qns::${INVOICE_TYPE}`;
const BILLING = BILLING_CAPABILITIES[0]?.processId;

describe.each(serverForms)("look-ups in the %s form", (form) => {
  let t: TestEngine;
  let token: string;
  let firm: Client;
  const call = (line: string, body?: unknown): Promise<HttpAnswer> =>
    api(t, token, line, body === undefined ? {} : { body });

  beforeAll(async () => {
    t = await startTestEngine({ form });
    token = await accessToken(t.sandbox, t.sandbox.sender);
    firm = await newClient(t);
    await addCapabilities(t.db.sql, firm.participantId, BILLING_CAPABILITIES);
  });
  afterAll(() => t.stop());

  // "GET /peppol/participants/{scheme}/{identifier} → {found, accepts, routingStatus, participantId, accessPoint{url,transportProfile,certificate{subject,validFrom,validTo}}, supportedDocumentTypes[], source, temporaryFailure}"
  test("a participant of the network is found with all members, and takes an invoice", async () => {
    const { status, json } = await call(`GET /peppol/participants/0245/${firm.dic}`);
    expect(status).toBe(200);
    expect(json).toEqual({
      found: true,
      accepts: true,
      routingStatus: "ready",
      participantId: firm.participantId,
      accessPoint: null,
      supportedDocumentTypes: BILLING_CAPABILITIES.map(
        ({ documentTypeId }) => `busdox-docid-qns::${documentTypeId}`,
      ).sort(),
      documentTypeId: INVOICE_TYPE,
      processId: BILLING,
      source: "internal",
      temporaryFailure: false,
    });
  });

  // "404 with the same body when not registered"
  test("a participant that is not registered is 404 with the same body", async () => {
    const { status, json } = await call(`GET /peppol/participants/0245/${NOBODY}`);
    expect(status).toBe(404);
    expect(json).toEqual({
      found: false,
      accepts: false,
      routingStatus: "participant_not_found",
      participantId: `0245:${NOBODY}`,
      accessPoint: null,
      supportedDocumentTypes: [],
      documentTypeId: INVOICE_TYPE,
      processId: null,
      source: "internal",
      temporaryFailure: false,
    });
  });

  // spec/rulings.md, section 13: "routingStatus: ready, participant_not_found, document_type_not_supported, process_not_supported, …"
  test.each([
    ["documentTypeId=urn:other", "document_type_not_supported"],
    [`documentTypeId=${encodeURIComponent(INVOICE_TYPE)}&processId=urn:other`, "process_not_supported"],
    [`documentTypeId=${encodeURIComponent(TYPE)}&processId=cenbii-procid-ubl::${BILLING ?? ""}`, "ready"],
  ])("asked with %s the routing status is %s", async (query, routingStatus) => {
    const { status, json } = await call(`GET /peppol/participants/0245/${firm.dic}?${query}`);
    expect([status, json["found"], json["accepts"], json["routingStatus"]]).toEqual([
      200,
      true,
      routingStatus === "ready",
      routingStatus,
    ]);
  });

  test.each([
    ["/peppol/participants/xx/1", "scheme"],
    ["/peppol/participants/0245/a%20b", "identifier"],
    ["/peppol/participants/0245/%C3%A1", "identifier"],
    [`/peppol/participants/0245/${"9".repeat(131)}`, "identifier"],
    [`/peppol/participants/0245/1?documentTypeId=${"x".repeat(601)}`, "documentTypeId"],
  ])("GET %s names %s as wrong", async (path, field) => {
    const answer = await call(`GET ${path}`);
    expect(faultOf(answer)).toEqual([400, "VALIDATION_ERROR"]);
    expect(JSON.stringify(answer.json)).toContain(`"field":"${field}"`);
  });

  // "POST /peppol/participants/batch {participants[<=100]}"
  test("a batch answers every participant in order, whichever way it is named, and says how many are found", async () => {
    const participants = [
      { scheme: "0245", identifier: NOBODY },
      firm.participantId,
      `iso6523-actorid-upis::${firm.participantId}`,
      { scheme: "0245", identifier: firm.dic, documentTypeId: "urn:other" },
    ];
    const { status, json } = await call("POST /peppol/participants/batch", { participants });
    expect([status, json["total"], json["found"]]).toEqual([200, 4, 3]);
    expect(
      (json["results"] as Record<string, unknown>[]).map(({ index, found, routingStatus }) => [
        index,
        found,
        routingStatus,
      ]),
    ).toEqual([
      [0, false, "participant_not_found"],
      [1, true, "ready"],
      [2, true, "ready"],
      [3, true, "document_type_not_supported"],
    ]);
  });

  test("a batch of a hundred is answered, one of a hundred and one, of none, or with one that is no participant is 400", async () => {
    const of = (count: number): unknown => ({
      participants: Array.from({ length: count }, (_, n) => `0245:${7_000_000_000 + n}`),
    });
    const hundred = await call("POST /peppol/participants/batch", of(LIMITS.lookup_batch_max));
    expect([hundred.status, (hundred.json["results"] as unknown[]).length]).toEqual([200, 100]);
    for (const body of [of(LIMITS.lookup_batch_max + 1), of(0), { participants: ["x"] }, { participants: [7] }, {}]) {
      const answer = await call("POST /peppol/participants/batch", body);
      expect(faultOf(answer)).toEqual([400, "VALIDATION_ERROR"]);
      expect(JSON.stringify(answer.json)).toContain('"field":"participants');
    }
  });

  // "POST /peppol/capabilities {participant{scheme,identifier}, documentType|documentTypes[]} → 200 {…}"
  test.each([
    ["documentType", { documentType: INVOICE_TYPE }],
    ["documentTypes[]", { documentTypes: ["urn:other::Order##x::2.1", TYPE] }],
  ])("capabilities are told by %s", async (_, asked) => {
    const participant = { scheme: "0245", identifier: firm.dic };
    const { status, json } = await call("POST /peppol/capabilities", { participant, ...asked });
    expect(status).toBe(200);
    expect(json).toEqual({
      found: true,
      accepts: true,
      participant: { ...participant, id: firm.participantId },
      accessPoint: null,
      internal: true,
      supportedDocumentTypes: expect.arrayContaining([TYPE]) as unknown,
      matchedDocumentType: TYPE,
      source: "internal",
      capability: { documentTypeId: INVOICE_TYPE, processId: BILLING, routingStatus: "ready", networkReady: true },
    });
  });

  // spec/shapes.md, section 6: documentType invoice|credit_note|self_billing|self_billing_credit_note of a send
  test("the words by which sends name a document are taken, and mean its type and its process", async () => {
    const participant = { scheme: "0245", identifier: firm.dic };
    const words = ["invoice", "credit_note", "self_billing", "self_billing_credit_note"];
    for (const [n, documentType] of words.entries()) {
      const { documentTypeId, processId } = BILLING_CAPABILITIES[n] ?? {};
      const { json } = await call("POST /peppol/capabilities", { participant, documentType });
      expect([documentType, json["accepts"], json["capability"]]).toEqual([
        documentType,
        true,
        { documentTypeId, processId, routingStatus: "ready", networkReady: true },
      ]);
    }
  });

  // spec/rulings.md, section 13: preflight and look-ups tell one routingStatus
  test("who takes invoices in another process only takes no invoice, whichever way it is asked", async () => {
    const narrow = await newClient(t);
    const [invoice = { documentTypeId: "", processId: "" }] = BILLING_CAPABILITIES;
    await addCapabilities(t.db.sql, narrow.participantId, [{ ...invoice, processId: SELF_BILLING_PROCESS }]);
    const participant = { scheme: "0245", identifier: narrow.dic };
    const one = await call(`GET /peppol/participants/0245/${narrow.dic}`);
    expect(one.json).toMatchObject({ accepts: false, routingStatus: "process_not_supported", processId: BILLING });
    const batch = await call("POST /peppol/participants/batch", { participants: [narrow.participantId] });
    expect((batch.json["results"] as unknown[])[0]).toMatchObject({
      accepts: false,
      routingStatus: "process_not_supported",
    });
    const named = await call("POST /peppol/capabilities", { participant, documentType: "invoice" });
    expect(named.json).toMatchObject({ accepts: false, capability: { routingStatus: "process_not_supported" } });
    const resolved = await call(`GET /peppol/participants/resolve?peppolId=${narrow.participantId}`);
    expect(resolved.json).toMatchObject({ capability: { routingStatus: "process_not_supported" } });
    const any = await call(
      `GET /peppol/participants/0245/${narrow.dic}?documentTypeId=${encodeURIComponent(INVOICE_TYPE)}`,
    );
    expect(any.json).toMatchObject({ accepts: true, processId: SELF_BILLING_PROCESS });
    const xml = invoiceXml(t.sandbox.sender.participantId, narrow.participantId);
    const preflight = await call("POST /documents/preflight", { receiverPeppolId: narrow.participantId, xml });
    expect(preflight.json).toMatchObject({ ready: false, recipient: { routingStatus: "process_not_supported" } });
  });

  // "404 {found:false,accepts:false,reason,capability{…}}"
  test("capabilities of somebody who is not registered are 404 with the reason", async () => {
    const participant = { scheme: "0245", identifier: NOBODY };
    const { status, json } = await call("POST /peppol/capabilities", { participant, documentType: INVOICE_TYPE });
    expect(status).toBe(404);
    expect(json).toEqual({
      found: false,
      accepts: false,
      reason: "participant_not_found",
      participant: { ...participant, id: `0245:${NOBODY}` },
      capability: {
        documentTypeId: INVOICE_TYPE,
        processId: null,
        routingStatus: "participant_not_found",
        networkReady: false,
      },
    });
  });

  test.each([
    [{}, "participant"],
    [{ participant: { scheme: "0245", identifier: "1" } }, "documentType"],
    [
      { participant: { scheme: "0245", identifier: "1" }, documentType: "a::b", documentTypes: ["b::c"] },
      "documentType",
    ],
    [{ participant: { scheme: "0245", identifier: "1" }, documentTypes: [] }, "documentTypes"],
    [{ participant: { scheme: "245", identifier: "1" }, documentType: "invoice" }, "participant.scheme"],
    [{ participant: { scheme: "0245", identifier: "1" }, documentType: "order" }, "documentType"],
    [{ participant: { scheme: "0245", identifier: "1" }, documentTypes: ["invoice", "Invoice"] }, "documentTypes[1]"],
  ])("a question for capabilities such as %j is 400 and names %s", async (body, field) => {
    const answer = await call("POST /peppol/capabilities", body);
    expect(faultOf(answer)).toEqual([400, "VALIDATION_ERROR"]);
    expect(JSON.stringify(answer.json)).toContain(`"field":"${field}"`);
  });

  test("a question for capabilities that names no type is told in one sentence what would be right", async () => {
    const participant = { scheme: "0245", identifier: "1" };
    const { json } = await call("POST /peppol/capabilities", { participant });
    expect((json["error"] as { details?: unknown }).details).toEqual([
      {
        field: "documentType",
        message: "documentType must be the only name of the type: give exactly one of documentType and documentTypes.",
      },
    ]);
  });

  test("an integrator looks up without naming a firm, and a client that always names one is not refused for it", async () => {
    const partner = await newPartner(t);
    const central = await tokenOf(t, partner.key);
    for (const headers of [{}, { "x-firm-id": firm.firmId }]) {
      const answer = await api(t, central, `GET /peppol/participants/0245/${firm.dic}`, { headers });
      expect(answer.status).toBe(200);
    }
    const lacking = await newFirmKey(t, firm.firmId, ["documents:send"]);
    const refused = await api(t, lacking.token, `GET /peppol/participants/0245/${firm.dic}`);
    expect([refused.status, (refused.json["error"] as Record<string, unknown>)["required_scope"]]).toEqual([
      403,
      "documents:read",
    ]);
  });
});

describe("look-ups of an engine with an access point", () => {
  let t: TestEngine;
  beforeAll(async () => {
    t = await startTestEngine({ transport: "as4" });
  });
  afterAll(() => t.stop());

  test("the access point of a participant is shown with its certificate", async () => {
    const token = await accessToken(t.sandbox, t.sandbox.sender);
    const [scheme = "", identifier = ""] = t.sandbox.receiver.participantId.split(":");
    const one = await api(t, token, `GET /peppol/participants/${scheme}/${identifier}`);
    expect([one.status, one.json]).toMatchObject([
      200,
      {
        accepts: true,
        source: "internal",
        accessPoint: {
          url: `${t.engine.publicUrl}/as4`,
          transportProfile: "peppol-transport-as4-v2_0",
          certificate: {
            subject: expect.stringContaining("CN=P") as unknown,
            validFrom: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/) as unknown,
            validTo: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/) as unknown,
          },
        },
      },
    ]);
    const many = await api(t, token, "POST /peppol/capabilities", {
      body: { participant: { scheme, identifier }, documentType: INVOICE_TYPE },
    });
    expect(many.json["accessPoint"]).toEqual({
      url: `${t.engine.publicUrl}/as4`,
      transportProfile: "peppol-transport-as4-v2_0",
    });
  });

  test("a participant that nobody knows is not registered, and one who was registered a moment ago is found", async () => {
    const token = await accessToken(t.sandbox, t.sandbox.sender);
    const nobody = await api(t, token, `GET /peppol/participants/0245/${NOBODY}`);
    expect([nobody.status, nobody.json["routingStatus"]]).toEqual([404, "participant_not_found"]);
    const firm = await newClient(t);
    await addCapabilities(t.db.sql, firm.participantId, BILLING_CAPABILITIES);
    const added = await api(t, token, `GET /peppol/participants/0245/${firm.dic}`);
    expect([added.status, added.json["accepts"]]).toEqual([200, true]);
  });
});
