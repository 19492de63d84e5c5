/** Items of the Box as the interface makes them, and how late they have started. */
import { bratislavaDay, isoInstant, systemClock } from "../../engine/base/clock.js";
import { newBoxItemId } from "../../engine/base/ids.js";
import type { ParticipantId } from "../../engine/base/ids.js";
import { boxContext } from "../../engine/documents/box/create.js";
import { sampleInvoice } from "../../engine/invoices/sample-invoice.js";
import { BILLING_CAPABILITIES } from "../../engine/peppol/envelope/identifiers.js";
import { packPayload } from "../../engine/storage/payloads/payloads.js";
import type { Sealer } from "../../engine/storage/sealer.js";
import type { BenchEngine, BenchFirm } from "../engine.js";
import { LINES } from "../send-requests.js";

/** Items that one statement makes. */
const AT_ONCE = 200;
/** Later than anything that is measured. */
const FAR_MS = 24 * 3_600_000;

/** Items that fall due evenly over some seconds. */
export interface Batch {
  readonly name: string;
  readonly count: number;
  readonly seconds: number;
  /** Of item n. */
  readonly firmOf: (n: number) => BenchFirm;
  readonly to: string;
}

/** One item as the engine's own function takes it. */
async function itemOf(sealer: Sealer, batch: Batch, n: number) {
  const id = newBoxItemId(systemClock);
  const { participantId, clientId } = batch.firmOf(n);
  const [sender, receiver] = [participantId as ParticipantId, batch.to as ParticipantId];
  const payload = Buffer.from(
    sampleInvoice({
      ...{ sender, receiver, senderName: "Bench s. r. o.", receiverName: "Príjemca a. s.", number: id, lines: LINES },
      issueDate: bratislavaDay(systemClock.now()),
    }),
  );
  const { sha256, sealed } = await packPayload(sealer, boxContext(id), payload);
  const row = {
    id,
    firmId: clientId,
    integratorId: null,
    keyId: clientId,
    externalId: `${batch.name} ${n}`,
    sender,
    receiver,
    documentTypeId: BILLING_CAPABILITIES[0]?.documentTypeId ?? "",
    processId: BILLING_CAPABILITIES[0]?.processId ?? "",
    payloadBytes: payload.length,
    scheduledFor: isoInstant(systemClock.now() + FAR_MS),
    createdAt: isoInstant(systemClock.now()),
  };
  return { row, sha256, sealed };
}

/**
 * Makes items from number `from` on by the engine's own function, many in one statement: one each took three minutes
 * for a hundred thousand, nearly all of it for the commits.
 */
async function makeItems(
  { sql }: BenchEngine,
  sealer: Sealer,
  batch: Batch,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<void> {
  const items = await Promise.all(Array.from({ length: to - from }, (_, k) => itemOf(sealer, batch, from + k)));
  await sql`
    select count(c.id)
    from unnest(
      ${items.map(({ row }) => JSON.stringify(row))}::text[], ${items.map(({ sha256 }) => sha256)}::text[],
      ${items.map(({ sealed }) => sealed.toString("base64"))}::text[]
    ) as g (item, sha256, sealed)
    cross join lateral create_box_item(
      g.item::jsonb, decode(g.sha256, 'hex'), ${sealer.keyId}::text, decode(g.sealed, 'base64'), null,
      '{"actorType": "system"}'
    ) as c`;
}

/** Makes a batch that falls due evenly from some time on. @returns when the first is due */
export async function stage(engine: BenchEngine, sealer: Sealer, batch: Batch): Promise<number> {
  // Made first and given their times afterwards: making a hundred thousand takes longer than their minute.
  for (let from = 0; from < batch.count; from += AT_ONCE)
    await makeItems(engine, sealer, batch, { from, to: Math.min(from + AT_ONCE, batch.count) });
  const first = systemClock.now() + 2_000 + batch.count / 50;
  await engine.sql`
    with numbered as (
      select id, row_number() over (order by id) - 1 as n from box_item where external_id like ${`${batch.name} %`})
    update box_item as i set due_at = t.at, scheduled_for = t.at
    from (
      select id, to_timestamp(${first / 1_000}::float8 + n * ${batch.seconds / batch.count}::float8) as at from numbered
    ) as t
    where t.id = i.id`;
  return first;
}

/** How late items have started, in milliseconds; of a firm, or of all where that is empty. */
export interface Lateness {
  readonly firm: string;
  readonly started: number;
  readonly p50: number;
  readonly p99: number;
}

/** How late the items of a batch have started, of each firm and of all, as far as they have. */
export const latenessOf = (engine: BenchEngine, batch: Batch): Promise<Lateness[]> =>
  engine.sql<Lateness[]>`
    select coalesce(firm_id::text, '') as firm, count(*)::integer as started,
      (1000 * percentile_cont(0.5) within group (order by late))::float8 as p50,
      (1000 * percentile_cont(0.99) within group (order by late))::float8 as p99
    from (
      select i.firm_id, extract(epoch from d.created_at - i.scheduled_for) as late
      from box_item as i join document as d on d.id = i.document_id
      where i.external_id like ${`${batch.name} %`}
    ) as started
    group by rollup (firm_id)`;

/** Whether an item waits for its time, or for its document. */
export const isSomethingDue = async (engine: BenchEngine): Promise<boolean> =>
  (await engine.sql`select 1 from box_item where due_at is not null limit 1`).length > 0;
