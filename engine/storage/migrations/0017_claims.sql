-- Whose documents are attempted next is decided by claims: due documents of firms and receivers in turn, by the time of
-- the database. What an attempt used of the plan is counted where it ends.

-- Attempts that were answered by the network: the plan counts these. Faults of ours in a row have waits of their own.
alter table document add column answers integer not null default 0 check (answers >= 0);
alter table document add column faults integer not null default 0 check (faults >= 0);
update document set answers = attempts where next_attempt_at is not null;

create index document_lane on document (firm_id, receiver_key, next_attempt_at) where next_attempt_at is not null;

-- Processes that send documents. One that has not been seen for a while is dead: whoever sees it frees its leases.
create table dispatcher (
  owner text primary key,
  seen_at timestamptz not null
);

-- A document that was accepted by a node whose clock is ahead is due now, not when that node's time has come.
create function due_at_once() returns trigger language plpgsql as $$
begin
  new.next_attempt_at := least(new.next_attempt_at, clock_timestamp());
  return new;
end
$$;
create trigger document_due_at_once before insert on document for each row execute function due_at_once();

-- Firms and their receivers with documents that are not final, in turn: firms after p_after, of each firm the receivers
-- after the one that stands beside it. Those of a firm and the firms themselves go round. `ready`: how many are due and
-- free, at most p_ready_max; 0 for a receiver whose documents are under way or not due.
create function due_lanes(
  p_after uuid, p_firms uuid[], p_receivers text[], p_firms_max integer, p_lanes_max integer, p_ready_max integer
) returns table (firm_id uuid, receiver_key text, ready integer)
language plpgsql stable as $$
declare
  v_firm uuid := p_after;
  v_firms integer := 0;
  v_firms_round boolean := p_after is null;
  v_start text;
  v_receiver text;
  v_lanes integer;
  v_round boolean;
begin
  while v_firms < p_firms_max loop
    select d.firm_id into v_firm from document as d
    where d.next_attempt_at is not null and d.firm_id > coalesce(v_firm, '00000000-0000-0000-0000-000000000000')
    order by d.firm_id limit 1;
    if not found then
      exit when v_firms_round;
      v_firms_round := true;
      v_firm := null;
      continue;
    end if;
    v_firms := v_firms + 1;
    v_start := p_receivers[array_position(p_firms, v_firm)];
    v_receiver := v_start;
    v_round := v_start is null;
    v_lanes := 0;
    while v_lanes < p_lanes_max loop
      select d.receiver_key into v_receiver from document as d
      where d.next_attempt_at is not null and d.firm_id = v_firm and d.receiver_key > coalesce(v_receiver, '')
      order by d.receiver_key limit 1;
      if not found then
        exit when v_round;
        v_round := true;
        v_receiver := null;
        continue;
      end if;
      v_lanes := v_lanes + 1;
      firm_id := v_firm;
      receiver_key := v_receiver;
      select count(*) into ready from (
        select 1 from document as d
        where d.next_attempt_at <= now() and d.firm_id = v_firm and d.receiver_key = v_receiver
          and (d.lease_until is null or d.lease_until < now())
        limit p_ready_max
      ) as r;
      return next;
      -- Once round: the receiver it began after was the last.
      exit when v_round and v_start is not null and v_receiver >= v_start;
    end loop;
    exit when v_firms_round and p_after is not null and v_firm >= p_after;
  end loop;
end
$$;

drop function take_attempt(uuid, text, timestamptz, integer);

-- Takes one attempt at a document: the lease and the due time are database time, the attempt's row, and what is needed
-- to make it. An attempt before it that never ended was cut. No row: nothing to do now (final, not due, or another node
-- is at it).
create function take_attempt(p_id uuid, p_owner text, p_lease_ms integer)
returns table (
  id uuid, firm_id uuid, sender text, receiver text, document_type_id text, process_id text, status text,
  version integer, attempt integer, answers integer, faults integer, as4_message_id text, sbdh_instance_id uuid,
  facts jsonb, created_at timestamptz, payload_key_id text, payload_sealed bytea, payload_bytes integer
)
language sql volatile as $$
  with taken as (
    update document as d
    set attempts = d.attempts + 1, version = d.version + 1, lease_owner = p_owner,
      lease_until = clock_timestamp() + p_lease_ms * interval '1 millisecond'
    where d.id = p_id and document_is_open(d.status) and d.next_attempt_at <= clock_timestamp()
      and (d.lease_until is null or d.lease_until < clock_timestamp())
    returning d.*
  ), begun as (
    insert into document_attempt (document_id, number, owner, started_at)
    select taken.id, taken.attempts, p_owner, clock_timestamp() from taken
  ), cut as (
    update document_attempt as a set finished_at = clock_timestamp(), outcome = 'cut', retryable = true
    from taken
    where taken.attempts > 1 and a.document_id = taken.id and a.number = taken.attempts - 1 and a.finished_at is null
  )
  select taken.id, taken.firm_id, taken.sender, taken.receiver, taken.document_type_id, taken.process_id, taken.status,
    taken.version, taken.attempts, taken.answers, taken.faults, taken.as4_message_id, taken.sbdh_instance_id,
    taken.facts, taken.created_at, payload.key_id, payload.sealed, payload.bytes
  from taken join payload on payload.document_id = taken.id
$$;

-- Takes the longest due documents of each lane, so many of each, as far as their payloads together have no more than
-- p_bytes_max octets; one goes in any case when p_one.
create function claim_documents(
  p_firm_id uuid[], p_receiver_key text[], p_count integer[], p_owner text, p_lease_ms integer, p_bytes_max bigint,
  p_one boolean
) returns table (
  id uuid, firm_id uuid, sender text, receiver text, document_type_id text, process_id text, status text,
  version integer, attempt integer, answers integer, faults integer, as4_message_id text, sbdh_instance_id uuid,
  facts jsonb, created_at timestamptz, payload_key_id text, payload_sealed bytea, payload_bytes integer
)
language sql volatile as $$
  with candidate as (
    select c.id, lane.n as lane
    from unnest(p_firm_id, p_receiver_key, p_count) with ordinality as lane (firm_id, receiver_key, count, n)
    cross join lateral (
      select d.id from document as d
      where d.firm_id = lane.firm_id and d.receiver_key = lane.receiver_key and d.next_attempt_at <= now()
        and (d.lease_until is null or d.lease_until < now())
      order by d.next_attempt_at limit lane.count
      for update skip locked
    ) as c
  ), ranked as (
    select c.id, row_number() over (partition by c.lane) as rank, c.lane from candidate as c
  ), weighed as (
    select r.id, row_number() over w as n, sum(p.bytes) over w as octets
    from ranked as r join payload as p on p.document_id = r.id
    window w as (order by r.rank, r.lane rows between unbounded preceding and current row)
  )
  select a.* from (select w.id from weighed as w where w.octets <= p_bytes_max or (p_one and w.n = 1) order by w.id) as w
  cross join lateral take_attempt(w.id, p_owner, p_lease_ms) as a
$$;

-- Takes documents that have been due for p_overdue_ms, whoever their receiver is: nobody is there to take them.
create function claim_overdue(p_owner text, p_lease_ms integer, p_overdue_ms bigint, p_limit integer)
returns table (
  id uuid, firm_id uuid, sender text, receiver text, document_type_id text, process_id text, status text,
  version integer, attempt integer, answers integer, faults integer, as4_message_id text, sbdh_instance_id uuid,
  facts jsonb, created_at timestamptz, payload_key_id text, payload_sealed bytea, payload_bytes integer
)
language sql volatile as $$
  select a.* from (
    select d.id from document as d
    where d.next_attempt_at <= now() - p_overdue_ms * interval '1 millisecond'
      and (d.lease_until is null or d.lease_until < now())
    order by d.next_attempt_at limit p_limit
    for update skip locked
  ) as o
  cross join lateral take_attempt(o.id, p_owner, p_lease_ms) as a
$$;

-- Writes the end of an attempt in one step: state, history, events, outbox, attempt, what it used of the plan, and the
-- exchange that a receipt proves. p_moves: the moves in order, the last leads to p_status; none when nothing moved. The
-- next attempt is due p_wait_ms from now. No row: the document has another version than the one decided on.
create function end_attempt(
  p_id uuid, p_version integer, p_status text, p_now timestamptz, p_wait_ms bigint, p_plan text, p_moves jsonb,
  p_events jsonb, p_attempt jsonb, p_reason text, p_exchange jsonb
) returns table (version integer)
language sql volatile as $$
  with moved as (
    update document as d
    set status = p_status, version = d.version + greatest(1, jsonb_array_length(p_moves)),
      updated_at = greatest(d.updated_at, p_now), lease_owner = null, lease_until = null,
      next_attempt_at = case when document_is_open(p_status)
        then clock_timestamp() + p_wait_ms * interval '1 millisecond' end,
      answers = d.answers + (p_plan = 'answer')::integer,
      faults = case when p_plan = 'fault' then d.faults + 1 else 0 end,
      delivered_at = coalesce(d.delivered_at, case when p_status = 'delivered' then greatest(d.updated_at, p_now) end),
      status_reason = coalesce(p_reason, d.status_reason)
    where d.id = p_id and d.version = p_version
    returning d.id, d.firm_id, d.version, d.updated_at, d.sender_key, d.document_type_id, d.process_id
  ), history as (
    insert into document_history (document_id, version, status, trigger, detail, occurred_at)
    select moved.id, p_version + m.n, m.value ->> 'status', m.value ->> 'trigger', m.value ->> 'detail', moved.updated_at
    from moved cross join lateral jsonb_array_elements(p_moves) with ordinality as m (value, n)
    order by m.n
  ), events as (
    insert into document_event (id, document_id, firm_id, kind, actor, feed, detail, meta, occurred_at)
    select (e.value ->> 'id')::uuid, moved.id, moved.firm_id, e.value ->> 'kind', 'system',
      (e.value ->> 'feed')::boolean, e.value ->> 'detail', e.value -> 'meta', moved.updated_at
    from moved cross join lateral jsonb_array_elements(p_events) with ordinality as e (value, n)
    order by e.n
  ), announced as (
    insert into outbox (stream, key, body)
    select 'events', e.value ->> 'id',
      jsonb_build_object('eventId', e.value ->> 'id', 'documentId', moved.id, 'kind', e.value ->> 'kind')
    from moved cross join lateral jsonb_array_elements(p_events) with ordinality as e (value, n)
    where (e.value ->> 'feed')::boolean
    order by e.n
  ), exchanged as (
    insert into exchange (id, direction, kind, firm_id, c2_seat, c3_seat, document_type_id, process_id,
      transport_profile, c1_country, end_user, exchanged_at)
    select moved.id, 'outgoing', 'business', moved.firm_id, p_exchange ->> 'c2Seat', p_exchange ->> 'c3Seat',
      moved.document_type_id, moved.process_id, p_exchange ->> 'transportProfile', p_exchange ->> 'c1Country',
      moved.sender_key, p_now
    from moved where p_exchange is not null
    on conflict (id) do nothing
  ), finished as (
    update document_attempt as a
    set finished_at = p_now, outcome = p_attempt ->> 'outcome', code = p_attempt ->> 'code',
      retryable = (p_attempt ->> 'retryable')::boolean, detail = p_attempt ->> 'detail'
    from moved
    where a.document_id = moved.id and a.number = (p_attempt ->> 'number')::integer
  )
  select moved.version from moved
$$;

-- Takes an attempt back that was not made: its number is free again, the lease too, and the document is due in p_wait_ms.
-- No row: the document has another version than the one that was taken.
create function put_off_attempt(p_id uuid, p_version integer, p_number integer, p_wait_ms bigint)
returns table (version integer)
language sql volatile as $$
  with deferred as (
    update document as d
    set attempts = d.attempts - 1, version = d.version + 1, lease_owner = null, lease_until = null,
      next_attempt_at = clock_timestamp() + p_wait_ms * interval '1 millisecond'
    where d.id = p_id and d.version = p_version and d.attempts = p_number
    returning d.id, d.version
  ), forgotten as (
    delete from document_attempt as a using deferred where a.document_id = deferred.id and a.number = p_number
  )
  select deferred.version from deferred
$$;

-- Says that a process is alive, and frees what the dead had under lease: a write of theirs that comes late meets another
-- version. Answers how many leases were freed.
create function beat_dispatcher(p_owner text, p_dead_ms integer) returns integer
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
  update document as d set lease_owner = null, lease_until = null, version = d.version + 1
  where d.next_attempt_at is not null and d.lease_owner = any (v_dead);
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
create function free_idle_leases(p_owner text, p_working uuid[], p_lease_ms integer, p_young_ms integer)
returns table (id uuid)
language sql volatile as $$
  update document as d set lease_owner = null, lease_until = null, version = d.version + 1
  where d.next_attempt_at is not null and d.lease_owner = p_owner and d.id <> all (p_working)
    and d.lease_until < clock_timestamp() + (p_lease_ms - p_young_ms) * interval '1 millisecond'
  returning d.id
$$;
