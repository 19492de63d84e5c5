-- An attempt is one row, written when it has ended: until then the document's lease says who is at it and since when.
-- What ends together is written together: one statement for many documents, one row of the outbox for each of them.

alter table document add column attempted_at timestamptz;
update document as d set attempted_at = a.started_at
from document_attempt as a
where a.document_id = d.id and a.number = d.attempts and a.finished_at is null and d.lease_owner is not null;
delete from document_attempt where finished_at is null;

-- Rows that are only ever added look nothing up: what they belong to is written by the same statement, or was before it.
alter table document_history drop constraint document_history_document_id_fkey;
alter table document_event drop constraint document_event_document_id_fkey;
alter table document_attempt drop constraint document_attempt_document_id_fkey;
alter table exchange drop constraint exchange_firm_id_fkey;
alter table mls_duty drop constraint mls_duty_firm_id_fkey;

-- Takes one attempt at a document: the lease and the due time are database time, and what is needed to make it. A lease
-- that nobody has ended was that of an attempt that was cut. No row: nothing to do now (final, not due, or another node
-- is at it).
create or replace function take_attempt(p_id uuid, p_owner text, p_lease_ms integer)
returns table (
  id uuid, firm_id uuid, sender text, receiver text, document_type_id text, process_id text, status text,
  version integer, attempt integer, answers integer, faults integer, as4_message_id text, sbdh_instance_id uuid,
  facts jsonb, created_at timestamptz, payload_key_id text, payload_sealed bytea, payload_bytes integer
)
language sql volatile as $$
  with taken as (
    update document as d
    set attempts = d.attempts + 1, version = d.version + 1, lease_owner = p_owner, attempted_at = clock_timestamp(),
      lease_until = clock_timestamp() + p_lease_ms * interval '1 millisecond'
    from document as before
    where d.id = p_id and before.id = d.id and document_is_open(d.status) and d.next_attempt_at <= clock_timestamp()
      and (d.lease_until is null or d.lease_until < clock_timestamp())
    returning d.*, before.lease_owner as owner_before, before.attempted_at as attempted_before
  ), cut as (
    insert into document_attempt (document_id, number, owner, started_at, finished_at, outcome, retryable)
    select taken.id, taken.attempts - 1, taken.owner_before, coalesce(taken.attempted_before, clock_timestamp()),
      clock_timestamp(), 'cut', true
    from taken where taken.owner_before is not null and taken.attempts > 1
    on conflict (document_id, number) do nothing
  )
  select taken.id, taken.firm_id, taken.sender, taken.receiver, taken.document_type_id, taken.process_id, taken.status,
    taken.version, taken.attempts, taken.answers, taken.faults, taken.as4_message_id, taken.sbdh_instance_id,
    taken.facts, taken.created_at, payload.key_id, payload.sealed, payload.bytes
  from taken join payload on payload.document_id = taken.id
$$;

-- Writes the ends of attempts of different documents in one step: state, history, events, attempt, what it used of the
-- plan, the exchange that a receipt proves, and one row of the outbox that carries what the streams are told. p_moves:
-- the moves in order, the last leads to p_status; none when nothing moved. The next attempt is due p_wait_ms from now.
-- No row for a document that has another version than the one decided on. The outbox rows are the caller's for
-- p_claim_ms: it publishes them, and whoever finds them later does when it could not; p_published are those it has
-- published since. p_evidence: records of exchanges that are safe in the store, which take their places in the chain even
-- when nothing else is written. Their lock is the last to be taken, so that it is held for the commit alone.
create function end_attempts(
  p_id uuid[], p_version integer[], p_status text[], p_now timestamptz[], p_wait_ms bigint[], p_plan text[],
  p_moves jsonb[], p_events jsonb[], p_attempt jsonb[], p_reason text[], p_exchange jsonb[], p_owner text[],
  p_claim_ms integer, p_published bigint[] default '{}', p_evidence jsonb default '[]'
) returns table (n bigint, version integer, outbox_id bigint, outbox_body jsonb)
language plpgsql volatile as $$
#variable_conflict use_column
begin
  return query
  with given as (
    select g.* from unnest(
      p_id, p_version, p_status, p_now, p_wait_ms, p_plan, p_moves, p_events, p_attempt, p_reason, p_exchange, p_owner
    ) with ordinality as g (id, version, status, now, wait_ms, plan, moves, events, attempt, reason, exchange, owner, n)
  ), moved as (
    update document as d
    set status = g.status, version = d.version + greatest(1, jsonb_array_length(g.moves)),
      updated_at = greatest(d.updated_at, g.now), lease_owner = null, lease_until = null,
      next_attempt_at = case when document_is_open(g.status)
        then clock_timestamp() + g.wait_ms * interval '1 millisecond' end,
      answers = d.answers + (g.plan = 'answer')::integer,
      faults = case when g.plan = 'fault' then d.faults + 1 else 0 end,
      delivered_at = coalesce(d.delivered_at, case when g.status = 'delivered' then greatest(d.updated_at, g.now) end),
      status_reason = coalesce(g.reason, d.status_reason)
    from given as g
    where d.id = g.id and d.version = g.version
    returning g.n, d.id, d.firm_id, d.version, g.version as version_before, d.updated_at, d.attempted_at, d.sender_key,
      d.document_type_id, d.process_id, g.now, g.moves, g.events, g.attempt, g.exchange, g.owner
  ), history as (
    insert into document_history (document_id, version, status, trigger, detail, occurred_at)
    select moved.id, moved.version_before + m.n, m.value ->> 'status', m.value ->> 'trigger', m.value ->> 'detail',
      moved.updated_at
    from moved cross join lateral jsonb_array_elements(moved.moves) with ordinality as m (value, n)
    order by moved.n, m.n
  ), events as (
    insert into document_event (id, document_id, firm_id, kind, actor, feed, detail, meta, occurred_at)
    select (e.value ->> 'id')::uuid, moved.id, moved.firm_id, e.value ->> 'kind', 'system',
      (e.value ->> 'feed')::boolean, e.value ->> 'detail', e.value -> 'meta', moved.updated_at
    from moved cross join lateral jsonb_array_elements(moved.events) with ordinality as e (value, n)
    order by moved.n, e.n
  ), announced as (
    insert into outbox (stream, key, body, claimed_until)
    select 'events', moved.id::text,
      jsonb_agg(jsonb_build_object('key', e.value ->> 'id', 'body', jsonb_build_object('eventId', e.value ->> 'id',
        'documentId', moved.id, 'kind', e.value ->> 'kind')) order by e.n),
      clock_timestamp() + p_claim_ms * interval '1 millisecond'
    from moved cross join lateral jsonb_array_elements(moved.events) with ordinality as e (value, n)
    where (e.value ->> 'feed')::boolean
    group by moved.n, moved.id
    order by moved.n
    returning outbox.id, outbox.key, outbox.body
  ), exchanged as (
    insert into exchange (id, direction, kind, firm_id, c2_seat, c3_seat, document_type_id, process_id,
      transport_profile, c1_country, end_user, exchanged_at)
    select moved.id, 'outgoing', 'business', moved.firm_id, moved.exchange ->> 'c2Seat', moved.exchange ->> 'c3Seat',
      moved.document_type_id, moved.process_id, moved.exchange ->> 'transportProfile', moved.exchange ->> 'c1Country',
      moved.sender_key, moved.now
    from moved where moved.exchange is not null
    on conflict (id) do nothing
  ), ended as (
    insert into document_attempt (document_id, number, owner, started_at, finished_at, outcome, code, retryable,
      detail, seat)
    select moved.id, (moved.attempt ->> 'number')::integer, moved.owner, coalesce(moved.attempted_at, moved.now),
      greatest(moved.attempted_at, moved.now), moved.attempt ->> 'outcome', moved.attempt ->> 'code',
      (moved.attempt ->> 'retryable')::boolean, moved.attempt ->> 'detail', moved.attempt ->> 'seat'
    from moved
  ), published as (
    delete from outbox where outbox.id = any (p_published)
  )
  select moved.n, moved.version, announced.id, announced.body
  from moved left join announced on announced.key = moved.id::text;
  if jsonb_array_length(p_evidence) > 0 then
    perform 1 from append_evidence(p_evidence);
  end if;
end
$$;

-- The same for one document, as processes of the release before call it. Its owner is not known to them here.
create or replace function end_attempt(
  p_id uuid, p_version integer, p_status text, p_now timestamptz, p_wait_ms bigint, p_plan text, p_moves jsonb,
  p_events jsonb, p_attempt jsonb, p_reason text, p_exchange jsonb
) returns table (version integer)
language sql volatile as $$
  select e.version
  from end_attempts(array[p_id], array[p_version], array[p_status], array[p_now], array[p_wait_ms], array[p_plan],
    array[p_moves], array[p_events], array[p_attempt], array[p_reason], array[p_exchange],
    array[coalesce((select d.lease_owner from document as d where d.id = p_id), '')], 0) as e
$$;

-- Takes an attempt back that was not made: its number is free again, the lease too, and the document is due in p_wait_ms.
-- No row: the document has another version than the one that was taken.
create or replace function put_off_attempt(p_id uuid, p_version integer, p_number integer, p_wait_ms bigint)
returns table (version integer)
language sql volatile as $$
  update document as d
  set attempts = d.attempts - 1, version = d.version + 1, lease_owner = null, lease_until = null,
    next_attempt_at = clock_timestamp() + p_wait_ms * interval '1 millisecond'
  where d.id = p_id and d.version = p_version and d.attempts = p_number
  returning d.version
$$;

-- A lease that is freed has run out, and its owner stays: who takes the document next writes down that the attempt was
-- cut, and whose it was.
create or replace function beat_dispatcher(p_owner text, p_dead_ms integer) returns integer
language plpgsql volatile as $$
declare
  v_dead text[];
  v_documents integer;
  v_messages integer;
  v_duties integer;
begin
  insert into dispatcher as d (owner, seen_at) values (p_owner, clock_timestamp())
  on conflict (owner) do update set seen_at = excluded.seen_at;
  with gone as (
    delete from dispatcher as d
    where d.owner <> p_owner and d.seen_at < clock_timestamp() - p_dead_ms * interval '1 millisecond'
    returning d.owner
  )
  select array_agg(gone.owner) into v_dead from gone;
  if v_dead is null then return 0; end if;
  update document as d set lease_until = '-infinity', version = d.version + 1
  where d.next_attempt_at is not null and d.lease_owner = any (v_dead) and d.lease_until > '-infinity';
  get diagnostics v_documents = row_count;
  update service_message as m set lease_owner = null, lease_until = null, version = m.version + 1
  where m.next_attempt_at is not null and m.lease_owner = any (v_dead);
  get diagnostics v_messages = row_count;
  update mls_duty as d set lease_owner = null, lease_until = null
  where d.next_at is not null and d.lease_until is not null and d.lease_owner = any (v_dead);
  get diagnostics v_duties = row_count;
  return v_documents + v_messages + v_duties;
end
$$;

-- Frees leases of a living process on documents that it does not work on: a claim whose answer was lost with its
-- connection, an end that could not be written. A lease that is younger than p_young_ms may still be on its way to it.
create or replace function free_idle_leases(p_owner text, p_working uuid[], p_lease_ms integer, p_young_ms integer)
returns table (id uuid)
language sql volatile as $$
  update document as d set lease_until = '-infinity', version = d.version + 1
  where d.next_attempt_at is not null and d.lease_owner = p_owner and d.id <> all (p_working)
    and d.lease_until > '-infinity'
    and d.lease_until < clock_timestamp() + (p_lease_ms - p_young_ms) * interval '1 millisecond'
  returning d.id
$$;

-- Frees what the processes of a node had under lease that is known to be gone.
create function release_node(p_node text) returns table (id uuid)
language sql volatile as $$
  with gone as (
    delete from dispatcher where starts_with(owner, p_node || '/')
  )
  update document as d set lease_until = '-infinity', version = d.version + 1
  where d.next_attempt_at is not null and starts_with(d.lease_owner, p_node || '/') and d.lease_until > '-infinity'
  returning d.id
$$;
