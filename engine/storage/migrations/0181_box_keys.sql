-- What waits in the Box leaves in the name of a key, and of the consent behind it, as they are when it leaves.

-- The key that took the place of one that was rotated.
alter table api_key add column successor_id uuid references api_key (id);
update api_key as k set successor_id = h.id
from audit_entry as a join api_key as h on h.id::text = a.metadata ->> 'successor'
where a.event = 'api_key.rotated' and a.target_id = k.id::text;

create or replace function rotate_api_key(
  p_id uuid, p_generation integer, p_new_id uuid, p_prefix text, p_secret_sha256 bytea, p_now timestamptz, p_audit jsonb
) returns text language plpgsql as $$
declare
  v_key api_key;
begin
  select * into v_key from api_key where id = p_id for update;
  if not found or not v_key.active or v_key.generation <> p_generation then return 'changed'; end if;
  if v_key.firm_id is null then return 'not_a_firm_key'; end if;
  insert into api_key (id, key_type, firm_id, prefix, secret_sha256, scopes, ip_allowlist, active, name, created_at)
    values (p_new_id, v_key.key_type, v_key.firm_id, p_prefix, p_secret_sha256, v_key.scopes, v_key.ip_allowlist, true, v_key.name, p_now);
  update api_key set active = false, generation = generation + 1, deactivated_at = p_now, successor_id = p_new_id where id = p_id;
  delete from refresh_family where key_id = p_id;
  perform audit_key(p_audit, 'api_key.rotated', v_key, jsonb_build_object('successor', p_new_id));
  return 'rotated';
end $$;

-- Whether a key was ended, and whatever took its place too.
create function key_has_ended(p_key uuid) returns boolean language sql stable as $$
  with recursive heir (id, active, successor_id) as (
    select k.id, k.active, k.successor_id from api_key as k where k.id = p_key
    union all
    select k.id, k.active, k.successor_id from heir join api_key as k on k.id = heir.successor_id
  )
  select coalesce(not bool_or(heir.active), false) from heir
$$;

-- Consents that were withdrawn after the item was made, or last asked for, are not revived by new ones.
alter table box_item add column binding_generation integer;

-- Whether what waits may leave in the name of this firm now: neither the key that asked for it nor the consent behind that
-- key has ended, outside the sandbox its integrator is authorized for production, and the sender is still the firm's.
drop function box_is_allowed(uuid, uuid, text);
create function box_is_allowed(p_firm uuid, p_key uuid, p_integrator uuid, p_generation integer, p_sender text) returns boolean
language sql stable as $$
  select exists (select 1 from participant as p where p.key = lower(p_sender) and p.firm_id = p_firm)
    and not key_has_ended(p_key)
    and (p_integrator is null or exists (
      select 1 from firm_binding as b
      join integrator as i on i.id = b.integrator_id
      join firm as f on f.id = b.firm_id
      where b.firm_id = p_firm and b.integrator_id = p_integrator and b.state = 'active' and 'documents:send' = any (b.scopes)
        and b.revoked_generation <= coalesce(p_generation, b.revoked_generation)
        and (f.sandbox or i.production_authorized)))
$$;

-- As before, with the generation of the integrator's consents.
create or replace function create_box_item(
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
    payload_bytes, scheduled_for, due_at, document_id, status_since, created_at, updated_at, binding_generation
  ) values (
    v_id, v_firm, (p_item ->> 'integratorId')::uuid, (p_item ->> 'keyId')::uuid, p_item ->> 'externalId', v_status, 1,
    p_item ->> 'sender', p_item ->> 'receiver', p_item ->> 'documentTypeId', p_item ->> 'processId', p_payload_sha256,
    (p_item ->> 'payloadBytes')::integer, v_scheduled, coalesce(v_scheduled, clock_timestamp()), v_id, clock_timestamp(), v_now, v_now,
    (select g.binding_generation from integrator as g where g.id = (p_item ->> 'integratorId')::uuid)
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

-- As before; `allowed` knows the key and the generation.
create or replace function claim_box_items(
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
    t.tries, extract(epoch from t.locked_at - t.was_due)::double precision * 1000,
    box_is_allowed(t.firm_id, t.key_id, t.integrator_id, t.binding_generation, t.sender),
    p.key_id, p.sealed, t.payload_bytes
  from taken as t join box_payload as p on p.item_id = t.id
  order by t.n
$$;

-- As before; who asks that the item is sent answers for it from then on, with their key and their consent.
create or replace function move_box_item(p_move jsonb, p_events jsonb, p_audit jsonb) returns boolean language plpgsql as $$
declare
  v_id uuid := (p_move ->> 'id')::uuid;
  v_firm uuid := (p_move ->> 'firmId')::uuid;
  v_trigger text := p_move ->> 'trigger';
  v_to text := p_move ->> 'to';
  v_scheduled timestamptz := (p_move ->> 'scheduledFor')::timestamptz;
  v_document document;
  v_item box_item;
  v_waits boolean;
  v_leaves boolean;
  v_key uuid := case when v_to <> 'cancelled' and p_audit ->> 'actorType' = 'api_key' then (p_audit ->> 'actorId')::uuid end;
  v_generation integer;
begin
  select d.* into v_document from document as d join box_item as i on i.document_id = d.id
  where i.id = v_id and i.firm_id = v_firm for update of d;
  select * into v_item from box_item as i
  where i.id = v_id and i.firm_id = v_firm and i.version = (p_move ->> 'version')::integer for update;
  if not found then return false; end if;
  v_waits := v_document.id is not null and document_is_open(v_document.status);
  v_leaves := v_document.id is not null and not v_waits and v_to <> 'cancelled';
  -- Somebody has begun an attempt: the item is not what it was decided on.
  if v_waits and v_document.lease_owner is not null then return false; end if;
  if v_waits and v_to = 'cancelled' then
    perform 1 from apply_move(v_document.id, v_document.version, p_move ->> 'documentStatus', 'cancelled', p_move ->> 'reason',
      clock_timestamp(), null, p_events, null, jsonb_build_object('statusReason', p_move ->> 'reason'));
  elsif v_waits then
    update document as d set next_attempt_at = least(d.next_attempt_at, clock_timestamp()), version = d.version + 1
    where d.id = v_document.id;
  end if;
  select g.binding_generation into v_generation from integrator as g where g.id = (p_move ->> 'integratorId')::uuid;
  update box_item as i
  set status = v_to, version = i.version + 1, tries = 0, last_error = null,
    scheduled_for = coalesce(v_scheduled, i.scheduled_for),
    due_at = case v_to
      when 'scheduled' then v_scheduled
      when 'retrying' then case when not v_waits then clock_timestamp() end
      when 'sending' then clock_timestamp() + (p_move ->> 'leaseMs')::integer * interval '1 millisecond'
    end,
    lease_owner = case when v_to = 'sending' then p_move ->> 'owner' end,
    locked_at = case when v_to = 'sending' then clock_timestamp() end,
    document_id = case when v_leaves then (p_move ->> 'freshId')::uuid else i.document_id end,
    attempts_before = i.attempts_before + case when v_leaves then v_document.attempts else 0 end,
    sent_at = case when v_leaves then null else i.sent_at end,
    key_id = coalesce(v_key, i.key_id),
    integrator_id = case when v_key is null then i.integrator_id else (p_move ->> 'integratorId')::uuid end,
    binding_generation = case when v_key is null then i.binding_generation else v_generation end,
    cancelled_at = case when v_to = 'cancelled' then clock_timestamp() end,
    status_since = case when v_item.status = v_to then i.status_since else clock_timestamp() end,
    updated_at = greatest(i.updated_at, clock_timestamp())
  where i.id = v_id
  returning * into v_item;
  insert into box_event (item_id, version, kind, status, actor_type, actor_id, detail, document_id, occurred_at)
  values (v_id, v_item.version, v_trigger, v_to, p_audit ->> 'actorType', p_audit ->> 'actorId', p_move ->> 'scheduledFor',
    case when v_leaves then v_document.id end, clock_timestamp());
  perform append_audit(
    p_audit,
    case v_trigger when 'schedule' then 'box.scheduled' when 'send_now' then 'box.sent_now' when 'retry' then 'box.retried'
      when 'cancel' then 'box.cancelled' end,
    v_firm, (p_move ->> 'integratorId')::uuid, 'box_item', v_id::text,
    jsonb_build_object('status', v_to, 'scheduledFor', p_move ->> 'scheduledFor'));
  return true;
end
$$;

-- Frees what nobody works on: what this process has taken and does not know of (p_working), because the answer to its claim
-- was lost; what processes on this node had before this one (p_node); and what processes had that have not been seen for
-- p_dead_ms. A lease that is younger than p_young_ms may still be on its way. Behind a '#' stands what a process does for a
-- caller that waits. Answers how many were freed.
drop function free_box_leases(text, integer);
create function free_box_leases(p_owner text, p_node text, p_working uuid[], p_young_ms integer, p_dead_ms integer)
returns integer language sql as $$
  with idle as (
    select i.id from box_item as i
    where i.due_at > clock_timestamp() and i.status = 'sending' and i.lease_owner is not null
      and (starts_with(i.lease_owner, p_node || '/')
        or (i.lease_owner = p_owner and i.id <> all (p_working)
          and i.locked_at < clock_timestamp() - p_young_ms * interval '1 millisecond')
        or (i.locked_at < clock_timestamp() - p_dead_ms * interval '1 millisecond' and split_part(i.lease_owner, '#', 1) <> p_owner
          and not exists (select 1 from dispatcher as d where d.owner = split_part(i.lease_owner, '#', 1))))
    for update skip locked
  ), freed as (
    update box_item as i set due_at = clock_timestamp(), version = i.version + 1 from idle where i.id = idle.id returning 1
  )
  select count(*)::integer from freed
$$;
