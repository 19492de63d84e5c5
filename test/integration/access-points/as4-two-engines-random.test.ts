/**
 * Two access points exchange documents, statuses and answers both ways while one or the other is killed in the middle of
 * whatever message the seed says. Every 202 that a client saw is one document there, and all invariants hold after each kill.
 * @source design/reliability.md, F-02
 */
import { afterAll, beforeAll, expect, test } from "vitest";

import { buildIfNeeded } from "../../../deploy/build.mjs";
import { createOracle } from "../../support/truth/oracle-facts.js";
import type { Oracle } from "../../support/truth/oracle-facts.js";
import { Random, seedFrom } from "../../support/random.js";
import { arrivedAs, respondTo, startSide } from "../../support/engines/side.js";
import type { Side } from "../../support/engines/side.js";
import { evidenceFaults } from "../../support/engines/side-evidence.js";
import { prepareTwo } from "../../support/engines/two-engines.js";
import type { TwoHomes } from "../../support/engines/two-engines.js";

const SEED = seedFrom(20_261_120);
const ROUNDS = Number(process.env["KURIER_TEST_KILLS"] ?? "3");
/** Documents that are sent at once in a round: fewer failures than after which an access point counts as down for a while. */
const DOCUMENTS = 3;

let homes: TwoHomes;
let sides: readonly [Side, Side];
let oracle: Oracle;

beforeAll(async () => {
  await buildIfNeeded();
  homes = await prepareTwo();
  sides = await Promise.all([startSide(homes.a), startSide(homes.b)]);
  oracle = createOracle(...sides);
});
afterAll(async () => {
  await Promise.all(sides.map((side) => side.kill()));
  await homes.remove();
});

const other = (side: Side): Side => (side === sides[0] ? sides[1] : sides[0]);

/** A request to an engine that dies is no answer; one to an engine that is starting or stopping is a 503. */
async function perhaps(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof TypeError) && !(error instanceof Error && error.message.startsWith("not accepted: 503")))
      throw error;
  }
}

/** One document, every third of which its receiver refuses. */
const sendOne = (random: Random): Promise<void> => {
  const from = random.pick(sides);
  const refused = random.int(3) === 0;
  return perhaps(() => from.send(other(from), refused ? other(from).home.refuses : ""));
};

/** An answer to the last document that a side was told is accepted, when it has arrived. */
async function answerOne(from: Side, note: string): Promise<void> {
  const sent = from.sent.at(-1);
  const status = sent === undefined ? undefined : await from.statusOf(sent.id);
  if (sent !== undefined && status === "delivered")
    await perhaps(async () => respondTo(other(from), await arrivedAs(from, other(from), sent), "in_process", note));
}

test(
  `whoever is killed in the middle of whatever: all invariants hold (SEED=${SEED})`,
  { timeout: 60_000 * (ROUNDS + 4) },
  async () => {
    const random = new Random(SEED);
    for (let round = 0; round < ROUNDS; round += 1) {
      const victim = random.pick(sides);
      const proxy = random.pick(sides.map(({ home }) => home.as4));
      const goesOn = random.int(2) === 0;
      let done = false;
      const strike = async (): Promise<boolean> => {
        await victim.kill();
        done = true;
        return goesOn;
      };
      const met = proxy.cut(random.pick(["request", "response"]), random.pick(["none", "half"]), strike, random.int(8));
      await Promise.all([
        ...Array.from({ length: DOCUMENTS }, () => sendOne(random)),
        ...sides.map((side) => answerOne(side, `round ${round}`)),
      ]);
      for (let more = 0; more < DOCUMENTS && !done; more += 1) await sendOne(random);
      proxy.disarm();
      await (done ? met : strike());
      await victim.start();
      await oracle.hold();
    }
    for (const side of sides) {
      expect(side.sent.length).toBeGreaterThan(0);
      expect(await evidenceFaults(side)).toEqual([]);
    }
  },
);
