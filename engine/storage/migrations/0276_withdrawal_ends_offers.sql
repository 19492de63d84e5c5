-- A withdrawal ends the invitations that the firm has not answered yet: a link from before, followed afterwards, would
-- give back what the firm has just taken away. An invitation that is made after it is a new question.
alter table consent_offer add column withdrawn_at timestamptz;

create or replace function offer_status(p_offer consent_offer, p_now timestamptz) returns text language sql stable as $$
  select case
    when p_offer.status in ('accepted', 'declined') then p_offer.status
    when p_offer.withdrawn_at is not null then 'withdrawn'
    when p_offer.expires_at <= p_now then 'expired'
    when not offer_key_holds(p_offer) then 'withdrawn'
    else p_offer.status
  end
$$;

-- Whoever withdraws, and whichever release it is done by: the invitations end in the statement that ends the consent.
create function end_offers_of_binding() returns trigger language plpgsql as $$
begin
  update consent_offer as o set withdrawn_at = new.updated_at
    from firm as f
    where f.id = new.firm_id and o.integrator_id = new.integrator_id and o.target_identifier in (f.ico, f.dic)
      and o.status in ('issued', 'viewed') and o.expires_at > new.updated_at and o.withdrawn_at is null;
  return null;
end $$;
create trigger firm_binding_ended_offers after update of state on firm_binding
  for each row when (new.state = 'revoked' and old.state <> 'revoked') execute function end_offers_of_binding();

-- Those that a withdrawal has left open until now.
update consent_offer as o set withdrawn_at = b.updated_at
  from firm_binding as b join firm as f on f.id = b.firm_id
  where b.state = 'revoked' and b.integrator_id = o.integrator_id and o.target_identifier in (f.ico, f.dic)
    and o.status in ('issued', 'viewed') and o.created_at <= b.updated_at and o.expires_at > b.updated_at;
