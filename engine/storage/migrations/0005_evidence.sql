-- The index of the evidence store: one row an exchange, each bound to the one before it by a digest.

create table evidence (
  index bigint primary key check (index >= 1),
  hash bytea not null unique check (octet_length(hash) = 32),
  previous_hash bytea not null unique check (octet_length(previous_hash) = 32),
  direction text not null check (direction in ('outbound', 'inbound')),
  outcome text not null,
  -- A document, a received document, or a message of the access point itself, which has no firm.
  document_id uuid not null,
  firm_id uuid,
  message_id text not null,
  -- Digest of what the message's signature covers: a repeat with the same signature has the same.
  references_sha256 text not null,
  -- The object that holds the record, and where in it.
  object text not null,
  byte_offset integer not null check (byte_offset >= 0),
  byte_length integer not null check (byte_length > 0),
  record_sha256 text not null unique,
  envelope_sha256 text not null,
  envelope_bytes integer not null,
  envelope_content_type text not null,
  answer_sha256 text,
  request_at timestamptz not null,
  answer_at timestamptz,
  stored_at timestamptz not null
);
create index evidence_document on evidence (document_id, index);
create index evidence_message on evidence (direction, message_id);
create index evidence_stored_at on evidence (stored_at);

-- One row: the last index and its hash. Whoever appends holds it until the commit.
create table evidence_head (
  id boolean primary key default true check (id),
  index bigint not null,
  hash bytea not null
);
insert into evidence_head (index, hash) values (0, sha256('kurier-evidence-1'));

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'evidence is never changed';
end
$$;
create trigger evidence_immutable before update or delete or truncate on evidence for each statement execute function refuse_change();

-- The text under an entry's hash: every column but the hash itself, one a line, absent ones as empty lines.
create function evidence_text(e evidence) returns text language sql stable as $$
  select array_to_string(array[
    'kurier-evidence-1', e.index::text, encode(e.previous_hash, 'hex'), e.direction, e.outcome, e.document_id::text, coalesce(e.firm_id::text, ''), e.message_id,
    e.references_sha256, e.object, e.byte_offset::text, e.byte_length::text, e.record_sha256, e.envelope_sha256, e.envelope_bytes::text,
    e.envelope_content_type, coalesce(e.answer_sha256, ''), (extract(epoch from e.request_at) * 1000)::bigint::text,
    coalesce((extract(epoch from e.answer_at) * 1000)::bigint::text, ''), (extract(epoch from e.stored_at) * 1000)::bigint::text
  ], E'\n')
$$;

-- Appends entries in their order and answers where each stands. An entry that is in the chain already keeps its place.
create function append_evidence(p_entries jsonb)
returns table (n bigint, index bigint, hash text, previous_hash text)
language plpgsql volatile as $$
declare
  head evidence_head;
  entry record;
  added evidence;
begin
  select * into head from evidence_head for update;
  for entry in select e.value, e.ordinality from jsonb_array_elements(p_entries) with ordinality as e order by e.ordinality loop
    select * into added from evidence as x where x.record_sha256 = entry.value ->> 'record_sha256';
    if not found then
      added := jsonb_populate_record(null::evidence, entry.value);
      added.index := head.index + 1;
      added.previous_hash := head.hash;
      added.hash := sha256(convert_to(evidence_text(added), 'UTF8'));
      insert into evidence select added.*;
      head.index := added.index;
      head.hash := added.hash;
    end if;
    n := entry.ordinality;
    index := added.index;
    hash := encode(added.hash, 'hex');
    previous_hash := encode(added.previous_hash, 'hex');
    return next;
  end loop;
  update evidence_head as h set index = head.index, hash = head.hash where h.id;
end
$$;
