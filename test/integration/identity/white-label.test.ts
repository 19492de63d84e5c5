/**
 * White Label over another SMP: a stand-in that speaks the REST interface strictly and fails as it is told. Goal: an
 * identity is never taken over and never asked for twice, whatever is cut off where, and the token is nowhere to read.
 */
import { spawn } from "node:child_process";
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { IncomingMessage, Server } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { EXIT } from "../../../gateway/commands/command.js";
import { IDS_NS, SMP_NS } from "../../../engine/peppol/discovery/smp-document.js";
import { PARTICIPANT_CAPABILITIES } from "../../../engine/peppol/discovery/capabilities.js";
import { ownRegistry } from "../../../engine/peppol/registry/own.js";
import type { ParticipantId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { claimWhiteLabel } from "../../../engine/storage/identity/white-label.js";
import { operationContext } from "../../../engine/identity/white-label/operations.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import { attributeOf, childrenNamed, onlyChild, parseXml, textOf } from "../../../validators/xml/tree.js";
import { http, MASTER_KEY, startTestEngine } from "../../support/engines/engine.js";
import type { HttpAnswer, TestEngine } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { overlap } from "../../support/database/overlap.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { api, faultOf, newPartner, tokenOf } from "../../support/callers/partners.js";
import type { Partner } from "../../support/callers/partners.js";
import { PROJECT } from "../../support/engines/process.js";
import { seedFirm } from "../../support/database/seed.js";
import { openTransaction } from "../../support/database/transactions.js";
import { listening } from "../../support/network/listening.js";

/** What the stand-in does with one write, before or after it has done it. */
type Fault = { readonly at: "group" | "metadata" | "migration"; readonly does: number | "cut before" | "cut after" };

interface OtherSmp {
  readonly url: string;
  /** `METHOD path` of every call. */
  readonly calls: string[];
  /** Participant → document types. */
  readonly groups: Map<string, Set<string>>;
  /** Header dic_verification_code by participant. */
  readonly tokens: Map<string, string>;
  /** Participants whose migration to somebody else is in progress; a second start is refused, as phoss SMP does. */
  readonly leaving: Set<string>;
  /** What a migration that has begun is answered with, given its code. */
  begun: (code: string) => string;
  fault: Fault | undefined;
  /** Whether reading fails. */
  isBlind: boolean;
  close(): Promise<void>;
}

const USER = "kurier";
const PASSWORD = "p@ss:word";
const AUTHORIZATION = `Basic ${Buffer.from(`${USER}:${PASSWORD}`).toString("base64")}`;

const bodyOf = async (request: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
};

/** The participant that a document names; undefined when it is not the one that its schema has. */
function participantIn(body: Buffer, root: "ServiceGroup" | "ServiceMetadata"): string | undefined {
  const tree = parseXml(body);
  if (tree.kind === "refused" || tree.root.ns !== SMP_NS || tree.root.local !== root) return undefined;
  const holder = root === "ServiceGroup" ? tree.root : onlyChild(tree.root, SMP_NS, "ServiceInformation");
  const id = holder && onlyChild(holder, IDS_NS, "ParticipantIdentifier");
  if (id === undefined || attributeOf(id, "scheme") !== "iso6523-actorid-upis") return undefined;
  if (root === "ServiceMetadata") {
    const list = holder && onlyChild(holder, SMP_NS, "ProcessList");
    if (list === undefined || childrenNamed(list, SMP_NS, "Process").length === 0) return undefined;
  }
  return textOf(id);
}

/** Codes that a stand-in gives, each another one. */
const codeOf = (n: number): string => `aA1!bB2@cC3#${n}`;
const begunAsPhoss = (code: string): string =>
  `<migrationOutboundResponse success="true"><migrationKey>${code}</migrationKey></migrationOutboundResponse>`;

async function startOtherSmp(): Promise<OtherSmp> {
  const calls: string[] = [];
  const groups = new Map<string, Set<string>>();
  const tokens = new Map<string, string>();
  const leaving = new Set<string>();
  let codes = 0;
  const state: Pick<OtherSmp, "fault" | "isBlind" | "begun"> = {
    fault: undefined,
    isBlind: false,
    begun: begunAsPhoss,
  };

  /** Does one call. @returns its status and body; undefined where the connection ends without an answer */
  async function handle(request: IncomingMessage): Promise<readonly [number, string?] | undefined> {
    const path = request.url ?? "";
    const body = await bodyOf(request);
    calls.push(`${request.method ?? ""} ${path}`);
    const parts = path.split("/").slice(1).map(decodeURIComponent);
    const isMigration = parts[0] === "migration";
    const qualified = parts[isMigration ? (parts[1] === "outbound" ? 3 : 2) : 0] ?? "";
    const participant = /^iso6523-actorid-upis::(0245:\d{10})$/.exec(qualified)?.[1];
    if (participant === undefined) return [400];
    if (request.method === "GET") {
      if (state.isBlind) return [500];
      return groups.has(participant) && parts.length === 1 ? [200, "<ServiceGroup/>"] : [404];
    }
    if (request.headers.authorization !== AUTHORIZATION) return [401];
    if (request.method !== "PUT") return [405];
    const kind = isMigration ? "migration" : parts.length === 1 ? "group" : "metadata";
    const { fault } = state;
    const does = fault?.at === kind ? fault.does : undefined;
    if (does === "cut before") return undefined;
    if (typeof does === "number") return [does];
    if (kind !== "migration" && request.headers["content-type"]?.startsWith("application/xml") !== true) return [415];
    if (kind === "group") {
      if (participantIn(body, "ServiceGroup") !== participant) return [400];
      groups.set(participant, new Set());
      tokens.set(participant, String(request.headers["dic_verification_code"]));
    } else if (kind === "metadata") {
      const type = /^busdox-docid-qns::(.+)$/.exec(parts[2] ?? "")?.[1];
      if (parts[1] !== "services" || type === undefined || participantIn(body, "ServiceMetadata") !== participant)
        return [400];
      groups.get(participant)?.add(type);
    } else if (parts[1] === "inbound") {
      groups.set(participant, new Set());
    } else if (parts[2] === "cancel") {
      return leaving.delete(participant) ? [200] : [400];
    } else {
      if (!groups.has(participant) || leaving.has(participant)) return [400];
      leaving.add(participant);
    }
    if (does === "cut after") return undefined;
    return kind === "migration" && parts[1] === "outbound" ? [200, state.begun(codeOf((codes += 1)))] : [200];
  }

  const server: Server = createServer((request, response) => {
    void handle(request).then((answer) => {
      if (answer === undefined) request.socket.destroy();
      else response.writeHead(answer[0], { "content-type": "application/xml" }).end(answer[1]);
    });
  });
  const { origin, close } = await listening(server);
  return Object.assign(state, {
    calls,
    groups,
    tokens,
    leaving,
    url: origin,
    close,
  });
}

const EVERY_TYPE = new Set(PARTICIPANT_CAPABILITIES.map(({ documentTypeId }) => documentTypeId));

let companies = 0;
const newDic = (): string => String(2_180_000_000 + (companies += 1));
const wishOf = (dic: string, changes: object = {}) => ({
  customerRef: `ref-${dic}`,
  dic,
  companyEmail: "firma@firma.example",
  verificationToken: `verify-${dic}-secret`,
  ...changes,
});

let db: TestDatabase;
let smp: OtherSmp;
let whiteLabelSmp: string;
let nodes: TestEngine[];
let partner: Partner;
/** Of the partner, by node: each names its own address as the issuer. */
let tokens: readonly string[];

beforeAll(async () => {
  [db, smp] = await Promise.all([freshDatabase(), startOtherSmp()]);
  const address = new URL(smp.url);
  whiteLabelSmp = `http://${USER}:${encodeURIComponent(PASSWORD)}@${address.host}`;
  const config = { WHITE_LABEL_SMP: whiteLabelSmp };
  const first = await startTestEngine({ transport: "as4", db, config });
  nodes = [first, await startTestEngine({ transport: "as4", db, config })];
  partner = await newPartner(first);
  tokens = await tokensOf(partner);
});
afterAll(async () => {
  for (const node of nodes) await node.stop();
  await smp.close();
  await db.drop();
});
beforeEach(() => {
  smp.fault = undefined;
  smp.isBlind = false;
  smp.begun = begunAsPhoss;
  smp.calls.length = 0;
});

/** Starts `kurier white-label …` beside the engines. */
const startKurier = (args: readonly string[], input = ""): ChildProcessWithoutNullStreams => {
  const child = spawn(process.execPath, [join(PROJECT, "gateway/kurier.mjs"), "white-label", ...args], {
    env: {
      PATH: process.env["PATH"] ?? "",
      DATA_DIR: node().dataDir,
      ENVIRONMENT: "sandbox",
      DATABASE_URL: db.url,
      MASTER_KEY: MASTER_KEY.toString("base64"),
      PUBLIC_URL: node().engine.publicUrl,
      WHITE_LABEL_SMP: whiteLabelSmp,
    },
  });
  child.stdin.end(input);
  return child;
};

interface KurierEnd {
  readonly status: number | null;
  readonly out: string;
  readonly err: string;
}
const endOf = (child: ChildProcessWithoutNullStreams): Promise<KurierEnd> =>
  new Promise((resolve) => {
    let [out, err] = ["", ""];
    child.stdout.on("data", (chunk: Buffer) => {
      out += chunk.toString();
    });
    child.stderr.on("data", (chunk: Buffer) => {
      err += chunk.toString();
    });
    child.on("close", (status) => {
      resolve({ status, out, err });
    });
  });
const kurier = (...args: readonly string[]): Promise<KurierEnd> => endOf(startKurier(args));

const tokensOf = ({ key }: Partner): Promise<string[]> => Promise.all(nodes.map((one) => tokenOf(one, key)));
const node = (at = 0): TestEngine => nodes[at % nodes.length] as TestEngine;
const post = (
  path: string,
  body: unknown,
  more: { readonly key?: string; readonly at?: number; readonly as?: readonly string[] } = {},
): Promise<HttpAnswer> =>
  api(node(more.at), (more.as ?? tokens)[(more.at ?? 0) % nodes.length], `POST /white-label/participants/${path}`, {
    body,
    headers: { "idempotency-key": more.key ?? randomUUID() },
  });
const operation = async (id: unknown): Promise<Record<string, unknown>> =>
  (await api(node(), tokens[0], `GET /white-label/operations/${String(id)}`)).json;
/** As it is stored: a question that is asked until it is answered must not use up what a key may ask. */
const statusOf = async (id: unknown): Promise<unknown> =>
  (await db.sql`select status from white_label_operation where id = ${String(id)}`)[0]?.["status"];
const writes = (dic: string): string[] => smp.calls.filter((call) => call.startsWith("PUT") && call.includes(dic));
/** An entry of the operators' record, but for its event. */
const noted = (reason: string, refusal?: string) => ({
  ...{ actor: "operator", integrator: null },
  metadata: { reason, ...(refusal === undefined ? {} : { refusal }) },
});
const release = (id: unknown): Promise<HttpAnswer> =>
  http("POST", `${node().sandbox.adminUrl}/admin/white-label/operations/${String(id)}/release`, {
    authorization: `Bearer ${node().sandbox.admin.token}`,
  });

test("a participant is put into the other SMP with everything that it takes, and its token is nowhere to read", async () => {
  const dic = newDic();
  const { status, json } = await post("registrations", wishOf(dic));
  expect([status, json["status"]]).toEqual([201, "succeeded"]);
  expect(smp.groups.get(`0245:${dic}`)).toEqual(EVERY_TYPE);
  const secret = `verify-${dic}-secret`;
  expect(smp.tokens.get(`0245:${dic}`)).toBe(secret);
  expect(smp.calls.join("\n")).not.toContain(secret);
  expect(nodes.flatMap(({ lines }) => lines).join("\n")).not.toContain(secret);
  const rows = await db.sql`select o.*, o::text as row from white_label_operation o where dic = ${dic}`;
  expect([JSON.stringify(rows).includes(secret), rows[0]?.["secret_sealed"]]).toEqual([false, null]);
  const audit = await db.sql`select metadata::text as text from audit_entry`;
  expect(JSON.stringify(audit)).not.toContain(secret);
});

describe("an identity that the registry has already", () => {
  test("a conflict names the migration flow and leaves nothing here; the migration then succeeds", async () => {
    const [dic, key] = [newDic(), randomUUID()];
    smp.groups.set(`0245:${dic}`, new Set());
    const refused = await post("registrations", wishOf(dic), { key });
    expect(faultOf(refused)).toEqual([409, "REGISTRY_CONFLICT"]);
    expect(refused.json["error"]).toMatchObject({
      field: "dic",
      nextAction: expect.stringContaining("migration") as unknown,
    });
    expect(faultOf(await post("registrations", wishOf(dic), { key }))).toEqual([409, "REGISTRY_CONFLICT"]);
    expect(await db.sql`select 1 from participant where key = ${`0245:${dic}`}`).toHaveLength(0);
    expect(writes(dic)).toEqual([]);
    smp.groups.delete(`0245:${dic}`);
    const { verificationToken: _, ...body } = wishOf(dic);
    const moved = await post("migrations", { ...body, migrationCode: "aA1!bB2@cC3#" });
    expect([moved.status, moved.json["operationType"]]).toEqual([201, "migration_in"]);
    expect(writes(dic)[0]).toBe(
      `PUT /migration/inbound/iso6523-actorid-upis%3A%3A0245%3A${dic}/${encodeURIComponent("aA1!bB2@cC3#")}`,
    );
  });

  test("a registry that answers 409 has a conflict", async () => {
    smp.fault = { at: "group", does: 409 };
    expect(faultOf(await post("registrations", wishOf(newDic())))).toEqual([409, "REGISTRY_CONFLICT"]);
  });
});

test("a registry that answers 400 has refused, and the identity is free again", async () => {
  const dic = newDic();
  smp.fault = { at: "group", does: 400 };
  const refused = await post("registrations", wishOf(dic));
  expect(faultOf(refused)).toEqual([422, "REGISTRY_REFUSED"]);
  expect(refused.json["error"]).toMatchObject({ details: [{ field: "dic" }, { field: "verificationToken" }] });
  smp.fault = undefined;
  expect((await post("registrations", wishOf(dic))).status).toBe(201);
});

describe("a registry whose outcome nobody knows", () => {
  test.each<readonly [string, Fault, "succeeded" | "released"]>([
    ["is cut off after it has written", { at: "group", does: "cut after" }, "succeeded"],
    ["is cut off before it has written", { at: "group", does: "cut before" }, "released"],
    ["fails at writing", { at: "group", does: 500 }, "released"],
    ["fails at the metadata", { at: "metadata", does: 503 }, "succeeded"],
  ])(
    "a registration whose registry %s is reviewed, asked for once, and ended by what the registry says",
    async (_, fault, end) => {
      const [dic, key] = [newDic(), randomUUID()];
      smp.fault = fault;
      const first = await post("registrations", wishOf(dic), { key });
      expect([first.status, first.json["status"], first.json["reviewRequired"]]).toEqual([202, "manual_review", true]);
      expect(first.headers.get("location")).toBe(`/api/v1/white-label/operations/${String(first.json["id"])}`);
      smp.fault = undefined;
      const asked = writes(dic).length;
      const again = await post("registrations", wishOf(dic), { key });
      expect([again.status, again.json["id"]]).toEqual([202, first.json["id"]]);
      expect(faultOf(await post("registrations", wishOf(dic, { customerRef: `other-${dic}` })))).toEqual([
        409,
        "PARTICIPANT_UNDER_WAY",
      ]);
      expect(writes(dic)).toHaveLength(asked);
      smp.isBlind = true;
      expect(faultOf(await release(first.json["id"]))).toEqual([503, "REGISTRY_SILENT"]);
      smp.isBlind = false;
      const released = await release(first.json["id"]);
      expect([released.status, released.json["status"]]).toEqual([200, end]);
      expect(smp.groups.get(`0245:${dic}`)).toEqual(end === "succeeded" ? EVERY_TYPE : undefined);
      expect(faultOf(await release(first.json["id"]))).toEqual([409, "WHITE_LABEL_STATE"]);
      const { status, error } = await operation(first.json["id"]);
      expect([status, error]).toMatchObject([
        end,
        end === "succeeded"
          ? null
          : { message: expect.stringContaining("send it again under a new Idempotency-Key") as unknown },
      ]);
      const next = await post("registrations", wishOf(dic, { customerRef: `next-${dic}` }));
      expect(next.status).toBe(end === "succeeded" ? 409 : 201);
    },
  );

  test("a review stays open while the registry does not take what is missing of a participant", async () => {
    const dic = newDic();
    smp.fault = { at: "metadata", does: 503 };
    const { json } = await post("registrations", wishOf(dic));
    expect(faultOf(await release(json["id"]))).toEqual([503, "REGISTRY_SILENT"]);
    expect((await operation(json["id"]))["status"]).toBe("manual_review");
    smp.fault = undefined;
    expect((await release(json["id"])).json["status"]).toBe("succeeded");
    expect(smp.groups.get(`0245:${dic}`)).toEqual(EVERY_TYPE);
  });

  test("a review about an identity that another firm here was given meanwhile ends, and the firm keeps it", async () => {
    const dic = newDic();
    const id = randomUUID();
    const firmId = await seedFirm(db.sql, `0245:${dic}`);
    smp.groups.set(`0245:${dic}`, new Set(EVERY_TYPE));
    await db.sql`
      insert into white_label_operation (id, integrator_id, operation_type, status, version, customer_ref, dic,
        participant_key, company_email, error_code, asked_at, created_at, updated_at)
      values (${id}, ${partner.integratorId}, 'registration', 'manual_review', 2, ${`ref-${dic}`}, ${dic},
        ${`0245:${dic}`}, 'a@b.example', 'IDENTIFIER_TAKEN', now(), now(), now())`;
    expect((await release(id)).json["status"]).toBe("released");
    expect(await db.sql`select firm_id from participant where key = ${`0245:${dic}`}`).toEqual([{ firm_id: firmId }]);
  });

  test.each([
    ["is still a firm's", true, { status: "released", error: { code: "CUSTOMER_REF_CONFLICT" } }],
    ["is free again", false, { status: "succeeded", error: null }],
  ])("a review about a name that was given to a firm meanwhile ends, and the name %s", async (_, isTaken, end) => {
    const [dic, id] = [newDic(), randomUUID()];
    smp.groups.set(`0245:${dic}`, new Set(EVERY_TYPE));
    await db.sql`
      insert into white_label_operation (id, integrator_id, operation_type, status, version, customer_ref, dic,
        participant_key, company_email, error_code, asked_at, created_at, updated_at)
      values (${id}, ${partner.integratorId}, 'registration', 'manual_review', 2, ${`ref-${dic}`}, ${dic},
        ${`0245:${dic}`}, 'a@b.example', 'CUSTOMER_REF_CONFLICT', now(), now(), now())`;
    if (isTaken) {
      const firmId = await seedFirm(db.sql, `0245:${newDic()}`);
      await db.sql`
        insert into firm_binding (integrator_id, firm_id, customer_ref, state, scopes, interfaces, created_at, updated_at)
        values (${partner.integratorId}, ${firmId}, ${`ref-${dic}`}, 'active', '{}', '{}', now(), now())`;
    }
    expect((await release(id)).json).toMatchObject(end);
    const firms = await db.sql`select 1 from participant where key = ${`0245:${dic}`}`;
    expect(firms).toHaveLength(isTaken ? 0 : 1);
  });

  test("an operator lists what is under review and ends it by the command line, in a process of its own", async () => {
    const [dic, other] = [newDic(), newDic()];
    smp.fault = { at: "group", does: "cut after" };
    const { json: done } = await post("registrations", wishOf(dic));
    smp.fault = { at: "metadata", does: 503 };
    const { json: half } = await post("registrations", wishOf(other));
    smp.fault = undefined;
    const listed = await kurier("list", "--status", "manual_review");
    expect(listed).toMatchObject({ status: 0, err: "" });
    const metrics = await fetch(`${node().sandbox.adminUrl}/metrics`).then((answer) => answer.text());
    expect(metrics).toMatch(/^kurier_registrations_state\{state="manual_review"\} [1-9]/m);
    for (const [operationId, name, code] of [
      [done["id"], dic, "REGISTRY_UNKNOWN"],
      [half["id"], other, "REGISTRY_UNKNOWN"],
    ])
      expect(listed.out).toContain(
        `${String(operationId)}  registration  manual_review  0245:${String(name)}  ref-${String(name)}  ${String(code)}\n`,
      );
    for (const [{ id }, name] of [
      [done, dic],
      [half, other],
    ] as const) {
      const ended = await kurier("release", String(id));
      expect([ended.status, JSON.parse(ended.out)], ended.err).toEqual([0, { id, status: "succeeded" }]);
      expect((await operation(id))["status"]).toBe("succeeded");
      expect(smp.groups.get(`0245:${name}`)).toEqual(EVERY_TYPE);
    }
    expect((await kurier("list")).out).toContain(String(done["id"]));
  });

  test("a review that the command line cannot end says why: a registry that is silent is away, wrong words are wrong", async () => {
    smp.fault = { at: "group", does: "cut after" };
    const { json: open } = await post("registrations", wishOf(newDic()));
    smp.fault = undefined;
    const refusedDic = newDic();
    smp.fault = { at: "group", does: 400 };
    expect(faultOf(await post("registrations", wishOf(refusedDic)))).toEqual([422, "REGISTRY_REFUSED"]);
    smp.fault = undefined;
    const [done] = await db.sql`select id from white_label_operation where dic = ${refusedDic}`;
    smp.isBlind = true;
    const refused = async (...args: readonly string[]) => {
      const { status, out, err } = await kurier(...args);
      return [status, out, err.trim()];
    };
    // Supervisors start again what is away.
    expect(await refused("release", String(open["id"]))).toEqual([
      EXIT.away,
      "",
      expect.stringMatching(/^The registry does not say who has the participant, .* the review stays open\./),
    ]);
    expect(await refused("release", String(done?.["id"]))).toEqual([
      EXIT.failed,
      "",
      expect.stringContaining("is not under review"),
    ]);
    expect(await refused("release", randomUUID())).toEqual([EXIT.failed, "", "There is no operation of this id."]);
    expect(await refused("release", "x")).toEqual([EXIT.usage, "", expect.stringContaining("by its id")]);
    expect(await refused("list", "--status", "x")).toEqual([EXIT.usage, "", expect.stringContaining("manual_review")]);
  });

  test("an operation whose process died after it had asked is reviewed by another, which asks nothing", async () => {
    const dic = newDic();
    const id = randomUUID();
    await db.sql`
      insert into white_label_operation (id, integrator_id, operation_type, status, version, customer_ref, dic,
        participant_key, company_email, due_at, claimed_until, asked_at, created_at, updated_at)
      values (${id}, ${partner.integratorId}, 'registration', 'processing', 2, ${`ref-${dic}`}, ${dic},
        ${`0245:${dic}`}, 'a@b.example', now(), now() - interval '1 second', now(), now(), now())`;
    await eventually("a process has found it", async () => (await statusOf(id)) === "manual_review");
    expect([(await operation(id))["error"], writes(dic)]).toMatchObject([{ code: "INTERRUPTED" }, []]);
  });
});

// 401 and 403: our own user is not let in. 412: phoss SMP's operator has switched off writing, or its SML.
test.each([429, 401, 403, 412])("a registry that answers %i is asked again, and nothing is lost", async (status) => {
  const dic = newDic();
  smp.fault = { at: "group", does: status };
  const first = await post("registrations", wishOf(dic));
  expect([first.status, first.json["status"], first.json["error"]]).toMatchObject([
    202,
    "processing",
    { code: "REGISTRY_UNAVAILABLE" },
  ]);
  smp.fault = undefined;
  await db.sql`update white_label_operation set due_at = now() where id = ${String(first.json["id"])}`;
  await eventually("it was asked again", async () => (await statusOf(first.json["id"])) === "succeeded");
  expect(smp.tokens.get(`0245:${dic}`)).toBe(`verify-${dic}-secret`);
  const lines = nodes.flatMap((one) => one.lines).join("\n");
  expect(lines.includes(`"code":"http_${status}"`)).toBe(status !== 429);
  expect([lines.includes(PASSWORD), lines.includes(AUTHORIZATION)]).toEqual([false, false]);
});

describe("who binds what the registry has done", () => {
  test("an operation belongs to who asked the registry until it is bound: an operator's release sees its end", async () => {
    const dic = newDic();
    smp.fault = { at: "group", does: "cut after" };
    const { json } = await post("registrations", wishOf(dic));
    smp.fault = undefined;
    const binding = await openTransaction(db.url);
    await binding.run(`select 1 from integrator where id = '${partner.integratorId}' for update`);
    const released = release(json["id"]);
    await eventually("the registry's word is written", async () => (await statusOf(json["id"])) === "smp_succeeded");
    const taken = await claimWhiteLabel(db.sql, { limit: 100, lease_ms: LIMITS.white_label_lease_ms }, Date.now());
    await binding.commit();
    expect([(await released).json["status"], taken.map(({ id }) => id)]).toEqual(["succeeded", []]);
  });

  test("an operation whose process died before it bound what the registry has done is bound by another process", async () => {
    const [dic, id] = [newDic(), randomUUID()];
    smp.groups.set(`0245:${dic}`, new Set(EVERY_TYPE));
    await db.sql`
      insert into white_label_operation (id, integrator_id, operation_type, status, version, customer_ref, dic,
        participant_key, company_email, due_at, asked_at, created_at, updated_at)
      values (${id}, ${partner.integratorId}, 'registration', 'smp_succeeded', 3, ${`ref-${dic}`}, ${dic},
        ${`0245:${dic}`}, 'a@b.example', now() - interval '1 second', now(), now(), now())`;
    await eventually("a process has bound it", async () => (await statusOf(id)) === "succeeded");
    expect([(await operation(id))["error"], writes(dic)]).toEqual([null, []]);
  });
});

describe("one company under two names", () => {
  const row = (dic: string, customerRef: string) => ({
    id: randomUUID(),
    integrator_id: partner.integratorId,
    idempotency_key: randomUUID(),
    customer_ref: customerRef,
    dic,
    company_email: "firma@firma.example",
    created_at: "2026-11-20T09:00:00Z",
  });
  /** The call that notes a customer. */
  const noting = (dic: string, customerRef: string): string => {
    const more = { relationship: "represented", customer_authorization: "Mandát" };
    const json = JSON.stringify({ ...row(dic, customerRef), ...more });
    return `(select outcome from create_white_label_customer('${json}', sha256('x')))`;
  };
  /** The call that writes a registration, under review so that no engine carries it out. */
  const wishing = (dic: string, customerRef: string): string => {
    const more = { operation_type: "registration", status: "manual_review", version: 1 };
    const times = { participant_key: `0245:${dic}`, updated_at: "2026-11-20T09:00:00Z" };
    const json = JSON.stringify({ ...row(dic, customerRef), ...more, ...times });
    return `(select outcome from create_white_label_operation('${json}', null, null, false, null))`;
  };

  /** The call that asks for a firm that only sends. */
  const asking = (dic: string, customerRef: string): string => {
    const more = { service_mode: "send_only", contact_email: "a@b.example", relationship_mode: "technical_delegation" };
    const json = JSON.stringify({ ...row(dic, customerRef), ...more });
    return `(select outcome from create_onboarding_request('${json}', sha256('x'), false, 'wait'))`;
  };

  test.each([
    ["a customer before a registration", noting, wishing],
    ["a registration before a customer", wishing, noting],
    ["a customer before a request of onboarding", noting, asking],
    ["a request of onboarding before a customer", asking, noting],
    ["a registration before a request of onboarding", wishing, asking],
    ["a request of onboarding before a registration", asking, wishing],
  ] as const)("two at once, %s: the second has no other name and no other company", async (_, first, second) => {
    const [dic, same] = [newDic(), newDic()];
    const name = `ref-${dic}`;
    expect(await overlap(db, first(dic, name), second(dic, "name two"))).toEqual(["created", "ref_conflict"]);
    expect(await overlap(db, second(newDic(), name))).toEqual(["ref_conflict"]);
    expect(await overlap(db, first(same, `ref-${same}`), second(same, `ref-${same}`))).toEqual(["created", "created"]);
  });

  test("a request of onboarding that was refused keeps no name from customers and registrations", async () => {
    const dic = newDic();
    await overlap(db, asking(dic, `ref-${dic}`));
    await db.sql`update onboarding_request set status = 'blocked' where dic = ${dic}`;
    expect(await overlap(db, noting(dic, "its new name"))).toEqual(["created"]);
    expect(await overlap(db, wishing(newDic(), `ref-${dic}`))).toEqual(["created"]);
  });

  test("the database refuses a second name, whoever writes it", async () => {
    const dic = newDic();
    await overlap(db, noting(dic, `ref-${dic}`));
    await expect(db.sql`
      insert into white_label_operation (id, integrator_id, operation_type, status, version, customer_ref, dic,
        participant_key, company_email, created_at, updated_at)
      values (${randomUUID()}, ${partner.integratorId}, 'registration', 'manual_review', 1, 'another', ${dic},
        ${`0245:${dic}`}, 'a@b.example', now(), now())`).rejects.toMatchObject({ code: "23505" });
  });
});

test("kurier white-label end-customer frees the name of a customer with a wrong tax id, for a reason, and keeps one that is registered", async () => {
  const [wrong, right] = [newDic(), newDic()];
  const firstKey = randomUUID();
  const note = async (dic: string, key: string = randomUUID()): Promise<readonly [number, string]> => {
    const body = { ...wishOf(right), dic, relationship: "represented", customerAuthorization: "Mandát 17/2027" };
    const headers = { "idempotency-key": key };
    const { status, json } = await api(node(), tokens[0], "POST /customers", { body, headers });
    return [status, String(json["id"])];
  };
  const [, first] = await note(wrong, firstKey);
  expect(await note(wrong, firstKey)).toEqual([200, first]);
  expect((await note(right))[0]).toBe(409);
  const ended = await kurier("end-customer", first, "--reason", "a typing error");
  expect([ended.status, ended.err], ended.out).toEqual([EXIT.ok, ""]);
  // A repeat of the first request that comes late would note the wrong one again.
  expect((await note(wrong, firstKey))[0]).toBe(409);
  const [status, second] = await note(right);
  expect([status, (await post("registrations", wishOf(right))).status]).toEqual([201, 201]);
  const refused = [
    await kurier("end-customer", second, "--reason", "why"),
    await kurier("end-customer", randomUUID(), "--reason", "why"),
  ];
  expect(refused.map((one) => [one.status, one.err])).toEqual([
    [EXIT.failed, expect.stringContaining("the customer stays")],
    [EXIT.failed, "There is no customer of this id.\n"],
  ]);
  for (const args of [[first], ["x", "--reason", "why"]])
    expect((await kurier("end-customer", ...args)).status).toBe(EXIT.usage);
  expect(
    await db.sql`
      select event, actor_type as actor, integrator_id as integrator, metadata from audit_entry
      where target_type = 'white_label_customer' order by position`,
  ).toEqual([
    { event: "operator.customer_ended", ...noted("a typing error") },
    {
      ...{ event: "white_label.customer_ended", actor: "operator", integrator: partner.integratorId },
      metadata: {
        customerRef: `ref-${right}`,
        dic: wrong,
        idempotencyKeySha256: createHash("sha256").update(firstKey).digest("hex"),
      },
    },
    { event: "operator.customer_ended", ...noted("why") },
    { event: "operator.failed", ...noted("why", "WHITE_LABEL_STATE") },
    { event: "operator.customer_ended", ...noted("why") },
    { event: "operator.failed", ...noted("why", "NOT_FOUND") },
  ]);
});

describe("a command that is killed on its way", () => {
  /**
   * Kills the command while a statement of it waits for its integrator's row. The server goes on with such a statement,
   * unless it dies with the command, as where both were on one machine.
   */
  async function killWaiting(
    args: readonly string[],
    statement: string,
    { input = "", dies = false }: { readonly input?: string; readonly dies?: boolean } = {},
  ): Promise<void> {
    const holding = await openTransaction(db.url);
    await holding.run(`select 1 from integrator where id = '${partner.integratorId}' for update`);
    const waiting = async (): Promise<number | undefined> => {
      const [row] = await db.sql<{ pid: number }[]>`
        select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
          and position(${statement} in query) > 0 and pid <> pg_backend_pid()`;
      return row?.pid;
    };
    const child = startKurier(args, input);
    const ended = endOf(child);
    const pid = (await eventually("its statement waits", waiting)) ?? 0;
    child.kill("SIGKILL");
    expect(await ended).toMatchObject({ status: null, out: "" });
    if (dies) await db.sql`select pg_terminate_backend(${pid})`;
    if (dies) await eventually("its statement is gone", async () => (await waiting()) === undefined);
    await holding.commit();
    await eventually("the server has done with it", async () => {
      const rows = await db.sql`select 1 from pg_stat_activity where pid = ${pid}`;
      return rows.length === 0;
    });
  }

  const underReview = async (fault: Fault): Promise<readonly [id: string, dic: string]> => {
    const dic = newDic();
    smp.fault = fault;
    const { json } = await post("registrations", wishOf(dic));
    smp.fault = undefined;
    return [String(json["id"]), dic];
  };
  const released = (id: string, status: string): KurierEnd => ({
    status: EXIT.ok,
    out: `${JSON.stringify({ id, status }, null, 2)}\n`,
    err: "No review of the operation is open; the registry was not asked.\n",
  });

  test.each([
    ["went on with its last statement", false],
    ["died with it before it bound what the registry has done", true],
  ])("a release whose server %s is finished by the next run", async (_, dies) => {
    const [id, dic] = await underReview({ at: "group", does: "cut after" });
    await killWaiting(["release", id], "bind_white_label", { dies });
    expect(await statusOf(id)).toBe(dies ? "smp_succeeded" : "succeeded");
    expect(await kurier("release", id)).toEqual(released(id, "succeeded"));
    expect((await operation(id))["status"]).toBe("succeeded");
    expect(await db.sql`select 1 from participant where key = ${`0245:${dic}`}`).toHaveLength(1);
  });

  test("a release that freed the participant says so to who runs it again", async () => {
    const [id] = await underReview({ at: "group", does: "cut before" });
    expect((await kurier("release", id)).status).toBe(EXIT.ok);
    expect(await kurier("release", id)).toEqual(released(id, "released"));
  });

  test("a vouching that was written is told by the next run, with what has become of the operation", async () => {
    const [dic, id, token] = [newDic(), randomUUID(), "given by the authority"];
    const sealer = createSealer([MASTER_KEY]);
    await db.sql`
      insert into white_label_operation (id, integrator_id, operation_type, status, version, customer_ref, dic,
        participant_key, company_email, error_code, secret_key_id, secret_sealed, created_at, updated_at)
      values (${id}, ${partner.integratorId}, 'registration', 'manual_review', 1, ${`ref-${dic}`}, ${dic},
        ${`0245:${dic}`}, 'a@b.example', 'VERIFICATION_REQUIRED', ${sealer.keyId},
        ${sealer.seal(Buffer.from(token), operationContext(id, "secret"))}, now(), now())`;
    const vouch = (input: string): Promise<KurierEnd> => endOf(startKurier(["vouch", id], input));
    expect(await vouch("another")).toMatchObject({ status: EXIT.failed, out: "" });
    await killWaiting(["vouch", id], "vouch_white_label", { input: token });
    await eventually("the registry has done it", async () => (await statusOf(id)) === "succeeded");
    expect(await vouch(token)).toEqual({
      status: EXIT.ok,
      out: `${JSON.stringify({ id, status: "succeeded" }, null, 2)}\n`,
      err: "The operation was vouched for before; the token was not compared again.\n",
    });
    expect(
      await db.sql`select 1 from audit_entry where event = 'white_label.vouched' and target_id = ${id}`,
    ).toHaveLength(1);
  });

  test("the end of a customer that was written is the next run's, too, and stands once in the audit", async () => {
    const body = { ...wishOf(newDic()), relationship: "represented", customerAuthorization: "Mandát" };
    const { json } = await api(node(), tokens[0], "POST /customers", {
      body,
      headers: { "idempotency-key": randomUUID() },
    });
    const args = ["end-customer", String(json["id"]), "--reason", "a typing error"];
    await killWaiting(args, "end_white_label_customer");
    expect(await kurier(...args)).toEqual({
      status: EXIT.ok,
      out: `${JSON.stringify({ id: json["id"], status: "ended" }, null, 2)}\n`,
      err: "",
    });
    const entries = await db.sql`
      select event from audit_entry where target_id = ${String(json["id"])} order by position`;
    expect(entries.map(({ event }) => event as unknown)).toEqual([
      "operator.customer_ended",
      "white_label.customer_ended",
      "operator.customer_ended",
    ]);
  });
});

test("a late repeat of what made a customer is refused also where the audit of its end has the key itself", async () => {
  const [key, who] = [randomUUID(), { actorType: "operator", actorId: "operator" }];
  await db.sql`
    select append_audit(${db.sql.json({ id: randomUUID(), at: new Date().toISOString(), ...who })}, 'white_label.customer_ended', null,
      ${partner.integratorId}, 'white_label_customer', ${randomUUID()}, ${db.sql.json({ idempotencyKey: key })})`;
  const body = { ...wishOf(newDic()), relationship: "represented", customerAuthorization: "Mandát 17/2027" };
  const at = (one: string): Promise<HttpAnswer> =>
    api(node(), tokens[0], "POST /customers", { body, headers: { "idempotency-key": one } });
  expect((await at(key)).status).toBe(409);
  expect((await at(randomUUID())).status).toBe(201);
});

test("a participant leaves with the code of the other SMP", async () => {
  const { json } = await post("registrations", wishOf(newDic()));
  const left = await api(
    node(),
    tokens[0],
    `POST /white-label/participants/${String(json["participantId"])}/migration-code`,
  );
  expect([left.status, left.json["migrationCode"]]).toEqual([200, expect.stringMatching(/^aA1!bB2@cC3#\d+$/)]);
});

test("a participant whose migration code was lost on its way gets another, once an operator has ended the review", async () => {
  const { json } = await post("registrations", wishOf(newDic()));
  const leave = (): Promise<HttpAnswer> =>
    api(node(), tokens[0], `POST /white-label/participants/${String(json["participantId"])}/migration-code`);
  smp.fault = { at: "migration", does: "cut after" };
  const lost = await leave();
  expect([lost.status, lost.json["migrationCode"]]).toEqual([202, null]);
  expect(faultOf(await leave())).toEqual([409, "PARTICIPANT_UNDER_WAY"]);
  smp.fault = undefined;
  const { id } = lost.json["operation"] as Record<string, unknown>;
  const released = await release(id);
  expect([released.status, released.json["status"], released.json["error"]]).toMatchObject([
    200,
    "released",
    { message: expect.stringContaining("ask for a migration code again") as unknown },
  ]);
  smp.begun = (code) => `<done xmlns="urn:other"><key><migrationKey>${code}</migrationKey></key></done>`;
  const left = await leave();
  expect([left.status, left.json["migrationCode"]]).toEqual([200, expect.stringMatching(/^aA1!bB2@cC3#\d+$/)]);
  expect((await leave()).json["migrationCode"]).toBe(left.json["migrationCode"]);
});

test("a registry that does not let a participant go for another reason has refused it", async () => {
  const dic = newDic();
  const { json } = await post("registrations", wishOf(dic));
  const leave = `POST /white-label/participants/${String(json["participantId"])}/migration-code`;
  smp.fault = { at: "migration", does: 409 };
  expect(faultOf(await api(node(), tokens[0], leave))).toEqual([422, "REGISTRY_REFUSED"]);
  smp.fault = undefined;
  smp.groups.delete(`0245:${dic}`);
  expect(faultOf(await api(node(), tokens[0], leave))).toEqual([422, "REGISTRY_REFUSED"]);
});

describe("races over two nodes", () => {
  test("one of a hundred intermediaries that want an identity at once gets it, and the registry hears of one", async () => {
    const dic = newDic();
    // Keys of their own, because a hundred requests are most of what a key may send in a minute.
    const [ours, theirs] = [await tokensOf(await newPartner(node())), await tokensOf(await newPartner(node()))];
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, n) =>
        post("registrations", wishOf(dic, { customerRef: `race-${n}` }), { at: n, as: n % 3 === 0 ? theirs : ours }),
      ),
    );
    const statuses = answers.map((answer) => faultOf(answer).join(" ").trim());
    expect(statuses.filter((status) => status === "201")).toHaveLength(1);
    expect(new Set(statuses.filter((status) => status !== "201"))).toEqual(
      new Set(["409 PARTICIPANT_UNDER_WAY", "409 IDENTIFIER_TAKEN"].filter((status) => statuses.includes(status))),
    );
    expect(writes(dic).filter((call) => !call.includes("/services/"))).toHaveLength(1);
    expect(await db.sql`select 1 from firm where dic = ${dic}`).toHaveLength(1);
  });

  test("a hundred identical registrations at once are one operation", async () => {
    const [dic, key] = [newDic(), randomUUID()];
    const own = await tokensOf(await newPartner(node()));
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, n) => post("registrations", wishOf(dic), { key, at: n, as: own })),
    );
    expect(new Set(answers.map(({ json }) => json["id"])).size).toBe(1);
    // Whoever waited too long for the first one's end is told where to look: 202.
    expect(answers.filter(({ status }) => status === 201).length).toBeLessThanOrEqual(1);
    const id = answers[0]?.json["id"];
    await eventually("it has succeeded", async () => (await statusOf(id)) === "succeeded");
    expect(answers.every(({ status }) => status === 200 || status === 201 || status === 202)).toBe(true);
    expect(writes(dic).filter((call) => !call.includes("/services/"))).toHaveLength(1);
  });
});

describe("our own SMP as the registry", () => {
  const PARTICIPANT = "0245:2180999999" as ParticipantId;
  test.each([
    ["done", "done"],
    ["already", "done"],
    ["conflict", "conflict"],
    ["refused", "refused"],
    ["unavailable", "unavailable"],
    ["manual_review", "unknown"],
    ["busy", "unavailable"],
    ["not_published", "unavailable"],
    ["not_registered", "refused"],
  ] as const)("what the SML says as %s is %s to White Label", async (kind, outcome) => {
    const registry = ownRegistry({
      registrations: {
        change: () => Promise.resolve({ kind, state: undefined, code: "x" }),
        check: () => Promise.resolve({ kind, state: undefined, code: "x" }),
      },
      isProduction: true,
      isOwn: () => Promise.resolve(false),
      newMigrationCode: () => "code",
    });
    expect(await registry.register(PARTICIPANT, "token")).toEqual({ kind: outcome, code: "x" });
  });

  test("an answer that is lost on its way from the SML is an outcome that nobody knows", async () => {
    const lost = (): Promise<never> => Promise.reject(new Error("lost"));
    const registry = ownRegistry({
      registrations: { change: lost, check: lost },
      isProduction: true,
      isOwn: () => Promise.resolve(false),
      newMigrationCode: () => "code",
    });
    expect(await registry.register(PARTICIPANT, "token")).toEqual({ kind: "unknown", code: "internal" });
    expect(await registry.holderOf(PARTICIPANT)).toBe("unknown");
  });

  test.each([
    { isProduction: false, inSml: true, verified: ["registration", "migration_in"] },
    { isProduction: false, inSml: false, verified: ["registration", "migration_in"] },
    { isProduction: true, inSml: true, verified: ["migration_in"] },
    { isProduction: true, inSml: false, verified: [] },
  ])("$verified need nobody's word where production is $isProduction and an SML is there is $inSml", (row) => {
    const no = (): Promise<never> => Promise.reject(new Error("nobody asks"));
    const registry = ownRegistry({
      registrations: row.inSml ? { change: no, check: no } : undefined,
      isProduction: row.isProduction,
      isOwn: () => Promise.resolve(false),
      newMigrationCode: () => "code",
    });
    const types = ["registration", "migration_in"] as const;
    expect(types.filter((type) => registry.verifies(type))).toEqual(row.verified);
  });
});
