/**
 * The pages of consent on a whole engine: whoever is owner or admin of the firm answers once, nobody else does, and what
 * the firm withdraws ends at once.
 * @source spec/enterprise.md, Consent offers, rules; spec/rulings.md, section 8
 */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { accessToken, http, startTestEngine } from "../../support/engines/engine.js";
import type { TestEngine } from "../../support/engines/engine.js";
import { serverForms } from "../../support/engines/gateway.js";
import { formOf, signIn, Visitor } from "../../support/callers/visitor.js";

describe.each(serverForms)("the %s form", (form) => {
  let running: TestEngine;
  let token: string;
  let owner: Visitor;
  let second: Visitor;
  let stranger: Visitor;

  const operator = (path: string, body: unknown) =>
    http(
      "POST",
      `${running.sandbox.adminUrl}/admin${path}`,
      { authorization: `Bearer ${running.sandbox.admin.token}`, "content-type": "application/json" },
      JSON.stringify(body),
    );
  const api = (method: string, path: string, body?: unknown) =>
    http(
      method,
      `${running.sandbox.baseUrl}${path}`,
      { authorization: `Bearer ${token}`, ...(body === undefined ? {} : { "content-type": "application/json" }) },
      body === undefined ? undefined : JSON.stringify(body),
    );
  const invite = async (): Promise<{ readonly id: string; readonly path: string }> => {
    const { status, json } = await api("POST", "/consent-offers", {
      targetIdentifier: running.sandbox.sender.participantId.slice(5),
      requestedInterface: "enterprise_api",
      requestedScopes: ["documents:send", "documents:read", "firms:manage"],
    });
    expect(status).toBe(201);
    return { id: String(json["id"]), path: new URL(String(json["consentUrl"])).pathname };
  };
  const statusOf = async (id: string): Promise<unknown> => (await api("GET", `/consent-offers/${id}`)).json["status"];

  beforeAll(async () => {
    running = await startTestEngine({ form });
    const mail = join(running.dataDir, "mail");
    token = await accessToken(running.sandbox, running.sandbox.integrator);
    const invited = { email: "druha@odosielatel.example", firmId: running.sandbox.sender.firmId, role: "admin" };
    expect((await operator("/people", invited)).status).toBe(201);
    const visitorAs = async (email: string): Promise<Visitor> => {
      const visitor = new Visitor(running.engine.publicUrl);
      await signIn(visitor, mail, email);
      return visitor;
    };
    owner = await visitorAs(running.sandbox.people.sender);
    second = await visitorAs("druha@odosielatel.example");
    stranger = await visitorAs(running.sandbox.people.receiver);
  });
  afterAll(() => running.stop());

  test("the page says who asks, for which firm, through which interface and for what, to anybody who has the link", async () => {
    const { id, path } = await invite();
    const page = await new Visitor(running.engine.publicUrl).get(path);
    for (const words of ["Demo integrator", "2120000017", "Enterprise API and SAPI profile", "Send invoices for you"])
      expect(page.text).toContain(words);
    expect(page.text).toContain(`/sign-in?next=${encodeURIComponent(path)}`);
    expect([page.headers.get("cache-control"), page.headers.get("referrer-policy")]).toEqual([
      "no-store",
      "no-referrer",
    ]);
    expect(page.text).not.toContain("<button name");
    expect(await statusOf(id)).toBe("viewed");
    expect((await owner.get(path)).status).toBe(200);
  });

  test("an unknown link, and one of no form, are the same page that says that there is nothing", async () => {
    for (const path of [`/consent/${"A".repeat(43)}`, "/consent/short", "/consent/%00", "/consent/a.b"]) {
      const page = await owner.get(path);
      expect([page.status, page.headers.get("content-type")]).toEqual([404, "text/html; charset=utf-8"]);
      expect(page.text).toContain("There is nothing here");
    }
  });

  test("people of other firms can neither accept nor decline, whatever firm their form names", async () => {
    const { id, path } = await invite();
    const page = await stranger.get(path);
    expect(page.text).toContain("neither owner nor administrator");
    const { fields } = formOf(page, "/sign-out");
    for (const firm of [running.sandbox.sender.firmId, running.sandbox.receiver.firmId, ""])
      for (const decision of ["accept", "decline"])
        expect((await stranger.post(path, { ...fields, firm, decision })).status).toBe(404);
    expect(await statusOf(id)).toBe("viewed");
  });

  test("two who accept at once make one consent; accepting again is the same one; declining afterwards changes nothing", async () => {
    const { id, path } = await invite();
    const forms = [formOf(await owner.get(path), path), formOf(await second.get(path), path)] as const;
    const answers = await Promise.all([
      owner.submit(forms[0], { decision: "accept" }),
      second.submit(forms[1], { decision: "accept" }),
    ]);
    for (const { status, text } of answers)
      expect([status, text.includes("The consent is given.")]).toEqual([200, true]);
    expect((await owner.submit(forms[0], { decision: "accept" })).text).toContain("The consent is given.");
    expect((await owner.submit(forms[0], { decision: "decline" })).text).toContain("The consent is given.");
    expect(await statusOf(id)).toBe("accepted");
    const [entries] = await running.db.sql<{ n: number }[]>`
      select count(*)::int as n from audit_entry where event = 'consent.accepted' and target_id = ${id}`;
    expect(entries?.n).toBe(1);
  });

  test("whoever declines ends the invitation", async () => {
    const { id, path } = await invite();
    const page = await owner.submit(formOf(await owner.get(path), path), { decision: "decline" });
    expect(page.text).toContain("The consent was declined.");
    expect(await statusOf(id)).toBe("declined");
    expect((await owner.get(path)).text).not.toContain("<button name");
  });

  test("a form that another site sends decides nothing", async () => {
    const { id, path } = await invite();
    const answer = formOf(await owner.get(path), path);
    const attempts = [
      [{ form_token: "" }, {}],
      [{ form_token: formOf(await stranger.get("/account"), "/sign-out").fields["form_token"] ?? "" }, {}],
      [{}, { "sec-fetch-site": "cross-site" }],
    ] as const;
    for (const [fields, headers] of attempts)
      expect((await owner.submit(answer, { decision: "accept", ...fields }, headers)).status).toBe(403);
    expect(await statusOf(id)).toBe("viewed");
  });

  test("who is not signed in is led to the sign-in and back to the invitation", async () => {
    const { path } = await invite();
    const visitor = new Visitor(running.engine.publicUrl);
    await visitor.get("/sign-in");
    const { fields } = formOf(await visitor.get("/sign-in"), "/sign-in");
    const answer = await visitor.post(path, { ...fields, decision: "accept", firm: running.sandbox.sender.firmId });
    expect([answer.status, answer.location]).toEqual([303, `/sign-in?next=${encodeURIComponent(path)}`]);
  });

  test("a firm's page is its own people's; whoever withdraws there ends the partner's access at once", async () => {
    const { path } = await invite();
    await owner.submit(formOf(await owner.get(path), path), { decision: "accept" });
    const firm = `/firm/${running.sandbox.sender.firmId}`;
    expect((await stranger.get(firm)).status).toBe(404);
    expect((await new Visitor(running.engine.publicUrl).get(firm)).location).toContain("/sign-in");
    const page = await second.get(firm);
    expect(page.text).toContain("Demo integrator");
    const withdraw = formOf(page, `${firm}/revoke`);
    const { fields } = formOf(await stranger.get("/account"), "/sign-out");
    expect((await stranger.post(withdraw.action, { ...withdraw.fields, ...fields })).status).toBe(404);
    const firmHeader = { authorization: `Bearer ${token}`, "x-firm-id": running.sandbox.sender.firmId };
    const read = () =>
      http("GET", `${running.sandbox.baseUrl}/documents/018f6a3e-0000-7000-8000-000000000001`, firmHeader);
    expect((await read()).status).toBe(404);
    expect((await second.submit(withdraw)).location).toBe(firm);
    expect((await read()).status).toBe(403);
    expect((await second.get(firm)).text).toContain("Ended on");
    expect((await second.submit(withdraw)).location).toBe(firm);
  });

  test("DELETE /firms/{firmId}/consent with an owner's session withdraws; nobody else's does, and no other site's", async () => {
    const { path } = await invite();
    await owner.submit(formOf(await owner.get(path), path), { decision: "accept" });
    const { integratorId } = running.sandbox.integrator;
    const withdraw = (visitor: Visitor | undefined, query = "", headers: Record<string, string> = {}) =>
      http("DELETE", `${running.sandbox.baseUrl}/firms/${running.sandbox.sender.firmId}/consent${query}`, {
        ...(visitor?.cookie === undefined ? {} : { cookie: visitor.cookie }),
        ...headers,
      });
    expect((await withdraw(undefined)).status).toBe(401);
    expect((await withdraw(stranger)).status).toBe(404);
    expect((await withdraw(owner, "", { "sec-fetch-site": "cross-site" })).status).toBe(403);
    expect((await withdraw(owner, "?integratorId=018f6a3e-0000-7000-8000-000000000001")).json["revoked"]).toEqual([]);
    expect((await withdraw(owner, `?integratorId=${integratorId}`)).json["revoked"]).toEqual([integratorId]);
    expect((await withdraw(owner)).json).toEqual({ firmId: running.sandbox.sender.firmId, revoked: [] });
    const firmHeader = { authorization: `Bearer ${token}`, "x-firm-id": running.sandbox.sender.firmId };
    const read = await http(
      "GET",
      `${running.sandbox.baseUrl}/documents/018f6a3e-0000-7000-8000-000000000001`,
      firmHeader,
    );
    expect(read.status).toBe(403);
  });

  test("a page from before a withdrawal, sent again, says that the invitation was accepted, and not that the consent is given", async () => {
    const { path } = await invite();
    const form = formOf(await owner.get(path), path);
    expect((await owner.submit(form, { decision: "accept" })).text).toContain("The consent is given.");
    const firm = `/firm/${running.sandbox.sender.firmId}`;
    await owner.submit(formOf(await owner.get(firm), `${firm}/revoke`));
    for (const decision of ["accept", "decline"]) {
      const page = await owner.submit(form, { decision });
      expect([decision, page.text.includes("The consent is given.")]).toEqual([decision, false]);
      expect([decision, page.text]).toEqual([decision, expect.stringContaining("This invitation was accepted.")]);
    }
  });

  test("an operator gives and takes offices; what is taken is gone from the next request on, in a session too", async () => {
    const firm = `/firm/${running.sandbox.sender.firmId}`;
    const office = { email: "druha@odosielatel.example", firmId: running.sandbox.sender.firmId };
    expect((await second.get(firm)).status).toBe(200);
    const dismiss = () =>
      http(
        "DELETE",
        `${running.sandbox.adminUrl}/admin/people`,
        { authorization: `Bearer ${running.sandbox.admin.token}`, "content-type": "application/json" },
        JSON.stringify(office),
      );
    expect([(await dismiss()).status, (await dismiss()).status]).toEqual([200, 404]);
    expect((await second.get(firm)).status).toBe(404);
    expect(
      (await operator("/people", { ...office, integratorId: running.sandbox.integrator.integratorId })).status,
    ).toBe(400);
    expect((await operator("/people", { email: "x", firmId: office.firmId })).status).toBe(400);
    expect((await operator("/people", { ...office, firmId: "018f6a3e-0000-7000-8000-000000000001" })).status).toBe(404);
  });
});
