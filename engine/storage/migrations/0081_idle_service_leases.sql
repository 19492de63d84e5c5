-- Frees leases of a living process on messages and on documents to be judged that it does not work on: a claim whose
-- answer was lost with its connection, a turn that could not be had. A lease that is younger than p_young_ms may still be
-- on its way to it.
create function free_idle_service_leases(
  p_owner text, p_messages uuid[], p_duties uuid[], p_lease_ms integer, p_young_ms integer
) returns table (id uuid)
language sql volatile as $$
  with messages as (
    update service_message as m set lease_owner = null, lease_until = null, version = m.version + 1
    where m.next_attempt_at is not null and m.lease_owner = p_owner and m.id <> all (p_messages)
      and m.lease_until < clock_timestamp() + (p_lease_ms - p_young_ms) * interval '1 millisecond'
    returning m.id
  ), duties as (
    update mls_duty as d set lease_owner = null, lease_until = null
    where d.next_at is not null and d.lease_owner = p_owner and d.id <> all (p_duties)
      and d.lease_until < clock_timestamp() + (p_lease_ms - p_young_ms) * interval '1 millisecond'
    returning d.id
  )
  select messages.id from messages union all select duties.id from duties
$$;
