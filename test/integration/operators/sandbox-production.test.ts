/**
 * What production does not share with the sandbox: participants with a fate are not there, neither their rows nor their
 * names, and nobody is published because somebody claims an identity.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { loadConfig } from "../../../engine/base/config.js";
import { ensureDevelopmentPki } from "../../../engine/peppol/pki/development.js";
import { FATES } from "../../../engine/sandbox/fates.js";
import { buildIfNeeded } from "../../../deploy/build.mjs";
import { startEngine } from "../../../gateway/main.js";
import type { Engine } from "../../../gateway/main.js";
import { SCOPES } from "../../../engine/base/scopes.js";
import { createFirm, createIntegrator } from "../../../engine/identity/firms.js";
import { createKey } from "../../../engine/identity/keys.js";
import { accessToken, http } from "../../support/engines/engine.js";
import type { HttpAnswer } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { PROJECT } from "../../support/engines/process.js";

const TOKEN = "an-operators-token-of-at-least-32-characters";
const place = mkdtempSync(join(tmpdir(), "kurier-test-"));
const dataDir = join(place, "data");
const MASTER_KEY = Buffer.alloc(32, 7);
const lines: string[] = [];
let db: TestDatabase;
let engine: Engine;
/** Of a command beside the engine. */
let environment: Readonly<Record<string, string>>;

beforeAll(async () => {
  await buildIfNeeded();
  db = await freshDatabase();
  const folder = join(place, "pki");
  await ensureDevelopmentPki({ folder, clock: systemClock });
  const store = join(place, "ap.p12");
  execFileSync("openssl", [
    ...["pkcs12", "-export", "-in", join(folder, "ap.pem"), "-out", store, "-passout", "pass:secret"],
  ]);
  engine = await startEngine(
    {
      ...loadConfig({}),
      ENVIRONMENT: "production",
      PORT: 0,
      ADMIN_PORT: 0,
      DATA_DIR: dataDir,
      DATABASE_URL: db.url,
      NATS_URL: "embedded",
      MASTER_KEY,
      VALIDATOR_THREADS: 1,
      ADMIN_TOKEN: TOKEN,
      AS4_KEYSTORE: store,
      AS4_KEYSTORE_PASSWORD: "secret",
      PEPPOL_TRUST_DIR: join(folder, "trust"),
    },
    { transport: "as4", logTo: { write: (line) => lines.push(line) } },
  );
  environment = {
    PATH: process.env["PATH"] ?? "",
    ENVIRONMENT: "production",
    REVOCATION: "off",
    PUBLIC_URL: "https://kurier.example",
    DATA_DIR: dataDir,
    DATABASE_URL: db.url,
    MASTER_KEY: MASTER_KEY.toString("base64"),
    ADMIN_TOKEN: TOKEN,
    AS4_KEYSTORE: store,
    AS4_KEYSTORE_PASSWORD: "secret",
    PEPPOL_TRUST_DIR: join(folder, "trust"),
  };
});
afterAll(async () => {
  await engine.stop();
  await db.drop();
  rmSync(place, { recursive: true, force: true });
});

test("production has none of the rows of the sandbox", async () => {
  const authorization = `Bearer ${TOKEN}`;
  const statuses = await Promise.all([
    fetch(`${engine.adminUrl}/admin/sandbox/participants`, { headers: { authorization } }),
    fetch(`${engine.adminUrl}/admin/sandbox/receive`, {
      method: "POST",
      headers: { authorization, "content-type": "application/json" },
      body: JSON.stringify({ to: "0245:2120000025" }),
    }),
    fetch(`${engine.publicUrl}/sandbox/as4/0245%3A2199000001`, { method: "POST", body: "<a/>" }),
  ]);
  expect(statuses.map(({ status }) => status)).toEqual([404, 404, 404]);
  // The listener and the token are right: another row of operators answers.
  expect((await fetch(`${engine.adminUrl}/admin/firms`, { headers: { authorization } })).status).toBe(200);
});

test("production publishes none of the participants, names none of them in its reference, and makes no key for them", async () => {
  for (const path of ["/docs", "/docs/sapi", "/openapi/enterprise.json"]) {
    const text = await (await fetch(engine.publicUrl + path)).text();
    for (const id of FATES.keys()) expect([path, text.includes(id)]).toEqual([path, false]);
  }
  for (const id of FATES.keys()) {
    const group = await fetch(`${engine.publicUrl}/smp/${encodeURIComponent(`iso6523-actorid-upis::${id}`)}`);
    expect([id, group.status]).toEqual([id, 404]);
  }
  expect(readdirSync(dataDir, { recursive: true }).filter((name) => String(name).includes("peer"))).toEqual([]);
});

describe("White Label over our own SMP in production", () => {
  const DIC = "2199000555";
  const at = (path: string): string => `${engine.publicUrl}${path}`;
  const asOperator = { authorization: `Bearer ${TOKEN}` };
  const operator = (path: string, body?: object): Promise<HttpAnswer> =>
    http(
      "POST",
      `${engine.adminUrl}/admin/white-label/operations/${path}`,
      { ...asOperator, ...(body === undefined ? {} : { "content-type": "application/json" }) },
      body === undefined ? undefined : JSON.stringify(body),
    );
  const smpStatus = async (dic: string): Promise<number> =>
    (await fetch(at(`/smp/${encodeURIComponent(`iso6523-actorid-upis::0245:${dic}`)}`))).status;
  let authorization: string;

  const register = (dic: string, verificationToken: string, key: string = randomUUID()): Promise<HttpAnswer> =>
    http(
      "POST",
      at("/api/v1/white-label/participants/registrations"),
      { authorization, "content-type": "application/json", "idempotency-key": key },
      JSON.stringify({ customerRef: `ref-${dic}`, dic, companyEmail: "firma@firma.example", verificationToken }),
    );
  const operation = async (id: unknown): Promise<Record<string, unknown>> =>
    (await http("GET", at(`/api/v1/white-label/operations/${String(id)}`), { authorization })).json;

  beforeAll(async () => {
    const ports = { sql: db.sql, clock: systemClock, environment: "production" } as const;
    const integratorId = await createIntegrator(ports, { name: "Účtovníctvo Plus", productionAuthorized: true });
    const key = await createKey(ports, { owner: { integratorId }, scopes: SCOPES, name: "Test key" });
    if (typeof key === "string") throw new Error(`no key: ${key}`);
    const credentials = { clientId: key.id, clientSecret: key.secret };
    authorization = `Bearer ${await accessToken({ sapiBaseUrl: at("/sapi/v1") }, credentials)}`;
  });

  test("nobody is published on a claim: an operator vouches with the token that was checked, and with no other", async () => {
    const key = randomUUID();
    const asked = await register(DIC, "token-of-the-authority", key);
    expect([asked.status, asked.json], asked.text).toMatchObject([
      202,
      { status: "manual_review", reviewRequired: true, error: { code: "VERIFICATION_REQUIRED" }, firmId: null },
    ]);
    const id = String(asked.json["id"]);
    expect(asked.headers.get("location")).toBe(`/api/v1/white-label/operations/${id}`);
    expect(await smpStatus(DIC)).toBe(404);
    const wrong = await operator(`${id}/vouch`, { token: "token-of-somebody-else" });
    expect([wrong.status, wrong.json["error"]]).toMatchObject([422, { code: "VERIFICATION_MISMATCH", field: "token" }]);
    expect([(await operation(id))["status"], await smpStatus(DIC)]).toEqual(["manual_review", 404]);
    const vouched = await operator(`${id}/vouch`, { token: "token-of-the-authority" });
    expect([vouched.status, vouched.json], vouched.text).toMatchObject([200, { status: "succeeded", error: null }]);
    expect(await smpStatus(DIC)).toBe(200);
    const again = await register(DIC, "token-of-the-authority", key);
    expect([again.status, again.json["id"], again.json["status"]]).toEqual([200, id, "succeeded"]);
    const stored = await db.sql`select secret_sealed as sealed from white_label_operation where id = ${id}`;
    const audited = await db.sql`
      select actor_type as actor from audit_entry where target_id = ${id} and event = 'white_label.vouched'`;
    expect([stored, audited]).toEqual([[{ sealed: null }], [{ actor: "operator" }]]);
    const late = await operator(`${id}/vouch`, { token: "token-of-the-authority" });
    expect([late.status, late.json["error"]]).toMatchObject([409, { code: "WHITE_LABEL_STATE" }]);
    expect((await operator(`${randomUUID()}/vouch`, { token: "x" })).status).toBe(404);
    expect(JSON.stringify(lines)).not.toContain("token-of");
  });

  // spec/enterprise.md: "White Label API: accountless participant registration and migration for approved intermediaries."
  test("an intermediary that nobody has approved for production registers nobody", async () => {
    await db.sql`update integrator set production_authorized = false`;
    const refused = await register("2199000558", "given-out");
    await db.sql`update integrator set production_authorized = true`;
    expect([refused.status, refused.json["error"]]).toMatchObject([403, { code: "PARTNER_NOT_AUTHORIZED" }]);
  });

  test("an operator vouches for no operation of an intermediary that is not approved for production any more", async () => {
    const { json } = await register("2199000559", "given-out");
    const vouch = () => operator(`${String(json["id"])}/vouch`, { token: "given-out" });
    await db.sql`update integrator set production_authorized = false`;
    const refused = await vouch();
    await db.sql`update integrator set production_authorized = true`;
    expect([refused.status, refused.json["error"]]).toMatchObject([
      409,
      {
        code: "INTEGRATOR_UNAPPROVED",
        field: "id",
        message: expect.stringContaining("not approved for production") as unknown,
      },
    ]);
    expect([(await operation(json["id"]))["status"], await smpStatus("2199000559")]).toEqual(["manual_review", 404]);
    expect((await vouch()).status).toBe(200);
  });

  test("an operator vouches for no operation whose name was given to a firm meanwhile: the registry is not asked", async () => {
    const dic = "2199000561";
    const { json } = await register(dic, "given-out");
    const id = String(json["id"]);
    const firmId = await createFirm({ sql: db.sql, clock: systemClock }, { name: "Pekáreň s. r. o.", sandbox: false });
    await db.sql`
      insert into firm_binding (integrator_id, firm_id, customer_ref, state, scopes, interfaces, created_at, updated_at)
      select integrator_id, ${firmId}, customer_ref, 'active', '{}', '{}', now(), now()
      from white_label_operation where id = ${id}`;
    const refused = await operator(`${id}/vouch`, { token: "given-out" });
    expect([refused.status, refused.json["error"]], refused.text).toMatchObject([
      409,
      { code: "CUSTOMER_REF_CONFLICT", field: "id" },
    ]);
    expect([(await operation(id))["status"], await smpStatus(dic)]).toEqual(["manual_review", 404]);
    expect((await operator(`${id}/release`)).json["status"]).toBe("released");
  });

  test("a customerRef of White Label is kept without the blanks around it, and one of blanks is none", async () => {
    const note = (customerRef: string): Promise<HttpAnswer> =>
      http(
        "POST",
        at("/api/v1/customers"),
        { authorization, "content-type": "application/json", "idempotency-key": randomUUID() },
        JSON.stringify({
          ...{ customerRef, dic: "2199000560", companyEmail: "firma@firma.example" },
          ...{ relationship: "represented", customerAuthorization: "mandate 7" },
        }),
      );
    const noted = await note("  K-7\t");
    expect([noted.status, noted.json["customerRef"]], noted.text).toEqual([201, "K-7"]);
    expect((await note("  ")).status).toBe(400);
  });

  test("an operator who vouches for nothing releases the operation: nobody is published, and the identity is free", async () => {
    const dic = "2199000556";
    const { json } = await register(dic, "made-up");
    const released = await operator(`${String(json["id"])}/release`);
    expect([released.status, released.json["status"]], released.text).toEqual([200, "released"]);
    expect(await operation(json["id"])).toMatchObject({
      error: { message: expect.stringContaining("send it again under a new Idempotency-Key") as unknown },
    });
    expect([await smpStatus(dic), (await register(dic, "another")).status]).toEqual([404, 202]);
  });

  test("kurier white-label vouch reads the token from standard input and says when it is another one", async () => {
    const { json } = await register("2199000557", "given-out");
    const id = String(json["id"]);
    const vouch = (token: string) => {
      const { status, stdout, stderr } = spawnSync(
        process.execPath,
        [join(PROJECT, "gateway/kurier.mjs"), "white-label", "vouch", id],
        { env: environment, input: `${token}\n`, encoding: "utf8", timeout: 240_000 },
      );
      return { status, stdout, stderr };
    };
    expect(vouch("made-up")).toMatchObject({
      status: 1,
      stdout: "",
      stderr: expect.stringContaining("another token") as unknown,
    });
    const vouched = vouch("given-out");
    expect([vouched.status, vouched.stderr]).toEqual([0, ""]);
    expect(JSON.parse(vouched.stdout)).toEqual({ id, status: "processing" });
    await eventually("the engine has registered it", async () => (await operation(id))["status"] === "succeeded");
  });
});
