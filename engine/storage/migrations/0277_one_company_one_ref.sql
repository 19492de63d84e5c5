-- One name is one company, and one company has one name, among an integrator's customers, its operations that are open
-- and its bindings: whether a company under this name would break that. Each of its parts is read by an index.
create function white_label_name_differs(p_integrator uuid, p_customer_ref text, p_dic text) returns boolean
language sql stable as $$
  select exists (
    select 1 from white_label_customer c
    where c.integrator_id = p_integrator and c.customer_ref = p_customer_ref and c.dic <> p_dic
  ) or exists (
    select 1 from white_label_customer c
    where c.integrator_id = p_integrator and c.dic = p_dic and c.customer_ref <> p_customer_ref
  ) or exists (
    select 1 from white_label_operation o
    where o.integrator_id = p_integrator and o.status in ('processing', 'smp_succeeded', 'manual_review')
      and (o.customer_ref = p_customer_ref) <> (o.dic = p_dic)
  ) or exists (
    select 1 from firm_binding b join firm f on f.id = b.firm_id
    where b.integrator_id = p_integrator and b.customer_ref = p_customer_ref and f.dic is distinct from p_dic
  ) or exists (
    select 1 from firm f join firm_binding b on b.firm_id = f.id
    where f.dic = p_dic and b.integrator_id = p_integrator and b.customer_ref <> p_customer_ref
  )
$$;

-- No index reaches over three tables, so the rule is held by a trigger: whoever writes takes turns at the integrator's
-- row and looks at what was committed before. What broke the rule before it was made stays as it is.
create function refuse_second_white_label_name() returns trigger language plpgsql as $$
begin
  perform 1 from integrator where id = new.integrator_id for update;
  if white_label_name_differs(new.integrator_id, new.customer_ref, new.dic) then
    raise exception 'one customerRef is one company' using errcode = 'unique_violation';
  end if;
  return new;
end
$$;
create trigger white_label_customer_name before insert on white_label_customer
  for each row execute function refuse_second_white_label_name();
create trigger white_label_operation_name before insert on white_label_operation
  for each row when (new.operation_type <> 'migration_out') execute function refuse_second_white_label_name();

-- Writes an operation, or says why there is none: 'created'; 'repeat' of the same key, whose body the caller compares;
-- 'identity_taken' where the participant is one of ours already; 'under_way' where another operation on it is open;
-- 'ref_conflict' where the name stands for a firm or another operation, or the name or the company stands beside another
-- among customers and firms; 'not_authorized'. Whoever asks about one participant takes turns.
create or replace function create_white_label_operation(p_operation jsonb, p_secret bytea, p_body bytea, p_production boolean, p_audit jsonb)
returns table (outcome text, id uuid) language plpgsql as $$
#variable_conflict use_column
declare
  v_new white_label_operation;
  v_other white_label_operation;
  v_authorized boolean;
begin
  select * into v_new from jsonb_populate_record(null::white_label_operation, p_operation);
  select i.production_authorized into v_authorized from integrator i where i.id = v_new.integrator_id for update;
  select o.* into v_other from white_label_operation o
    where o.integrator_id = v_new.integrator_id and o.idempotency_key = v_new.idempotency_key;
  if found then return query select 'repeat', v_other.id; return; end if;
  if p_production and not v_authorized then return query select 'not_authorized', null::uuid; return; end if;
  perform pg_advisory_xact_lock(hashtextextended('white label:' || v_new.participant_key, 0));
  perform 1 from participant p where p.key = v_new.participant_key;
  if found then return query select 'identity_taken', null::uuid; return; end if;
  select o.* into v_other from white_label_operation o
    where o.participant_key = v_new.participant_key and o.status in ('processing', 'smp_succeeded', 'manual_review');
  if found then return query select 'under_way', null::uuid; return; end if;
  perform 1 from firm_binding b where b.integrator_id = v_new.integrator_id and b.customer_ref = v_new.customer_ref;
  if not found then
    perform 1 from white_label_operation o where o.integrator_id = v_new.integrator_id
      and o.customer_ref = v_new.customer_ref and o.status in ('processing', 'smp_succeeded', 'manual_review');
  end if;
  if found or white_label_name_differs(v_new.integrator_id, v_new.customer_ref, v_new.dic) then
    return query select 'ref_conflict', null::uuid;
    return;
  end if;
  v_new.secret_sealed := p_secret;
  v_new.body_sealed := p_body;
  insert into white_label_operation select v_new.*;
  perform append_audit(p_audit, 'white_label.requested', null, v_new.integrator_id, 'white_label_operation', v_new.id::text,
    jsonb_build_object('operationType', v_new.operation_type, 'dic', v_new.dic));
  return query select 'created', v_new.id;
end
$$;

-- Writes a customer: 'created'; 'repeat' or 'key_conflict' of the same key; 'ref_conflict' where the name or the company
-- is another customer's, or stands beside another among operations and firms; 'key_ended' for a late repeat of what made
-- a customer that was ended since: it would note again what was wrong.
create or replace function create_white_label_customer(p_customer jsonb, p_body_sha256 bytea)
returns table (outcome text, id uuid) language plpgsql as $$
#variable_conflict use_column
declare
  v_new white_label_customer;
  v_other white_label_customer;
begin
  select * into v_new from jsonb_populate_record(null::white_label_customer, p_customer);
  perform 1 from integrator i where i.id = v_new.integrator_id for update;
  select c.* into v_other from white_label_customer c
    where c.integrator_id = v_new.integrator_id and c.idempotency_key = v_new.idempotency_key;
  if found then
    return query select case when v_other.body_sha256 = p_body_sha256 then 'repeat' else 'key_conflict' end, v_other.id;
    return;
  end if;
  perform 1 from audit_entry a where a.event = 'white_label.customer_ended' and a.integrator_id = v_new.integrator_id
    and a.metadata ->> 'idempotencyKeySha256' = encode(sha256(convert_to(v_new.idempotency_key, 'UTF8')), 'hex');
  if found then return query select 'key_ended', null::uuid; return; end if;
  perform 1 from white_label_customer c where c.integrator_id = v_new.integrator_id
    and (c.customer_ref = v_new.customer_ref or c.dic = v_new.dic);
  if found or white_label_name_differs(v_new.integrator_id, v_new.customer_ref, v_new.dic) then
    return query select 'ref_conflict', null::uuid;
    return;
  end if;
  v_new.body_sha256 := p_body_sha256;
  insert into white_label_customer select v_new.*;
  return query select 'created', v_new.id;
end
$$;

-- Takes a customer away: 'ended'; 'in_use' where its company is, was or is being bound under its name, which would not be
-- free; 'unknown'. Its audit has the digest of its key, by which a late repeat is known.
create function end_white_label_customer(p_id uuid, p_audit jsonb) returns text language plpgsql as $$
declare
  v_customer white_label_customer;
begin
  perform 1 from integrator i join white_label_customer c on c.integrator_id = i.id where c.id = p_id for update of i;
  select c.* into v_customer from white_label_customer c where c.id = p_id for update;
  if not found then return 'unknown'; end if;
  perform 1 from firm_binding b join firm f on f.id = b.firm_id
    where b.integrator_id = v_customer.integrator_id and b.customer_ref = v_customer.customer_ref
      and f.dic = v_customer.dic;
  if not found then
    perform 1 from white_label_operation o
      where o.integrator_id = v_customer.integrator_id and o.customer_ref = v_customer.customer_ref
        and o.dic = v_customer.dic and o.status in ('processing', 'smp_succeeded', 'manual_review');
  end if;
  if found then return 'in_use'; end if;
  delete from white_label_customer c where c.id = p_id;
  perform append_audit(p_audit, 'white_label.customer_ended', null, v_customer.integrator_id, 'white_label_customer',
    p_id::text, jsonb_build_object('customerRef', v_customer.customer_ref, 'dic', v_customer.dic,
      'idempotencyKeySha256', encode(sha256(convert_to(v_customer.idempotency_key, 'UTF8')), 'hex')));
  return 'ended';
end
$$;
