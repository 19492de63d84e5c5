-- Ids of messages are unique for the access point that signed them: a stranger who uses an id first does not make
-- another's message a repeat. What was stored before has no seat; its ids stay taken for everybody.
alter table received_document add column peer_seat text not null default '';
comment on column received_document.peer_seat is 'Seat of the access point that signed the message; empty for what came before seats were kept.';
create unique index received_document_message_seat on received_document (as4_message_id, peer_seat);
create unique index received_document_instance_seat on received_document (sbdh_instance_id, peer_seat);
drop index received_document_message;
drop index received_document_instance;

alter table inbound_status
  add constraint inbound_status_message_seat unique (as4_message_id, peer_seat),
  add constraint inbound_status_instance_seat unique (sbdh_instance_id, peer_seat),
  drop constraint inbound_status_as4_message_id_key,
  drop constraint inbound_status_sbdh_instance_id_key;

-- The arguments are those of before: a node of the release before stores seats, too, because its exchanges name them.
create or replace function receive_businesses(
  p_id uuid[], p_firm_id uuid[], p_participant_key text[], p_sender text[], p_receiver text[],
  p_document_type_id text[], p_process_id text[], p_creation_date_time timestamptz[], p_payload_sha256 text[],
  p_as4_message_id text[], p_sbdh_instance_id text[], p_facts jsonb[], p_received_at timestamptz[],
  p_payload_key_id text[], p_payload_sealed text[], p_payload_bytes integer[], p_exchange jsonb[], p_duty jsonb[],
  p_status text[], p_evidence jsonb[]
) returns table (n bigint) language plpgsql as $$
#variable_conflict use_column
declare
  v_new uuid[];
  v_evidence jsonb;
begin
  with added as (
    insert into received_document (
      id, firm_id, participant_key, sender, receiver, document_type_id, process_id, creation_date_time, status,
      payload_sha256, as4_message_id, sbdh_instance_id, facts, received_at, peer_seat
    )
    select r.id, r.firm_id, r.participant_key, r.sender, r.receiver, r.document_type_id, r.process_id,
      r.creation_date_time, r.status, decode(r.payload_sha256, 'hex'), r.as4_message_id, r.sbdh_instance_id, r.facts,
      r.received_at, r.exchange ->> 'c2_seat'
    from unnest(
      p_id, p_firm_id, p_participant_key, p_sender, p_receiver, p_document_type_id, p_process_id, p_creation_date_time,
      p_status, p_payload_sha256, p_as4_message_id, p_sbdh_instance_id, p_facts, p_received_at, p_exchange
    ) with ordinality as r (
      id, firm_id, participant_key, sender, receiver, document_type_id, process_id, creation_date_time, status,
      payload_sha256, as4_message_id, sbdh_instance_id, facts, received_at, exchange, n
    )
    -- Rows without a seat are as old as this function and change no more, so that looking is enough.
    where not exists (
      select 1 from received_document as o where o.as4_message_id = r.as4_message_id and o.peer_seat = ''
    ) and not exists (
      select 1 from received_document as o where o.sbdh_instance_id = r.sbdh_instance_id and o.peer_seat = ''
    )
    order by r.n
    on conflict do nothing
    returning received_document.id
  )
  select array_agg(added.id) into v_new from added;
  if v_new is null then return; end if;

  with given as (
    select r.* from unnest(p_id, p_payload_key_id, p_payload_sealed, p_payload_bytes, p_exchange, p_duty)
      as r (id, key_id, sealed, bytes, exchange, duty)
    where r.id = any (v_new)
  ), stored as (
    insert into payload (document_id, key_id, sealed, bytes)
    select given.id, given.key_id, decode(given.sealed, 'base64'), given.bytes from given
  ), exchanged as (
    insert into exchange select e.* from given cross join lateral jsonb_populate_record(null::exchange, given.exchange) as e
  )
  insert into mls_duty
  select d.* from given cross join lateral jsonb_populate_record(null::mls_duty, given.duty) as d
  where given.duty is not null;

  select jsonb_agg(r.evidence order by r.n) into v_evidence
  from unnest(p_id, p_evidence) with ordinality as r (id, evidence, n)
  where r.id = any (v_new) and r.evidence is not null;
  if v_evidence is not null then
    perform 1 from append_evidence(v_evidence);
  end if;

  return query select r.n from unnest(p_id) with ordinality as r (id, n) where r.id = any (v_new);
end
$$;
