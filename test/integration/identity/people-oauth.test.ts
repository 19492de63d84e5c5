/**
 * OAuth 2.0 with PKCE on a whole engine: from the authorization request over an administrator's agreement to a key that
 * works, and everything on the way that must be refused.
 */
import { createHash, randomBytes } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { LIMITS } from "../../../engine/base/limits.js";
import { accessToken, http, startTestEngine } from "../../support/engines/engine.js";
import type { HttpAnswer, TestEngine } from "../../support/engines/engine.js";
import { fakeClock } from "../../support/fake-clock.js";
import type { FakeClock } from "../../support/fake-clock.js";
import { serverForms } from "../../support/engines/gateway.js";
import { formOf, signIn, Visitor } from "../../support/callers/visitor.js";

const REDIRECT = "https://erp.example/callback?tenant=7";

describe.each(serverForms)("the %s form", (form) => {
  let running: TestEngine;
  let clock: FakeClock;
  let mail: string;
  let program: { readonly clientId: string; readonly clientSecret: string };
  /** Signed in as the demo integrator's administrator. */
  let admin: Visitor;
  let addresses = 0;
  const from = (): Record<string, string> => ({ "x-forwarded-for": `198.51.100.${(addresses += 1) % 250}` });

  const register = (redirectUris: readonly string[], name = "Účtovníctvo <b>"): Promise<HttpAnswer> =>
    http(
      "POST",
      `${running.engine.adminUrl}/admin/oauth-clients`,
      { authorization: `Bearer ${running.sandbox.admin.token}`, "content-type": "application/json" },
      JSON.stringify({ name, redirectUris }),
    );
  const endKeys = async (): Promise<void> => {
    await running.db.sql`update api_key set active = false, generation = generation + 1, deactivated_at = now()
      where active and name like 'OAuth%'`;
  };

  beforeAll(async () => {
    clock = fakeClock();
    running = await startTestEngine({ form, clock, config: { TRUSTED_PROXIES: ["127.0.0.1/32"] } });
    mail = join(running.dataDir, "mail");
    const made = await register([REDIRECT, "http://127.0.0.1:7777/back"]);
    expect(made.status).toBe(201);
    program = made.json as typeof program;
    admin = new Visitor(running.engine.publicUrl, from());
    await signIn(admin, mail, running.sandbox.people.integrator);
  });
  afterAll(() => running.stop());

  const pkce = () => {
    const verifier = randomBytes(48).toString("base64url");
    return { verifier, challenge: createHash("sha256").update(verifier).digest("base64url") };
  };
  const queryOf = (challenge: string, changes: Record<string, string | undefined> = {}): string => {
    const query = {
      client_id: program.clientId,
      redirect_uri: REDIRECT,
      response_type: "code",
      code_challenge: challenge,
      code_challenge_method: "S256",
      state: "a b&c=ž",
      ...changes,
    };
    return new URLSearchParams(
      Object.entries(query).flatMap(([k, v]) => (v === undefined ? [] : [[k, v] as [string, string]])),
    ).toString();
  };
  const codeOf = async (challenge: string, changes: Record<string, string | undefined> = {}): Promise<string> => {
    const page = await admin.get(`/oauth/authorize?${queryOf(challenge, changes)}`);
    const agreed = await admin.submit(formOf(page, "/oauth/authorize"), { decision: "accept" });
    return new URL(agreed.location).searchParams.get("code") ?? "";
  };
  const exchange = (changes: Record<string, string | undefined>, path = "/oauth/token", headers = {}) => {
    const body = {
      grant_type: "authorization_code",
      client_id: program.clientId,
      client_secret: program.clientSecret,
      redirect_uri: REDIRECT,
      ...changes,
    };
    return http(
      "POST",
      `${running.engine.publicUrl}${path}`,
      { "content-type": "application/json", ...from(), ...headers },
      JSON.stringify(body),
    );
  };

  test("an administrator signs in, sees who asks for what, agrees, and the program's new key works", async () => {
    const { verifier, challenge } = pkce();
    const reader = new Visitor(running.engine.publicUrl, from());
    const path = `/oauth/authorize?${queryOf(challenge, { scope: "documents:read account:read" })}`;
    const asked = await reader.get(path);
    expect([asked.status, asked.location.startsWith("/sign-in?next=")]).toEqual([303, true]);
    const back = await signIn(
      reader,
      mail,
      running.sandbox.people.integrator,
      decodeURIComponent(asked.location.split("next=")[1] ?? ""),
    );
    const page = await reader.get(back.location);
    expect(page.text).toContain("Účtovníctvo &lt;b&gt;");
    expect(page.text).toContain("erp.example");
    expect(page.text).toContain("documents:read");
    expect(page.text).not.toContain("documents:send");
    expect(page.headers.get("content-security-policy")).toContain("form-action 'self' https://erp.example;");
    const agreed = await reader.submit(formOf(page, "/oauth/authorize"), { decision: "accept" });
    const target = new URL(agreed.location);
    expect(agreed.location.startsWith(`${REDIRECT}&`)).toBe(true);
    expect(target.searchParams.get("state")).toBe("a b&c=ž");
    expect(target.searchParams.get("iss")).toBe(running.engine.publicUrl);

    const answer = await exchange({ code: target.searchParams.get("code") ?? "", code_verifier: verifier });
    expect([answer.status, answer.headers.get("cache-control")]).toEqual([200, "no-store"]);
    expect(answer.json).toEqual({
      client_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      client_secret: expect.stringMatching(/^sk_int_test_[0-9A-Za-z]{40}$/),
      key_prefix: expect.stringMatching(/^sk_int_test_/),
      integrator_id: running.sandbox.integrator.integratorId,
      scope: "documents:read account:read",
    });
    const key = { clientId: String(answer.json["client_id"]), clientSecret: String(answer.json["client_secret"]) };
    expect(await accessToken(running.sandbox, key)).toMatch(/^eyJ/);
    await endKeys();
  });

  test("the exchange takes forms and HTTP Basic, also below /api", async () => {
    const { verifier, challenge } = pkce();
    const basic = Buffer.from(`${program.clientId}:${program.clientSecret}`).toString("base64");
    const answer = await http(
      "POST",
      `${running.engine.publicUrl}/api/oauth/token`,
      { "content-type": "application/x-www-form-urlencoded", authorization: `Basic ${basic}`, ...from() },
      new URLSearchParams({
        grant_type: "authorization_code",
        code: await codeOf(challenge),
        redirect_uri: REDIRECT,
        code_verifier: verifier,
      }).toString(),
    );
    expect(answer.status).toBe(200);
    expect(answer.json["scope"]).not.toContain("keys:manage");
    await endKeys();
  });

  test("a code is good once: of many exchanges at once one has a key, and a second use ends that key", async () => {
    const { verifier, challenge } = pkce();
    const code = await codeOf(challenge);
    const answers = await Promise.all(Array.from({ length: 8 }, () => exchange({ code, code_verifier: verifier })));
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1);
    for (const { status, json } of answers.filter(({ status }) => status !== 200))
      expect([status, json["error"]]).toEqual([400, "invalid_grant"]);
    const active = await running.db.sql`select id from api_key where active and name like 'OAuth%'`;
    expect(active).toEqual([]);
  });

  test("a code ends after a minute", async () => {
    const { verifier, challenge } = pkce();
    const code = await codeOf(challenge);
    clock.advance(LIMITS.oauth_code_ms);
    const answer = await exchange({ code, code_verifier: verifier });
    expect([answer.status, answer.json["error"]]).toEqual([400, "invalid_grant"]);
  });

  test.each([
    ["another verifier", { code_verifier: "x".repeat(43) }, 400, "invalid_grant"],
    ["another address", { redirect_uri: "http://127.0.0.1:7777/back" }, 400, "invalid_grant"],
    ["an unknown code", { code: "nothing" }, 400, "invalid_grant"],
    ["another grant type", { grant_type: "client_credentials" }, 400, "unsupported_grant_type"],
    ["no verifier", { code_verifier: undefined }, 400, "invalid_request"],
    ["a wrong secret", { client_secret: "oauth_wrong" }, 401, "invalid_client"],
    ["an unknown program", { client_id: "018f6a3e-0000-7000-8000-000000000001" }, 401, "invalid_client"],
    ["no program", { client_id: undefined, client_secret: undefined }, 401, "invalid_client"],
  ])("an exchange with %s is refused in the words of RFC 6749", async (_, changes, status, error) => {
    const { verifier, challenge } = pkce();
    const code = await codeOf(challenge);
    const answer = await exchange({ code, code_verifier: verifier, ...changes });
    // RFC 6749, section 5.2: "Values for the "error_description" parameter MUST NOT include characters outside the set"
    const said = expect.stringMatching(/^[\x20-\x21\x23-\x5B\x5D-\x7E]+$/);
    expect([answer.status, answer.json]).toEqual([status, { error, error_description: said }]);
    if (error === "invalid_request") expect(answer.json["error_description"]).toMatch(/^code_verifier: /);
    if (status === 401) expect(answer.headers.get("www-authenticate")).toBe('Basic realm="kurier"');
    expect(answer.headers.get("cache-control")).toBe("no-store");
  });

  test("a wrong verifier uses the code up", async () => {
    const { verifier, challenge } = pkce();
    const code = await codeOf(challenge);
    expect((await exchange({ code, code_verifier: "x".repeat(43) })).status).toBe(400);
    expect((await exchange({ code, code_verifier: verifier })).json["error"]).toBe("invalid_grant");
  });

  test.each([
    ["an address that is not registered", { redirect_uri: "https://erp.example/callback" }],
    ["an address of somebody else", { redirect_uri: "https://evil.example/" }],
    ["no address", { redirect_uri: undefined }],
    ["an unknown program", { client_id: "018f6a3e-0000-7000-8000-000000000001" }],
    ["a program of no form", { client_id: "x" }],
  ])("a request with %s leads nowhere: the page says so", async (_, changes) => {
    const answer = await admin.get(`/oauth/authorize?${queryOf(pkce().challenge, changes)}`);
    expect([answer.status, answer.location]).toEqual([400, ""]);
    expect(answer.text).toContain("not registered");
  });

  test.each([
    ["the plain method", { code_challenge_method: "plain" }, "invalid_request"],
    ["no method", { code_challenge_method: undefined }, "invalid_request"],
    ["no challenge", { code_challenge: undefined }, "invalid_request"],
    ["a challenge of a wrong form", { code_challenge: "short" }, "invalid_request"],
    ["the implicit flow", { response_type: "token" }, "unsupported_response_type"],
    ["an unknown scope", { scope: "documents:read everything" }, "invalid_scope"],
  ])("a request with %s goes back to the program with %s", async (_, changes, error) => {
    const answer = await admin.get(`/oauth/authorize?${queryOf(pkce().challenge, changes)}`);
    const target = new URL(answer.location);
    expect([answer.status, target.host, target.searchParams.get("error")]).toEqual([303, "erp.example", error]);
    expect(target.searchParams.get("state")).toBe("a b&c=ž");
  });

  test("whoever declines sends the program away with access_denied", async () => {
    const page = await admin.get(`/oauth/authorize?${queryOf(pkce().challenge)}`);
    const answer = await admin.submit(formOf(page, "/oauth/authorize"), { decision: "decline" });
    expect(new URL(answer.location).searchParams.get("error")).toBe("access_denied");
  });

  test("a firm's owner has nothing to agree to, and no form of his makes a code for an integrator", async () => {
    const owner = new Visitor(running.engine.publicUrl, from());
    await signIn(owner, mail, running.sandbox.people.sender);
    const { challenge } = pkce();
    const page = await owner.get(`/oauth/authorize?${queryOf(challenge)}`);
    expect([page.status, page.text.includes("administers no integrator")]).toEqual([403, true]);
    const fields = formOf(await owner.get("/account"), "/sign-out").fields;
    const answer = await owner.post("/oauth/authorize", {
      ...Object.fromEntries(new URLSearchParams(queryOf(challenge))),
      ...fields,
      integrator: running.sandbox.integrator.integratorId,
      decision: "accept",
    });
    expect([answer.status, answer.location]).toEqual([404, ""]);
  });

  test("a form that another site sends makes no code", async () => {
    const page = await admin.get(`/oauth/authorize?${queryOf(pkce().challenge)}`);
    const agree = formOf(page, "/oauth/authorize");
    for (const [fields, headers] of [
      [{ form_token: "" }, {}],
      [{}, { "sec-fetch-site": "cross-site" }],
    ] as const) {
      const answer = await admin.submit(agree, { decision: "accept", ...fields }, headers);
      expect([answer.status, answer.location]).toEqual([403, ""]);
    }
  });

  test("a code of somebody who is no administrator any more gives no key", async () => {
    const { verifier, challenge } = pkce();
    const code = await codeOf(challenge);
    const taken = await running.db.sql`delete from membership where integrator_id is not null
      returning person_id, integrator_id, role, created_at`;
    expect((await exchange({ code, code_verifier: verifier })).json["error"]).toBe("invalid_grant");
    await running.db
      .sql`insert into membership ${running.db.sql(taken as unknown as readonly Record<string, string>[])}`;
  });

  test("an integrator with five active main keys gets no sixth: the program is told why", async () => {
    const made = [];
    for (let key = 0; key < LIMITS.keys_unrestricted_active_max; key += 1) {
      const { verifier, challenge } = pkce();
      made.push(await exchange({ code: await codeOf(challenge), code_verifier: verifier }));
    }
    expect(made.map(({ status }) => status)).toEqual([200, 200, 200, 200, 400]);
    expect(made.at(-1)?.json["error_description"]).toContain("as many active main keys");
    await endKeys();
  });

  test.each([
    "http://erp.example/callback",
    "https://user@erp.example/",
    "https://erp.example/#part",
    "https://erp.example/;script-src *",
    "javascript:alert(1)",
    "ftp://erp.example/",
  ])("a program cannot be registered with %s", async (uri) => {
    expect((await register([uri])).status).toBe(400);
  });

  test("a program cannot be registered under a name with a line feed, and the answer names the member", async () => {
    const answer = await register([REDIRECT], "two\nlines");
    expect([answer.status, answer.json["error"]]).toMatchObject([400, { field: "name" }]);
  });
});
