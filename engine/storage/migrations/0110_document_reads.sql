-- What a firm has done with its documents, whichever interface says so: received through an API, acknowledged, marked.

-- When a received document was first in a list or shown through an API: the meter counts it once, and it stays.
alter table received_document add column if not exists api_received_at timestamptz;
-- What the firm's own program calls the document; the first name stays.
alter table received_document add column client_reference text;
alter table received_document add constraint received_document_client_reference_check
  check (char_length(client_reference) between 1 and 256);

-- What one firm received, in the order in which it could see it. Rows from before the feed come first, as they arrived.
create index received_document_pull on received_document
  (firm_id, coalesce(feed_transaction_id, '1'::xid8), coalesce(feed_position, position))
  where received_is_visible(status);
-- What happened to what one firm sent, beginning with the acceptance, in the order of the feed.
create index document_event_firm on document_event (firm_id, transaction_id, position)
  where feed or kind = 'document.queued';

-- What a firm says of its own handling of a document, sent or received; the newest note counts, the first time stays. A
-- row goes with its document, and a document has at most one row a state.
create table document_mark (
  document_id uuid not null,
  state text not null check (state in ('delivered', 'processed', 'failed', 'read')),
  firm_id uuid not null references firm (id),
  note text check (char_length(note) between 1 and 500),
  marked_at timestamptz not null,
  primary key (document_id, state)
);

-- Marks a received document as processed; a second time answers the first time's instant and reference. What the firm
-- does not see it cannot mark, and what its participant received for another firm it does not see.
create function acknowledge_received(
  p_id uuid, p_participant_key text, p_firm_id uuid, p_now timestamptz, p_reference text
) returns table (acknowledged_at timestamptz, client_reference text)
language sql volatile as $$
  update received_document as r
  set status = 'ACKNOWLEDGED', acknowledged_at = coalesce(r.acknowledged_at, p_now),
    api_received_at = coalesce(r.api_received_at, p_now), client_reference = coalesce(r.client_reference, p_reference)
  where r.id = p_id and r.participant_key = p_participant_key and r.firm_id = p_firm_id and received_is_visible(r.status)
  returning r.acknowledged_at, r.client_reference
$$;

-- A process of the last release names no reference.
create or replace function acknowledge_received(p_id uuid, p_participant_key text, p_firm_id uuid, p_now timestamptz)
returns table (acknowledged_at timestamptz)
language sql volatile as $$
  select a.acknowledged_at from acknowledge_received(p_id, p_participant_key, p_firm_id, p_now, null) as a
$$;

-- Marks a document of a firm, as p_participant_key sent or received it. `processed` acknowledges what was received and
-- what became of what was sent; the state of the transport is never touched. No row: there is no such document to see.
create function mark_document(
  p_id uuid, p_participant_key text, p_firm_id uuid, p_state text, p_note text, p_now timestamptz
) returns table (marked_at timestamptz, note text, acknowledged_at timestamptz)
language plpgsql volatile as $$
#variable_conflict use_column
declare
  v_acknowledged timestamptz;
  v_marked document_mark;
begin
  update document as d
  set acknowledged_at = case when p_state = 'processed' then coalesce(d.acknowledged_at, p_now) else d.acknowledged_at end
  where d.id = p_id and d.sender_key = p_participant_key and d.firm_id = p_firm_id
  returning d.acknowledged_at into v_acknowledged;
  if not found then
    update received_document as r
    set status = case when p_state = 'processed' then 'ACKNOWLEDGED' else r.status end,
      acknowledged_at = case when p_state = 'processed' then coalesce(r.acknowledged_at, p_now) else r.acknowledged_at end,
      api_received_at = coalesce(r.api_received_at, p_now)
    where r.id = p_id and r.participant_key = p_participant_key and r.firm_id = p_firm_id and received_is_visible(r.status)
    returning r.acknowledged_at into v_acknowledged;
    if not found then return; end if;
  end if;
  insert into document_mark (document_id, state, firm_id, note, marked_at)
  values (p_id, p_state, p_firm_id, p_note, p_now)
  on conflict (document_id, state) do update set note = coalesce(excluded.note, document_mark.note)
  returning * into v_marked;
  return query select v_marked.marked_at, v_marked.note, v_acknowledged;
end
$$;
