/**
 * Goal: an engine that hears no announcement has the signing keys read for the tokens that it is shown, and however many
 * are shown at once, few statements. Method: a pool whose statements the test counts, and answers when it likes.
 * @source D-524
 */
import { generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";

import { LIMITS } from "../../../engine/base/limits.js";
import { silentLog } from "../../../engine/base/log.js";
import { createSigningKeys } from "../../../engine/identity/tokens/signing-keys.js";
import type { SigningKeyRow } from "../../../engine/storage/identity/signing-keys.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import { eventually } from "../../support/eventually.js";
import { fakeClock } from "../../support/fake-clock.js";
import { fakeSql } from "../../support/fake-sql.js";

const KID = "known";
const AT_ONCE = 100;
const clock = fakeClock();
const { x = "" } = generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" });

/** A key that signs now, on another engine: it is sealed with what this one has not. */
const ROW: SigningKeyRow = {
  ...{ kid: KID, seq: 1, publicJwk: { kty: "OKP", crv: "Ed25519", x }, retiredAt: null },
  ...{ privateSealed: Buffer.alloc(0), masterKeyId: "of another" },
  signsFrom: new Date(clock.now()),
  signsUntil: new Date(clock.now() + LIMITS.signing_key_active_ms),
};

/** The keys of an engine that hears no announcement; statements wait until the test answers them. */
function deafKeys() {
  // Bounded by the statements of a test.
  const waiting: ((rows: readonly SigningKeyRow[]) => void)[] = [];
  const seen = { statements: 0 };
  const sql = fakeSql(() => {
    seen.statements += 1;
    return new Promise((resolve) => waiting.push(resolve));
  });
  const sealer = createSealer([Buffer.alloc(32, 1)]);
  const keys = createSigningKeys({ sql, sealer, clock, log: silentLog, isFresh: () => false });
  const answer = async (...rows: readonly SigningKeyRow[]): Promise<void> =>
    (await eventually("a statement waits for its answer", () => waiting.shift()))(rows);
  return { keys, seen, answer };
}

/** The same, which have read their key once. */
async function readKeys() {
  const { keys, seen, answer } = deafKeys();
  const read = keys.reload();
  await answer(ROW);
  await read;
  seen.statements = 0;
  return { keys, seen, answer };
}

test("tokens that name unknown keys, however many at once, cost an engine that hears no announcement one statement at a time, and two at most", async () => {
  const { keys, seen, answer } = await readKeys();
  const shown = Array.from({ length: AT_ONCE }, (_, at) => keys.verifier(`unknown ${at}`));
  expect(seen.statements).toBe(1);
  await answer(ROW);
  await answer(ROW);
  expect(await Promise.all(shown)).toEqual(shown.map(() => undefined));
  expect(seen.statements).toBe(2);
});

test("a token of a key that another engine publishes while one that hears no announcement reads its keys is verified", async () => {
  const { keys, answer } = deafKeys();
  const [before, behind] = [keys.verifier("unknown"), keys.verifier(KID)];
  await answer();
  await answer(ROW);
  expect(await before).toBeUndefined();
  expect(await behind).toBeDefined();
});

test("a token that names a known key costs an engine that hears no announcement no statement before its signature is judged", async () => {
  const { keys, seen } = await readKeys();
  expect(await keys.verifier(KID)).toBeDefined();
  expect(seen.statements).toBe(0);
});

test("tokens of a known key, however many are judged at once, cost an engine that hears no announcement two statements at most", async () => {
  const { keys, seen, answer } = await readKeys();
  const judged = Promise.all(Array.from({ length: AT_ONCE }, () => keys.isBelieved(KID)));
  let isOver = false;
  void judged.finally(() => {
    isOver = true;
  });
  await answer(ROW);
  await answer(ROW);
  await eventually("all are judged", () => isOver || seen.statements > 2);
  expect([seen.statements, isOver]).toEqual([2, true]);
  expect(await judged).toEqual(Array.from({ length: AT_ONCE }, () => true));
});

test("a token that comes while an engine that hears no announcement reads its keys is judged by the next read", async () => {
  const { keys, answer } = await readKeys();
  const [before, behind] = [keys.isBelieved(KID), keys.isBelieved(KID)];
  await answer(ROW);
  expect(await before).toBe(true);
  await answer({ ...ROW, retiredAt: new Date(clock.now()) });
  expect(await behind).toBe(false);
});
