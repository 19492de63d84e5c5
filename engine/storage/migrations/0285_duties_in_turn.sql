-- Received documents are judged one of each firm in turn, of a firm only so many at once, and large ones apart from the others. A
-- claim says how many octets a document has and brings none of them: they are read when there is room for them. take_mls_duties
-- stays for the release before, whose rows do not say how long they are: these count as large ones.
alter table mls_duty add column payload_bytes integer;

create function claim_mls_duties(
  p_owner text, p_lease_ms integer, p_limit integer, p_firm_max integer, p_looked_max integer, p_small_bytes_max integer,
  p_large boolean
) returns table (
  id uuid, firm_id uuid, sbdh_instance_id text, document_type_id text, receiver text, always boolean, received_at timestamptz,
  acknowledged boolean, is_response boolean, held boolean, has_payload boolean, payload_bytes integer, sealed_bytes integer,
  process_id text, document_sender text, document_receiver text
) language sql volatile as $$
  with due as (
    select d.id, d.firm_id, d.next_at, coalesce(d.lease_until >= now(), false) as is_leased
    from mls_duty as d
    where d.next_at <= now() and coalesce(d.payload_bytes > p_small_bytes_max, true) = p_large
      and (d.lease_until is null or d.lease_until < now() or d.lease_owner = p_owner)
    order by d.next_at limit p_looked_max
  ), ranked as (
    -- What the claimer is at already is its firm's first share.
    select due.id, due.next_at, due.is_leased,
      row_number() over (partition by due.firm_id order by due.is_leased desc, due.next_at) as share
    from due
  ), chosen as (
    select d.id from ranked as r join mls_duty as d on d.id = r.id
    where not r.is_leased and r.share <= p_firm_max
      and d.next_at <= now() and (d.lease_until is null or d.lease_until < now())
    order by r.share, r.next_at limit p_limit
    for update of d skip locked
  ), taken as (
    update mls_duty as d
    set lease_until = clock_timestamp() + p_lease_ms * interval '1 millisecond', lease_owner = p_owner
    from chosen where d.id = chosen.id
    returning d.id, d.firm_id, d.sbdh_instance_id, d.document_type_id, d.receiver, d.always, d.received_at, d.payload_bytes
  )
  select t.id, t.firm_id, t.sbdh_instance_id, t.document_type_id, t.receiver, t.always, t.received_at,
    coalesce(r.status = 'ACKNOWLEDGED', false), s.id is not null, coalesce(r.status = 'HELD', false),
    s.id is not null or p.document_id is not null, coalesce(t.payload_bytes, p.bytes),
    octet_length(coalesce(s.payload_sealed, p.sealed)), coalesce(r.process_id, e.process_id),
    coalesce(r.sender, s.sender), coalesce(r.receiver, s.receiver)
  from taken as t
  left join received_document as r on r.id = t.id
  left join payload as p on p.document_id = t.id
  left join inbound_status as s on s.id = t.id
  left join exchange as e on e.id = t.id
$$;
