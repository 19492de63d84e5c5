/** A document as operators see it: its way and what was found, never what it says. */
import { LIMITS } from "../../../engine/base/limits.js";
import { html } from "../pages/html.js";
import type { Html } from "../pages/html.js";
import { dateText, numberCell, textCell } from "./cells.js";
import type { Cell, Section, Sheet, SheetAction } from "./sections.js";

/** A document, sent or received; instants in milliseconds. */
export interface DocumentSheet {
  readonly id: string;
  readonly direction: "sent" | "received";
  readonly status: string;
  readonly firmId: string;
  readonly sender: string;
  readonly receiver: string;
  readonly documentTypeId: string;
  readonly as4MessageId: string;
  readonly createdAt: number;
  readonly nextAttemptAt: number | null;
  readonly peerSeat: string | null;
  readonly timeline: readonly {
    readonly status: string;
    readonly trigger: string;
    readonly detail: string | null;
    readonly at: number;
  }[];
  readonly attempts: readonly {
    readonly number: number;
    readonly startedAt: number;
    readonly finishedAt: number | null;
    readonly outcome: string | null;
    readonly code: string | null;
    readonly detail: string | null;
  }[];
  readonly notApplied: readonly {
    readonly kind: string;
    readonly reason: string;
    readonly code: string | null;
    readonly at: number;
  }[];
  readonly notAppliedCount: number;
  readonly findings: readonly {
    readonly ruleId: string;
    readonly severity: string;
    readonly location: string;
    readonly message: string;
  }[];
  readonly evidence: readonly {
    readonly index: number;
    readonly direction: string;
    readonly outcome: string;
    readonly hash: string;
    readonly storedAt: number;
  }[];
}

const textCells = (...texts: readonly (string | null)[]): readonly Cell[] => texts.map((text) => textCell(text));

/** How many statuses changed nothing, which is counted as far as a limit. */
const countOf = ({ notAppliedCount: count }: DocumentSheet): string =>
  count >= LIMITS.statuses_ignored_counted_max ? `${count} or more` : String(count);

const sectionsOfDocument = (document: DocumentSheet): readonly Section[] => [
  {
    id: "timeline",
    title: "Timeline",
    columns: ["When", "State", "Because", "Detail"],
    rows: document.timeline.map(({ at, status, trigger, detail }) => textCells(dateText(at), status, trigger, detail)),
    empty: "Nothing but its receipt.",
  },
  {
    id: "attempts",
    title: "Attempts",
    columns: ["Number", "Begun", "Took", "Outcome", "Code", "Detail"],
    rows: document.attempts.map((attempt) => [
      numberCell(attempt.number),
      textCell(dateText(attempt.startedAt)),
      textCell(attempt.finishedAt === null ? "under way" : `${attempt.finishedAt - attempt.startedAt} ms`),
      {
        text: attempt.outcome ?? "under way",
        tone: attempt.outcome === "receipt" || attempt.outcome === null ? "well" : "late",
      },
      textCell(attempt.code),
      textCell(attempt.detail),
    ]),
    empty: "None.",
  },
  {
    id: "not-applied",
    title: "Statuses that changed nothing",
    columns: ["When", "What", "Why", "Code"],
    rows: [
      ...document.notApplied.map((one) => textCells(dateText(one.at), one.kind, one.reason, one.code)),
      ...(document.notAppliedCount > document.notApplied.length
        ? [textCells(null, `${countOf(document)} in all, the first of each reason shown`, null, null)]
        : []),
    ],
    empty: "None.",
  },
  {
    id: "findings",
    title: "Findings",
    columns: ["Rule", "Severity", "Where", "What"],
    rows: document.findings.map((one) => textCells(one.ruleId, one.severity, one.location, one.message)),
    empty: "None is kept.",
  },
  {
    id: "evidence",
    title: "Evidence",
    columns: ["Record", "Direction", "Outcome", "Hash", "Stored"],
    rows: document.evidence.map((one) => [
      numberCell(one.index),
      textCell(one.direction),
      textCell(one.outcome),
      textCell(one.hash),
      textCell(dateText(one.storedAt)),
    ]),
    empty: "None yet.",
  },
];

/** What can be done about a document in its state. */
const actionsOf = ({ id, direction, status, nextAttemptAt }: DocumentSheet): readonly SheetAction[] => [
  ...(nextAttemptAt === null ? [] : [{ path: "actions/retry", id, words: "try this document now" }]),
  ...(direction === "received" && status === "HELD"
    ? [{ path: "actions/release-document", id, words: "show this document to its firm without a verdict" }]
    : []),
  { path: "unmask", id, words: "see what this document says" },
];

/** What its firm has taken back is cancelled on every page, whatever word its programs have for that. */
const stateOf = ({ status, timeline }: DocumentSheet): string =>
  timeline.at(-1)?.trigger === "cancelled" ? `cancelled; its firm reads ${status}` : status;

/** The tables of a document, and what can be done about it. */
export const sheetOfDocument = (document: DocumentSheet): Sheet => ({
  title: `Document ${document.id}`,
  at: "",
  facts: [
    ["State", stateOf(document)],
    ["Direction", document.direction],
    ["Firm", document.firmId],
    ["Sender", document.sender],
    ["Receiver", document.receiver],
    ["Type", document.documentTypeId],
    ["AS4 message", document.as4MessageId],
    ["Since", dateText(document.createdAt)],
    ["Next attempt", document.nextAttemptAt === null ? "none" : dateText(document.nextAttemptAt)],
    ["Signed by", document.direction === "sent" ? "this access point" : (document.peerSeat ?? "unknown")],
  ],
  sections: sectionsOfDocument(document),
  actions: actionsOf(document),
});

/** Where the masked document stands in its page. */
export const maskedFrame = (id: string): Html =>
  html`<section aria-labelledby="masked">
    <h2 id="masked">What it says, masked</h2>
    <iframe class="invoice" title="The document, masked" src="/console/documents/${id}/masked"></iframe>
  </section>`;
