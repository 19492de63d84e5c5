-- A node of the release before, which may serve beside this one, settles each delivery by itself: it is its own head.
-- Nothing of this release calls it; it goes when no node of that release is left.
create function settle_webhooks(
  p_owner text[], p_id uuid[], p_attempt integer[], p_status text[], p_wait_ms bigint[], p_response_status integer[],
  p_response_body text[], p_cause text[], p_health text[], p_breaker integer, p_rest_ms integer, p_rest_max_ms integer,
  p_failing_ms bigint
) returns table (n bigint, failing boolean)
language sql volatile as $$
  select s.n, s.failing from settle_webhooks(
    p_owner, p_id, p_id, p_attempt, p_status, p_wait_ms, p_response_status, p_response_body, p_cause, p_health,
    p_breaker, p_rest_ms, p_rest_max_ms, p_failing_ms
  ) as s
$$;
