/**
 * What hangs on a firm beside its documents goes with it, and nothing is given to it again. Method: a firm has one row
 * of everything that could be left; after its erasure every column of the database is looked at.
 */
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { parseEmail } from "../../../engine/base/ids.js";
import type { Email, FirmId, IntegratorId, KeyId, ParticipantId, PersonId } from "../../../engine/base/ids.js";
import { OPERATOR, stampOf } from "../../../engine/identity/audit.js";
import { eraseFirm } from "../../../engine/identity/erasure.js";
import { createPeople } from "../../../engine/identity/people/people.js";
import { putPlan } from "../../../engine/storage/billing/plans.js";
import { insertSubscription } from "../../../engine/storage/events/subscriptions.js";
import type { AuditStamp } from "../../../engine/storage/identity/audit.js";
import { closeFirm } from "../../../engine/storage/identity/erasure.js";
import { decideOffer } from "../../../engine/storage/identity/consents.js";
import { insertKey } from "../../../engine/storage/identity/keys.js";
import { addFirmParticipant } from "../../../engine/storage/identity/partner-firms.js";
import { listMembers, putMember } from "../../../engine/storage/identity/people/people.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { rowsOf } from "../../support/database/rows.js";
import type { Rows } from "../../support/database/rows.js";
import { tablesWithText } from "../../support/truth/canaries.js";

const now = systemClock.now();
const audit = (): AuditStamp => stampOf(OPERATOR, systemClock);
const [firmId, otherId] = [randomUUID() as FirmId, randomUUID() as FirmId];
const integratorId = randomUUID() as IntegratorId;
const ICO = "50158635";
const PARTICIPANT = "0245:2120000017";
const [ONLY_HERE, ELSEWHERE_TOO] = ["only@forgotten.example", "elsewhere@forgotten.example"];
const HOOK = "https://hooks.forgotten.example";
const CUSTOMER = "customer-forgotten";

/** What stays of a firm that is forgotten; see erasure.test.ts. */
const KEPT = ["audit_entry", "firm"];

let db: TestDatabase;
let rows: Rows;

const emailOf = (text: string): Email => parseEmail(text) as Email;
const office = (email: string, of: FirmId): Promise<boolean> =>
  putMember(
    db.sql,
    {
      ...{ personId: randomUUID() as PersonId, email: emailOf(email), firmId: of },
      ...{ integratorId: undefined, role: "owner" },
    },
    now,
  );
const webhook = (of: FirmId, path: string): Promise<boolean> =>
  insertSubscription(
    db.sql,
    {
      ...{ id: randomUUID(), owner: { firmId: of, integratorId: undefined }, url: `${HOOK}/${path}`, origin: HOOK },
      ...{ events: ["document.delivered"], isActive: true, createdAt: now },
      secret: { keyId: "k", sealed: randomBytes(32) },
    },
    audit(),
  );
const key = (of: FirmId): Promise<string> =>
  insertKey(
    db.sql,
    {
      ...{ id: randomUUID() as KeyId, keyType: "sk_live", firmId: of, integratorId: undefined },
      ...{ scopedFirmId: undefined, prefix: `sk_live_${randomUUID().slice(0, 8)}`, secretSha256: randomBytes(32) },
      ...{ scopes: ["documents:read"], ipAllowlist: [], name: undefined, issuer: undefined, audit: undefined },
    },
    now,
  );
const participant = (of: FirmId, id: string): Promise<string> =>
  addFirmParticipant(
    db.sql,
    { firmId: of, key: id, id: id as ParticipantId, integratorId: undefined, audit: audit() },
    now,
  );
const plan = (of: FirmId): Promise<boolean> =>
  putPlan(db.sql, { firmId: of, code: "start", expiresAt: undefined, audit: audit() }, now);

const tablesSaying = (text: string): Promise<string[]> => tablesWithText(db.sql, text);

/** An answer that came for a firm, with what is owed for it. @param documentId  null where none was found for it */
async function answered(id: string, documentId: string | null): Promise<void> {
  const handled = { outcome: documentId === null ? "unknown" : "applied", handled_at: new Date(now) };
  await rows.add("inbound_status", now, {
    ...{ id, kind: "invoice_response", receiver: PARTICIPANT, document_id: documentId },
    ...handled,
  });
  await rows.add("exchange", now, {
    ...{ id, direction: "incoming", kind: "invoice_response", firm_id: firmId, c4_country: "SK" },
    end_user: PARTICIPANT,
  });
  await rows.add("mls_duty", now, { id, firm_id: firmId });
}

beforeAll(async () => {
  db = await freshDatabase();
  rows = await rowsOf(db.url);
  for (const [id, ico] of [
    [firmId, ICO],
    [otherId, null],
  ] as const)
    await rows.add("firm", now, { id, ico, name: `Firm ${id}`, peppol_status: "registered" });
  await rows.add("integrator", now, { id: integratorId });
  expect(await participant(firmId, PARTICIPANT)).toBe("added");
  expect([await office(ONLY_HERE, firmId), await office(ELSEWHERE_TOO, firmId)]).toEqual([true, true]);
  expect(await office(ELSEWHERE_TOO, otherId)).toBe(true);
  const [person] = await db.sql<{ readonly id: string }[]>`select id from person where email = ${ONLY_HERE}`;
  await rows.add("person_session", now, { person_id: person?.id });
  await rows.add("sign_in", now, { person_id: person?.id });
  expect([await key(firmId), await plan(firmId), await webhook(firmId, "in")]).toEqual(["created", true, true]);
  await rows.add("consent_offer", now, {
    ...{ target_identifier: ICO, relationship_mode: "managed_service", requested_interface: "sapi", status: "issued" },
    ...{ interfaces: ["sapi"], expires_at: new Date(now + 60_000), customer_reference: CUSTOMER },
  });
  const document = { firm_id: firmId, status: "send_failed", door: "enterprise", sbdh_instance_id: randomUUID() };
  const documentId = randomUUID();
  await rows.add("document", now, { ...document, id: documentId, sender: PARTICIPANT });
  await answered(randomUUID(), documentId);
  await answered(randomUUID(), null);
  await rows.add("webhook_delivery", now, {
    ...{ firm_id: firmId, customer_ref: CUSTOMER, status: "SUCCESS", settled_at: new Date(now) },
    event: "document.delivered",
  });
});
afterAll(async () => {
  await rows.end();
  await db.drop();
});

test("a firm that is forgotten leaves nobody's address, no receiver, no duty and nothing that was told of it", async () => {
  expect((await eraseFirm({ sql: db.sql, clock: systemClock }, firmId)).closure).toBe("closed");
  expect(await tablesSaying(ONLY_HERE)).toEqual([]);
  expect(await tablesSaying(`${HOOK}/`)).toEqual([]);
  expect(await tablesSaying(CUSTOMER)).toEqual([]);
  expect(await tablesSaying(ICO)).toEqual([]);
  expect((await tablesSaying(PARTICIPANT)).filter((table) => !KEPT.includes(table))).toEqual([]);
  expect((await tablesSaying(firmId)).filter((table) => ![...KEPT, "api_key"].includes(table))).toEqual([]);
});

test("a person of another firm stays when one of its firms is forgotten", async () => {
  expect((await listMembers(db.sql, { firmId: otherId }, 10)).map(({ email }) => email)).toEqual([ELSEWHERE_TOO]);
});

test("an invitation waits on for a company that was made twice when one of its firms is forgotten", async () => {
  const [twin, other, ico] = [randomUUID() as FirmId, randomUUID() as FirmId, "77665544"];
  for (const id of [twin, other])
    await rows.add("firm", now, { id, ico, name: `Twin ${id}`, peppol_status: "registered" });
  await rows.add("consent_offer", now, {
    ...{ id: randomUUID(), target_identifier: ico, relationship_mode: "managed_service", requested_interface: "sapi" },
    ...{ status: "issued", interfaces: ["sapi"], expires_at: new Date(now + 60_000) },
  });
  const waiting = () => db.sql`select 1 from consent_offer where target_identifier = ${ico}`;
  expect((await eraseFirm({ sql: db.sql, clock: systemClock }, twin)).closure).toBe("closed");
  expect(await waiting()).toHaveLength(1);
  expect((await eraseFirm({ sql: db.sql, clock: systemClock }, other)).closure).toBe("closed");
  expect(await waiting()).toHaveLength(0);
});

test("what integrators noted of a company that was made twice stays when one of its firms is forgotten", async () => {
  const [twin, other, dic] = [randomUUID() as FirmId, randomUUID() as FirmId, "2077665544"];
  for (const id of [twin, other])
    await rows.add("firm", now, { id, dic, name: `Twin ${id}`, peppol_status: "registered" });
  await rows.add("white_label_customer", now, { dic, relationship: "represented", company_email: "a@twin.example" });
  await rows.add("pfs_confirmation", now, { dic });
  await rows.add("onboarding_request", now, {
    ...{ dic, firm_id: other, status: "active", service_mode: "send_only", contact_email: "a@twin.example" },
    relationship_mode: "technical_delegation",
  });
  const noted = async (): Promise<number> => {
    const [row] = await db.sql<{ readonly noted: number }[]>`
      select (select count(*) from white_label_customer where dic = ${dic})::int
        + (select count(*) from pfs_confirmation where dic = ${dic})::int
        + (select count(*) from onboarding_request where dic = ${dic})::int as noted`;
    return row?.noted ?? 0;
  };
  expect((await eraseFirm({ sql: db.sql, clock: systemClock }, twin)).closure).toBe("closed");
  expect(await noted()).toBe(3);
  expect((await eraseFirm({ sql: db.sql, clock: systemClock }, other)).closure).toBe("closed");
  expect(await noted()).toBe(0);
});

/** A firm of a company of its own. */
async function newFirm(facts: Readonly<Record<string, unknown>> = {}): Promise<FirmId> {
  const id = randomUUID() as FirmId;
  await rows.add("firm", now, { id, name: `Firm ${id}`, peppol_status: "registered", ...facts });
  return id;
}
const erase = (id: FirmId) => eraseFirm({ sql: db.sql, clock: systemClock }, id);

test("what the network's reports count of a firm that is forgotten is under names that no list of participants leads to", async () => {
  const participants = ["0245:2120007771", "0245:2120007772"];
  const id = await newFirm();
  for (const end_user of [...participants, ...participants])
    await rows.add("exchange", now, {
      ...{ id: randomUUID(), direction: "outgoing", kind: "business", firm_id: id, c1_country: "XU", end_user },
    });
  const counted = () => db.sql<{ readonly name: string; readonly n: number }[]>`
    select end_user as name, count(*)::int as n from exchange where c1_country = 'XU' group by end_user`;
  expect((await erase(id)).closure).toBe("closed");
  const names = await counted();
  expect(names.map(({ n }) => n)).toEqual([2, 2]);
  // Whatever still stands in the firm's row may have been digested with a participant.
  const [row = {}] = await db.sql<Readonly<Record<string, unknown>>[]>`select * from firm where id = ${id}`;
  const salts = ["", ...Object.values(row).filter((value) => typeof value === "string")];
  const guesses = participants.flatMap((participant) =>
    salts.map((salt) => createHash("sha256").update(`${salt}${participant}`).digest("hex")),
  );
  expect(names.filter(({ name }) => [...participants, ...guesses].includes(name))).toEqual([]);
});

test("a participant whose exchanges are forgotten in several parts, by a command that was broken off, is counted once", async () => {
  const id = await newFirm();
  for (let n = 0; n < 4; n += 1)
    await rows.add("exchange", now, {
      ...{ id: randomUUID(), direction: "outgoing", kind: "business", firm_id: id, c1_country: "XV" },
      end_user: "0245:2120007773",
    });
  expect(await closeFirm(db.sql, id, now, audit())).toBe("closed");
  await db.sql`select erase_firm_rows(${id}, 1)`;
  await db.sql`select erase_firm_rows(${id}, 1)`;
  expect((await erase(id)).closure).toBe("closed");
  expect(await db.sql`select distinct end_user from exchange where c1_country = 'XV'`).toHaveLength(1);
});

test("requests of White Label for a company that came to nothing, or wait for a word, go with its firm; one that the registry was asked for stays", async () => {
  const dic = "2120007774";
  const id = await newFirm({ dic });
  const request = (mail: string, values: Readonly<Record<string, unknown>>) =>
    rows.add("white_label_operation", now, {
      ...{ id: randomUUID(), operation_type: "registration", version: 1, dic, participant_key: `0245:${dic}` },
      ...{ company_email: mail, legal_name: "Company s. r. o.", customer_ref: mail, ...values },
    });
  await request("refused@request.example", { status: "rejected", completed_at: new Date(now) });
  await request("unvouched@request.example", { status: "manual_review", error_code: "VERIFICATION_REQUIRED" });
  await request("asked@request.example", { status: "processing", due_at: new Date(now), participant_key: "9950:x" });
  const left = () => db.sql<{ readonly mail: string }[]>`
    select company_email as mail from white_label_operation where dic = ${dic} order by 1`;
  expect((await left()).map(({ mail }) => mail)).toHaveLength(3);
  expect((await erase(id)).closure).toBe("closed");
  expect((await left()).map(({ mail }) => mail)).toEqual(["asked@request.example"]);
});

test("from where a person has signed in is forgotten with it, and who asked for a code to its address", async () => {
  const email = emailOf("signed-in@forgotten.example");
  const [id, visit, address] = [await newFirm(), "a visit", "192.0.2.77"];
  expect(await office(email, id)).toBe(true);
  const codes: string[] = [];
  const mailer = { post: () => undefined, rehearse: () => undefined, stop: () => Promise.resolve() };
  const people = createPeople({ sql: db.sql, clock: systemClock, mailer });
  const letter = (code: string) => {
    codes.push(code);
    return { subject: "", text: "", html: "" };
  };
  await people.startSignIn({ email, visit, address, letter });
  expect(await people.finishSignIn({ visit, address, code: codes[0] ?? "" })).toMatchObject({ outcome: "signed_in" });
  const digest = createHash("sha256").update(`address:${email}`).digest();
  const known = () => db.sql`
    select 1 from sign_in_place where address_sha256 = ${digest}
    union all select 1 from sign_in where address_sha256 = ${digest}`;
  expect(await known()).toHaveLength(2);
  await db.sql`update sign_in set person_id = null where address_sha256 = ${digest}`;
  expect((await erase(id)).closure).toBe("closed");
  expect(await known()).toEqual([]);
});

test("what Postgres keeps of columns to plan with says nothing of a firm that is forgotten, as the columns do", async () => {
  const dic = "2120007775";
  const id = await newFirm({ dic, name: "Firm of the statistics", address: { city: "Statistics" } });
  const email = emailOf("statistics@forgotten.example");
  expect([await participant(id, `0245:${dic}`), await office(email, id)]).toEqual(["added", true]);
  expect(await webhook(id, "statistics")).toBe(true);
  expect(await webhook(otherId, "others")).toBe(true);
  for (const [of, erp_document_id] of [
    [id, "id-of-statistics"],
    [otherId, "id-of-others"],
  ] as const)
    await rows.add("document", now, {
      ...{ id: randomUUID(), firm_id: of, status: "send_failed", door: "enterprise", erp_document_id },
      ...{ sbdh_instance_id: randomUUID(), sender: of === id ? `0245:${dic}` : "0245:2120007776" },
    });
  const digestOf = (address: string): Buffer => createHash("sha256").update(`address:${address}`).digest();
  for (const address of [email, "others@forgotten.example"])
    await rows.add("sign_in_place", now, { address_sha256: digestOf(address) });
  for (const [of, path] of [
    [id, "attempted"],
    [otherId, "others-attempted"],
  ] as const) {
    const [{ subscription } = {}] = await db.sql<{ readonly subscription: string }[]>`
      select id as subscription from webhook_subscription where firm_id = ${of} order by created_at desc limit 1`;
    const delivery = { id: randomUUID(), subscription_id: subscription, status: "SUCCESS", settled_at: new Date(now) };
    await rows.add("webhook_delivery", now, { ...delivery, firm_id: of, event: "document.delivered" });
    await rows.add("webhook_attempt", now, {
      ...{ delivery_id: delivery.id, endpoint: `${HOOK}/${path}`, outcome: "SUCCESS", completed_at: new Date(now) },
    });
  }
  await db.sql`analyze`;
  const said = async (): Promise<string[]> => {
    const [row] = await db.sql<{ readonly all: string }[]>`
      select string_agg(concat(most_common_vals::text, histogram_bounds::text), ' ') as all from pg_stats
      where schemaname = 'public' and tablename <> 'audit_entry'`;
    const words = [
      ...[dic, "Firm of the statistics", email, `${HOOK}/statistics`, "id-of-statistics"],
      ...[`${HOOK}/attempted`, digestOf(email).toString("hex")],
    ];
    return words.filter((word) => row?.all.includes(word) === true);
  };
  expect(await said()).toHaveLength(7);
  expect((await erase(id)).closure).toBe("closed");
  expect(await said()).toEqual([]);
});

describe("what is given to firms", () => {
  test.each<[string, (of: FirmId) => Promise<unknown>, given: unknown, refused: unknown]>([
    ["no key", key, "created", "owner_unknown"],
    ["no person", (of) => office("again@forgotten.example", of), true, false],
    ["no webhook", (of) => webhook(of, "again"), true, false],
    ["no participant", (of) => participant(of, `0245:${of.slice(0, 8)}`), "added", "taken"],
    ["no plan", plan, true, false],
  ])("a firm that was forgotten is given %s again", async (_, give, given, refused) => {
    expect(await give(firmId)).toEqual(refused);
    expect(await give(otherId)).toEqual(given);
  });

  test("a firm that was forgotten is given no consent again", async () => {
    const offerId = randomUUID();
    await rows.add("consent_offer", now, {
      ...{ id: offerId, target_identifier: ICO, relationship_mode: "managed_service", requested_interface: "sapi" },
      ...{ status: "issued", interfaces: ["sapi"], expires_at: new Date(now + 60_000) },
    });
    await db.sql`update firm set ico = ${ICO} where id = ${firmId}`;
    const decided = await decideOffer(
      db.sql,
      { ...{ offerId, firmId, accept: true, sandbox: true }, ...{ personId: randomUUID(), audit: audit() } },
      now,
    );
    expect(decided).toBe("unknown");
  });
});
