/**
 * What operators look up and do at the console, on a whole engine: search by any id, a document's page with its masked
 * text, firms, integrators and keys, and actions with a reason that the record keeps.
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";

import type { FirmId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { accessToken, invoiceXml, send, sendParts, startTestEngine } from "../../support/engines/engine.js";
import type { HttpAnswer, TestEngine } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { bindClient, newClient, newFirmKey, newKey, newPartner, tokenOf } from "../../support/callers/partners.js";
import { formOf, Visitor } from "../../support/callers/visitor.js";
import type { PageAnswer } from "../../support/callers/visitor.js";

/** Hands an invoice of the demo sender over. */
async function deliver(receiver: string): Promise<HttpAnswer> {
  const { sandbox } = running;
  const { participantId } = sandbox.sender;
  const mailbox = { participantId, token: await accessToken(sandbox, sandbox.sender) };
  return send(sandbox, mailbox, sendParts(participantId, receiver, invoiceXml(participantId, receiver)));
}

let running: TestEngine;
let visitor: Visitor;
/** A document that was delivered, and the one that its receiver has of it. */
let sent: { readonly id: string; readonly messageId: string; readonly instanceId: string; readonly externalId: string };
let received: { readonly id: string };

beforeAll(async () => {
  running = await startTestEngine();
  visitor = new Visitor(running.engine.adminUrl);
  await visitor.submit(formOf(await visitor.get("/console/sign-in"), "/console/sign-in"), {
    token: running.sandbox.admin.token,
  });
  const answer = await deliver(running.sandbox.receiver.participantId);
  const id = String(answer.json["providerDocumentId"]);
  const [document] = await eventually("the delivery", async () => {
    const rows = await running.db.sql<
      { readonly messageId: string; readonly instanceId: string; readonly externalId: string }[]
    >`
      select as4_message_id as "messageId", sbdh_instance_id as "instanceId", erp_document_id as "externalId"
      from document where id = ${id} and status = 'delivered'`;
    return rows.length === 1 ? rows : undefined;
  });
  if (document === undefined) throw new Error("nothing was delivered");
  sent = { id, ...document };
  const [row] = await running.db.sql<{ readonly id: string }[]>`select id from received_document`;
  if (row === undefined) throw new Error("nothing was received");
  received = row;
});
afterAll(async () => {
  await running.stop();
});

const found = (q: string): Promise<PageAnswer> => visitor.get(`/console/find?q=${encodeURIComponent(q)}`);
const record = async (): Promise<string> => (await visitor.get("/console/record")).text;

test("a document is found by its id, its envelope's id and its firm's own number", async () => {
  const page = `/console/documents/${sent.id}`;
  const firmId = running.sandbox.sender.firmId;
  for (const q of [sent.id, sent.id.toUpperCase(), ` ${sent.id} `, `${firmId}:${sent.externalId}`])
    expect([q, (await found(q)).location]).toEqual([q, page]);
  const both = await found(sent.instanceId);
  expect([both.text.includes(sent.id), both.text.includes(received.id)]).toEqual([true, true]);
});

test("a message, a participant and a firm are found, and nothing is found for an id of nobody", async () => {
  const message = await found(sent.messageId);
  expect(message.text + message.location).toContain(received.id);
  const participant = await found(running.sandbox.sender.participantId);
  expect(participant.text + participant.location).toContain(`/console/documents/${sent.id}`);
  expect((await found(running.sandbox.receiver.firmId)).location).toBe(
    `/console/firms/${running.sandbox.receiver.firmId}`,
  );
  for (const q of [randomUUID(), "nobody@nowhere", "0245:1", "x", "<script>"])
    expect([q, (await found(q)).text.includes("Nothing has this id.")]).toEqual([q, true]);
});

test("a document's page has its timeline, attempts and evidence, and none of what it says", async () => {
  const { text } = await visitor.get(`/console/documents/${sent.id}`);
  for (const shown of [
    "delivered",
    "Timeline",
    "Attempts",
    "Evidence",
    sent.messageId,
    running.sandbox.sender.participantId,
  ])
    expect(text).toContain(shown);
  expect(text).not.toContain("Sender s. r. o.");
  expect((await visitor.get(`/console/documents/${received.id}`)).text).toContain("received");
  expect((await visitor.get(`/console/documents/${randomUUID()}`)).status).toBe(404);
  expect((await visitor.get("/console/documents/x")).status).toBe(404);
});

test("the masked document keeps the words around what it says, and no name, number or amount of it", async () => {
  for (const id of [sent.id, received.id]) {
    const masked = await visitor.get(`/console/documents/${id}/masked`);
    expect(masked.status).toBe(200);
    expect(masked.headers.get("content-security-policy")).toMatch(
      /default-src 'none'.*frame-ancestors 'self'; sandbox/,
    );
    const shown = masked.text.replace(/<style>[\s\S]*?<\/style>/, "").replace(/<[^>]*>|&#39;/g, "\n");
    expect(shown).toContain("•••");
    expect(shown).toMatch(/Invoice/);
    expect(shown).not.toMatch(/[0-9]|Sender|Receiver|EUR/);
  }
});

test("looking at a received document leaves no mark that its firm has it", async () => {
  const [row] = await running.db.sql<{ readonly status: string }[]>`
    select status from received_document where id = ${received.id}`;
  expect(row?.status).toBe("RECEIVED");
  expect(await running.db.sql`select 1 from document_mark where document_id = ${received.id}`).toEqual([]);
});

test("what a document says is shown for a reason, which the record keeps with session and address", async () => {
  const form = formOf(await visitor.get(`/console/documents/${sent.id}`), "/console/unmask");
  const without = await visitor.submit(form, { reason: "  " });
  expect([without.status, without.text.includes("Sender s. r. o.")]).toEqual([400, false]);
  expect(without.text).toContain("<li>reason must say why.</li>");
  const shown = await visitor.submit(form, { reason: "the firm asked why it was late" });
  expect([shown.status, shown.text.includes("Sender s. r. o.")]).toEqual([200, true]);
  expect(shown.headers.get("cache-control")).toBe("no-store");
  const [entry] = await running.db.sql<{ readonly event: string; readonly target: string; readonly ip: string }[]>`
    select event, target_id as target, ip from audit_entry where event = 'operator.unmasked'`;
  expect(entry).toEqual({ event: "operator.unmasked", target: sent.id, ip: "127.0.0.1" });
  expect(await record()).toContain("the firm asked why it was late");
});

test("nobody who is not signed in sees a page or does anything, and a form without its token does nothing", async () => {
  const stranger = new Visitor(running.engine.adminUrl);
  for (const path of [
    `documents/${sent.id}`,
    `documents/${sent.id}/masked`,
    "reviews",
    "webhooks",
    "firms",
    `firms/${running.sandbox.sender.firmId}`,
    "integrators",
    `integrators/${randomUUID()}`,
    `keys/${randomUUID()}`,
    "record",
    "find?q=x",
  ])
    expect([path, (await stranger.get(`/console/${path}`)).location]).toEqual([path, "/console/sign-in"]);
  const fields = { id: sent.id, reason: "none" };
  for (const path of ["unmask", "actions/retry"]) {
    expect([path, (await stranger.post(`/console/${path}`, fields)).status]).toEqual([path, 403]);
    expect([path, (await visitor.post(`/console/${path}`, fields)).status]).toEqual([path, 403]);
  }
  const start = await stranger.get("/console/sign-in");
  const own = { ...fields, form_token: formOf(start, "/console/sign-in").fields["form_token"] ?? "" };
  expect((await stranger.post("/console/actions/retry", own)).location).toBe("/console/sign-in");
});

test("retry now makes a waiting document due, and refuses one that does not wait; the record has both", async () => {
  const form = formOf(await visitor.get(`/console/documents/${sent.id}`), "/console/unmask");
  const refused = await visitor.post("/console/actions/retry", { ...form.fields, id: sent.id, reason: "too early" });
  expect([refused.status, refused.text.includes("does not wait")]).toEqual([400, true]);
  const answer = await deliver("0245:2120000099");
  const id = String(answer.json["providerDocumentId"]);
  await eventually("the first attempt", async () => {
    const rows = await running.db.sql`
      select 1 from document where id = ${id} and attempts = 1 and lease_owner is null and next_attempt_at > now()`;
    return rows.length === 1 ? true : undefined;
  });
  const page = await visitor.get(`/console/documents/${id}`);
  const done = await visitor.submit(formOf(page, "/console/actions/retry"), { reason: "the receiver is back" });
  expect(done.location).toBe(`/console/documents/${id}?done=retry`);
  await eventually("the second attempt", async () => {
    const rows = await running.db.sql`select 1 from document where id = ${id} and attempts >= 2`;
    return rows.length === 1 ? true : undefined;
  });
  const text = await record();
  for (const reason of ["too early", "the receiver is back", "REQUEST_INVALID"]) expect(text).toContain(reason);
});

test("an action that nobody knows, and a thing that nobody has, is refused with 404", async () => {
  const { fields } = formOf(await visitor.get(`/console/documents/${sent.id}`), "/console/unmask");
  for (const [path, id] of [
    ["actions/launch", sent.id],
    ["actions/constructor", sent.id],
    ["actions/retry", "x"],
    ["actions/release-document", randomUUID()],
    ["actions/release-white-label", randomUUID()],
    ["actions/approve-onboarding", randomUUID()],
    ["actions/replay-delivery", randomUUID()],
    ["actions/switch-off-webhook", randomUUID()],
    ["actions/end-key", randomUUID()],
    ["actions/approve-integrator", randomUUID()],
    ["actions/withdraw-integrator", "x"],
    ["actions/withdraw-consent", `${randomUUID()}/${randomUUID()}`],
    ["unmask", randomUUID()],
  ] as const)
    expect([path, (await visitor.post(`/console/${path}`, { ...fields, id, reason: "why" })).status]).toEqual([
      path,
      404,
    ]);
});

test("whoever comes second is told so, of a consent that is withdrawn and of a document that its firm sees", async () => {
  const [partner, client] = [await newPartner(running), await newClient(running)];
  await bindClient(running, partner, client);
  const page = await visitor.get(`/console/firms/${client.firmId}`);
  const form = formOf(page, "/console/actions/withdraw-consent");
  const answers = await Promise.all(["mine", "mine as well"].map((reason) => visitor.submit(form, { reason })));
  expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([303, 404]);
  expect(answers.map(({ text }) => text).join("")).toContain("it was withdrawn already");
  const fields = { ...form.fields, id: received.id, reason: "nobody judges it" };
  const shown = await visitor.post("/console/actions/release-document", fields);
  expect([shown.status, shown.text.includes("it is shown to its firm already")]).toEqual([404, true]);
});

test("whoever would show a document that is refused meanwhile is not told that its firm sees it", async () => {
  const { sql } = running.db;
  const form = formOf(await visitor.get(`/console/documents/${received.id}`), "/console/unmask");
  const press = (): Promise<PageAnswer> =>
    visitor.post("/console/actions/release-document", { ...form.fields, id: received.id, reason: "nobody judges it" });
  await sql`update received_document set status = 'REFUSED' where id = ${received.id}`;
  const refused = await press();
  await sql`update received_document set status = 'RECEIVED' where id = ${received.id}`;
  expect([refused.status, refused.text.includes("it was refused")]).toEqual([404, true]);
});

test("a key is ended from its firm's page: its next login fails", async () => {
  const key = await newFirmKey(running, running.sandbox.sender.firmId as FirmId);
  const page = await visitor.get(`/console/firms/${running.sandbox.sender.firmId}`);
  const { fields } = formOf(page, "/console/actions/end-key");
  expect(page.text).not.toContain(key.secret);
  const done = await visitor.post("/console/actions/end-key", { ...fields, id: key.id, reason: "it leaked" });
  expect(done.status).toBe(303);
  await expect(tokenOf(running, key)).rejects.toThrow();
});

test("a webhook is switched off from its page, and stays off", async () => {
  const { sql } = running.db;
  const token = await accessToken(running.sandbox, running.sandbox.sender);
  const made = await fetch(`${running.engine.publicUrl}/api/v1/webhooks`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ url: null, events: ["document.delivered"] }),
  });
  const { id } = (await made.json()) as { readonly id: string };
  expect(made.status).toBe(201);
  const page = await visitor.get(`/console/webhooks/${id}`);
  const done = await visitor.submit(formOf(page, "/console/actions/switch-off-webhook"), { reason: "it floods us" });
  expect(done.location).toBe(`/console/webhooks/${id}?done=switch-off`);
  expect(await sql`select active from webhook_subscription where id = ${id}`).toEqual([{ active: false }]);
});

test("reviews, webhooks, firms and the record are pages that name what they list", async () => {
  for (const [path, word] of [
    ["reviews", "Onboarding requests"],
    ["webhooks", "Failing"],
    ["firms", "Odosielateľ s. r. o."],
    ["record", "signed in"],
  ] as const)
    expect([path, (await visitor.get(`/console/${path}`)).text.includes(word)]).toEqual([path, true]);
});

/** What stands beside a name among the facts of a page. */
const factOf = ({ text }: PageAnswer, name: string): string =>
  new RegExp(`<dt>${name}</dt>\\s*<dd>([^<]*)</dd>`).exec(text)?.[1] ?? "";

test("an integrator's page says whether it is approved, and an operator withdraws and approves it there for a reason", async () => {
  const partner = await newPartner(running);
  const path = `/console/integrators/${partner.integratorId}`;
  expect((await visitor.get("/console/integrators")).text).toContain(path);
  expect((await found(partner.integratorId)).location).toBe(path);
  for (const [verb, words, reason] of [
    ["withdraw", "not approved since", "its contract has ended"],
    ["approve", "approved since", "it has a new contract"],
  ] as const) {
    const page = await visitor.get(path);
    const done = await visitor.submit(formOf(page, `/console/actions/${verb}-integrator`), { reason });
    expect([done.status, done.location]).toEqual([303, `${path}?done=${verb}-integrator`]);
    const after = await visitor.get(done.location);
    expect(after.text).toContain(`Done: ${verb} integrator.`);
    expect(factOf(after, "Approval for production")).toMatch(new RegExp(`^${words} \\S+ \\S+ UTC`));
    expect(await record()).toContain(reason);
  }
  const events = await running.db.sql`
    select event, actor_type as actor from audit_entry
    where integrator_id = ${partner.integratorId} and target_type = 'integrator' and event <> 'integrator.created'
    order by position`;
  expect(events).toEqual([
    { event: "integrator.withdrawn", actor: "operator" },
    { event: "integrator.approved", actor: "operator" },
  ]);
});

test("a key's page says whose it is and what it may, and ends it; pages of keys show no secret and no digest of one", async () => {
  const [partner, client] = [await newPartner(running), await newClient(running)];
  await bindClient(running, partner, client);
  const owner = { integratorId: partner.integratorId, scopedFirmId: client.firmId };
  const scoped = await newKey(running, owner, ["documents:read"]);
  const path = `/console/keys/${scoped.id}`;
  expect((await found(scoped.id)).location).toBe(path);
  const pages = [path, `/console/integrators/${partner.integratorId}`, `/console/firms/${client.firmId}`];
  const texts = (await Promise.all(pages.map((page) => visitor.get(page)))).map(({ text }) => text);
  for (const text of texts)
    for (const shown of [scoped.prefix, "documents:read", "sandbox", "never", "active"]) expect(text).toContain(shown);
  const stored = await running.db.sql<{ readonly digest: string }[]>`
    select encode(secret_sha256, 'hex') as digest from api_key where id in (${scoped.id}, ${partner.key.id})`;
  for (const secret of [scoped.secret, partner.key.secret, ...stored.map(({ digest }) => digest)])
    expect(texts.join("")).not.toContain(secret);
  const page = await visitor.get(path);
  const done = await visitor.submit(formOf(page, "/console/actions/end-key"), { reason: "nobody knows it any more" });
  expect(done.location).toBe(`${path}?done=end-key`);
  const ended = await visitor.get(done.location);
  expect(factOf(ended, "State")).toMatch(/^ended \S+ \S+ UTC$/);
  expect(ended.text).not.toContain("/console/actions/end-key");
  await expect(tokenOf(running, scoped)).rejects.toThrow();
});

test("a place that is no id begins a list anew, one that nothing has is 404, and what no name can hold is refused with 400", async () => {
  const { firmId } = running.sandbox.sender;
  for (const [path, status] of [
    [`integrators?after=${randomUUID()}`, 404],
    [`firms?after=${randomUUID()}`, 404],
    [`firms?q=x&after=${randomUUID()}`, 404],
    [`firms?q=${encodeURIComponent("nobody is called so")}&after=${firmId}`, 200],
    [`firms?q=0245%3A2120000099&after=${randomUUID()}`, 200],
    ["integrators?after=x", 200],
    ["firms?q=x&after=x", 200],
    ["firms?q=%00", 400],
    ["find?q=%00%40", 400],
  ] as const)
    expect([path, (await visitor.get(`/console/${path}`)).status]).toEqual([path, status]);
});

test("an integrator's keys for single firms are read page by page, each once, and behind none that it has not", async () => {
  const { integratorId } = await newPartner(running);
  const wanted = LIMITS.console_page_max + 2;
  await running.db.sql`
    with added as (
      insert into firm (id, name, peppol_status, sandbox, created_at)
      select new_row_id(), 'Klient ' || n, 'not_registered', true, now() from generate_series(1, ${wanted}) as n
      returning id
    )
    insert into api_key (id, key_type, integrator_id, scoped_firm_id, prefix, secret_sha256, scopes, ip_allowlist,
      active, created_at)
    select new_row_id(), 'sk_int', ${integratorId}, id, 'sk_int_test_' || left(id::text, 28), sha256(id::text::bytea),
      '{documents:send}', '{}', true, now() from added`;
  const scopedOn = ({ text }: PageAnswer): readonly string[] => {
    const [, table = ""] = text.split('id="keys-for-one-firm"');
    return [...table.matchAll(/href="\/console\/keys\/([0-9a-f-]{36})"/g)].map(([, id = ""]) => id);
  };
  const first = await visitor.get(`/console/integrators/${integratorId}`);
  const rest = await visitor.get(/<a href="([^"]*)" rel="next">/.exec(first.text)?.[1] ?? "");
  expect([scopedOn(first).length, scopedOn(rest).length]).toEqual([LIMITS.console_page_max, 2]);
  const place = `/console/integrators/${integratorId}?after=`;
  const last = scopedOn(rest).at(-1) ?? "";
  const behindLast = await visitor.get(`${place}${last}`);
  expect([behindLast.status, scopedOn(behindLast)]).toEqual([200, []]);
  const others = await newPartner(running);
  for (const unknown of [randomUUID(), others.key.id])
    expect([unknown, (await visitor.get(`${place}${unknown}`)).status]).toEqual([unknown, 404]);
  expect(new Set([...scopedOn(first), ...scopedOn(rest)]).size).toBe(wanted);
  expect(rest.text).not.toContain('rel="next"');
});

test("firms are listed page by page, each once, and found by the begin of a name, a number or a participant", async () => {
  const { sql } = running.db;
  const wanted = LIMITS.console_page_max + 3;
  await sql`
    insert into firm (id, name, ico, peppol_status, sandbox, created_at)
    select new_row_id(), 'Štúdio ' || lpad(n::text, 3, '0'), (77000000 + n)::text, 'not_registered', true, now()
    from generate_series(1, ${wanted}) as n`;
  const namesOf = ({ text }: PageAnswer): readonly string[] =>
    [...text.matchAll(/<a href="\/console\/firms\/[0-9a-f-]{36}">([^<]*)<\/a>/g)].map(([, name = ""]) => name);
  const nextOf = ({ text }: PageAnswer): string =>
    (/<a href="([^"]*)" rel="next">/.exec(text)?.[1] ?? "").replaceAll("&amp;", "&");
  const studio = await visitor.get(`/console/firms?q=${encodeURIComponent("studio")}`);
  const rest = await visitor.get(nextOf(studio));
  expect([namesOf(studio).length, namesOf(rest).length, nextOf(rest)]).toEqual([LIMITS.console_page_max, 3, ""]);
  expect(new Set([...namesOf(studio), ...namesOf(rest)]).size).toBe(wanted);
  const all: string[] = [];
  for (let page = "/console/firms"; page !== "";) {
    const answer = await visitor.get(page);
    all.push(...namesOf(answer));
    page = nextOf(answer);
  }
  const [{ n } = { n: 0 }] = await sql<{ readonly n: number }[]>`select count(*)::integer as n from firm`;
  expect(all.length).toBe(n);
  for (const [q, name] of [
    ["77000002", "Štúdio 002"],
    [" STUDIO 017", "Štúdio 017"],
    [running.sandbox.sender.participantId, "Odosielateľ s. r. o."],
    ["štúdio 0_1", undefined],
    ["77999999", undefined],
  ] as const)
    expect([q, namesOf(await visitor.get(`/console/firms?q=${encodeURIComponent(q)}`))]).toEqual([
      q,
      name === undefined ? [] : [name],
    ]);
});
