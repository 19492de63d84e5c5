/** Buttons of the operators' console that are pressed twice, on a whole engine of their own: an address signs in rarely. */
import { afterAll, beforeAll, expect, test } from "vitest";

import { startTestEngine } from "../../support/engines/engine.js";
import type { TestEngine } from "../../support/engines/engine.js";
import { formOf, Visitor } from "../../support/callers/visitor.js";
import type { PageForm } from "../../support/callers/visitor.js";

let running: TestEngine;
beforeAll(async () => {
  running = await startTestEngine();
});
afterAll(async () => {
  await running.stop();
});

test("a sign-in and a sign-out that are pressed twice are one, whether or not the browser has the first answer", async () => {
  for (const isLate of [false, true]) {
    const visitor = new Visitor(running.engine.adminUrl);
    const twice = async (form: PageForm, fields: Readonly<Record<string, string>> = {}): Promise<unknown[]> => {
      const { cookie } = visitor;
      const first = visitor.submit(form, fields);
      if (isLate) await first;
      else visitor.cookie = cookie;
      const second = visitor.submit(form, fields);
      return [await first, await second].map(({ status, location }) => [status, location]);
    };
    const page = formOf(await visitor.get("/console/sign-in"), "/console/sign-in");
    expect(await twice(page, { token: running.sandbox.admin.token })).toEqual([
      [303, "/console"],
      [303, "/console"],
    ]);
    const rows = await running.db.sql<{ n: number }[]>`select count(*)::int as n from console_session`;
    expect([isLate, rows[0]?.n]).toEqual([isLate, 1]);
    expect(await twice(formOf(await visitor.get("/console"), "/console/sign-out"))).toEqual([
      [303, "/console/sign-in"],
      [303, "/console/sign-in"],
    ]);
  }
});
