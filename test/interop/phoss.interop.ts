/**
 * White Label over another SMP, with phoss SMP in its place: what it takes of us, what it answers, and what it tells the
 * network's register, which is a stand-in. What is cut off on the way is cut off before phoss or behind it.
 */
import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { PARTICIPANT_CAPABILITIES } from "../../engine/peppol/discovery/capabilities.js";
import { serviceGroupXml } from "../../engine/peppol/discovery/smp-document.js";
import { newMigrationKey } from "../../engine/peppol/discovery/sml-registry.js";
import { http, startTestEngine } from "../support/engines/engine.js";
import type { HttpAnswer, TestEngine } from "../support/engines/engine.js";
import { eventually } from "../support/eventually.js";
import { api, faultOf, newPartner } from "../support/callers/partners.js";
import { smlRegister, startFakeSml } from "../support/peppol/sml.js";
import type { FakeSml, SmlRegister } from "../support/peppol/sml.js";
import { makeTestPki } from "../support/peppol/test-pki.js";
import { hasHarness } from "./peers/harness.js";
import { issueSmpKey } from "./peers/oxalis-smp.js";
import { PHOSS_ID, PHOSS_PASSWORD, PHOSS_USER, startPhoss } from "./peers/phoss.js";
import type { Phoss } from "./peers/phoss.js";
import { makePki } from "./peers/pki.js";

const TYPES = [...new Set(PARTICIPANT_CAPABILITIES.map(({ documentTypeId }) => documentTypeId))];
const TIMEOUT_MS = 60_000;

/** What stands before phoss SMP, and can cut a connection. */
interface Relay {
  readonly url: string;
  /** Of the next write to a service group or its migration only. */
  cut: "before" | "after" | undefined;
  /** As whom writes come to phoss; undefined: as whom they are sent. */
  user: string | undefined;
  close(): void;
}

async function startRelay(to: string): Promise<Relay> {
  const state: Pick<Relay, "cut" | "user"> = { cut: undefined, user: undefined };
  const server: Server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const isGroup = request.method === "PUT" && request.url?.includes("/services/") === false;
      const cut = isGroup ? state.cut : undefined;
      if (isGroup) state.cut = undefined;
      if (cut === "before") return request.socket.destroy();
      const { authorization, ...others } = request.headers;
      const type = others["content-type"];
      const answer = await fetch(`${to}${request.url ?? ""}`, {
        method: request.method ?? "GET",
        headers: {
          ...(authorization === undefined
            ? {}
            : {
                authorization:
                  state.user === undefined
                    ? authorization
                    : `Basic ${Buffer.from(`${state.user}:${PHOSS_PASSWORD}`).toString("base64")}`,
              }),
          ...(type === undefined ? {} : { "content-type": type }),
        },
        ...(chunks.length === 0 ? {} : { body: new Uint8Array(Buffer.concat(chunks)) }),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      const body = Buffer.from(await answer.arrayBuffer());
      if (cut === "after") return request.socket.destroy();
      return response.writeHead(answer.status, { "content-type": "application/xml" }).end(body);
    })().catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return Object.assign(state, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  });
}

describe.runIf(hasHarness("phoss"))("White Label over phoss SMP", () => {
  let folder: string;
  let sml: FakeSml;
  let register: SmlRegister;
  let phoss: Phoss;
  let relay: Relay;
  let t: TestEngine;
  let token: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "kurier-phoss-"));
    await makePki(folder);
    const { keyStore } = await issueSmpKey(folder);
    const clientCa = readFileSync(join(folder, "smp-ca.pem"), "utf8") + readFileSync(join(folder, "root.pem"), "utf8");
    sml = await startFakeSml(await makeTestPki(), { clientCa });
    register = smlRegister("participant.test", {});
    sml.answer = register.answer;
    phoss = await startPhoss(join(folder, "phoss"), { keyStore, sml });
    process.stdout.write(`interop: phoss SMP ${phoss.version} is run, with a stand-in for the SML\n`);
    relay = await startRelay(phoss.url);
    const { host } = new URL(relay.url);
    const credentials = [PHOSS_USER, PHOSS_PASSWORD].map(encodeURIComponent).join(":");
    t = await startTestEngine({ transport: "as4", config: { WHITE_LABEL_SMP: `http://${credentials}@${host}` } });
    token = (await newPartner(t)).key.token;
    // The first calls of a Java process take seconds; what comes of them is nobody's concern.
    const first = newDic();
    await ask(groupOf(first), "PUT", serviceGroupXml(`0245:${first}`, [], phoss.url));
    await registered(newDic());
  });
  afterAll(async () => {
    await t.stop();
    relay.close();
    await phoss.stop();
    sml.close();
    rmSync(folder, { recursive: true, force: true });
  });
  beforeEach(() => {
    relay.cut = undefined;
    relay.user = undefined;
    sml.seen.length = 0;
  });

  let companies = 0;
  const newDic = (): string => String(2_190_000_000 + (companies += 1));
  const post = (path: string, dic: string, secret: object, key: string = randomUUID()): Promise<HttpAnswer> =>
    api(t, token, `POST /white-label/participants/${path}`, {
      body: { customerRef: `ref-${dic}-${key}`, dic, companyEmail: "firma@firma.example", ...secret },
      headers: { "idempotency-key": key },
    });
  const registered = (dic: string, key?: string) => post("registrations", dic, { verificationToken: "token" }, key);
  const release = (id: unknown): Promise<HttpAnswer> =>
    http("POST", `${t.sandbox.adminUrl}/admin/white-label/operations/${String(id)}/release`, {
      authorization: `Bearer ${t.sandbox.admin.token}`,
    });
  /** How an operation has ended. A slow phoss is one that nobody knows of until it is asked, and no fault. */
  const ended = async ({ json }: HttpAnswer): Promise<Record<string, unknown>> =>
    json["status"] === "manual_review" ? (await release(json["id"])).json : json;
  const groupOf = (dic: string): string => `${phoss.url}/${encodeURIComponent(`iso6523-actorid-upis::0245:${dic}`)}`;
  const asOperator = {
    authorization: `Basic ${Buffer.from(`${PHOSS_USER}:${PHOSS_PASSWORD}`).toString("base64")}`,
  };
  const ask = async (url: string, method = "GET", xml?: string): Promise<readonly [number, string]> => {
    const answer = await fetch(url, {
      method,
      headers: { ...asOperator, ...(xml === undefined ? {} : { "content-type": "application/xml" }) },
      ...(xml === undefined ? {} : { body: xml }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    return [answer.status, await answer.text()];
  };

  /** That phoss has the participant with everything that it takes, signed, and leads to us. */
  async function expectPublished(dic: string): Promise<void> {
    const [status, group] = await ask(groupOf(dic));
    expect(status, group).toBe(200);
    const references = [...group.matchAll(/href="([^"]*)"/gu)].map(([, href = ""]) => decodeURIComponent(href));
    expect(references).toHaveLength(TYPES.length);
    for (const type of TYPES) {
      expect(references.some((href) => href.endsWith(`/services/busdox-docid-qns::${type}`))).toBe(true);
      const [, metadata] = await ask(`${groupOf(dic)}/services/${encodeURIComponent(`busdox-docid-qns::${type}`)}`);
      expect(metadata).toContain(`${t.engine.publicUrl}/as4`);
      expect(metadata).toContain("SignatureValue");
    }
    expect(register.holders.get(`0245:${dic}`)).toBe(PHOSS_ID);
  }

  test("a participant that is registered is there with every document type, signed, and the network's register knows it", async () => {
    const dic = newDic();
    expect(await ended(await registered(dic))).toMatchObject({ operationType: "registration", status: "succeeded" });
    await expectPublished(dic);
  });

  test("a participant that phoss has already is a conflict, and nothing about it changes", async () => {
    const dic = newDic();
    const xml = serviceGroupXml(`0245:${dic}`, [], phoss.url);
    expect((await ask(groupOf(dic), "PUT", xml))[0]).toBe(200);
    const group = await ask(groupOf(dic));
    const told = sml.seen.length;
    expect(faultOf(await registered(dic))).toEqual([409, "REGISTRY_CONFLICT"]);
    expect([await ask(groupOf(dic)), sml.seen.length]).toEqual([group, told]);
  });

  test.each([
    ["after", "succeeded"],
    ["before", "released"],
  ] as const)(
    "a registration that is cut off %s phoss has written is reviewed, and ends as phoss says",
    async (cut, end) => {
      const [dic, key] = [newDic(), randomUUID()];
      relay.cut = cut;
      const first = await registered(dic, key);
      expect([first.status, first.json["status"]], first.text).toEqual([202, "manual_review"]);
      expect((await registered(dic, key)).json["id"]).toBe(first.json["id"]);
      const released = await release(first.json["id"]);
      expect([released.status, released.json["status"]], released.text).toEqual([200, end]);
      if (end === "succeeded") await expectPublished(dic);
      else expect((await ask(groupOf(dic)))[0]).toBe(404);
    },
  );

  test("a participant leaves with a code that phoss has agreed on with the register, and another SMP takes it over", async () => {
    const dic = newDic();
    const { participantId } = await ended(await registered(dic));
    const left = await api(t, token, `POST /white-label/participants/${String(participantId)}/migration-code`);
    expect(left.status, left.text).toBe(200);
    expect(register.keys.get(`0245:${dic}`)).toBe(left.json["migrationCode"]);
    const finalized = groupOf(dic).replace(phoss.url, `${phoss.url}/migration/outbound/finalize`);
    expect((await ask(finalized, "PUT"))[0]).toBe(200);
    expect((await ask(groupOf(dic)))[0]).toBe(404);
  });

  test("a participant whose migration code was lost on its way from phoss leaves with another, after a release", async () => {
    const dic = newDic();
    const { participantId } = await ended(await registered(dic));
    const leave = (): Promise<HttpAnswer> =>
      api(t, token, `POST /white-label/participants/${String(participantId)}/migration-code`);
    relay.cut = "after";
    const lost = await leave();
    expect([lost.status, lost.json["migrationCode"]], lost.text).toEqual([202, null]);
    const first = register.keys.get(`0245:${dic}`);
    const { id } = lost.json["operation"] as Record<string, unknown>;
    expect((await release(id)).json["status"]).toBe("released");
    const left = await leave();
    expect(left.status, left.text).toBe(200);
    expect(left.json["migrationCode"]).not.toBe(first);
    expect(register.keys.get(`0245:${dic}`)).toBe(left.json["migrationCode"]);
  });

  test("a user whom phoss does not let in is our fault: the operation waits, and the log says so", async () => {
    const dic = newDic();
    relay.user = "stranger@kurier.example";
    const first = await registered(dic);
    expect([first.status, first.json["status"]], first.text).toEqual([202, "processing"]);
    expect(t.lines.join("\n")).toContain("whitelabel.closed");
    relay.user = undefined;
    await t.db.sql`update white_label_operation set due_at = now() where id = ${String(first.json["id"])}`;
    await eventually("phoss has taken it", async () => (await ask(groupOf(dic)))[0] === 200);
  });

  test("a participant of another SMP moves in with its code, and with a wrong one it does not", async () => {
    const [dic, code] = [newDic(), newMigrationKey()];
    register.holders.set(`0245:${dic}`, "ANOTHER-SMP");
    register.keys.set(`0245:${dic}`, code);
    // phoss answers what the register refuses as a fault of its own: nobody knows, until somebody asks.
    const wrong = await post("migrations", dic, { migrationCode: newMigrationKey() });
    expect([wrong.status, wrong.json["status"]], wrong.text).toEqual([202, "manual_review"]);
    expect([register.holders.get(`0245:${dic}`), (await ask(groupOf(dic)))[0]]).toEqual(["ANOTHER-SMP", 404]);
    expect((await release(wrong.json["id"])).json["status"]).toBe("released");
    const moved = await ended(await post("migrations", dic, { migrationCode: code }));
    expect(moved).toMatchObject({ operationType: "migration_in", status: "succeeded" });
    await expectPublished(dic);
  });

  test("a code of every special sign that we draw moves in; phoss refuses a % in its path, and we say so", async () => {
    const movedWith = async (code: string) => {
      const dic = newDic();
      register.holders.set(`0245:${dic}`, "ANOTHER-SMP");
      register.keys.set(`0245:${dic}`, code);
      return { dic, answer: await post("migrations", dic, { migrationCode: code }) };
    };
    const taken = await movedWith("aB1@#$()[]{}*^-!~|+=aB1");
    expect(await ended(taken.answer)).toMatchObject({ operationType: "migration_in", status: "succeeded" });
    const refused = await movedWith("aB1%%aB1");
    expect(faultOf(refused.answer)).toEqual([422, "REGISTRY_REFUSED"]);
    expect(register.holders.get(`0245:${refused.dic}`)).toBe("ANOTHER-SMP");
  });

  test("a participant that phoss's operator has deleted with its metadata is nobody's, and can be registered anew", async () => {
    const dic = newDic();
    relay.cut = "after";
    const { json } = await registered(dic);
    expect((await ask(groupOf(dic), "DELETE"))[0]).toBe(200);
    expect(register.holders.has(`0245:${dic}`)).toBe(false);
    expect((await release(json["id"])).json["status"]).toBe("released");
    expect((await ended(await registered(dic)))["status"]).toBe("succeeded");
    await expectPublished(dic);
  });
});
