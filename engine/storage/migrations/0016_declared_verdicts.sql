-- A verdict also needs what the envelope declared of the document: its process and its parties.
drop function take_mls_duties(timestamptz, integer, integer, text);

-- Takes received documents whose status is to be decided.
create function take_mls_duties(p_now timestamptz, p_lease_ms integer, p_limit integer, p_owner text default null)
returns table (
  id uuid, firm_id uuid, sbdh_instance_id text, document_type_id text, receiver text, always boolean, received_at timestamptz,
  acknowledged boolean, is_response boolean, held boolean, payload_key_id text, payload_sealed bytea, process_id text,
  document_sender text, document_receiver text
)
language sql volatile as $$
  with due as (
    select d.id from mls_duty as d
    where d.next_at <= p_now and (d.lease_until is null or d.lease_until < clock_timestamp())
    order by d.next_at limit p_limit
    for update skip locked
  ), taken as (
    update mls_duty as d set lease_until = clock_timestamp() + p_lease_ms * interval '1 millisecond', lease_owner = p_owner
    from due where d.id = due.id
    returning d.id, d.firm_id, d.sbdh_instance_id, d.document_type_id, d.receiver, d.always, d.received_at
  )
  select t.id, t.firm_id, t.sbdh_instance_id, t.document_type_id, t.receiver, t.always, t.received_at, coalesce(r.status = 'ACKNOWLEDGED', false),
    s.id is not null, coalesce(r.status = 'HELD', false), coalesce(s.payload_key_id, p.key_id), coalesce(s.payload_sealed, p.sealed),
    coalesce(r.process_id, e.process_id), coalesce(r.sender, s.sender), coalesce(r.receiver, s.receiver)
  from taken as t
  left join received_document as r on r.id = t.id
  left join payload as p on p.document_id = t.id
  left join inbound_status as s on s.id = t.id
  left join exchange as e on e.id = t.id
$$;

drop function release_received(uuid, timestamptz);

-- Shows a document that nobody could judge to its firm: a person has decided so. Nothing is said of it any more but that it
-- arrived. No row: it is not held.
create function release_received(p_id uuid) returns table (id uuid)
language sql volatile as $$
  update received_document as r set status = 'RECEIVED'
  where r.id = p_id and r.status = 'HELD'
  returning r.id
$$;
