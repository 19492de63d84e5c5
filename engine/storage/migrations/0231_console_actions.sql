-- An operator wants an attempt at a document now, not when the plan has it. No row: it has ended, is due, or somebody is at it.
create function hasten_document(p_id uuid) returns table (version integer)
language sql volatile as $$
  update document as d set next_attempt_at = clock_timestamp(), version = d.version + 1
  where d.id = p_id and d.next_attempt_at > clock_timestamp()
    and (d.lease_until is null or d.lease_until < clock_timestamp())
  returning d.version
$$;

-- Subscriptions that fail, or were switched off because they did, are few among those that work.
create index webhook_subscription_failing on webhook_subscription (failing_since) where failing_since is not null;
