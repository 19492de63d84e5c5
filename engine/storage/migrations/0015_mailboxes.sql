-- What a participant received while it belonged to a firm is read and marked by that firm alone, also after the
-- participant has moved to another one.

drop index received_document_inbox;
create index received_document_inbox on received_document (participant_key, firm_id, status, position);

drop function acknowledge_received(uuid, text, timestamptz);

-- Marks a received document as processed; a second time answers the first time's instant. What the firm does not see it
-- cannot mark.
create function acknowledge_received(p_id uuid, p_participant_key text, p_firm_id uuid, p_now timestamptz)
returns table (acknowledged_at timestamptz)
language sql volatile as $$
  update received_document as r
  set status = 'ACKNOWLEDGED', acknowledged_at = coalesce(r.acknowledged_at, p_now)
  where r.id = p_id and r.participant_key = p_participant_key and r.firm_id = p_firm_id and received_is_visible(r.status)
  returning r.acknowledged_at
$$;
