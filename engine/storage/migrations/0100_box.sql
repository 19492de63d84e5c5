-- The Box: documents that wait here until they are handed over for sending. What becomes of the document that was handed
-- over moves its item by a trigger, so that no writer of documents has to know of the Box.

create table box_item (
  id uuid primary key,
  firm_id uuid not null references firm (id),
  -- Whose key made it, when it was an integrator's: its consent is looked at again before the document leaves.
  integrator_id uuid references integrator (id),
  key_id uuid not null,
  external_id text check (char_length(external_id) between 1 and 255),
  status text not null check (status in
    ('ready', 'scheduled', 'sending', 'retrying', 'sent', 'needs_repair', 'failed', 'cancelled', 'expired')),
  version integer not null check (version >= 1),
  sender text not null,
  receiver text not null,
  document_type_id text not null,
  process_id text not null,
  payload_sha256 bytea not null check (octet_length(payload_sha256) = 32),
  payload_bytes integer not null check (payload_bytes > 0),
  scheduled_for timestamptz,
  -- When it is to be taken for dispatch; of one that is taken, when the lease ends. Null where there is nothing to do.
  due_at timestamptz,
  lease_owner text,
  locked_at timestamptz,
  -- Dispatches in a row that were put off.
  tries integer not null default 0 check (tries >= 0),
  -- The id under which its document is accepted: a dispatch that is repeated finds what the first one did.
  document_id uuid not null,
  -- Attempts at the documents of earlier dispatches.
  attempts_before integer not null default 0,
  last_error jsonb,
  sent_at timestamptz,
  cancelled_at timestamptz,
  status_since timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  check (status not in ('ready', 'scheduled') or due_at is not null),
  check (status in ('ready', 'scheduled', 'sending', 'retrying') or due_at is null),
  check ((lease_owner is null) = (locked_at is null)),
  check (lease_owner is null or status = 'sending'),
  check ((status = 'cancelled') <= (cancelled_at is not null))
) with (fillfactor = 70);

create unique index box_item_external_id on box_item (firm_id, external_id) where external_id is not null;
create unique index box_item_document on box_item (document_id);
create index box_item_due on box_item (due_at) where due_at is not null;
create index box_item_lane on box_item (firm_id, due_at) where due_at is not null;
create index box_item_list on box_item (firm_id, created_at desc, id desc);
create index box_item_status on box_item (firm_id, status, created_at desc, id desc);
create index box_item_end on box_item (status, status_since) where status in ('sent', 'needs_repair', 'failed', 'cancelled', 'expired');

-- The sealed text of an item and what its maker keeps with it; gone when the item has expired.
create table box_payload (
  item_id uuid primary key references box_item (id) on delete cascade,
  key_id text not null,
  sealed bytea not null,
  metadata_sealed bytea
);

-- What was done with an item, and by whom. What becomes of its documents stands in their own timelines.
create table box_event (
  item_id uuid not null references box_item (id) on delete cascade,
  version integer not null,
  kind text not null check (kind in
    ('created', 'schedule', 'send_now', 'retry', 'cancel', 'postponed', 'failed', 'rules_refused', 'expired')),
  status text not null,
  actor_type text not null check (actor_type in ('api_key', 'user', 'operator', 'system')),
  actor_id text,
  detail text,
  -- The document that was left behind by this step.
  document_id uuid,
  occurred_at timestamptz not null,
  primary key (item_id, version)
);

-- The state of an item whose document has this one; null where no document leads.
create function box_status_of(p_status text, p_attempts integer, p_leased boolean) returns text
language sql immutable parallel safe as $$
  select case
    when p_status = 'queued' and (p_attempts = 0 or p_leased) then 'sending'
    when p_status = 'queued' then 'retrying'
    when p_status in ('sent', 'delivered') then 'sent'
    when p_status = 'validation_failed' then 'needs_repair'
    when p_status in ('rejected', 'send_failed', 'delivery_failed') then 'failed'
  end
$$;

-- An item follows its document. The document is locked before its item, here and by whoever changes both. A dispatch whose
-- lease had ended and whose item has moved on meanwhile must not make a document any more.
create function box_item_follows() returns trigger language plpgsql as $$
declare
  v_item box_item;
  v_status text := box_status_of(new.status, new.attempts, new.lease_owner is not null);
begin
  select * into v_item from box_item as i where i.document_id = new.id for update;
  if tg_op = 'INSERT' and (v_item.status <> 'sending' or exists (select 1 from box_event as e where e.document_id = new.id)) then
    raise exception 'the item of document % has moved on', new.id;
  end if;
  update box_item as i
  set status = v_status, version = i.version + 1, due_at = null, lease_owner = null, locked_at = null, tries = 0, last_error = null,
    sent_at = coalesce(i.sent_at, case when v_status = 'sent' then greatest(new.updated_at, i.created_at) end),
    status_since = case when i.status = v_status then i.status_since else clock_timestamp() end,
    updated_at = greatest(i.updated_at, clock_timestamp())
  where i.id = v_item.id and i.status not in ('cancelled', 'expired') and (i.status <> v_status or i.due_at is not null);
  return null;
end
$$;
create index box_event_document on box_event (document_id) where document_id is not null;
create trigger document_begins_box_item after insert on document for each row
  when (new.door = 'box') execute function box_item_follows();
create trigger document_moves_box_item after update of status, lease_owner on document for each row
  when (new.door = 'box' and (new.status <> old.status or new.lease_owner is distinct from old.lease_owner))
  execute function box_item_follows();

-- Makes an item, or finds the one that has its external id: 'created', 'existing', or 'conflict' when that one has another
-- payload. A call whose answer was lost finds its own item.
create function create_box_item(
  p_item jsonb, p_payload_sha256 bytea, p_payload_key_id text, p_payload_sealed bytea, p_metadata_sealed bytea, p_audit jsonb
) returns table (outcome text, id uuid) language plpgsql as $$
#variable_conflict use_column
declare
  v_id uuid := (p_item ->> 'id')::uuid;
  v_firm uuid := (p_item ->> 'firmId')::uuid;
  v_now timestamptz := (p_item ->> 'createdAt')::timestamptz;
  v_scheduled timestamptz := (p_item ->> 'scheduledFor')::timestamptz;
  v_status text := case when v_scheduled is null then 'ready' else 'scheduled' end;
begin
  insert into box_item (
    id, firm_id, integrator_id, key_id, external_id, status, version, sender, receiver, document_type_id, process_id, payload_sha256,
    payload_bytes, scheduled_for, due_at, document_id, status_since, created_at, updated_at
  ) values (
    v_id, v_firm, (p_item ->> 'integratorId')::uuid, (p_item ->> 'keyId')::uuid, p_item ->> 'externalId', v_status, 1,
    p_item ->> 'sender', p_item ->> 'receiver', p_item ->> 'documentTypeId', p_item ->> 'processId', p_payload_sha256,
    (p_item ->> 'payloadBytes')::integer, v_scheduled, coalesce(v_scheduled, clock_timestamp()), v_id, clock_timestamp(), v_now, v_now
  ) on conflict do nothing;
  if found then
    insert into box_payload (item_id, key_id, sealed, metadata_sealed)
    values (v_id, p_payload_key_id, p_payload_sealed, p_metadata_sealed);
    insert into box_event (item_id, version, kind, status, actor_type, actor_id, occurred_at)
    values (v_id, 1, 'created', v_status, p_audit ->> 'actorType', p_audit ->> 'actorId', v_now);
    return query select 'created', v_id;
    return;
  end if;
  return query
  select case when i.id = v_id then 'created' when i.payload_sha256 = p_payload_sha256 then 'existing' else 'conflict' end, i.id
  from box_item as i
  where i.id = v_id or (i.firm_id = v_firm and i.external_id = p_item ->> 'externalId')
  order by i.id = v_id desc limit 1;
end
$$;

-- The firms after p_after that have items to be taken, p_max of them, and once round; `due` says whether one is due now.
create function box_firms(p_after uuid, p_max integer) returns table (firm_id uuid, due boolean)
language plpgsql stable as $$
declare
  v_firm uuid := p_after;
  v_round boolean := p_after is null;
begin
  for v_count in 1..p_max loop
    select i.firm_id into v_firm from box_item as i
    where i.due_at is not null and i.firm_id > coalesce(v_firm, '00000000-0000-0000-0000-000000000000')
    order by i.firm_id limit 1;
    if not found then
      exit when v_round;
      v_round := true;
      v_firm := null;
      continue;
    end if;
    exit when v_round and p_after is not null and v_firm > p_after;
    firm_id := v_firm;
    due := exists (select 1 from box_item as i where i.firm_id = v_firm and i.due_at <= now());
    return next;
  end loop;
end
$$;

-- Whether what waits may leave in the name of this firm now.
create function box_is_allowed(p_firm uuid, p_integrator uuid, p_sender text) returns boolean language sql stable as $$
  select exists (select 1 from participant as p where p.key = lower(p_sender) and p.firm_id = p_firm)
    and (p_integrator is null or exists (
      select 1 from firm_binding as b
      where b.firm_id = p_firm and b.integrator_id = p_integrator and b.state = 'active' and 'documents:send' = any (b.scopes)))
$$;

-- Takes due items of these firms under lease: one of each in turn, the longest due of a firm first, p_max at most, with
-- payloads of p_bytes_max octets together, and one in any case where p_one says so. `allowed`: the integrator that made it
-- may still act for the firm, and the participant that sends is still the firm's.
create function claim_box_items(
  p_firms uuid[], p_max integer, p_owner text, p_lease_ms integer, p_bytes_max bigint, p_one boolean
) returns table (
  id uuid, firm_id uuid, key_id uuid, external_id text, version integer, sender text, receiver text, document_type_id text,
  process_id text, document_id uuid, tries integer, late_ms double precision, allowed boolean, payload_key_id text,
  payload_sealed bytea, payload_bytes integer
) language sql as $$
  with candidate as (
    select c.id, firm.n as lane, c.due_at, c.payload_bytes
    from unnest(p_firms) with ordinality as firm (id, n)
    cross join lateral (
      select i.id, i.due_at, i.payload_bytes from box_item as i
      where i.firm_id = firm.id and i.due_at <= now()
      order by i.due_at limit greatest(1, (p_max + cardinality(p_firms) - 1) / greatest(1, cardinality(p_firms)))
      for update skip locked
    ) as c
  ), ranked as (
    select c.id, c.lane, c.payload_bytes, row_number() over (partition by c.lane order by c.due_at) as rank from candidate as c
  ), weighed as (
    select r.id, row_number() over w as n, sum(r.payload_bytes) over w as octets
    from ranked as r window w as (order by r.rank, r.lane rows between unbounded preceding and current row)
  ), chosen as (
    select w.id, w.n from weighed as w where w.n <= p_max and (w.octets <= p_bytes_max or (p_one and w.n = 1))
  ), taken as (
    update box_item as i
    set status = 'sending', version = i.version + 1, lease_owner = p_owner, locked_at = clock_timestamp(),
      due_at = clock_timestamp() + p_lease_ms * interval '1 millisecond',
      status_since = case when i.status = 'sending' then i.status_since else clock_timestamp() end,
      updated_at = greatest(i.updated_at, clock_timestamp())
    from box_item as before, chosen
    where i.id = chosen.id and before.id = i.id
    returning i.*, before.due_at as was_due, chosen.n
  )
  select t.id, t.firm_id, t.key_id, t.external_id, t.version, t.sender, t.receiver, t.document_type_id, t.process_id, t.document_id,
    t.tries, extract(epoch from t.locked_at - t.was_due)::double precision * 1000, box_is_allowed(t.firm_id, t.integrator_id, t.sender),
    p.key_id, p.sealed, t.payload_bytes
  from taken as t join box_payload as p on p.item_id = t.id
  order by t.n
$$;

-- Ends a dispatch that has made no document: put off for p_wait_ms, or over. A document that was made decides instead.
create function end_box_dispatch(
  p_id uuid, p_document_id uuid, p_owner text, p_status text, p_kind text, p_error jsonb, p_wait_ms bigint
) returns boolean language sql as $$
  with ended as (
    update box_item as i
    set status = p_status, version = i.version + 1, lease_owner = null, locked_at = null, last_error = p_error,
      tries = case when p_wait_ms is null then 0 else i.tries + 1 end,
      due_at = clock_timestamp() + p_wait_ms * interval '1 millisecond', status_since = clock_timestamp(),
      updated_at = greatest(i.updated_at, clock_timestamp())
    where i.id = p_id and i.document_id = p_document_id and i.status = 'sending' and i.lease_owner = p_owner
      and not exists (select 1 from document as d where d.id = p_document_id)
    returning i.id, i.version, i.updated_at
  ), told as (
    insert into box_event (item_id, version, kind, status, actor_type, detail, occurred_at)
    select ended.id, ended.version, p_kind, p_status, 'system', p_error ->> 'message', ended.updated_at from ended
  )
  select exists (select 1 from ended)
$$;

-- Frees what processes hold that are gone: one on this node before (p_node), or any that has not been seen for p_dead_ms.
create function free_box_leases(p_node text, p_dead_ms integer) returns integer language sql as $$
  with freed as (
    update box_item as i
    set due_at = clock_timestamp(), version = i.version + 1
    where i.due_at > clock_timestamp() and i.status = 'sending' and i.lease_owner is not null
      and (starts_with(i.lease_owner, p_node || '/')
        or (i.locked_at < clock_timestamp() - p_dead_ms * interval '1 millisecond'
          and not exists (select 1 from dispatcher as d where d.owner = i.lease_owner)))
    returning i.id
  )
  select count(*)::integer from freed
$$;
create index box_item_leased on box_item (lease_owner) where lease_owner is not null;

-- Ends a document that was accepted to be refused: at doors that keep what the rules refuse.
create function end_refused(
  p_id uuid, p_outcome text, p_detail text, p_now timestamptz, p_events jsonb, p_changes jsonb
) returns void language plpgsql as $$
begin
  if p_outcome = 'accepted' then
    perform 1 from apply_move(p_id, 1, 'validation_failed', 'rules_refused', p_detail, p_now, null, p_events, null, p_changes);
  end if;
end
$$;
