-- A receiver that says that it is gone, or has failed for days, switches off the subscription that still leads to it. One
-- that was moved between the end of the attempt and this leads elsewhere. The form without a place is that of the release
-- before, which runs beside this one for a while.
create function disable_webhook(p_id uuid, p_reason text, p_url text, p_audit jsonb) returns boolean language plpgsql as $$
begin
  perform 1 from webhook_subscription where id = p_id and url = p_url for update;
  if not found then return false; end if;
  return disable_webhook(p_id, p_reason, p_audit);
end $$;
