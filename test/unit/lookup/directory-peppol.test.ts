/** The Peppol Directory is asked by few at once, whatever its clients do. */
import { expect, test } from "vitest";

import { Refusal } from "../../../engine/base/errors.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { silentLog } from "../../../engine/base/log.js";
import { peppolDirectory } from "../../../engine/lookup/directory-peppol.js";
import type { Http, HttpResult } from "../../../engine/peppol/network/http.js";
import { fakeClock } from "../../support/fake-clock.js";

const EMPTY: HttpResult = {
  kind: "response",
  status: 200,
  contentType: "application/json",
  body: Buffer.from(JSON.stringify({ "total-result-count": 0, matches: [] })),
  connection: { address: undefined, tlsVersion: undefined, tlsCertificateSha256: undefined },
};

const asked = (q: string) => ({ q, country: undefined, page: 1, pageSize: 10 });

test("questions beyond those that may be under way are turned away, and go again when there is room", async () => {
  const answers: ((result: HttpResult) => void)[] = [];
  const http: Http = () =>
    new Promise((resolve) => {
      answers.push(resolve);
    });
  const clock = fakeClock();
  const directory = peppolDirectory({ url: "https://directory.example", http, clock, log: silentLog });
  const waiting = Array.from({ length: LIMITS.directory_at_once_max }, (_, n) => directory.search(asked(`slow ${n}`)));
  const refused = await directory.search(asked("one more")).catch((error: unknown) => error);
  expect(refused instanceof Refusal && refused.reason).toBe("TEMPORARY");
  for (const answer of answers) answer(EMPTY);
  expect(await Promise.all(waiting)).toEqual(waiting.map(() => ({ entries: [], total: 0 })));
  const again = directory.search(asked("one more"));
  answers.at(-1)?.(EMPTY);
  expect(await again).toEqual({ entries: [], total: 0 });
});

test("an answer of the directory is believed for its time, and asked for again afterwards", async () => {
  let questions = 0;
  const http: Http = () => {
    questions += 1;
    return Promise.resolve(EMPTY);
  };
  const clock = fakeClock();
  const directory = peppolDirectory({ url: "https://directory.example", http, clock, log: silentLog });
  await directory.search(asked("x"));
  await directory.search(asked("x"));
  clock.advance(LIMITS.directory_cache_ms);
  await directory.search(asked("x"));
  expect(questions).toBe(2);
});
