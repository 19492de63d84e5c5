/** What clients were promised about each document and each event, and a sentence for each promise that was not kept. */
import type { FeedEvent } from "../../../engine/storage/events/feed.js";
import type { SideFacts } from "../../support/truth/oracle.js";
import type { ReceivedCall } from "../../support/webhooks/receiver.js";
import type { Read } from "./traffic.js";

const EVENT_ID = "x-webhook-event-id";

const counted = <T>(items: readonly T[]): ReadonlyMap<T, number> => {
  const counts = new Map<T, number>();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  return counts;
};

type Proofs = [proved: number, taken: number, repeats: number];

/**
 * Each accepted document is delivered, was read once by its receiver with its bytes, and is proved by either side: each
 * receipt of the sender has its record at the receiver, of which one is that of its arrival.
 * @param read  what stood in the inboxes of the other side
 */
export function brokenDeliveries(
  side: Pick<SideFacts, "name" | "accepted" | "outgoing" | "evidence">,
  other: Pick<SideFacts, "evidence">,
  read: readonly Read[],
): readonly string[] {
  const rows = new Map(side.outgoing.map((row) => [row.id, row]));
  const reads = counted(read.map(({ sha256 }) => sha256));
  const proofs = (of: Pick<SideFacts, "evidence">, outcomes: readonly string[]): ReadonlyMap<string, number> =>
    counted(of.evidence.filter(({ outcome }) => outcomes.includes(outcome)).map(({ messageId }) => messageId));
  // An attempt whose engine was given up for dead is made again by another one, under the same MessageId and signed anew:
  // both receipts are proved at the sender, and at the receiver the arrival and that it came again.
  const [sent, arrived, again] = [
    proofs(side, ["receipt", "already_handed_over"]),
    proofs(other, ["stored"]),
    proofs(other, ["duplicate"]),
  ];
  return side.accepted.flatMap(({ id, sha256 }) => {
    const row = rows.get(id);
    const messageId = row?.messageId ?? "";
    const times = reads.get(sha256) ?? 0;
    const [proved, taken, repeats] = [sent, arrived, again].map((of) => of.get(messageId) ?? 0) as Proofs;
    return [
      ...(row?.status === "delivered" ? [] : [`${side.name}: ${id} is ${row?.status ?? "nowhere"}`]),
      ...(times === 1 ? [] : [`${side.name}: ${id} was found ${times} times in the inbox of its receiver`]),
      ...(proved >= 1 && taken === 1 && proved <= taken + repeats
        ? []
        : [`${side.name}: ${id} has ${proved} proofs, ${taken} at its receiver, and ${repeats} that it came again`]),
    ];
  });
}

/** Every event came at least once, each time with the same bytes, and nothing came that has not happened. */
export function brokenNotices(
  events: readonly Pick<FeedEvent, "id" | "kind">[],
  calls: readonly Pick<ReceivedCall, "headers" | "body">[],
): readonly string[] {
  const told = new Map<string, Set<string>>();
  for (const { headers, body } of calls) {
    const id = headers[EVENT_ID] ?? "";
    told.set(id, (told.get(id) ?? new Set()).add(body.toString("utf8")));
  }
  const happened = new Map(events.map(({ id, kind }) => [id, kind]));
  return [
    ...[...counted(events.map(({ id }) => id))].filter(([, n]) => n > 1).map(([id]) => `two events have the id ${id}`),
    ...events.filter(({ id }) => !told.has(id)).map(({ id, kind }) => `${kind} ${id} was told to nobody`),
    ...[...told]
      .filter(([, forms]) => forms.size > 1)
      .map(([id, forms]) => `${id} came as ${[...forms].join(" and ")}`),
    ...[...told.entries()]
      .filter(([id, [form]]) => !form?.includes(happened.get(id) ?? "?"))
      .map(([id]) => `${id} was told and has not happened so`),
  ];
}
