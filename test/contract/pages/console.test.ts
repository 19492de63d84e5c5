/**
 * The operators' console on a whole engine: who gets in and how long, what its pages may load, and that the public
 * listener has none of it.
 */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";

import { LIMITS } from "../../../engine/base/limits.js";
import { createConsoleSessions } from "../../../engine/identity/operators/sessions.js";
import { systemClock } from "../../../engine/base/clock.js";
import type { Heartbeat } from "../../../gateway/web/console/heartbeat.js";
import { VERSION } from "../../../gateway/start/console/version.js";
import { http, startTestEngine } from "../../support/engines/engine.js";
import type { TestEngine } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { formOf, Visitor } from "../../support/callers/visitor.js";
import type { PageAnswer } from "../../support/callers/visitor.js";

let running: TestEngine;
beforeAll(async () => {
  running = await startTestEngine();
});
afterAll(async () => {
  await running.stop();
});
beforeEach(async () => {
  await running.db.sql`delete from console_session`;
});

const operator = (headers: Readonly<Record<string, string>> = {}): Visitor =>
  new Visitor(running.engine.adminUrl, headers);

async function signedIn(headers: Readonly<Record<string, string>> = {}): Promise<Visitor> {
  const visitor = operator(headers);
  const answer = await enter(visitor, running.sandbox.admin.token);
  expect([answer.status, answer.location]).toEqual([303, "/console"]);
  return visitor;
}

const enter = async (visitor: Visitor, token: string): Promise<PageAnswer> =>
  visitor.submit(formOf(await visitor.get("/console/sign-in"), "/console/sign-in"), { token });

const isIn = async (visitor: Visitor): Promise<boolean> => (await visitor.get("/console")).status === 200;

test("whoever is not signed in is led to the sign-in, and nothing is shown", async () => {
  const answer = await operator().get("/console");
  expect([answer.status, answer.location, answer.text]).toEqual([303, "/console/sign-in", ""]);
});

test("the operators' token opens a session, and no other token does", async () => {
  const visitor = operator();
  const refused = await enter(visitor, `${running.sandbox.admin.token}x`);
  expect([refused.status, refused.text.includes("not the operators")]).toEqual([400, true]);
  expect(await isIn(visitor)).toBe(false);
  expect((await enter(visitor, running.sandbox.admin.token)).location).toBe("/console");
  expect(await isIn(visitor)).toBe(true);
});

test("the cookie is kept from scripts, other sites and other paths, and from plain connections where TLS stands in front", async () => {
  const plain = await enter(operator(), running.sandbox.admin.token);
  expect(plain.headers.get("set-cookie")).toMatch(
    /^kurier-console=[\w-]{43}; Path=\/console; Max-Age=43200; HttpOnly; SameSite=Strict$/,
  );
  const behind = await enter(operator({ "x-forwarded-proto": "https" }), running.sandbox.admin.token);
  expect(behind.headers.get("set-cookie")).toMatch(
    /^__Secure-kurier-console=[\w-]{43}; Path=\/console; Max-Age=43200; HttpOnly; SameSite=Strict; Secure$/,
  );
});

test("a sign-in gives the browser a token that nobody knew before", async () => {
  const visitor = operator();
  await visitor.get("/console/sign-in");
  const before = visitor.cookie;
  await enter(visitor, running.sandbox.admin.token);
  expect(visitor.cookie).not.toBe(before);
});

test("a form without the token of its page, with that of another browser, or from another site is refused with 403", async () => {
  const visitor = await signedIn();
  const page = formOf(await visitor.get("/console"), "/console/sign-out");
  const other = formOf(await (await signedIn()).get("/console"), "/console/sign-out");
  const answers = [
    await visitor.post("/console/sign-out", { another: "field" }),
    await visitor.submit({ ...page, fields: other.fields }),
    await visitor.submit(page, {}, { "sec-fetch-site": "cross-site" }),
    await operator().post("/console/sign-in", { token: running.sandbox.admin.token }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403]);
  expect(answers.map(({ text }) => /out of date/.test(text))).toEqual([true, true, true, true]);
  expect(await isIn(visitor)).toBe(true);
});

test("a form that another site or a hidden page has sent is refused with a page that says why; forms through a proxy are taken", async () => {
  const visitor = await signedIn();
  const { fields } = formOf(await visitor.get("/console"), "/console/sign-out");
  const { host } = new URL(running.engine.adminUrl);
  const sent = (headers: Readonly<Record<string, string>>, path = "/console/actions/launch") =>
    visitor.post(path, { ...fields, id: "x", reason: "why", token: "x" }, headers);
  for (const origin of ["https://evil.example", `https://${host}.evil.example`, "null", "http://127.0.0.1:1"]) {
    const answer = await sent({ origin });
    const type = answer.headers.get("content-type");
    expect([origin, answer.status, type]).toEqual([origin, 403, "text/html; charset=utf-8"]);
    expect(answer.text).toContain(`Origin: ${origin} is not the address of this console, which was asked as ${host}.`);
  }
  for (const path of ["sign-in", "sign-out", "unmask"])
    expect([path, (await sent({ origin: "https://evil.example" }, `/console/${path}`)).status]).toEqual([path, 403]);
  // An action that nobody knows is looked for only behind a form that is taken.
  for (const headers of [
    {},
    { origin: `http://${host}` },
    { origin: "https://ops.example", "x-forwarded-host": "ops.example" },
    { origin: "https://ops.example", "x-forwarded-host": "Ops.example:443, inner:9090" },
    { origin: "https://ops.example", "sec-fetch-site": "same-origin" },
  ])
    expect([headers, (await sent(headers)).status]).toEqual([headers, 404]);
  expect(await isIn(visitor)).toBe(true);
});

test("an address of the console that has nothing is a page of it with 404, and the sign-in for who is not signed in", async () => {
  const visitor = await signedIn();
  for (const path of ["/console/nothing", "/console/a/b/c/d", "/console/", "/console/documents", "/console/keys"]) {
    const answer = await visitor.get(path);
    expect([path, answer.status, answer.headers.get("content-type")]).toEqual([path, 404, "text/html; charset=utf-8"]);
    for (const shown of ["There is no such page", "Sign out", 'href="/console"']) expect(answer.text).toContain(shown);
    const away = await operator().get(path);
    expect([path, away.status, away.location, away.text]).toEqual([path, 303, "/console/sign-in", ""]);
  }
  for (const [status, answer] of [
    [405, await visitor.get("/console/unmask")],
    [405, await visitor.post("/console/nothing", {})],
    [404, await visitor.post("/console/a/b/c/d", {})],
  ] as const)
    expect([answer.status, answer.headers.get("content-type")]).toEqual([status, "text/html; charset=utf-8"]);
  const outside = await http("GET", `${running.engine.adminUrl}/consolation`, {});
  expect([outside.status, outside.headers.get("content-type")]).toEqual([404, "application/json; charset=utf-8"]);
});

test("a path that nothing has is a page to a browser, and JSON to a program, on both listeners; below the interfaces to both", async () => {
  const { adminUrl, publicUrl } = running.engine;
  const browser = { Accept: "text/html,application/xhtml+xml,*/*;q=0.8", "Accept-Language": "sk" };
  const asked = async (url: string, headers: Record<string, string>): Promise<unknown> => {
    const response = await fetch(url, { headers });
    const isJson = (response.headers.get("content-type") ?? "").startsWith("application/json");
    return [response.status, isJson ? "JSON" : /role="alert">([^<]*)/u.exec(await response.text())?.[1]];
  };
  for (const path of ["/nowhere", "/validate/nowhere"]) {
    expect(await asked(publicUrl + path, browser)).toEqual([404, "Nič tu nie je, alebo to nie je pre vás."]);
    expect(await asked(publicUrl + path, { Accept: "*/*" })).toEqual([404, "JSON"]);
  }
  expect(await asked(`${publicUrl}/sign-out`, browser)).toEqual([405, expect.not.stringContaining("JSON")]);
  for (const path of [
    "/api/v1/nowhere",
    "/api/v1/auth/nowhere",
    "/sapi/v1/nowhere",
    "/oauth/nowhere",
    "/smp/a/b/c",
    "/as4",
  ])
    expect([path, await asked(publicUrl + path, browser)]).toEqual([path, [404, "JSON"]]);
  expect(await asked(`${adminUrl}/`, browser)).toEqual([404, "There is no such page."]);
  expect(await asked(`${adminUrl}/admin/nowhere`, browser)).toEqual([404, "JSON"]);
  expect(await asked(`${adminUrl}/`, { Accept: "*/*" })).toEqual([404, "JSON"]);
});

test("a sign-out ends the session for whoever has kept its cookie", async () => {
  const visitor = await signedIn();
  const kept = visitor.cookie;
  await visitor.submit(formOf(await visitor.get("/console"), "/console/sign-out"));
  const thief = operator();
  thief.cookie = kept;
  expect([await isIn(visitor), await isIn(thief)]).toEqual([false, false]);
});

test("a session ends 12 hours after its sign-in, and 30 minutes after its last click", async () => {
  expect([LIMITS.console_session_ms, LIMITS.console_idle_ms]).toEqual([12 * 3_600_000, 30 * 60_000]);
  const [old, idle] = [await signedIn(), await signedIn()];
  const { sql } = running.db;
  await sql`update console_session set seen_at = seen_at - interval '29 minutes'`;
  expect([await isIn(old), await isIn(idle)]).toEqual([true, true]);
  await sql`update console_session set expires_at = now() - interval '1 second'
    where created_at = (select min(created_at) from console_session)`;
  await sql`update console_session set seen_at = now() - interval '31 minutes'
    where created_at = (select max(created_at) from console_session)`;
  expect([await isIn(old), await isIn(idle)]).toEqual([false, false]);
});

test("the oldest session ends where there are more than may be, and another operators' token ends them all", async () => {
  const first = await signedIn();
  const ports = { sql: running.db.sql, clock: systemClock };
  const sessions = createConsoleSessions(ports, running.sandbox.admin.token);
  const opened: string[] = [];
  while (opened.length < LIMITS.console_sessions_max) opened.push((await sessions.open()).token);
  expect(await isIn(first)).toBe(false);
  expect(await Promise.all(opened.map(async (token) => (await sessions.find(token)) !== undefined))).not.toContain(
    false,
  );
  const changed = createConsoleSessions(ports, "another-operators-token-of-32-characters");
  expect(await Promise.all(opened.map((token) => changed.find(token)))).toEqual(opened.map(() => undefined));
});

test("pages load files of the console alone, run nothing inline, and are kept by nobody", async () => {
  const visitor = await signedIn();
  for (const page of [await visitor.get("/console"), await operator().get("/console/sign-in")]) {
    const policy = page.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect([page.headers.get("cache-control"), page.headers.get("x-frame-options")]).toEqual(["no-store", "DENY"]);
    expect(page.text).not.toMatch(/<script>| on\w+="| style="|(?:src|href)="(?:https?:)?\/\//);
    for (const [, file = ""] of page.text.matchAll(/(?:src|href)="(\/console\/assets\/[^"]*)"/g))
      expect([file, (await visitor.get(file)).status]).toEqual([file, 200]);
  }
});

test("the overview says what the engine does, and /admin/heartbeat says the same to the operators' token alone", async () => {
  const { adminUrl } = running.engine;
  const asked = (token: string) => http("GET", `${adminUrl}/admin/heartbeat`, { authorization: `Bearer ${token}` });
  const beat = await eventually("a node that says what it is", async () => {
    const answer = (await asked(running.sandbox.admin.token)).json as unknown as Heartbeat;
    return answer.nodes[0]?.version === VERSION ? answer : undefined;
  });
  expect(beat.nodes).toEqual([
    expect.objectContaining({ version: VERSION, role: "all", perSecond: expect.objectContaining({ accepted: 0 }) }),
  ]);
  expect(beat.documents.map(({ state }) => state)).toContain("delivered");
  expect(beat.evidence).toEqual({ index: 0, hash: expect.stringMatching(/^[0-9a-f]{64}$/), storedAt: null });
  const { text } = await (await signedIn()).get("/console");
  for (const title of ["Documents by state", "Slowest receivers", "Failing webhooks", "Certificates", "Nodes"])
    expect(text).toContain(`>${title}</h2>`);
  expect(text).toContain(VERSION);
  expect((await asked("x".repeat(40))).status).toBe(401);
});

test("the overview follows what is new by events, each an answer of its own; a session that only follows ends", async () => {
  const visitor = await signedIn();
  const answer = await visitor.get("/console/live");
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/event-stream; charset=utf-8"]);
  const [retry = "", event = "", ...data] = answer.text.trimEnd().split("\n");
  expect([retry, event]).toEqual([`retry: ${LIMITS.live_interval_ms}`, "event: heartbeat"]);
  expect(data.every((line) => line.startsWith("data: "))).toBe(true);
  expect(data.join("")).toContain("Documents by state");
  await running.db.sql`update console_session set seen_at = seen_at - interval '29 minutes'`;
  expect((await visitor.get("/console/live")).status).toBe(200);
  await running.db.sql`update console_session set seen_at = seen_at - interval '2 minutes'`;
  const ended = await visitor.get("/console/live");
  expect([ended.status, ended.text, (await operator().get("/console/live")).status]).toEqual([204, "", 204]);
});

test("the public listener has nothing of the operators', with their token or without: no figures, no health, no console, no heap", async () => {
  const paths = [
    ...[
      "/metrics",
      "/livez",
      "/readyz",
      "/startupz",
      "/admin",
      "/admin/heartbeat",
      "/admin/documents",
      "/admin/streams",
    ],
    ...["/console", "/console/sign-in", "/console/a/b", "/console/assets/console.css"],
    ...["/debug", "/debug/heap", "/heapdump", "/json/list", "/sandbox.json", "/docs/assets/reference.js.map"],
  ];
  const token = { authorization: `Bearer ${running.sandbox.admin.token}` };
  for (const [path, headers] of paths.flatMap((path) => [[path, {}] as const, [path, token] as const])) {
    const answer = await http("GET", `${running.engine.publicUrl}${path}`, headers);
    expect([path, answer.status, answer.headers.get("content-type")]).toEqual([
      path,
      404,
      "application/json; charset=utf-8",
    ]);
  }
});

test("neither the operators' token nor a session's stands in a page, an address or a line of the log", async () => {
  const visitor = await signedIn();
  const session = visitor.cookie?.split("=")[1] ?? "";
  const pages = [await visitor.get("/console"), await visitor.get("/console/sign-in")].map(({ text }) => text);
  const said = [...pages, ...running.lines].join("\n");
  expect(said).toContain("console.signed_in");
  for (const secret of [running.sandbox.admin.token, session]) expect(said).not.toContain(secret);
  const stored = await running.db.sql<
    { readonly row: string }[]
  >`select console_session::text as row from console_session`;
  expect(stored.map(({ row }) => row).join("\n")).not.toContain(session);
});
