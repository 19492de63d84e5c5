/** Changes of the code that each break one invariant, and the test that must notice. */

export interface Mutation {
  readonly invariant: string;
  /** What the changed code does. */
  readonly what: string;
  readonly edits: readonly { readonly file: string; readonly from: string; readonly to: string }[];
  readonly test: { readonly file: string; readonly title: string };
  /** What the failing test must say. */
  readonly says: RegExp;
}

/** Two engines and the oracle of all invariants. */
const ORACLE = {
  file: "test/integration/access-points/as4-two-engines.test.ts",
  title: "after twenty exchanges each way at once all invariants hold, and the evidence of both sides is whole",
} as const;

const SEND = "engine/documents/accept/send.ts";
const DISPATCH = "engine/documents/delivery/dispatch.ts";
const edit = (file: string, from: string, to: string): Mutation["edits"] => [{ file, from, to }];

export const MUTATIONS: readonly Mutation[] = [
  {
    invariant: "I1",
    what: "an acceptance is answered with an id that nobody stored",
    edits: edit(
      SEND,
      "body: outcome.replyBody, replayed: false",
      "body: outcome.replyBody.replaceAll(id, newId(ports.clock)), replayed: false",
    ),
    test: ORACLE,
    says: /I1 .*the accepted document/,
  },
  {
    invariant: "I2",
    what: "each attempt draws a MessageId of its own",
    edits: edit(
      DISPATCH,
      "        as4MessageId: taken.as4MessageId,",
      "        as4MessageId: `${newId(ports.clock)}@mutant`,",
    ),
    test: ORACLE,
    says: /I2 /,
  },
  {
    invariant: "I3",
    what: "an attempt that may be repeated leaves no time for the next",
    edits: edit(
      DISPATCH,
      "nextAttemptAt: retryable && isAttemptable(end) ? next : undefined",
      "nextAttemptAt: undefined",
    ),
    test: {
      file: "test/unit/engine/documents/lifecycle.test.ts",
      title: "every outcome leaves the document final or due again",
    },
    says: /every outcome leaves the document final or due again/,
  },
  {
    invariant: "I4",
    what: "history names another trigger than the one that moved the document",
    edits: edit(DISPATCH, "[{ status: to, trigger, detail:", '[{ status: to, trigger: "transmitted", detail:'),
    test: ORACLE,
    says: /I4 .*went from/,
  },
  {
    invariant: "I5",
    what: "a repeat is answered with a blank more",
    edits: edit(SEND, "body: stored.replyBody, replayed: true", "body: `${stored.replyBody} `, replayed: true"),
    test: ORACLE,
    says: /I5 .*answered differently/,
  },
  {
    invariant: "I6",
    what: "the end of an attempt leaves its evidence out",
    edits: edit(DISPATCH, "evidence: outcome.evidence,", "evidence: undefined,"),
    test: ORACLE,
    says: /I6 .*without evidence/,
  },
  {
    invariant: "I7",
    what: "a receipt is not counted as an exchange",
    edits: edit(DISPATCH, 'if (outcome.kind !== "receipt" && outcome.kind', "if (outcome.kind"),
    test: ORACLE,
    says: /I7 .*is counted 0 times/,
  },
  {
    invariant: "I8",
    what: "the reads of a document forget whose it is",
    edits: [
      ...edit(
        "engine/storage/documents/documents.ts",
        "d.id = ${id} and d.firm_id = ${firmId}",
        "d.id = ${id} and ${firmId}::uuid is not null",
      ),
      ...edit(
        "engine/storage/documents/firm-sent.ts",
        "d.id = any (${[...ids]}::uuid[]) and d.firm_id = ${firmId}",
        "d.id = any (${[...ids]}::uuid[]) and ${firmId}::uuid is not null",
      ),
    ],
    test: ORACLE,
    says: /I8 /,
  },
  {
    invariant: "I9",
    what: "a line that was made to find a fault writes payloads to the standard error",
    edits: edit(
      SEND,
      'if (outcome.kind === "replay") return replay',
      'console.error(Buffer.from(request.payload).toString()); if (outcome.kind === "replay") return replay',
    ),
    test: ORACLE,
    says: /I9 .*the text of an invoice/,
  },
  {
    invariant: "I10",
    what: "20 MB are kept for each attempt",
    edits: edit(
      DISPATCH,
      "const outcome = await transmit(ports, taken);",
      "((globalThis as { kept?: Buffer[] }).kept ??= []).push(Buffer.alloc(20_000_000, 1)); const outcome = await transmit(ports, taken);",
    ),
    test: ORACLE,
    says: /I10 .*bytes, and may have/,
  },
];
