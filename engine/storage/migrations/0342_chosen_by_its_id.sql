-- As before, but a message that was chosen is found by its id: where statistics are of an hour in which nothing was due, the index
-- of what is due looked shorter than the primary key and was read again from its beginning for each of them, past all that a
-- provider which hangs is owed.
create or replace function claim_service_messages(
  p_owner text, p_lease_ms integer, p_limit integer, p_receiver_max integer, p_looked_max integer, p_under_way text[]
) returns table (
  id uuid, kind text, status text, version integer, attempt integer, answers integer, faults integer, sender text,
  receiver text, document_type_id text, process_id text, as4_message_id text, sbdh_instance_id uuid,
  created_at timestamptz, payload_key_id text, payload_sealed bytea, firm_id uuid, about uuid
) language sql volatile as $$
  with busy as (
    select service_lane(u.receiver) as lane, count(*) as n from unnest(p_under_way) as u (receiver) group by 1
  ), due as (
    select m.id, m.next_attempt_at, service_lane(m.receiver) as lane from service_message as m
    where m.next_attempt_at <= now() and (m.lease_until is null or m.lease_until < now())
      and service_lane(m.receiver) <> all (array(select b.lane from busy as b where b.n >= p_receiver_max))
    order by m.next_attempt_at limit p_looked_max
  ), ranked as (
    select due.id, due.next_attempt_at,
      row_number() over (partition by due.lane order by due.next_attempt_at) + coalesce(b.n, 0) as share
    from due left join busy as b on b.lane = due.lane
  ), chosen as (
    select m.id from ranked as r join service_message as m on m.id = r.id
    where r.share <= p_receiver_max
      and case when m.next_attempt_at <= now() then true end and (m.lease_until is null or m.lease_until < now())
    order by r.share, r.next_attempt_at limit p_limit
    for update of m skip locked
  ), taken as (
    update service_message as m
    set attempts = m.attempts + 1, version = m.version + 1, lease_owner = p_owner,
      lease_until = clock_timestamp() + p_lease_ms * interval '1 millisecond'
    from chosen where m.id = chosen.id
    returning m.*
  ), begun as (
    insert into service_attempt (message_id, number, owner, started_at)
    select taken.id, taken.attempts, p_owner, clock_timestamp() from taken
  ), cut as (
    update service_attempt as a set finished_at = clock_timestamp(), outcome = 'cut'
    from taken
    where taken.attempts > 1 and a.message_id = taken.id and a.number = taken.attempts - 1 and a.finished_at is null
  )
  select taken.id, taken.kind, taken.status, taken.version, taken.attempts, taken.answers, taken.faults, taken.sender,
    taken.receiver, taken.document_type_id, taken.process_id, taken.as4_message_id, taken.sbdh_instance_id,
    taken.created_at, taken.payload_key_id, taken.payload_sealed, taken.firm_id, taken.about
  from taken
$$;
