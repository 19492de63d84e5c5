/** What a participant has received: the list, one document, the mark that it was processed. */
import { setTimeout as pause } from "node:timers/promises";

import type { Clock } from "../../base/clock.js";
import { cutPage } from "../../base/cursors.js";
import type { Cursors } from "../../base/cursors.js";
import { Refusal, temporary } from "../../base/errors.js";
import { participantKey } from "../../base/ids.js";
import type { FirmId, ParticipantId, ReceivedDocumentId } from "../../base/ids.js";
import type { ReceivedState } from "../../lifecycle/received.js";
import { LIMITS } from "../../base/limits.js";
import { acknowledgeReceived, findReceived, listReceived, markShown } from "../../storage/documents/received.js";
import type {
  Acknowledgement,
  InboxAnswer,
  InboxQuery,
  Mailbox,
  ReceivedDetail,
  ReceivedItem,
} from "../../storage/documents/received.js";
import { openDigested } from "../../storage/payloads/payloads.js";
import type { Sealer } from "../../storage/sealer.js";
import { orNotFound, orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";

interface InboxPage {
  readonly documents: readonly ReceivedItem[];
  readonly nextPageToken: string | null;
}

/** Who reads: a participant as the firm that it belongs to now. What it received for another firm is not theirs. */
export interface Reader {
  readonly firmId: FirmId;
  readonly participantId: ParticipantId;
}

/** To whom what is read is given. */
export interface Giving {
  /** Whether to anybody: the caller of HEAD is given nothing. @default true */
  readonly isShown?: boolean | undefined;
}

interface InboxRequest extends Giving {
  readonly reader: Reader;
  readonly status: ReceivedState;
  readonly limit: number;
  readonly pageToken: string | undefined;
}

/** A received document with the exact octets of its UBL. */
export interface ReceivedDocument extends Omit<
  ReceivedDetail,
  "payloadSha256" | "payloadKeyId" | "payloadSealed" | "isNew"
> {
  readonly payload: Buffer;
}

export interface Inbox {
  /** @throws Refusal REQUEST_INVALID for a page token that is not of this list; TEMPORARY */
  list(request: InboxRequest): Promise<InboxPage>;
  /** @throws Refusal NOT_FOUND; TEMPORARY */
  read(reader: Reader, id: ReceivedDocumentId, giving?: Giving): Promise<ReceivedDocument>;
}

const mailboxOf = ({ firmId, participantId }: Reader): Mailbox => ({
  firmId,
  participantKey: participantKey(participantId),
});

/** What a firm acknowledges. */
export interface Acknowledged {
  readonly id: ReceivedDocumentId;
  /** What the firm's own program calls the document. @default nothing */
  readonly reference?: string | undefined;
}

/**
 * Marks a received document as processed. Idempotent: a second time answers the first time's instant and reference.
 * @throws Refusal NOT_FOUND; TEMPORARY
 */
export const acknowledge = (
  { sql, clock }: { readonly sql: Sql; readonly clock: Clock },
  reader: Reader,
  { id, reference }: Acknowledged,
): Promise<Acknowledgement> =>
  orNotFound(acknowledgeReceived(sql, { ...mailboxOf(reader), id, now: clock.now(), reference }));

interface Asked {
  readonly query: InboxQuery;
  readonly resolve: (answer: InboxAnswer) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Gathers the questions of one turn of the event loop into one statement; under load that is one round trip for dozens.
 * Who finds too many waiting before is told to come again.
 */
function createBatchedList(sql: Sql): (query: InboxQuery) => Promise<InboxAnswer> {
  let asked: Asked[] = [];
  const flush = (): void => {
    const batch = asked.slice(0, LIMITS.read_batch);
    asked = asked.slice(LIMITS.read_batch);
    if (asked.length > 0) setImmediate(flush);
    listReceived(
      sql,
      batch.map((item) => item.query),
    ).then(
      (answers) => {
        batch.forEach((item, index) => {
          item.resolve(answers[index] ?? { items: [], isAnyHeld: false });
        });
      },
      (error: unknown) => {
        for (const item of batch) item.reject(error);
      },
    );
  };
  return (query) =>
    new Promise((resolve, reject) => {
      if (asked.length >= LIMITS.statement_waiting_max) throw temporary();
      asked.push({ query, resolve, reject });
      if (asked.length === 1) setImmediate(flush);
    });
}

const listName = ({ firmId, participantKey: key }: Mailbox, status: ReceivedState): string =>
  `receive/${firmId}/${key}/${status}`;

/** The position behind a page token. @throws Refusal REQUEST_INVALID */
function positionOf(cursors: Cursors, list: string, token: string): string {
  const position = cursors.open(list, token);
  if (position !== undefined) return position;
  throw new Refusal("REQUEST_INVALID", [
    { field: "pageToken", message: "Use nextPageToken of this list as it was given, or start without pageToken." },
  ]);
}

export function createInbox(ports: {
  readonly sql: Sql;
  readonly sealer: Sealer;
  readonly cursors: Cursors;
  readonly clock: Clock;
}): Inbox {
  const { sql, sealer, cursors, clock } = ports;
  const ask = createBatchedList(sql);

  /**
   * Waits a moment for documents that are being judged: a client that has seen "delivered" at the sender's expects the
   * document in the next list.
   */
  async function settled(query: InboxQuery): Promise<InboxAnswer["items"]> {
    for (let wait_ms = LIMITS.held_list_first_wait_ms; ; wait_ms *= 2) {
      const { items, isAnyHeld } = await orTemporary(ask(query));
      if (!isAnyHeld || query.status !== "RECEIVED" || wait_ms > LIMITS.held_list_last_wait_ms) return items;
      await pause(wait_ms);
    }
  }

  /** Marks what an answer shows for the first time, before it is given: the meter counts it. */
  async function shown(documents: readonly Pick<ReceivedDetail, "id" | "isNew">[]): Promise<void> {
    const fresh = documents.filter(({ isNew }) => isNew).map(({ id }) => id);
    if (fresh.length > 0) await orTemporary(markShown(sql, { ids: fresh, now: clock.now() }));
  }

  return {
    list: async ({ reader, status, limit, pageToken, isShown = true }) => {
      const mailbox = mailboxOf(reader);
      const list = listName(mailbox, status);
      const after = pageToken === undefined ? "0" : positionOf(cursors, list, pageToken);
      const heldSince = clock.now() - LIMITS.held_max_ms;
      const items = await settled({ ...mailbox, status, limit: limit + 1, after, heldSince });
      const page = cutPage(cursors, list, items, { limit, placeOf: ({ position }) => position });
      if (isShown) await shown(page.rows);
      return { documents: page.rows, nextPageToken: page.nextCursor };
    },
    read: async (reader, id, { isShown = true } = {}) => {
      const found = await orNotFound(findReceived(sql, mailboxOf(reader), id));
      const { payloadSha256, payloadKeyId, payloadSealed, isNew, ...document } = found;
      const payload = await openDigested(sealer, id, { payloadSha256, payloadKeyId, payloadSealed });
      if (isShown) await shown([{ id, isNew }]);
      return { ...document, payload };
    },
  };
}
