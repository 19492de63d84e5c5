/** Items of the Box as the interface makes them, and how late they have started. */
import { bratislavaDay, systemClock } from "../../engine/base/clock.js";
import { newBoxItemId, newId } from "../../engine/base/ids.js";
import type { FirmId, KeyId, ParticipantId } from "../../engine/base/ids.js";
import { boxContext } from "../../engine/documents/box/create.js";
import { sampleInvoice } from "../../engine/invoices/sample-invoice.js";
import { BILLING_CAPABILITIES } from "../../engine/peppol/envelope/identifiers.js";
import { createBoxItem } from "../../engine/storage/box/items.js";
import { packPayload } from "../../engine/storage/payloads/payloads.js";
import type { Sealer } from "../../engine/storage/sealer.js";
import type { BenchEngine, BenchFirm } from "../engine.js";
import { LINES } from "../send-requests.js";

const AT_ONCE = 16;

/** Items that fall due evenly over some seconds. */
export interface Batch {
  readonly name: string;
  readonly count: number;
  readonly seconds: number;
  /** Of item n. */
  readonly firmOf: (n: number) => BenchFirm;
  readonly to: string;
}

/** Makes one item by the engine's own statement, as the interface does. */
async function makeItem(
  engine: BenchEngine,
  sealer: Sealer,
  batch: Batch,
  at: { readonly n: number; readonly due: number },
): Promise<void> {
  const id = newBoxItemId(systemClock);
  const firm = batch.firmOf(at.n);
  const payload = Buffer.from(
    sampleInvoice({
      sender: firm.participantId as ParticipantId,
      receiver: batch.to as ParticipantId,
      senderName: "Bench s. r. o.",
      receiverName: "Príjemca a. s.",
      number: id,
      issueDate: bratislavaDay(systemClock.now()),
      lines: LINES,
    }),
  );
  const { sha256, sealed } = await packPayload(sealer, boxContext(id), payload);
  await createBoxItem(
    engine.sql,
    {
      id,
      firmId: firm.clientId as FirmId,
      integratorId: undefined,
      keyId: firm.clientId as KeyId,
      externalId: `${batch.name} ${at.n}`,
      sender: firm.participantId as ParticipantId,
      receiver: batch.to as ParticipantId,
      documentTypeId: BILLING_CAPABILITIES[0]?.documentTypeId ?? "",
      processId: BILLING_CAPABILITIES[0]?.processId ?? "",
      payloadSha256: sha256,
      payloadKeyId: sealer.keyId,
      payloadSealed: sealed,
      payloadBytes: payload.length,
      metadataSealed: undefined,
      scheduledFor: at.due,
      createdAt: systemClock.now(),
    },
    {
      id: newId(systemClock),
      at: new Date(systemClock.now()).toISOString(),
      actorType: "system",
      actorId: null,
      ip: null,
      userAgent: null,
    },
  );
}

/** Makes a batch that falls due evenly from some time on. @returns when the first is due */
export async function stage(engine: BenchEngine, sealer: Sealer, batch: Batch): Promise<number> {
  // Made first and given their times afterwards: making a hundred thousand takes longer than their minute.
  const far = systemClock.now() + 24 * 3_600_000;
  for (let done = 0; done < batch.count; done += AT_ONCE)
    await Promise.all(
      Array.from({ length: Math.min(AT_ONCE, batch.count - done) }, (_, k) =>
        makeItem(engine, sealer, batch, { n: done + k, due: far }),
      ),
    );
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
