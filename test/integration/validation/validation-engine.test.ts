/** Validation inside a running engine: what it measures, and the operator's rule packs. */
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { invoiceWithLines } from "../../../bench/documents.js";
import { familyOf } from "../../../engine/documents/accept/validators.js";
import { importRules } from "../../../validators/schematron/release/import.js";
import { setActive } from "../../../validators/schematron/release/load.js";
import { conformance, describeConformance } from "../../support/conformance.js";
import { accessToken, http, send, sendParts, startTestEngine } from "../../support/engines/engine.js";
import type { TestEngine } from "../../support/engines/engine.js";

const VALID = invoiceWithLines(2).toString();
const BROKEN = VALID.replace(/(<cbc:PayableAmount currencyID="EUR">)[^<]*/u, "$11.00").replace(
  "<cbc:BuyerReference>",
  "<cbc:Unheard/><cbc:BuyerReference>",
);

interface Verdict {
  valid: boolean;
  peppol: { valid: boolean; messages: { ruleId: string; message: string; layer: string }[] };
}
const judge = async (t: TestEngine, xml: string): Promise<Verdict> =>
  (await http("POST", `${t.engine.publicUrl}/api/validate`, { "content-type": "application/xml" }, xml))
    .json as unknown as Verdict;

test.each([
  ["BR-CO-15", "BR-CO"],
  ["BR-S-08", "BR-S"],
  ["BR-01", "BR"],
  ["UBL-CR-002", "UBL-CR"],
  ["PEPPOL-EN16931-R004", "PEPPOL-EN16931"],
  ["PEPPOL-COMMON-R040", "PEPPOL-COMMON"],
  ["DE-R-020", "DE-R"],
  ["UBL-GRAMMAR-ORDER", "UBL-GRAMMAR"],
  ["XML-DOCTYPE", "XML"],
  ["!err:FORG0001", "!err"],
  ["7", "other"],
])("%s belongs to the rule family %s", (ruleId, family) => expect(familyOf(ruleId)).toBe(family));

describe("metrics", () => {
  let t: TestEngine;
  beforeAll(async () => {
    t = await startTestEngine();
  });
  afterAll(() => t.stop());

  /** Samples of the scraped page: name with labels → value. */
  async function scrape(): Promise<Map<string, number>> {
    const { text } = await http("GET", `${t.engine.adminUrl}/metrics`);
    return new Map(
      text
        .split("\n")
        .filter((line) => line.startsWith("kurier_validation_"))
        .map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ") + 1))]),
    );
  }

  test("the metrics tell durations by lane as the worker measured them, findings by layer and severity, and by rule family: of every door", async () => {
    await judge(t, BROKEN);
    const mailbox = {
      participantId: t.sandbox.sender.participantId,
      token: await accessToken(t.sandbox, t.sandbox.sender),
    };
    const refused = await send(
      t.sandbox,
      mailbox,
      sendParts(mailbox.participantId, t.sandbox.receiver.participantId, BROKEN),
    );
    expect(refused.status).toBe(422);
    // Above 256 KiB, so that it goes to the lane of large documents.
    expect((await judge(t, invoiceWithLines(250).toString())).valid).toBe(true);
    const samples = await scrape();
    const value = (name: string): number => samples.get(`kurier_validation_${name}`) ?? 0;
    expect(value('duration_seconds_count{lane="small"}')).toBe(2);
    expect(value('duration_seconds_count{lane="large"}')).toBe(1);
    expect(value('duration_seconds_sum{lane="large"}')).toBeGreaterThan(0);
    expect(value('duration_seconds_sum{lane="small"}')).toBeGreaterThan(0);
    expect(value('findings_total{layer="schema",severity="error"}')).toBe(2);
    expect(value('findings_total{layer="en16931",severity="fatal"}')).toBeGreaterThanOrEqual(2);
    expect(value('rule_family_total{family="UBL-GRAMMAR"}')).toBe(2);
    expect(value('rule_family_total{family="BR-CO"}')).toBeGreaterThanOrEqual(2);
  });

  test("labels come from closed lists: no rule id of a document's own, no tenant", async () => {
    await judge(t, "<nonsense/>");
    for (const name of (await scrape()).keys())
      expect(name).toMatch(
        /\{(le="[^"]+",)?(lane="(small|large)"|layer="(xml|schema|en16931|peppol|pack)",severity="(fatal|error|warning)"|family="!?[A-Za-z]+(-[A-Z0-9]+)?")\}$/u,
      );
  });
});

const RULE = (context: string, id: string): string =>
  `<schema xmlns="http://purl.oclc.org/dsdl/schematron" queryBinding="xslt2"><ns prefix="ubl" uri="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2"/><ns prefix="cbc" uri="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2"/><pattern><rule context="${context}"><assert id="${id}" flag="fatal" test="starts-with(cbc:ID, 'HOUSE-')">Numbers of this house begin with HOUSE-.</assert></rule></pattern></schema>`;

describe("RULES_DIR", () => {
  let folder: string;
  let engine: TestEngine | undefined;
  const importInto = (source: string, id: string): void => {
    importRules({ source, rulesDir: join(folder, "packs"), id });
    setActive(join(folder, "packs"), id, true);
  };
  const start = async (): Promise<TestEngine> =>
    (engine = await startTestEngine({ config: { RULES_DIR: join(folder, "packs") } }));

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "kurier-packs-"));
  });
  afterEach(async () => {
    await engine?.stop();
    engine = undefined;
    rmSync(join(folder, "packs"), { recursive: true, force: true });
  });
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  const importHouse = (): void => {
    const release = mkdtempSync(join(folder, "house-"));
    writeFileSync(join(release, "house.sch"), RULE("ubl:Invoice", "HOUSE-01"));
    importInto(release, "house");
  };

  test("an active pack judges in the workers: public validation shows it, a send is refused by it", async () => {
    importHouse();
    const t = await start();
    const verdict = await judge(t, VALID);
    expect(verdict.valid).toBe(false);
    expect(verdict.peppol.messages).toMatchObject([
      { ruleId: "HOUSE-01", layer: "pack:house", message: "Numbers of this house begin with HOUSE-." },
    ]);
    expect((await judge(t, VALID.replace("<cbc:ID>K-2<", "<cbc:ID>HOUSE-2<"))).valid).toBe(true);
    const sender = {
      participantId: t.sandbox.sender.participantId,
      token: await accessToken(t.sandbox, t.sandbox.sender),
    };
    const own = VALID.replaceAll("2020202020", sender.participantId.slice(5)).replaceAll(
      "2021212121",
      t.sandbox.receiver.participantId.slice(5),
    );
    const answer = await send(
      t.sandbox,
      sender,
      sendParts(sender.participantId, t.sandbox.receiver.participantId, own),
    );
    expect([answer.status, JSON.stringify(answer.json)]).toEqual([422, expect.stringContaining("HOUSE-01") as unknown]);
  });

  test.each([
    [
      "its compiled code was changed",
      () => {
        writeFileSync(join(folder, "packs/house/0.rules.js"), "return {};");
      },
      /house.*compiled code has changed/u,
    ],
    [
      "its sources were changed",
      () => {
        writeFileSync(join(folder, "packs/house/sources/house.sch"), RULE("ubl:Invoice", "HOUSE-02"));
      },
      /house.*house\.sch has changed/u,
    ],
    [
      "its manifest is damaged",
      () => {
        writeFileSync(
          join(folder, "packs/house/manifest.json"),
          readFileSync(join(folder, "packs/house/manifest.json"), "utf8").slice(0, -20),
        );
      },
      /house.*manifest\.json is missing or damaged/u,
    ],
    [
      "the folder is not there",
      () => {
        rmSync(join(folder, "packs"), { recursive: true });
      },
      /RULES_DIR names no folder/u,
    ],
    [
      "it leads through a file",
      () => {
        rmSync(join(folder, "packs"), { recursive: true });
        writeFileSync(join(folder, "file"), "");
        symlinkSync(join(folder, "file", "packs"), join(folder, "packs"));
      },
      /RULES_DIR names no folder/u,
    ],
  ])("the start fails with one sentence when %s", async (_, damage, sentence) => {
    importHouse();
    damage();
    const error = await start().then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toMatchObject({ name: "ConfigError", message: expect.stringMatching(sentence) as unknown });
    expect((error as Error).message.split("\n")).toHaveLength(1);
  });
});

describeConformance("RULES_DIR with an official release", "schematron/peppol-3.0.19", () => {
  /** What the release of before did not have yet. */
  const SINCE_THEN = [
    ...["UBL-SR-54", "UBL-SR-55", "UBL-SR-56", "DE-R-T02", "DK-R-003", "DK-R-017", "PEPPOL-COMMON-R052"],
    ...["PEPPOL-COMMON-R053", "PEPPOL-COMMON-R054", "PEPPOL-COMMON-R055", "PEPPOL-COMMON-R056-1"],
    ...["PEPPOL-COMMON-R056-2", "PEPPOL-COMMON-R057"],
  ];

  test("a release of before takes the place of the built-in rules, in the workers, once what it lacks is named", async () => {
    const packs = mkdtempSync(join(tmpdir(), "kurier-packs-"));
    importRules({ source: conformance("schematron", "peppol-3.0.19"), rulesDir: packs, without: SINCE_THEN });
    setActive(packs, "peppol-3.0.19", true);
    const [imported, builtIn] = [await startTestEngine({ config: { RULES_DIR: packs } }), await startTestEngine()];
    try {
      const ids = async (t: TestEngine): Promise<string[]> =>
        (await judge(t, VALID)).peppol.messages.map(({ ruleId }) => ruleId);
      // The scheme 0245 of Slovak tax numbers came into the code list later: each endpoint is wrong by the rules of then.
      expect(await ids(imported)).toEqual(["PEPPOL-EN16931-CL008", "PEPPOL-EN16931-CL008"]);
      expect(await ids(builtIn)).toEqual([]);
    } finally {
      await imported.stop();
      await builtIn.stop();
      rmSync(packs, { recursive: true, force: true });
    }
  });
});
