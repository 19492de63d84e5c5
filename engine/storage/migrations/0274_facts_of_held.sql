drop function end_mls_duty(uuid, bigint, text, jsonb, text, jsonb);

-- Ends a duty: with the message that says so, or without one. p_wait_ms puts it off instead, for so long in database time.
-- p_document is what becomes of the held document in the same step: one that its firm has seen already is never refused.
-- p_facts is what lists show of it, where that was not known before its verdict; the release before calls without it.
-- No row: nothing was written, because the duty was ended already or the document cannot be refused any more.
create function end_mls_duty(
  p_id uuid, p_wait_ms bigint, p_code text, p_message jsonb, p_document text default null, p_findings jsonb default null,
  p_facts jsonb default null
) returns table (id uuid)
language plpgsql volatile as $$
begin
  perform 1 from mls_duty as d where d.id = p_id and d.next_at is not null for update;
  if not found then return; end if;
  if p_document is not null then
    update received_document as r set status = p_document, findings = p_findings, facts = coalesce(p_facts, r.facts)
    where r.id = p_id and r.status = 'HELD';
    if not found and p_document = 'REFUSED' then return; end if;
  end if;
  return query
    update mls_duty as d
    set next_at = clock_timestamp() + p_wait_ms * interval '1 millisecond', lease_until = null, code = p_code
    where d.id = p_id returning d.id;
  if p_message is not null then
    insert into service_message select (jsonb_populate_record(null::service_message, p_message)).*
    on conflict (subject) do nothing;
  end if;
end
$$;
