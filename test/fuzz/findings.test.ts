/**
 * What fuzzing has found, kept small, and a short run of the fuzzer itself.
 * `node test/support/engines/run-ts.mjs test/fuzz/run.ts 600` is the long one; `SEED=7 INPUTS=20000` makes this one longer.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { compileRelease } from "../../validators/schematron/release/import.js";
import { instantiate } from "../../validators/schematron/runtime/pack.js";
import { documentOf } from "../support/validators/packs.js";
import { Random, seedFrom } from "../support/random.js";
import { Fuzzer } from "./fuzzer.js";
import { instrumentValidators } from "./instrument.js";
import type { Instrumented } from "./instrument.js";
import { openTarget, schemaOf, TARGET_NAMES } from "./targets.js";

const SEED = seedFrom(20_261_126);
const INPUTS = Number(process.env["INPUTS"] ?? 400);

/** Imports a schema with one assert and runs it. */
function runAssert(expression: string): void {
  for (const { compiled } of compileRelease([
    { path: "f.sch", bytes: Buffer.from(schemaOf(expression)), sha256: "" },
  ])) {
    instantiate({ id: "pack:f", version: "1", layer: "pack:f" }, compiled.code).run(
      documentOf(Buffer.from('<r xmlns="urn:t"><a k="1"><t/></a></r>')),
      10,
    );
  }
}

describe("what the importer was broken by", () => {
  test.each([
    ["a path of two thousand steps", "t:a/..".repeat(1_000).replaceAll("..t", "../t")],
    ["predicates in long paths", `t:a${"/..".repeat(300)}[t:a${"/..".repeat(300)}]`],
    ["descendants of descendants", `t:a${"//t:a".repeat(1_500)}`],
    // Compiled in 1.5 s before: the code of each sum was written into that of the next.
    ["a sum of two thousand terms", Array(2_000).fill("t:n").join(" + ")],
    ["a thousand variables", `for ${Array.from({ length: 1_000 }, (_, i) => `$x${i} in 1`).join(", ")} return 1`],
    ["a union of two thousand paths", Array(2_000).fill("t:a").join(" | ")],
  ])("%s is refused by name and place", (_, expression) => {
    expect(() => {
      runAssert(expression);
    }).toThrow(/^f\.sch:1: .*nested too deeply/u);
  });

  test.each([
    ["the longest path", `t:a${"/..".repeat(390)}`],
    ["predicates in paths", `t:a${"/..".repeat(190)}[t:a${"/..".repeat(190)}]`],
    ["the longest sum", `${Array(390).fill("1").join(" + ")} = 390`],
  ])("%s that is allowed also runs", (_, expression) => {
    expect(() => {
      runAssert(expression);
    }).not.toThrow();
  });
});

describe(`a short run over each target (seed ${SEED})`, () => {
  let copy: Instrumented;
  beforeAll(() => {
    copy = instrumentValidators();
  });
  afterAll(() => {
    copy.remove();
  });

  test.each(TARGET_NAMES)(
    "%s: nothing crashes, hangs or hoards, and new places are reached",
    { timeout: 300_000 + INPUTS * 50 },
    async (name) => {
      const target = await openTarget(name, copy);
      const fuzzer = new Fuzzer(target, {
        random: new Random(SEED),
        counters: copy.counters,
        dictionary: copy.dictionary,
      });
      const fromSeeds = fuzzer.state.places;
      for (let i = 0; i < INPUTS; i += 1) fuzzer.step();
      expect(fuzzer.state.findings.map(({ problem, input }) => `${problem}\n${input.toString("base64")}`)).toEqual([]);
      expect(fuzzer.state.places).toBeGreaterThan(fromSeeds);
      expect(fuzzer.state.corpus.length).toBeGreaterThan(target.seeds.length);
    },
  );
});

test("a fault is found, told once and kept with its input", () => {
  const counters = new Uint8Array(4);
  const target = {
    name: "fault",
    seeds: [Buffer.from("a")],
    pieces: ["bug"],
    run: (input: Buffer) => {
      counters[input.length % 4] = 1;
      if (input.includes("bug")) throw new TypeError(`no ${input.length}`);
    },
  };
  const fuzzer = new Fuzzer(target, { random: new Random(SEED), counters, dictionary: [] });
  for (let i = 0; i < 200; i += 1) fuzzer.step();
  expect(fuzzer.state.findings).toHaveLength(1);
  expect(fuzzer.state.findings[0]?.input.includes("bug")).toBe(true);
});
