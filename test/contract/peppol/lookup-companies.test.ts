/**
 * Companies and the way from a company to its participant, one test for each line of spec/shapes.md, section 6 (Lookup),
 * over both forms of the directory: the firms of this engine, and a stand-in that speaks the Peppol Directory's REST
 * interface strictly.
 */
import { createServer } from "node:http";
import type { Server } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { BILLING_CAPABILITIES } from "../../../engine/peppol/envelope/identifiers.js";
import { addCapabilities } from "../../../engine/storage/documents/received.js";
import { createFirm, registerParticipant } from "../../../engine/identity/firms.js";
import type { ParticipantId } from "../../../engine/base/ids.js";
import { accessToken, INVOICE_TYPE, startTestEngine } from "../../support/engines/engine.js";
import type { HttpAnswer, TestEngine } from "../../support/engines/engine.js";
import { serverForms } from "../../support/engines/gateway.js";
import { api, faultOf } from "../../support/callers/partners.js";
import { listening } from "../../support/network/listening.js";

const BILLING = BILLING_CAPABILITIES[0]?.processId;

const COMPANY = {
  name: "Žihľava a Čučoriedka, s. r. o.",
  ico: "51000001",
  dic: "2151000001",
  icDph: "SK2151000001",
  address: { street: "Kvetná 1", city: "Ľubeľa", zip: "034 93" },
};
const SHOWN = {
  ...COMPANY,
  address: { ...COMPANY.address, country: "SK" },
  peppolId: `0245:${COMPANY.dic}`,
};

type Call = (path: string) => Promise<HttpAnswer>;

async function makeCompany(t: TestEngine, company: typeof COMPANY): Promise<string> {
  const ports = { sql: t.db.sql, clock: systemClock };
  const firmId = await createFirm(ports, { ...company, sandbox: true });
  const participant = `0245:${company.dic}` as ParticipantId;
  await registerParticipant(ports, firmId, participant);
  await addCapabilities(t.db.sql, participant, BILLING_CAPABILITIES);
  return firmId;
}

describe.each(serverForms)("the firms of this engine as a directory in the %s form", (form) => {
  let t: TestEngine;
  let call: Call;

  beforeAll(async () => {
    t = await startTestEngine({ form });
    const token = await accessToken(t.sandbox, t.sandbox.sender);
    call = (path) => api(t, token, `GET ${path}`);
    await makeCompany(t, COMPANY);
    const sender = { ...COMPANY, name: "Žihľava len odosiela", ico: "51000002", dic: "2151000002" };
    const sendsOnly = await makeCompany(t, sender);
    await t.db.sql`update firm set sends_only = true where id = ${sendsOnly}`;
  });
  afterAll(() => t.stop());

  // "GET /peppol/directory/search?q&country&page&page_size"
  test("a search finds a company with all members, one page at a time", async () => {
    const { status, json } = await call("/peppol/directory/search?q=čučoriedka&country=SK&page=1&page_size=5");
    expect(status).toBe(200);
    expect(json).toEqual({
      participants: [
        {
          participantId: SHOWN.peppolId,
          name: COMPANY.name,
          country: "SK",
          ico: COMPANY.ico,
          dic: COMPANY.dic,
          icDph: COMPANY.icDph,
          address: SHOWN.address,
          registeredOn: expect.stringMatching(/^\d{4}-\d\d-\d\d$/) as unknown,
          documentTypes: expect.arrayContaining([`busdox-docid-qns::${INVOICE_TYPE}`]) as unknown,
        },
      ],
      pagination: { page: 1, page_size: 5, total: 1 },
      source: "engine",
    });
    const second = await call("/peppol/directory/search?q=čučoriedka&page=2&page_size=1");
    expect([second.json["participants"], second.json["pagination"]]).toEqual([[], { page: 2, page_size: 1, total: 1 }]);
  });

  test.each([
    ["zihlava", 1],
    ["ZIHĽAVA cucoriedka", 1],
    ["51000001", 1],
    ["2151000001", 1],
    ["sk2151000001", 1],
    ["0245:2151000001", 1],
    ["zihlava pekaren", 0],
    ["%%", 0],
    ["__", 0],
    ["'; drop table firm", 0],
  ])("a search for %s finds %i, by words of the name in any letters or by a whole identifier", async (q, count) => {
    const { status, json } = await call(`/peppol/directory/search?q=${encodeURIComponent(q)}`);
    expect([status, (json["participants"] as unknown[]).length]).toEqual([200, count]);
  });

  test("a firm that only sends is in no directory, and no company of another country is", async () => {
    expect((await call("/peppol/directory/search?q=zihlava%20odosiela")).json["participants"]).toEqual([]);
    expect((await call("/company/lookup/51000002")).status).toBe(404);
    expect((await call("/peppol/directory/search?q=zihlava&country=CZ")).json["participants"]).toEqual([]);
  });

  test.each([
    ["/peppol/directory/search", "q"],
    ["/peppol/directory/search?q=a", "q"],
    [`/peppol/directory/search?q=${"a".repeat(201)}`, "q"],
    ["/peppol/directory/search?q=ab&country=Slovakia", "country"],
    ["/peppol/directory/search?q=ab&page=0", "page"],
    [`/peppol/directory/search?q=ab&page=${LIMITS.directory_pages_max + 1}`, "page"],
    [`/peppol/directory/search?q=ab&page_size=${LIMITS.directory_page_max + 1}`, "page_size"],
    ["/company/search", "q"],
    ["/peppol/participants/resolve?ico=1", "ico"],
    ["/peppol/participants/resolve?icDph=2151000001", "icDph"],
    ["/peppol/participants/resolve?scheme=0245", "identifier"],
    ["/peppol/participants/resolve?identifier=2151000001", "scheme"],
    ["/peppol/participants/resolve", "ico"],
    ["/peppol/participants/resolve?ico=51000001&dic=2151000001", "ico"],
  ])("GET %s names %s as wrong", async (path, field) => {
    const answer = await call(path);
    expect(faultOf(answer)).toEqual([400, "VALIDATION_ERROR"]);
    expect(JSON.stringify(answer.json)).toContain(`"field":"${field}"`);
  });

  // "GET /company/lookup/{ico}"
  test("a company is found by its company id, and one that is not there is 404 with the same members", async () => {
    const found = await call(`/company/lookup/${COMPANY.ico}`);
    expect([found.status, found.json]).toEqual([
      200,
      { found: true, ...SHOWN, peppolStatus: "registered", source: "engine" },
    ]);
    const missing = await call("/company/lookup/51999999");
    expect(missing.status).toBe(404);
    expect(Object.keys(missing.json).sort()).toEqual(Object.keys(found.json).sort());
    expect(missing.json).toMatchObject({ found: false, ico: "51999999", name: null, peppolStatus: "not_registered" });
  });

  // "GET /company/search?q"
  test("companies are suggested by name", async () => {
    const { status, json } = await call("/company/search?q=zih");
    expect([status, json]).toEqual([200, { companies: [SHOWN], source: "engine" }]);
  });

  // "GET /peppol/participants/resolve?ico|dic|icDph|peppolId|scheme+identifier&documentTypeId&processId → {query,nextAction,company,participant,capability}"
  test.each([
    [{ ico: COMPANY.ico }],
    [{ dic: COMPANY.dic }],
    [{ icDph: COMPANY.icDph }],
    [{ peppolId: SHOWN.peppolId }],
    [{ scheme: "0245", identifier: COMPANY.dic }],
  ])("a company named by %j is resolved to the participant that takes its invoices", async (query) => {
    const { status, json } = await call(
      `/peppol/participants/resolve?${new URLSearchParams(query as never).toString()}`,
    );
    expect(status).toBe(200);
    expect(json).toEqual({
      query,
      nextAction: null,
      company: SHOWN,
      participant: {
        participantId: SHOWN.peppolId,
        scheme: "0245",
        identifier: COMPANY.dic,
        found: true,
        supportedDocumentTypes: expect.arrayContaining([`busdox-docid-qns::${INVOICE_TYPE}`]) as unknown,
      },
      capability: { documentTypeId: INVOICE_TYPE, processId: BILLING, routingStatus: "ready", networkReady: true },
    });
  });

  test.each([
    ["ico=51999999", null, null, "tax id"],
    ["dic=2999999999", "0245:2999999999", "participant_not_found", "not registered"],
    [
      `dic=${COMPANY.dic}&documentTypeId=urn:other`,
      SHOWN.peppolId,
      "document_type_not_supported",
      "supportedDocumentTypes",
    ],
    [
      `dic=${COMPANY.dic}&documentTypeId=${encodeURIComponent(INVOICE_TYPE)}&processId=urn:other`,
      SHOWN.peppolId,
      "process_not_supported",
      "processId",
    ],
  ])("where no invoice can be sent to %s the next action says what to do", async (query, id, routingStatus, words) => {
    const { status, json } = await call(`/peppol/participants/resolve?${query}`);
    const participant = json["participant"] as Readonly<Record<string, unknown>> | null;
    const capability = json["capability"] as Readonly<Record<string, unknown>> | null;
    expect([status, participant?.["participantId"] ?? null, capability?.["routingStatus"] ?? null]).toEqual([
      200,
      id,
      routingStatus,
    ]);
    expect(json["nextAction"]).toContain(words);
  });
});

/** The Peppol Directory as its documentation describes it: knows these parameters, pages, and refuses everything else. */
interface StandIn {
  readonly url: string;
  readonly asked: string[];
  answer: "card" | "busy" | "nonsense" | "huge";
  close(): Promise<void>;
}

const CARD = {
  participantID: { scheme: "iso6523-actorid-upis", value: SHOWN.peppolId },
  docTypes: [{ scheme: "busdox-docid-qns", value: INVOICE_TYPE }],
  entities: [
    {
      name: [{ name: COMPANY.name }],
      countryCode: "SK",
      geoInfo: "Ľubeľa",
      identifiers: [
        { scheme: "ICO", value: COMPANY.ico },
        { scheme: "VAT", value: COMPANY.icDph },
      ],
      regDate: "2026-03-01",
    },
  ],
};
const PARAMETERS = ["q", "participant", "country", "resultPageIndex", "resultPageCount"];

async function startStandIn(): Promise<StandIn> {
  const asked: string[] = [];
  const state: { answer: StandIn["answer"] } = { answer: "card" };
  const server: Server = createServer((request, response) => {
    const url = new URL(request.url ?? "", "http://directory.example");
    asked.push(`${url.pathname}${url.search}`);
    if (state.answer === "busy") return void response.writeHead(429).end();
    if (state.answer === "nonsense") return void response.writeHead(200).end("<html>");
    if (state.answer === "huge")
      return void response.writeHead(200).end("x".repeat(LIMITS.directory_answer_bytes_max + 1));
    const isKnown = [...url.searchParams.keys()].every((name) => PARAMETERS.includes(name));
    if (request.method !== "GET" || url.pathname !== "/search/1.0/json" || !isKnown)
      return void response.writeHead(400).end();
    const text = url.searchParams.get("participant") ?? url.searchParams.get("q") ?? "";
    const fits = JSON.stringify(CARD)
      .toLowerCase()
      .includes(text.replace(/^iso6523-actorid-upis::/, "").toLowerCase());
    const size = Number(url.searchParams.get("resultPageCount") ?? 20);
    const matches = fits ? [CARD, { participantID: { scheme: "other", value: "x" } }].slice(0, size) : [];
    response.writeHead(200, { "content-type": "application/json" }).end(
      JSON.stringify({
        version: "1.0",
        "total-result-count": matches.length,
        "used-result-count": matches.length,
        "result-page-index": Number(url.searchParams.get("resultPageIndex") ?? 0),
        "result-page-count": size,
        "first-result-index": 0,
        "last-result-index": matches.length,
        "query-terms": text,
        "creation-dt": "2027-01-15T09:00:00Z",
        matches,
      }),
    );
  });
  const { origin, close } = await listening(server);
  return Object.assign(state, {
    asked,
    url: origin,
    close,
  });
}

describe("the Peppol Directory as the directory", () => {
  let t: TestEngine;
  let directory: StandIn;
  let call: Call;

  beforeAll(async () => {
    directory = await startStandIn();
    t = await startTestEngine({ config: { DIRECTORY_URL: `${directory.url}/` } });
    const token = await accessToken(t.sandbox, t.sandbox.sender);
    call = (path) => api(t, token, `GET ${path}`);
  });
  afterAll(async () => {
    await t.stop();
    await directory.close();
  });

  test("a business card is shown with what it says, pages are asked for from 0, and an answer is remembered", async () => {
    const before = directory.asked.length;
    for (let n = 0; n < 3; n += 1) {
      const { status, json } = await call("/peppol/directory/search?q=Žihľava&country=SK&page=2&page_size=7");
      expect([status, json]).toMatchObject([
        200,
        {
          participants: [
            {
              participantId: SHOWN.peppolId,
              name: COMPANY.name,
              country: "SK",
              ico: COMPANY.ico,
              dic: COMPANY.dic,
              icDph: COMPANY.icDph,
              registeredOn: "2026-03-01",
              documentTypes: [`busdox-docid-qns::${INVOICE_TYPE}`],
            },
          ],
          source: "peppol_directory",
        },
      ]);
    }
    expect(directory.asked.slice(before)).toEqual([
      "/search/1.0/json?q=%C5%BDih%C4%BEava&country=SK&resultPageIndex=1&resultPageCount=7",
    ]);
  });

  test("a company is found by its company id only where its card says so", async () => {
    const { status, json } = await call(`/company/lookup/${COMPANY.ico}`);
    expect([status, json["name"], json["peppolId"]]).toEqual([200, COMPANY.name, SHOWN.peppolId]);
    // These digits are in the card, but as part of another identifier.
    expect((await call("/company/lookup/21510000")).status).toBe(404);
  });

  test("a company that is resolved by its tax id is asked for as a participant", async () => {
    const before = directory.asked.length;
    const { json } = await call(`/peppol/participants/resolve?dic=${COMPANY.dic}`);
    expect(json["company"]).toMatchObject({ name: COMPANY.name });
    expect(directory.asked.slice(before)).toEqual([
      `/search/1.0/json?participant=${encodeURIComponent(`iso6523-actorid-upis::0245:${COMPANY.dic}`)}`,
    ]);
  });

  test.each(["busy", "nonsense", "huge"] as const)(
    "while the directory is %s a search is 503, and what can be told without it is told",
    async (answer) => {
      directory.answer = answer;
      const search = await call(`/peppol/directory/search?q=${answer}`);
      expect(faultOf(search)).toEqual([503, "TEMPORARY"]);
      const resolved = await call(`/peppol/participants/resolve?dic=29${answer.length}${"0".repeat(7)}`);
      expect([resolved.status, resolved.json["company"]]).toEqual([200, null]);
      expect((await call(`/peppol/participants/resolve?ico=5199999${answer.length}`)).status).toBe(503);
      directory.answer = "card";
    },
  );
});
