-- On PostgreSQL 15 a function is planned for no limit in particular: what is claimed is found by the ids that were chosen, in a list,
-- and its payload by a look-up of its own, which cannot become a join that reads the whole table.
create or replace function claim_box_items(
  p_firms uuid[], p_max integer, p_owner text, p_lease_ms integer, p_bytes_max bigint, p_one boolean
) returns table (
  id uuid, firm_id uuid, key_id uuid, external_id text, version integer, sender text, receiver text, document_type_id text,
  process_id text, document_id uuid, tries integer, late_ms double precision, allowed boolean, payload_key_id text,
  payload_sealed bytea, payload_bytes integer
) language sql set enable_sort = off set enable_incremental_sort = off set enable_hashjoin = off set enable_mergejoin = off as $$
  with candidate as (
    select c.id, firm.n as lane, c.due_at, c.payload_bytes
    from unnest(p_firms) with ordinality as firm (id, n)
    cross join lateral (
      select i.id, i.due_at, i.payload_bytes from box_item as i
      where i.due_at is not null and (i.firm_id, i.due_at) >= (firm.id, '-infinity')
        and (i.firm_id, i.due_at) <= (firm.id, now())
      order by i.firm_id, i.due_at limit greatest(1, (p_max + cardinality(p_firms) - 1) / greatest(1, cardinality(p_firms)))
      for update skip locked
    ) as c
  ), ranked as (
    select c.id, c.lane, c.payload_bytes, row_number() over (partition by c.lane order by c.due_at) as rank from candidate as c
  ), weighed as (
    select r.id, row_number() over w as n, sum(r.payload_bytes) over w as octets
    from ranked as r window w as (order by r.rank, r.lane rows between unbounded preceding and current row)
  ), chosen as (
    select w.id, w.n, c.due_at as was_due from weighed as w join candidate as c on c.id = w.id
    where w.n <= p_max and (w.octets <= p_bytes_max or (p_one and w.n = 1))
  ), taken as (
    update box_item as i
    set status = 'sending', version = i.version + 1, lease_owner = p_owner, locked_at = clock_timestamp(),
      due_at = clock_timestamp() + p_lease_ms * interval '1 millisecond',
      status_since = case when i.status = 'sending' then i.status_since else clock_timestamp() end,
      updated_at = greatest(i.updated_at, clock_timestamp())
    from chosen
    where i.id = any (array(select c.id from chosen as c)) and i.id = chosen.id
    returning i.*, chosen.was_due, chosen.n
  )
  select t.id, t.firm_id, t.key_id, t.external_id, t.version, t.sender, t.receiver, t.document_type_id, t.process_id, t.document_id,
    t.tries, extract(epoch from t.locked_at - t.was_due)::double precision * 1000,
    box_is_allowed(t.firm_id, t.key_id, t.integrator_id, t.binding_generation, t.sender),
    p.key_id, p.sealed, t.payload_bytes
  from taken as t
  cross join lateral (select b.key_id, b.sealed from box_payload as b where b.item_id = t.id offset 0) as p
  order by t.n
$$;

create or replace function claim_overdue(
  p_owner text, p_lease_ms integer, p_overdue_ms bigint, p_limit integer, p_bytes bigint, p_one boolean
) returns table (
  id uuid, firm_id uuid, sender text, receiver text, document_type_id text, process_id text, status text, version integer,
  attempt integer, answers integer, faults integer, as4_message_id text, sbdh_instance_id uuid, facts jsonb,
  created_at timestamptz, payload_key_id text, payload_sealed bytea, payload_bytes integer
)
language sql as $$
  select a.* from (
    select d.id, d.next_attempt_at, row_number() over oldest as n, sum(p.bytes) over oldest as octets
    from (
      select d.id, d.next_attempt_at from document as d
      where d.next_attempt_at <= now() - p_overdue_ms * interval '1 millisecond'
        and (d.lease_until is null or d.lease_until < now())
      order by d.next_attempt_at limit p_limit
      for update skip locked
    ) as d
    cross join lateral (select b.bytes from payload as b where b.document_id = d.id offset 0) as p
    window oldest as (order by d.next_attempt_at, d.id)
  ) as o
  cross join lateral take_attempt(o.id, p_owner, p_lease_ms) as a
  where o.octets <= p_bytes or (p_one and o.n = 1)
  order by o.next_attempt_at, o.id
$$;
