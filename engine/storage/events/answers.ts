/** The answer to an invoice that stood when something else happened to it. */
import { RESPONSE_CODES } from "../../lifecycle/response.js";
import type { ResponseCode } from "../../lifecycle/response.js";
import { openedNote } from "../keyring/facts.js";
import { openedWords } from "../keyring/words.js";
import type { Json, Sql } from "../sql.js";

/** An answer, received or given. */
export interface StoodAnswer {
  readonly code: ResponseCode;
  readonly reason: string | null;
  readonly at: Date;
}

type Fragment = ReturnType<Sql>;

/** The last answer before an event of a document, as an expression; of what was received, the one that was given. */
export const answerBefore = (
  sql: Sql,
  event: { readonly document: Fragment; readonly position: Fragment; readonly at: Fragment },
) => sql`(
  select jsonb_build_object('id', a.id, 'code', a.code, 'words', a.words, 'meta', a.meta, 'keyId', a.key_id,
    'sealed', encode(a.sealed, 'base64'), 'at', extract(epoch from a.at) * 1000)
  from (
    select v.id, v.meta ->> 'response' as code, v.detail as words, v.meta, null::text as key_id, null::bytea as sealed,
      v.occurred_at as at, v.position
    from document_event as v
    where v.document_id = ${event.document} and v.kind = 'document.response_received' and v.position < ${event.position}
    union all
    select m.id, m.code, m.note, null, m.payload_key_id, m.note_sealed, m.created_at, null
    from service_message as m
    where m.about = ${event.document} and m.kind = 'invoice_response' and m.created_at <= ${event.at}
  ) as a order by a.position desc, a.at desc limit 1
)`;

const textOf = (value: unknown): string | null => (typeof value === "string" ? value : null);

/** What `answerBefore` found, with its words in clear; null where there was no answer. */
export function openedAnswer(sql: Sql, stored: Json): StoodAnswer | null {
  if (typeof stored !== "object" || stored === null) return null;
  const { id, code, words, meta, keyId, sealed, at } = stored as Readonly<Record<string, Json | undefined>>;
  const known = RESPONSE_CODES.find((each) => each === code);
  if (known === undefined) return null;
  const said = openedWords(sql, String(id), { detail: textOf(words), meta: meta ?? null });
  const note = textOf(sealed);
  const kept = { id: String(id), keyId: String(keyId), clear: said.detail };
  const reason = openedNote(sql, { ...kept, sealed: note === null ? null : Buffer.from(note, "base64") });
  return { code: known, reason, at: new Date(Number(at)) };
}
