/**
 * Look-ups of an attempt that nobody on the network has answered, because we could not ask or had a fault: they use
 * nothing of the plan of attempts.
 */
import { beforeAll, beforeEach, describe, expect, test } from "vitest";

import type { ParticipantId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { silentLog } from "../../../engine/base/log.js";
import { waitAfter } from "../../../engine/documents/delivery/dispatch.js";
import { smpEndpoints } from "../../../engine/peppol/as4/trust.js";
import { createSmpLookup } from "../../../engine/peppol/discovery/smp.js";
import type { SmpLookup } from "../../../engine/peppol/discovery/smp.js";
import { createSmpServer } from "../../../engine/peppol/discovery/smp-server.js";
import { createEmbeddedSource } from "../../../engine/peppol/discovery/smp-source.js";
import type { MetadataSource } from "../../../engine/peppol/discovery/smp-source.js";
import { BILLING_CAPABILITIES } from "../../../engine/peppol/envelope/identifiers.js";
import type { Outcome } from "../../../engine/peppol/transport.js";
import { JobFailed, JobQuarantined, PoolBusy } from "../../../validators/pool.js";
import { inThread } from "../../support/as4/as4.js";
import { accessPoint } from "../../support/as4/as4-keys.js";
import type { AccessPoint } from "../../support/as4/as4-keys.js";
import { outgoing, transportTo } from "../../support/as4/outgoing.js";
import { fakeClock } from "../../support/fake-clock.js";
import type { FakeClock } from "../../support/fake-clock.js";
import { trustOf } from "../../support/peppol/smp.js";
import { makeTestPki } from "../../support/peppol/test-pki.js";
import type { TestPki } from "../../support/peppol/test-pki.js";

const PINT = "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##urn:peppol:pint:billing-1@jp-1::2.1";

let us: AccessPoint;
let pki: TestPki;
let clock: FakeClock;
let asked: number;
beforeAll(async () => {
  us = accessPoint("PSK000001");
  pki = await makeTestPki();
});
beforeEach(() => {
  clock = fakeClock();
  asked = 0;
});

const silent = new Promise<never>(() => undefined);

/** A look-up over what a test decides; each question to the source is counted. */
function lookupOver(source: Partial<MetadataSource>): SmpLookup {
  const counted =
    <Question, Answer>(answer: (question: Question) => Promise<Answer>) =>
    (question: Question): Promise<Answer> => {
      asked += 1;
      return answer(question);
    };
  return createSmpLookup({
    source: {
      metadata: counted(source.metadata ?? (() => silent)),
      redirected: counted(source.redirected ?? (() => silent)),
      group: counted(source.group ?? (() => silent)),
      forget: () => undefined,
    },
    reader: { metadata: () => silent, group: () => silent },
    pki: trustOf(pki, clock),
    policy: { allowLoopback: true, ownOrigins: [] },
    clock,
    log: silentLog,
  });
}

/** What becomes of an attempt whose recipient is looked up so. */
function attempt(
  lookup: SmpLookup,
  receiver = "0245:1234567890",
  documentTypeId = BILLING_CAPABILITIES[0]?.documentTypeId ?? "",
): Promise<Outcome> {
  const http = (): Promise<never> => Promise.reject(new Error("nothing is sent"));
  return transportTo("", [us, us], { endpoints: smpEndpoints(lookup, "off"), http, clock }).deliver(
    outgoing({ receiver: receiver as ParticipantId, documentTypeId, createdAt: clock.now() }),
    new AbortController().signal,
  );
}

/** Takes every place that there is for look-ups. */
function fill(lookup: SmpLookup): void {
  for (let n = 0; n < LIMITS.smp_lookups_max; n += 1)
    void lookup.lookup({ participant: `0245:${n}` as ParticipantId, documentType: "urn:any" });
}

const usedBy = (outcome: Outcome): string =>
  waitAfter(LIMITS.retry_plan_ms, { answers: 0, faults: 0 }, outcome, () => 0.5).uses;

describe("with as many look-ups under way as there may be", () => {
  const DEFERRED = {
    kind: "deferred",
    code: "LOOKUPS_BUSY",
    retryAfter_ms: LIMITS.smp_busy_retry_ms,
    keepsPlace: true,
  };

  test("a document that finds no place for its look-up is deferred in its place: nobody was asked, and nothing of its plan is used", async () => {
    const lookup = lookupOver({});
    fill(lookup);
    const outcome = await attempt(lookup);
    expect(outcome).toMatchObject(DEFERRED);
    expect([usedBy(outcome), asked]).toEqual(["nothing", LIMITS.smp_lookups_max]);
  });

  test("a document that our own SMP has no time to answer for is deferred in its place", async () => {
    const lookup = lookupOver({ metadata: async () => ({ kind: "failed", reason: "busy" }) });
    expect(await attempt(lookup)).toMatchObject(DEFERRED);
  });

  test("a type that a wildcard may take is not called unsupported while nobody can be asked for the wildcards", async () => {
    const lookup = lookupOver({ metadata: async () => ({ kind: "no_document" }) });
    const question = { participant: "0245:1234567890" as ParticipantId, documentType: PINT };
    for (let n = 0; n < LIMITS.smp_lookups_max; n += 1) void lookup.documentTypes(`0245:${n}` as ParticipantId);
    expect(await lookup.lookup(question)).toMatchObject({ status: "lookup_failed", reason: "busy" });
    expect(await attempt(lookup, "0245:1234567890", PINT)).toMatchObject(DEFERRED);
  });
});

describe("a fault of ours in a look-up", () => {
  const notAsked = (): never => {
    throw new Error("not asked");
  };
  const failing = (error: Error): Partial<MetadataSource> => ({ metadata: () => Promise.reject(error) });

  test.each([
    ["a job of a worker that failed", new JobFailed("a bug")],
    ["a database that is away", new Error("CONNECTION_CLOSED")],
  ])(
    "a look-up that ends with %s is no outcome of the network: the document waits as after other faults of ours",
    async (_, error) => {
      const outcome = await attempt(lookupOver(failing(error)));
      expect(outcome).toMatchObject({ kind: "internal", code: "LOOKUP" });
      expect(usedBy(outcome)).toBe("fault");
    },
  );

  test("our own SMP says nothing of a recipient while the database is away, and the plan is not used", async () => {
    const server = createSmpServer({
      find: () => Promise.reject(new Error("CONNECTION_CLOSED")),
      crypto: inThread,
      keys: { ap: notAsked, smp: notAsked },
      endpointUrl: "https://ap.example/as4",
      baseUrl: "https://ap.example/smp",
      log: silentLog,
    });
    const outcome = await attempt(lookupOver(createEmbeddedSource(server)));
    expect(outcome).toMatchObject({ kind: "internal", code: "LOOKUP" });
    expect(usedBy(outcome)).toBe("fault");
  });

  test("a document whose SMP has answered what no worker takes is deferred in its place", async () => {
    const outcome = await attempt(lookupOver(failing(new PoolBusy("small"))));
    expect(outcome).toMatchObject({ kind: "deferred", code: "WORKERS_BUSY", keepsPlace: true });
    expect(usedBy(outcome)).toBe("nothing");
  });

  test("an SMP's answer that kills workers is an answer: it cannot be believed, and uses the plan", async () => {
    const outcome = await attempt(lookupOver(failing(new JobQuarantined("00"))));
    expect(outcome).toMatchObject({ kind: "lookup_failed", code: "lookup_failed quarantined" });
    expect(usedBy(outcome)).toBe("answer");
  });

  test.each([
    ["a fault", new JobFailed("a bug"), LIMITS.fault_wait_first_ms],
    ["a busy worker", new PoolBusy("small"), LIMITS.workers_busy_retry_ms],
  ])("the attempt after a look-up that ended with %s asks anew", async (_, error, wait_ms) => {
    const lookup = lookupOver(failing(error));
    await attempt(lookup);
    clock.advance(wait_ms);
    await attempt(lookup);
    expect(asked).toBe(2);
  });

  test("a fault in asking for the wildcards of a recipient is ours as well", async () => {
    const lookup = lookupOver({
      metadata: async () => ({ kind: "no_document" }),
      group: () => Promise.reject(new JobFailed("a bug")),
    });
    expect(await attempt(lookup, "0245:1234567890", PINT)).toMatchObject({ kind: "internal", code: "LOOKUP" });
  });
});
