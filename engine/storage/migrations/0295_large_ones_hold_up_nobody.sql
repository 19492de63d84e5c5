-- A document that had more octets than were left held up all that were ranked behind it, of other firms too. It is passed over
-- now, and those that fit go. With p_one the first that does not fit goes all the same: for one at a time the process keeps as many
-- octets free as a payload has at the most, so that small ones without an end do not keep a large one waiting.
create or replace function claim_documents(
  p_firm_id uuid[], p_receiver_key text[], p_count integer[], p_owner text, p_lease_ms integer, p_bytes_max bigint,
  p_one boolean
) returns table (
  id uuid, firm_id uuid, sender text, receiver text, document_type_id text, process_id text, status text, version
  integer, attempt integer, answers integer, faults integer, as4_message_id text, sbdh_instance_id uuid, facts jsonb,
  created_at timestamptz, payload_key_id text, payload_sealed bytea, payload_bytes integer
) language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_sort = off set enable_incremental_sort = off as $$
#variable_conflict use_column
declare
  v_candidate record;
  v_left bigint := p_bytes_max;
  v_one boolean := p_one;
  v_ids uuid[] := '{}';
begin
  for v_candidate in
    with candidate as (
      select c.id, lane.n as lane
      from unnest(p_firm_id, p_receiver_key, p_count) with ordinality as lane (firm_id, receiver_key, count, n)
      cross join lateral (
        select d.id from document as d
        where d.next_attempt_at is not null
          and (d.firm_id, d.receiver_key, d.next_attempt_at) >= (lane.firm_id, lane.receiver_key, '-infinity')
          and (d.firm_id, d.receiver_key, d.next_attempt_at) <= (lane.firm_id, lane.receiver_key, now())
          and (d.lease_until is null or d.lease_until < now())
        order by d.firm_id, d.receiver_key, d.next_attempt_at limit lane.count
        for update skip locked
      ) as c
    ), ranked as materialized (
      select c.id, row_number() over (partition by c.lane) as rank, c.lane,
        (select p.bytes from payload as p where p.document_id = c.id) as bytes
      from candidate as c
    )
    select r.id, r.bytes from ranked as r where r.bytes is not null order by r.rank, r.lane
  loop
    if v_candidate.bytes <= v_left then
      v_left := v_left - v_candidate.bytes;
    elsif v_one then
      v_one := false;
    else
      continue;
    end if;
    v_ids := v_ids || v_candidate.id;
  end loop;
  return query
  select a.* from (select t.id from unnest(v_ids) as t (id) order by t.id) as w
  cross join lateral take_attempt(w.id, p_owner, p_lease_ms) as a;
end
$$;
