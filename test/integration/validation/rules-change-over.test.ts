/** Imported rules on the day on which they become mandatory: counted before, decisive from midnight, on every node. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { bratislavaDay } from "../../../engine/base/clock.js";
import { importRules } from "../../../validators/schematron/release/import.js";
import { setActive } from "../../../validators/schematron/release/load.js";
import { accessToken, http, invoiceXml, send, sendParts, startTestEngine } from "../../support/engines/engine.js";
import type { HttpAnswer, TestEngine } from "../../support/engines/engine.js";
import { fakeClock } from "../../support/fake-clock.js";
import { likeSchema } from "../../support/validators/pack-like.js";

const DAY = "2027-02-24";
/** The last second before that day begins in Bratislava. */
const BEFORE = "2027-02-23T22:59:59.000Z";
const clocks = [fakeClock(BEFORE), fakeClock(BEFORE)] as const;
const nodes: TestEngine[] = [];
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "kurier-change-"));
  const [source, rulesDir] = [join(folder, "release"), join(folder, "packs")];
  mkdirSync(source);
  const asserts = `<assert id="HOUSE-01" flag="fatal" test="starts-with(cbc:ID, 'HOUSE-')">Begin with HOUSE-.</assert>`;
  writeFileSync(join(source, "house.sch"), likeSchema({ ids: [], asserts }));
  importRules({ source, rulesDir, id: "house", mandatoryFrom: DAY });
  setActive(rulesDir, "house", true);
  const config = { RULES_DIR: rulesDir };
  const first = await startTestEngine({ clock: clocks[0], config });
  nodes.push(first, await startTestEngine({ clock: clocks[1], config, db: first.db }));
});
afterAll(async () => {
  // The first one drops the database of both.
  for (const node of nodes.reverse()) await node.stop();
  rmSync(folder, { recursive: true, force: true });
});

let made = 0;

/** Sends an invoice through each node. @returns the answers, in the order of the nodes */
const sendThroughEach = (prefix: string, lines = 1): Promise<HttpAnswer[]> =>
  Promise.all(
    nodes.map(async ({ sandbox: { sapiBaseUrl, sender, receiver } }, at) => {
      const xml = invoiceXml(sender.participantId, receiver.participantId, {
        number: `${prefix}-${String((made += 1))}`,
        issueDate: bratislavaDay(clocks[at === 0 ? 0 : 1].now()),
        lines,
      });
      const mailbox = {
        participantId: sender.participantId,
        token: await accessToken({ sapiBaseUrl }, sender),
      };
      return send({ sapiBaseUrl }, mailbox, sendParts(sender.participantId, receiver.participantId, xml));
    }),
  );

/** What each node says of later days in the sender's statistics. */
const upcomingOfEach = (): Promise<unknown[]> =>
  Promise.all(
    nodes.map(async ({ sandbox: { baseUrl, sapiBaseUrl, integrator, sender } }) => {
      const token = await accessToken({ sapiBaseUrl }, integrator);
      const answer = await http("GET", `${baseUrl}/reporting/statistics`, {
        authorization: `Bearer ${token}`,
        "x-firm-id": sender.firmId,
      });
      return answer.json["upcoming"] ?? answer.text;
    }),
  );

const statusOf = ({ status }: HttpAnswer): number => status;

test("before their day imported rules refuse nothing and each node counts what they would refuse; from midnight of Bratislava on a node refuses by its own clock, without a restart, and the day is no later one any more", async () => {
  expect(await upcomingOfEach()).toEqual([[], []]);
  expect((await sendThroughEach("OTHER")).map(statusOf)).toEqual([202, 202]);
  expect((await sendThroughEach("HOUSE")).map(statusOf)).toEqual([202, 202]);
  // Too large to be judged twice.
  expect((await sendThroughEach("OTHER", 500)).map(statusOf)).toEqual([202, 202]);
  const counted = [{ mandatory_from: DAY, judged: 4, failing: 2 }];
  expect(await upcomingOfEach()).toEqual([counted, counted]);

  clocks[0].advance(1_000);
  const [midnight, second] = await sendThroughEach("OTHER");
  expect(midnight).toMatchObject({ status: 422, text: expect.stringContaining("HOUSE-01") as unknown });
  expect(second).toMatchObject({ status: 202 });
  expect(await upcomingOfEach()).toEqual([[], [{ mandatory_from: DAY, judged: 5, failing: 3 }]]);

  clocks[1].advance(1_000);
  const after = await sendThroughEach("OTHER");
  expect(after.map(({ status, text }) => [status, text.includes("HOUSE-01")])).toEqual([
    [422, true],
    [422, true],
  ]);
  expect((await sendThroughEach("HOUSE")).map(statusOf)).toEqual([202, 202]);
  expect(await upcomingOfEach()).toEqual([[], []]);
});
