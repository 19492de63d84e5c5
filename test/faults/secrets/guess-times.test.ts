/**
 * What the time of a refusal tells of a secret or of a client: guesses of every kind in turns, each kind compared with
 * the first. Method: one node and a real Postgres without HTTP between, so that little hides a difference; the clock
 * of the node goes on a minute with each turn, so that nobody is locked. Times are kept, not judged.
 *
 * KURIER_TEST_TURNS: guesses of each kind. KURIER_TEST_FIGURES: a folder for the figures.
 * @source design/reliability.md, A-05
 */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import type { CreatedKey } from "../../../engine/identity/keys.js";
import { newSecret } from "../../../engine/identity/tokens/secrets.js";
import { fakeClock } from "../../support/fake-clock.js";
import { ADDRESS, makeFirm, refusalOf, startNode } from "../../support/callers/identity.js";
import { freshDatabase } from "../../support/database/postgres.js";
import { Random, seedFrom } from "../../support/random.js";
import { keepFigures } from "../figures.js";
import { quantile } from "../records.js";

const TURNS = Number(process.env["KURIER_TEST_TURNS"] ?? "12000");
const SEED = seedFrom(20_261_123);
/** Clients that are guessed at, known and unknown ones: each is asked again after longer than any window. */
const CLIENTS = 40;
const TURN_MS = 60_000;
/** Of turns: the error of a difference is that of their medians. */
const BLOCKS = 40;

interface Stranger {
  readonly id: string;
  readonly prefix: string;
}
interface Guess {
  readonly clientId: string;
  readonly clientSecret: string;
}

const anySecret = (): string => newSecret("sk_live", "sandbox");
/** Another letter in the place of the last: of a digest of it nothing is the same. */
const almost = (secret: string): string => `${secret.slice(0, -1)}${secret.endsWith("A") ? "B" : "A"}`;

const GUESSES: Readonly<Record<string, (key: CreatedKey, stranger: Stranger) => Guess>> = {
  "an id that no key has": (_, { id }) => ({ clientId: id, clientSecret: anySecret() }),
  "a key's id, any secret": ({ id }) => ({ clientId: id, clientSecret: anySecret() }),
  "a key's id, its secret but for the last letter": ({ id, secret }) => ({
    clientId: id,
    clientSecret: almost(secret),
  }),
  "a prefix that no key has": (_, { prefix }) => ({ clientId: prefix, clientSecret: anySecret() }),
  "a key's prefix, any secret": ({ prefix }) => ({ clientId: prefix, clientSecret: anySecret() }),
};
/** A text as a request brings it: one piece, whatever it was made of. */
const inOnePiece = (text: string): string => Buffer.from(text).toString();
/** What each kind is compared with: a stranger who is named in the same way. */
const ALIKE: Readonly<Record<string, string>> = {
  "a key's id, any secret": "an id that no key has",
  "a key's id, its secret but for the last letter": "a key's id, any secret",
  "a key's prefix, any secret": "a prefix that no key has",
};

const blocksOf = (times: readonly number[]): readonly number[] => {
  const size = Math.floor(times.length / BLOCKS);
  return Array.from({ length: BLOCKS }, (_, n) => quantile(times.slice(n * size, (n + 1) * size), 0.5));
};

/** The mean difference of the medians of blocks, and two standard errors of it. */
function difference(left: readonly number[], right: readonly number[]): readonly [mean: number, error: number] {
  const rightBlocks = blocksOf(right);
  const each = blocksOf(left).map((median, n) => median - (rightBlocks[n] ?? NaN));
  const mean = each.reduce((sum, one) => sum + one, 0) / each.length;
  const variance = each.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (each.length - 1);
  return [mean, 2 * Math.sqrt(variance / each.length)];
}

const shuffled = <T>(items: readonly T[], random: Random): readonly T[] =>
  items
    .map((item) => ({ item, place: random.next() }))
    .toSorted((left, right) => left.place - right.place)
    .map(({ item }) => item);

const micros = (ms: number): string => (ms * 1_000).toFixed(1);

test(`guesses of every kind are refused alike, and the figures say how much their times differ (SEED=${SEED})`, async () => {
  const [db, clock, random] = [await freshDatabase(), fakeClock(), new Random(SEED)];
  const node = await startNode(db, { clock });
  try {
    const keys: CreatedKey[] = [];
    while (keys.length < CLIENTS) keys.push((await makeFirm(db, clock)).key);
    const strangers = keys.map(({ prefix }): Stranger => ({
      id: randomUUID(),
      prefix: prefix.replace(/.{6}$/, "zzzzzz"),
    }));
    // Made before the first turn: what it costs to make a guess is nobody's to see.
    const kinds = Object.entries(GUESSES).map(([name, make]) => ({
      name,
      times: [] as number[],
      guesses: keys.map((key, n): Guess => {
        const { clientId, clientSecret } = make(key, strangers[n] ?? { id: "", prefix: "" });
        return { clientId: inOnePiece(clientId), clientSecret: inOnePiece(clientSecret) };
      }),
    }));
    // The first turns warm everything up.
    for (let turn = -CLIENTS; turn < TURNS; turn += 1) {
      clock.advance(TURN_MS);
      for (const kind of shuffled(kinds, random)) {
        const guess = kind.guesses.at(turn % CLIENTS);
        if (guess === undefined) throw new RangeError("there is no such client");
        const begun = systemClock.monotonic();
        const told = await refusalOf(() =>
          node.issueTokens({ ...guess, scope: undefined, door: "sapi", address: ADDRESS, receivedAt: clock.now() }),
        );
        const took = systemClock.monotonic() - begun;
        if (told !== "CREDENTIALS_INVALID") throw new Error(`${kind.name} was told ${told}`);
        if (turn >= 0) kind.times.push(took);
      }
    }
    expect(kinds.map(({ times }) => times.length)).toEqual(kinds.map(() => TURNS));
    const timesOf = (name: string): readonly number[] => kinds.find((kind) => kind.name === name)?.times ?? [];
    keepFigures("guess-times", {
      title: "Times of wrong secrets",
      command: `SEED=${SEED} KURIER_TEST_TURNS=${TURNS} npm run -s test:faults -- guess-times`,
      remark: REMARK,
      columns: [
        "Guess",
        "Trials",
        "Median, µs",
        "p90, µs",
        "Compared with",
        "Difference, µs",
        "Two standard errors, µs",
      ],
      rows: kinds.map(({ name, times }) => {
        const other = ALIKE[name];
        const [mean, error] = other === undefined ? [] : difference(times, timesOf(other));
        return [
          ...[name, times.length, micros(quantile(times, 0.5)), micros(quantile(times, 0.9)), other ?? "–"],
          ...[mean, error].map((ms) => (ms === undefined ? "–" : micros(ms))),
        ];
      }),
    });
  } finally {
    await node.stop();
    await db.drop();
  }
});

const REMARK = `Wrong secrets in turns of every kind, in one process with its node and a Postgres beside it that does not sync; no HTTP is between, which would hide more. A difference is the mean of those of the medians of ${BLOCKS} blocks of turns, with two standard errors of it. Whoever guesses over the network has five failures in ten minutes for a client, before he is told to wait.`;
