-- Last attempts at documents that have been due for as long as the whole plan lasts were claimed by their number alone: of
-- large ones a node was given many times the octets that it has room for, at each start anew.
create function claim_overdue(
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
    join payload as p on p.document_id = d.id
    window oldest as (order by d.next_attempt_at, d.id)
  ) as o
  cross join lateral take_attempt(o.id, p_owner, p_lease_ms) as a
  where o.octets <= p_bytes or (p_one and o.n = 1)
  order by o.next_attempt_at, o.id
$$;
