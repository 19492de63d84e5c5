-- Documents: what was accepted, what became of it, and what was received.

-- The encrypted text of a document, outbound or received; the document's id is its context.
create table payload (
  document_id uuid primary key,
  key_id text not null,
  sealed bytea not null,
  bytes integer not null check (bytes > 0)
);
-- Sealed bytes do not compress.
alter table payload alter column sealed set storage external;

create table document (
  id uuid primary key,
  firm_id uuid not null references firm (id),
  key_id uuid not null,
  sender text not null,
  sender_key text not null,
  receiver text not null,
  receiver_key text not null,
  erp_document_id text not null check (char_length(erp_document_id) between 1 and 255),
  document_type_id text not null,
  process_id text not null,
  creation_date_time timestamptz,
  facts jsonb not null,
  status text not null check (status in ('queued', 'sent', 'delivered', 'rejected', 'send_failed', 'delivery_failed', 'validation_failed')),
  status_reason text,
  version integer not null check (version >= 1),
  idempotency_key text not null,
  request_sha256 bytea not null check (octet_length(request_sha256) = 32),
  payload_sha256 bytea not null check (octet_length(payload_sha256) = 32),
  reply_status smallint not null,
  reply_body text not null,
  as4_message_id text not null,
  sbdh_instance_id uuid not null,
  validation_result jsonb,
  invoice_response_status text check (invoice_response_status in ('AB', 'IP', 'UQ', 'CA', 'RE', 'AP', 'PD')),
  attempts integer not null default 0,
  next_attempt_at timestamptz,
  lease_owner text,
  lease_until timestamptz,
  delivered_at timestamptz,
  acknowledged_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- A document that may still be attempted always has a time for it; any other has none.
  check ((status in ('queued', 'sent')) = (next_attempt_at is not null)),
  check ((status = 'delivered') <= (delivered_at is not null))
);
-- The law of idempotency; the order of the three is the order of precedence in accept_documents.
create unique index document_idempotency_key on document (sender_key, idempotency_key);
create unique index document_erp_document_id on document (sender_key, erp_document_id);
create unique index document_payload on document (sender_key, payload_sha256);
create index document_due on document (next_attempt_at) where next_attempt_at is not null;
create index document_firm on document (firm_id, created_at desc);

create table document_history (
  document_id uuid not null references document (id),
  version integer not null,
  status text not null,
  trigger text not null,
  detail text,
  occurred_at timestamptz not null,
  primary key (document_id, version)
);

-- What happened to a document, for its timeline; `feed` rows are also what webhooks and pulls are made of.
create table document_event (
  id uuid primary key,
  position bigint generated always as identity,
  document_id uuid not null references document (id),
  firm_id uuid not null,
  kind text not null,
  actor text not null check (actor in ('system', 'user', 'api')),
  feed boolean not null,
  detail text,
  meta jsonb,
  occurred_at timestamptz not null,
  -- Orders the feed by commit: rows of a transaction below the snapshot's horizon can no longer appear late.
  transaction_id xid8 not null default pg_current_xact_id()
);
create index document_event_timeline on document_event (document_id, occurred_at, position);
create index document_event_feed on document_event (firm_id, transaction_id, position) where feed;

create table document_attempt (
  document_id uuid not null references document (id),
  number integer not null,
  owner text not null,
  started_at timestamptz not null,
  finished_at timestamptz,
  outcome text,
  code text,
  retryable boolean,
  detail text,
  primary key (document_id, number)
);

-- Accepts documents of distinct senders: one row each in the answer, in the order of the arguments.
-- Rows go in sorted by sender, and all three unique indexes begin with it, so that no two calls can deadlock.
create function accept_documents(
  p_id uuid[], p_firm_id uuid[], p_key_id uuid[], p_sender text[], p_receiver text[], p_erp_document_id text[],
  p_document_type_id text[], p_process_id text[], p_creation_date_time timestamptz[], p_facts jsonb[],
  p_idempotency_key text[], p_request_sha256 text[], p_payload_sha256 text[], p_reply_status smallint[], p_reply_body text[],
  p_as4_message_id text[], p_sbdh_instance_id uuid[], p_validation_result jsonb[], p_accepted_at timestamptz[],
  p_payload_key_id text[], p_payload_sealed text[], p_payload_bytes integer[], p_event_id uuid[]
) returns table (ordinal bigint, outcome text, document_id uuid, reply_status smallint, reply_body text)
language plpgsql volatile as $$
declare
  accepted uuid[];
begin
  with added as (
    insert into document (
      id, firm_id, key_id, sender, sender_key, receiver, receiver_key, erp_document_id, document_type_id, process_id,
      creation_date_time, facts, status, version, idempotency_key, request_sha256, payload_sha256, reply_status, reply_body,
      as4_message_id, sbdh_instance_id, validation_result, next_attempt_at, created_at, updated_at
    )
    select a.id, a.firm_id, a.key_id, a.sender, lower(a.sender), a.receiver, lower(a.receiver), a.erp_document_id, a.document_type_id,
      a.process_id, a.creation_date_time, a.facts, 'queued', 1, a.idempotency_key, decode(a.request_sha256, 'hex'),
      decode(a.payload_sha256, 'hex'), a.reply_status, a.reply_body, a.as4_message_id, a.sbdh_instance_id, a.validation_result,
      a.accepted_at, a.accepted_at, a.accepted_at
    from unnest(
      p_id, p_firm_id, p_key_id, p_sender, p_receiver, p_erp_document_id, p_document_type_id, p_process_id, p_creation_date_time,
      p_facts, p_idempotency_key, p_request_sha256, p_payload_sha256, p_reply_status, p_reply_body, p_as4_message_id,
      p_sbdh_instance_id, p_validation_result, p_accepted_at
    ) as a (
      id, firm_id, key_id, sender, receiver, erp_document_id, document_type_id, process_id, creation_date_time,
      facts, idempotency_key, request_sha256, payload_sha256, reply_status, reply_body, as4_message_id,
      sbdh_instance_id, validation_result, accepted_at
    )
    order by lower(a.sender), a.idempotency_key
    on conflict do nothing
    returning id
  )
  select coalesce(array_agg(added.id), '{}') into accepted from added;

  insert into payload (document_id, key_id, sealed, bytes)
  select a.id, a.key_id, decode(a.sealed, 'base64'), a.bytes
  from unnest(p_id, p_payload_key_id, p_payload_sealed, p_payload_bytes) as a (id, key_id, sealed, bytes)
  where a.id = any (accepted);

  insert into document_history (document_id, version, status, trigger, occurred_at)
  select a.id, 1, 'queued', 'accepted', a.accepted_at
  from unnest(p_id, p_accepted_at) as a (id, accepted_at)
  where a.id = any (accepted);

  insert into document_event (id, document_id, firm_id, kind, actor, feed, occurred_at)
  select a.event_id, a.id, a.firm_id, 'document.queued', 'api', false, a.accepted_at
  from unnest(p_event_id, p_id, p_firm_id, p_accepted_at) as a (event_id, id, firm_id, accepted_at)
  where a.id = any (accepted);

  insert into outbox (stream, key, body)
  select 'dispatch', a.id::text, jsonb_build_object('documentId', a.id)
  from unnest(p_id) as a (id)
  where a.id = any (accepted);

  -- A statement of its own sees what a concurrent winner has committed while the insert waited for it.
  return query
  select a.n, 'accepted', a.id, a.reply_status, a.reply_body
  from unnest(p_id, p_reply_status, p_reply_body) with ordinality as a (id, reply_status, reply_body, n)
  where a.id = any (accepted)
  union all
  select a.n,
    case
      when k.id is not null and k.request_sha256 = decode(a.request_sha256, 'hex') then 'replay'
      when k.id is not null then 'key_conflict'
      when d.id is not null then 'duplicate_document'
      when p.id is not null then 'duplicate_payload'
      else 'lost_race'
    end,
    coalesce(k.id, d.id, p.id), k.reply_status, k.reply_body
  from unnest(p_id, p_sender, p_idempotency_key, p_request_sha256, p_erp_document_id, p_payload_sha256)
    with ordinality as a (id, sender, idempotency_key, request_sha256, erp_document_id, payload_sha256, n)
  left join document k on k.sender_key = lower(a.sender) and k.idempotency_key = a.idempotency_key
  left join document d on d.sender_key = lower(a.sender) and d.erp_document_id = a.erp_document_id
  left join document p on p.sender_key = lower(a.sender) and p.payload_sha256 = decode(a.payload_sha256, 'hex')
  where a.id <> all (accepted);
end
$$;

-- Takes one attempt at a document: the lease in database time, the attempt's row, and what is needed to make it.
-- No row: nothing to do now (final, not due, or another node is at it).
create function take_attempt(p_id uuid, p_owner text, p_now timestamptz, p_lease_ms integer)
returns table (
  id uuid, firm_id uuid, sender text, receiver text, document_type_id text, process_id text, status text, version integer,
  attempt integer, as4_message_id text, sbdh_instance_id uuid, facts jsonb, created_at timestamptz, payload_key_id text, payload_sealed bytea
)
language sql volatile as $$
  with taken as (
    update document as d
    set attempts = d.attempts + 1, version = d.version + 1, lease_owner = p_owner,
      lease_until = clock_timestamp() + p_lease_ms * interval '1 millisecond'
    where d.id = p_id and d.status in ('queued', 'sent') and d.next_attempt_at <= p_now
      and (d.lease_until is null or d.lease_until < clock_timestamp())
    returning d.*
  ), begun as (
    insert into document_attempt (document_id, number, owner, started_at)
    select taken.id, taken.attempts, p_owner, p_now from taken
  )
  select taken.id, taken.firm_id, taken.sender, taken.receiver, taken.document_type_id, taken.process_id, taken.status, taken.version,
    taken.attempts, taken.as4_message_id, taken.sbdh_instance_id, taken.facts, taken.created_at, payload.key_id, payload.sealed
  from taken join payload on payload.document_id = taken.id
$$;

-- Writes one move, or the end of an attempt that moved nothing: state, version, history, events, outbox and attempt together.
-- Returns the new version, or no row when the document has another version than the one decided on.
create function apply_move(
  p_id uuid, p_version integer, p_status text, p_trigger text, p_detail text, p_now timestamptz, p_next_attempt_at timestamptz,
  p_events jsonb, p_attempt jsonb, p_changes jsonb
) returns table (version integer)
language sql volatile as $$
  with moved as (
    update document as d
    set status = p_status, version = d.version + 1, updated_at = greatest(d.updated_at, p_now),
      next_attempt_at = case when p_status in ('queued', 'sent') then coalesce(p_next_attempt_at, d.next_attempt_at) end,
      lease_owner = case when p_attempt is null then d.lease_owner end,
      lease_until = case when p_attempt is null then d.lease_until end,
      delivered_at = coalesce(d.delivered_at, case when p_status = 'delivered' then greatest(d.updated_at, p_now) end),
      status_reason = coalesce(p_changes ->> 'statusReason', d.status_reason),
      invoice_response_status = coalesce(p_changes ->> 'invoiceResponseStatus', d.invoice_response_status),
      validation_result = coalesce(p_changes -> 'validationResult', d.validation_result)
    where d.id = p_id and d.version = p_version
    returning d.id, d.firm_id, d.version, d.status, d.updated_at
  ), history as (
    insert into document_history (document_id, version, status, trigger, detail, occurred_at)
    select moved.id, moved.version, moved.status, p_trigger, p_detail, moved.updated_at from moved where p_trigger is not null
  ), events as (
    insert into document_event (id, document_id, firm_id, kind, actor, feed, detail, meta, occurred_at)
    select (e.value ->> 'id')::uuid, moved.id, moved.firm_id, e.value ->> 'kind', 'system', (e.value ->> 'feed')::boolean,
      e.value ->> 'detail', e.value -> 'meta', moved.updated_at
    from moved cross join lateral jsonb_array_elements(p_events) with ordinality as e (value, n)
    order by e.n
  ), announced as (
    insert into outbox (stream, key, body)
    select 'events', e.value ->> 'id', jsonb_build_object('eventId', e.value ->> 'id', 'documentId', moved.id, 'kind', e.value ->> 'kind')
    from moved cross join lateral jsonb_array_elements(p_events) with ordinality as e (value, n)
    where (e.value ->> 'feed')::boolean
    order by e.n
  ), finished as (
    update document_attempt as a
    set finished_at = p_now, outcome = p_attempt ->> 'outcome', code = p_attempt ->> 'code',
      retryable = (p_attempt ->> 'retryable')::boolean, detail = p_attempt ->> 'detail'
    from moved
    where a.document_id = moved.id and a.number = (p_attempt ->> 'number')::integer
  )
  select moved.version from moved
$$;

-- position orders the inbox by arrival, also within one millisecond.
create table received_document (
  id uuid primary key,
  position bigint generated always as identity,
  firm_id uuid not null references firm (id),
  participant_key text not null,
  sender text not null,
  receiver text not null,
  document_type_id text not null,
  process_id text not null,
  creation_date_time timestamptz not null,
  status text not null check (status in ('RECEIVED', 'ACKNOWLEDGED')),
  payload_sha256 bytea not null check (octet_length(payload_sha256) = 32),
  as4_message_id text not null,
  sbdh_instance_id text not null,
  facts jsonb not null,
  received_at timestamptz not null,
  acknowledged_at timestamptz,
  check ((status = 'ACKNOWLEDGED') = (acknowledged_at is not null))
);
-- An access point that repeats a message repeats these two.
create unique index received_document_message on received_document (as4_message_id);
create unique index received_document_instance on received_document (sbdh_instance_id);
create index received_document_inbox on received_document (participant_key, status, position);

-- Stores a received document with its payload. No row comes back for one that is stored already.
create function receive_document(
  p_id uuid, p_firm_id uuid, p_participant_key text, p_sender text, p_receiver text, p_document_type_id text, p_process_id text,
  p_creation_date_time timestamptz, p_payload_sha256 text, p_as4_message_id text, p_sbdh_instance_id text, p_facts jsonb,
  p_received_at timestamptz, p_payload_key_id text, p_payload_sealed text, p_payload_bytes integer
) returns table (id uuid)
language sql volatile as $$
  with added as (
    insert into received_document (
      id, firm_id, participant_key, sender, receiver, document_type_id, process_id, creation_date_time, status, payload_sha256,
      as4_message_id, sbdh_instance_id, facts, received_at
    ) values (
      p_id, p_firm_id, p_participant_key, p_sender, p_receiver, p_document_type_id, p_process_id, p_creation_date_time, 'RECEIVED',
      decode(p_payload_sha256, 'hex'), p_as4_message_id, p_sbdh_instance_id, p_facts, p_received_at
    )
    on conflict do nothing
    returning received_document.id
  ), stored as (
    insert into payload (document_id, key_id, sealed, bytes)
    select added.id, p_payload_key_id, decode(p_payload_sealed, 'base64'), p_payload_bytes from added
  )
  select added.id from added
$$;

-- Marks a received document as processed; a second time answers the first time's instant.
create function acknowledge_received(p_id uuid, p_participant_key text, p_now timestamptz)
returns table (acknowledged_at timestamptz)
language sql volatile as $$
  update received_document as r
  set status = 'ACKNOWLEDGED', acknowledged_at = coalesce(r.acknowledged_at, p_now)
  where r.id = p_id and r.participant_key = p_participant_key
  returning r.acknowledged_at
$$;

-- What a participant of ours can receive; the source of its SMP metadata.
create table participant_capability (
  participant_key text not null references participant (key),
  document_type_id text not null,
  process_id text not null,
  primary key (participant_key, document_type_id, process_id)
);
