/** Seals words of answers that lie in clear in timelines, and again those that another key has sealed. */
import type { FirmId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { FIRM_KEY_PREFIX } from "../sealer.js";
import type { Sealer } from "../sealer.js";
import type { Json, Sql } from "../sql.js";
import { openedOrTold, sealerOrTold, tellerOf } from "./reseal.js";
import type { OnLeft } from "./reseal.js";
import { openWords, SEALED_WORDS, sealWords } from "./words.js";

interface StoredWords {
  readonly id: string;
  readonly firm_id: FirmId;
  readonly detail: string | null;
  readonly meta: Json;
  readonly keyId: string | null;
}

/** Before every id. */
export const NO_ID = "00000000-0000-0000-0000-000000000000";

/** The next documents that were answered, by id. */
const nextAnswered = async (sql: Sql, after: string): Promise<readonly string[]> =>
  (
    await sql<{ readonly id: string }[]>`
      select distinct document_id::text as id from (
        select document_id from inbound_status
        where document_id > ${after}::uuid and document_id is not null
        order by document_id limit ${LIMITS.reseal_batch}
      ) as answered order by id`
  ).map(({ id }) => id);

/**
 * Goes once over the timelines of documents that were answered; whoever has sealed an event meanwhile wins.
 * @param unless  the key whose words are left as they are, those of firms apart, which always are; null leaves all that
 *   are sealed
 * @param onLeft  as resealTable's
 * @returns how many events were written
 */
export async function resealWords(sql: Sql, sealer: Sealer, unless: string | null, onLeft?: OnLeft): Promise<number> {
  let written = 0;
  for (let after = NO_ID; ;) {
    const documents = await nextAnswered(sql, after);
    const last = documents.at(-1);
    if (last === undefined) return written;
    const rows = await sql<StoredWords[]>`
      select id::text as id, firm_id, detail, meta, meta ->> 'keyId' as "keyId" from document_event
      where document_id = any (${[...documents]}::uuid[]) and kind = any (${[...SEALED_WORDS]}::text[])
        and case when ${unless}::text is null then meta ->> 'keyId' is null
          else meta ->> 'keyId' is distinct from ${unless}::text
            and not starts_with(coalesce(meta ->> 'keyId', ''), ${FIRM_KEY_PREFIX}) end`;
    const [opened, sealed]: [StoredWords[], string[]] = [[], []];
    for (const row of rows) {
      const told = tellerOf(onLeft, "document_event", row.id);
      const words = await openedOrTold(() => openWords(sealer, row.id, row), told);
      if (words === undefined) continue;
      const by = await sealerOrTold(sealer, row.firm_id, told);
      if (by === undefined) continue;
      opened.push(row);
      sealed.push(JSON.stringify(sealWords(by, row.id, words)));
    }
    if (opened.length > 0)
      written += (
        await sql`
          update document_event as e set detail = null, meta = n.meta
          from unnest(${opened.map(({ id }) => id)}::uuid[], ${sealed}::text[]::jsonb[],
            ${opened.map(({ keyId }) => keyId) as string[]}::text[]) as n (id, meta, key_id)
          where e.id = n.id and e.meta ->> 'keyId' is not distinct from n.key_id`
      ).count;
    after = last;
  }
}
