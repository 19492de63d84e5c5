-- Monthly reports to OpenPEPPOL: which were made, by the message that carries each.

create table report_submission (
  report_type text not null check (report_type in ('TSR', 'EUSR')),
  -- The month that it covers, its first day in UTC.
  period date not null check (extract(day from period) = 1),
  message_id uuid not null unique references service_message (id),
  made_at timestamptz not null,
  primary key (report_type, period)
);

-- Stores a report and the message that carries it, once. No row: the month was reported already.
create function submit_report(p_report_type text, p_period date, p_made_at timestamptz, p_message jsonb) returns table (message_id uuid)
language plpgsql volatile as $$
begin
  insert into service_message select (jsonb_populate_record(null::service_message, p_message)).* on conflict (subject) do nothing;
  if not found then return; end if;
  return query insert into report_submission (report_type, period, message_id, made_at)
    values (p_report_type, p_period, (p_message ->> 'id')::uuid, p_made_at) returning report_submission.message_id;
end
$$;
