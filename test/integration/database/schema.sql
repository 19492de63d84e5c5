-- Written by test/integration/database/migrate.test.ts with UPDATE_SCHEMA=1; do not edit.

table api_key
  id uuid not null
  key_type text not null
  firm_id uuid
  integrator_id uuid
  scoped_firm_id uuid
  prefix text not null
  secret_sha256 bytea not null
  scopes text[] not null
  ip_allowlist text[] not null
  active boolean not null
  generation integer not null default 0
  name text
  created_at timestamp with time zone not null
  last_used_at timestamp with time zone
  deactivated_at timestamp with time zone
  successor_id uuid
  constraint api_key_check: CHECK (((key_type = 'sk_live'::text) = (firm_id IS NOT NULL)))
  constraint api_key_check1: CHECK (((key_type = 'sk_int'::text) = (integrator_id IS NOT NULL)))
  constraint api_key_check2: CHECK (((scoped_firm_id IS NULL) OR (key_type = 'sk_int'::text)))
  constraint api_key_check3: CHECK (((scoped_firm_id IS NULL) OR (NOT (scopes @> ARRAY['keys:manage'::text]))))
  constraint api_key_check4: CHECK ((active = (deactivated_at IS NULL)))
  constraint api_key_ip_allowlist_check: CHECK ((cardinality(ip_allowlist) <= 50))
  constraint api_key_key_type_check: CHECK ((key_type = ANY (ARRAY['sk_live'::text, 'sk_int'::text])))
  constraint api_key_name_check: CHECK ((char_length(name) <= 80))
  constraint api_key_prefix_check: CHECK (((char_length(prefix) >= 12) AND (char_length(prefix) <= 40)))
  constraint api_key_scopes_check: CHECK ((cardinality(scopes) >= 1))
  constraint api_key_secret_sha256_check: CHECK ((octet_length(secret_sha256) = 32))
  constraint api_key_firm_id_fkey: FOREIGN KEY (firm_id) REFERENCES firm(id)
  constraint api_key_integrator_id_fkey: FOREIGN KEY (integrator_id) REFERENCES integrator(id)
  constraint api_key_scoped_firm_id_fkey: FOREIGN KEY (scoped_firm_id) REFERENCES firm(id)
  constraint api_key_successor_id_fkey: FOREIGN KEY (successor_id) REFERENCES api_key(id)
  constraint api_key_pkey: PRIMARY KEY (id)
  constraint api_key_prefix_key: UNIQUE (prefix)
  constraint api_key_secret_sha256_key: UNIQUE (secret_sha256)
  index api_key_ended: CREATE INDEX api_key_ended ON public.api_key USING btree (deactivated_at) WHERE (deactivated_at IS NOT NULL)
  index api_key_firm: CREATE INDEX api_key_firm ON public.api_key USING btree (firm_id) WHERE (firm_id IS NOT NULL)
  index api_key_integrator: CREATE INDEX api_key_integrator ON public.api_key USING btree (integrator_id, scoped_firm_id) WHERE (integrator_id IS NOT NULL)
  index api_key_successor: CREATE INDEX api_key_successor ON public.api_key USING btree (successor_id) WHERE (successor_id IS NOT NULL)
  trigger api_key_changed: CREATE TRIGGER api_key_changed AFTER INSERT OR UPDATE OF scopes, ip_allowlist, active, generation, scoped_firm_id, secret_sha256 ON public.api_key FOR EACH ROW EXECUTE FUNCTION announce_api_key()

table audit_entry
  id uuid not null
  position bigint not null generated always as identity
  occurred_at timestamp with time zone not null
  actor_type text not null
  actor_id text
  firm_id uuid
  integrator_id uuid
  event text not null
  target_type text not null
  target_id text not null
  ip text
  user_agent text
  metadata jsonb not null
  constraint audit_entry_actor_type_check: CHECK ((actor_type = ANY (ARRAY['api_key'::text, 'user'::text, 'operator'::text, 'system'::text])))
  constraint audit_entry_event_check: CHECK ((event ~ '^[a-z_]+\.[a-z_]+$'::text))
  constraint audit_entry_ip_check: CHECK ((char_length(ip) <= 64))
  constraint audit_entry_user_agent_check: CHECK ((char_length(user_agent) <= 255))
  constraint audit_entry_pkey: PRIMARY KEY (id)
  constraint audit_entry_position_key: UNIQUE ("position")
  index audit_entry_age: CREATE INDEX audit_entry_age ON public.audit_entry USING btree (occurred_at)
  index audit_entry_ended_customer: CREATE INDEX audit_entry_ended_customer ON public.audit_entry USING btree (integrator_id, ((metadata ->> 'idempotencyKeySha256'::text))) WHERE (event = 'white_label.customer_ended'::text)
  index audit_entry_firm: CREATE INDEX audit_entry_firm ON public.audit_entry USING btree (firm_id, "position" DESC) WHERE (firm_id IS NOT NULL)
  index audit_entry_integrator: CREATE INDEX audit_entry_integrator ON public.audit_entry USING btree (integrator_id, "position" DESC) WHERE (integrator_id IS NOT NULL)
  index audit_entry_operator: CREATE INDEX audit_entry_operator ON public.audit_entry USING btree ("position" DESC) WHERE ((firm_id IS NULL) AND (integrator_id IS NULL))
  trigger audit_entry_kept: CREATE TRIGGER audit_entry_kept BEFORE DELETE OR UPDATE ON public.audit_entry FOR EACH ROW EXECUTE FUNCTION keep_audit_entry()
  trigger audit_entry_not_emptied: CREATE TRIGGER audit_entry_not_emptied BEFORE TRUNCATE ON public.audit_entry FOR EACH STATEMENT EXECUTE FUNCTION keep_audit_entry()

table box_event
  item_id uuid not null
  version integer not null
  kind text not null
  status text not null
  actor_type text not null
  actor_id text
  detail text
  document_id uuid
  occurred_at timestamp with time zone not null
  constraint box_event_actor_type_check: CHECK ((actor_type = ANY (ARRAY['api_key'::text, 'user'::text, 'operator'::text, 'system'::text])))
  constraint box_event_kind_check: CHECK ((kind = ANY (ARRAY['created'::text, 'schedule'::text, 'send_now'::text, 'retry'::text, 'cancel'::text, 'postponed'::text, 'failed'::text, 'rules_refused'::text, 'expired'::text])))
  constraint box_event_item_id_fkey: FOREIGN KEY (item_id) REFERENCES box_item(id) ON DELETE CASCADE
  constraint box_event_pkey: PRIMARY KEY (item_id, version)
  index box_event_document: CREATE INDEX box_event_document ON public.box_event USING btree (document_id) WHERE (document_id IS NOT NULL)

table box_item
  id uuid not null
  firm_id uuid not null
  integrator_id uuid
  key_id uuid not null
  external_id text
  status text not null
  version integer not null
  sender text not null
  receiver text not null
  document_type_id text not null
  process_id text not null
  payload_sha256 bytea not null
  payload_bytes integer not null
  scheduled_for timestamp with time zone
  due_at timestamp with time zone
  lease_owner text
  locked_at timestamp with time zone
  tries integer not null default 0
  document_id uuid not null
  attempts_before integer not null default 0
  last_error jsonb
  sent_at timestamp with time zone
  cancelled_at timestamp with time zone
  status_since timestamp with time zone not null
  created_at timestamp with time zone not null
  updated_at timestamp with time zone not null
  payload_gone boolean not null default false
  binding_generation integer
  with options: fillfactor=70
  constraint box_item_check: CHECK (((status <> ALL (ARRAY['ready'::text, 'scheduled'::text])) OR (due_at IS NOT NULL)))
  constraint box_item_check1: CHECK (((status = ANY (ARRAY['ready'::text, 'scheduled'::text, 'sending'::text, 'retrying'::text])) OR (due_at IS NULL)))
  constraint box_item_check2: CHECK (((lease_owner IS NULL) = (locked_at IS NULL)))
  constraint box_item_check3: CHECK (((lease_owner IS NULL) OR (status = 'sending'::text)))
  constraint box_item_check4: CHECK (((status = 'cancelled'::text) <= (cancelled_at IS NOT NULL)))
  constraint box_item_external_id_check: CHECK (((char_length(external_id) >= 1) AND (char_length(external_id) <= 255)))
  constraint box_item_payload_bytes_check: CHECK ((payload_bytes > 0))
  constraint box_item_payload_sha256_check: CHECK ((octet_length(payload_sha256) = 32))
  constraint box_item_status_check: CHECK ((status = ANY (ARRAY['ready'::text, 'scheduled'::text, 'sending'::text, 'retrying'::text, 'sent'::text, 'needs_repair'::text, 'failed'::text, 'cancelled'::text, 'expired'::text])))
  constraint box_item_tries_check: CHECK ((tries >= 0))
  constraint box_item_version_check: CHECK ((version >= 1))
  constraint box_item_firm_id_fkey: FOREIGN KEY (firm_id) REFERENCES firm(id)
  constraint box_item_integrator_id_fkey: FOREIGN KEY (integrator_id) REFERENCES integrator(id)
  constraint box_item_pkey: PRIMARY KEY (id)
  index box_item_archive: CREATE INDEX box_item_archive ON public.box_item USING btree (status_since) WHERE ((status = 'sent'::text) AND (NOT payload_gone))
  index box_item_document: CREATE UNIQUE INDEX box_item_document ON public.box_item USING btree (document_id)
  index box_item_due: CREATE INDEX box_item_due ON public.box_item USING btree (due_at) WHERE (due_at IS NOT NULL)
  index box_item_end: CREATE INDEX box_item_end ON public.box_item USING btree (status, status_since) WHERE (status = ANY (ARRAY['sent'::text, 'needs_repair'::text, 'failed'::text, 'cancelled'::text, 'expired'::text]))
  index box_item_external_id: CREATE UNIQUE INDEX box_item_external_id ON public.box_item USING btree (firm_id, external_id) WHERE (external_id IS NOT NULL)
  index box_item_lane: CREATE INDEX box_item_lane ON public.box_item USING btree (firm_id, due_at) WHERE (due_at IS NOT NULL)
  index box_item_leased: CREATE INDEX box_item_leased ON public.box_item USING btree (lease_owner) WHERE (lease_owner IS NOT NULL)
  index box_item_list: CREATE INDEX box_item_list ON public.box_item USING btree (firm_id, created_at DESC, id DESC)
  index box_item_status: CREATE INDEX box_item_status ON public.box_item USING btree (firm_id, status, created_at DESC, id DESC)

table box_payload
  item_id uuid not null
  key_id text not null
  sealed bytea not null
  metadata_sealed bytea
  constraint box_payload_item_id_fkey: FOREIGN KEY (item_id) REFERENCES box_item(id) ON DELETE CASCADE
  constraint box_payload_pkey: PRIMARY KEY (item_id)

table connector_request
  subscription_id uuid not null
  idempotency_key text not null
  request_sha256 text not null
  made uuid not null
  created_at timestamp with time zone not null
  constraint connector_request_idempotency_key_check: CHECK (((char_length(idempotency_key) >= 1) AND (char_length(idempotency_key) <= 255)))
  constraint connector_request_subscription_id_fkey: FOREIGN KEY (subscription_id) REFERENCES webhook_subscription(id) ON DELETE CASCADE
  constraint connector_request_pkey: PRIMARY KEY (subscription_id, idempotency_key)
  index connector_request_age: CREATE INDEX connector_request_age ON public.connector_request USING btree (created_at)

table consent_offer
  id uuid not null
  integrator_id uuid not null
  key_id uuid not null
  token_sha256 bytea not null
  target_identifier text not null
  customer_reference text
  relationship_mode text not null
  requested_interface text not null
  interfaces text[] not null
  requested_scopes text[] not null
  status text not null
  firm_id uuid
  decided_by text
  decided_at timestamp with time zone
  created_at timestamp with time zone not null
  expires_at timestamp with time zone not null
  withdrawn_at timestamp with time zone
  constraint consent_offer_check: CHECK ((expires_at > created_at))
  constraint consent_offer_check1: CHECK (((status = ANY (ARRAY['accepted'::text, 'declined'::text])) = (decided_at IS NOT NULL)))
  constraint consent_offer_check2: CHECK (((decided_at IS NULL) = (firm_id IS NULL)))
  constraint consent_offer_customer_reference_check: CHECK (((char_length(customer_reference) >= 1) AND (char_length(customer_reference) <= 128)))
  constraint consent_offer_interfaces_check: CHECK ((interfaces <@ ARRAY['enterprise'::text, 'sapi'::text, 'connector'::text]))
  constraint consent_offer_relationship_mode_check: CHECK ((relationship_mode = ANY (ARRAY['technical_delegation'::text, 'managed_service'::text])))
  constraint consent_offer_requested_interface_check: CHECK ((requested_interface = ANY (ARRAY['enterprise_api'::text, 'sapi'::text, 'connector'::text, 'all'::text])))
  constraint consent_offer_requested_scopes_check: CHECK ((cardinality(requested_scopes) >= 1))
  constraint consent_offer_status_check: CHECK ((status = ANY (ARRAY['issued'::text, 'viewed'::text, 'accepted'::text, 'declined'::text])))
  constraint consent_offer_target_identifier_check: CHECK ((target_identifier ~ '^([0-9]{8}|[0-9]{10})$'::text))
  constraint consent_offer_token_sha256_check: CHECK ((octet_length(token_sha256) = 32))
  constraint consent_offer_firm_id_fkey: FOREIGN KEY (firm_id) REFERENCES firm(id)
  constraint consent_offer_integrator_id_fkey: FOREIGN KEY (integrator_id) REFERENCES integrator(id)
  constraint consent_offer_key_id_fkey: FOREIGN KEY (key_id) REFERENCES api_key(id)
  constraint consent_offer_pkey: PRIMARY KEY (id)
  constraint consent_offer_token_sha256_key: UNIQUE (token_sha256)
  index consent_offer_expiry: CREATE INDEX consent_offer_expiry ON public.consent_offer USING btree (expires_at)
  index consent_offer_key: CREATE INDEX consent_offer_key ON public.consent_offer USING btree (key_id)
  index consent_offer_reference: CREATE INDEX consent_offer_reference ON public.consent_offer USING btree (integrator_id, customer_reference) WHERE (customer_reference IS NOT NULL)
  index consent_offer_target: CREATE INDEX consent_offer_target ON public.consent_offer USING btree (integrator_id, target_identifier, created_at DESC)

table console_session
  token_hmac bytea not null
  id uuid not null
  created_at timestamp with time zone not null
  seen_at timestamp with time zone not null
  expires_at timestamp with time zone not null
  constraint console_session_token_hmac_check: CHECK ((octet_length(token_hmac) = 32))
  constraint console_session_pkey: PRIMARY KEY (token_hmac)
  constraint console_session_id_key: UNIQUE (id)
  index console_session_expiry: CREATE INDEX console_session_expiry ON public.console_session USING btree (expires_at)

table dispatcher
  owner text not null
  seen_at timestamp with time zone not null
  heard_since timestamp with time zone not null default '-infinity'::timestamp with time zone
  constraint dispatcher_pkey: PRIMARY KEY (owner)

table document
  id uuid not null
  firm_id uuid not null
  key_id uuid not null
  sender text not null
  sender_key text not null
  receiver text not null
  receiver_key text not null
  erp_document_id text
  document_type_id text not null
  process_id text not null
  creation_date_time timestamp with time zone
  facts jsonb not null
  status text not null
  status_reason text
  version integer not null
  idempotency_key text
  request_sha256 bytea not null
  payload_sha256 bytea not null
  reply_status smallint not null
  reply_body text not null
  as4_message_id text not null
  sbdh_instance_id uuid not null
  validation_result jsonb
  invoice_response_status text
  attempts integer not null default 0
  next_attempt_at timestamp with time zone
  lease_owner text
  lease_until timestamp with time zone
  delivered_at timestamp with time zone
  acknowledged_at timestamp with time zone
  created_at timestamp with time zone not null
  updated_at timestamp with time zone not null
  door text not null
  answers integer not null default 0
  faults integer not null default 0
  attempted_at timestamp with time zone
  staged text
  staged_at timestamp with time zone
  with options: fillfactor=70
  constraint document_answers_check: CHECK ((answers >= 0))
  constraint document_check: CHECK (((document_is_open(status) AND (staged IS DISTINCT FROM 'held'::text)) = (next_attempt_at IS NOT NULL))) NOT VALID
  constraint document_check1: CHECK (((status = 'delivered'::text) <= (delivered_at IS NOT NULL)))
  constraint document_door_check: CHECK ((door = ANY (ARRAY['sapi'::text, 'enterprise'::text, 'box'::text, 'connector'::text])))
  constraint document_erp_document_id_check: CHECK (((char_length(erp_document_id) >= 1) AND (char_length(erp_document_id) <= 255)))
  constraint document_faults_check: CHECK ((faults >= 0))
  constraint document_invoice_response_status_check: CHECK ((invoice_response_status = ANY (ARRAY['AB'::text, 'IP'::text, 'UQ'::text, 'CA'::text, 'RE'::text, 'AP'::text, 'PD'::text])))
  constraint document_payload_sha256_check: CHECK ((octet_length(payload_sha256) = 32))
  constraint document_request_sha256_check: CHECK ((octet_length(request_sha256) = 32))
  constraint document_sapi_check: CHECK (((door <> 'sapi'::text) OR ((idempotency_key IS NOT NULL) AND (erp_document_id IS NOT NULL))))
  constraint document_staged_at_check: CHECK (((staged IS NULL) = (staged_at IS NULL))) NOT VALID
  constraint document_staged_check: CHECK ((staged = ANY (ARRAY['held'::text, 'sent'::text, 'cancelled'::text]))) NOT VALID
  constraint document_status_check: CHECK ((status = ANY (ARRAY['queued'::text, 'sent'::text, 'delivered'::text, 'rejected'::text, 'send_failed'::text, 'delivery_failed'::text, 'validation_failed'::text])))
  constraint document_version_check: CHECK ((version >= 1))
  constraint document_firm_id_fkey: FOREIGN KEY (firm_id) REFERENCES firm(id)
  constraint document_pkey: PRIMARY KEY (id)
  index document_door_external_id: CREATE UNIQUE INDEX document_door_external_id ON public.document USING btree (firm_id, door, erp_document_id) WHERE (door <> 'sapi'::text)
  index document_door_idempotency_key: CREATE UNIQUE INDEX document_door_idempotency_key ON public.document USING btree (firm_id, door, idempotency_key) WHERE (door <> 'sapi'::text)
  index document_due: CREATE INDEX document_due ON public.document USING btree (next_attempt_at) WHERE (next_attempt_at IS NOT NULL)
  index document_erp_document_id: CREATE UNIQUE INDEX document_erp_document_id ON public.document USING btree (sender_key, erp_document_id) WHERE (door = 'sapi'::text)
  index document_firm: CREATE INDEX document_firm ON public.document USING btree (firm_id, created_at DESC)
  index document_idempotency_key: CREATE UNIQUE INDEX document_idempotency_key ON public.document USING btree (sender_key, idempotency_key) WHERE (door = 'sapi'::text)
  index document_lane: CREATE INDEX document_lane ON public.document USING btree (firm_id, receiver_key, next_attempt_at) WHERE (next_attempt_at IS NOT NULL)
  index document_number: CREATE INDEX document_number ON public.document USING btree (sender_key, ((facts ->> 'documentNumber'::text)))
  index document_payload: CREATE UNIQUE INDEX document_payload ON public.document USING btree (sender_key, payload_sha256) WHERE (door = 'sapi'::text)
  index document_sbdh_instance: CREATE UNIQUE INDEX document_sbdh_instance ON public.document USING btree (sbdh_instance_id)
  index document_staged: CREATE INDEX document_staged ON public.document USING btree (staged, staged_at) WHERE (staged = ANY (ARRAY['held'::text, 'cancelled'::text]))
  trigger document_begins_box_item: CREATE TRIGGER document_begins_box_item AFTER INSERT ON public.document FOR EACH ROW WHEN ((new.door = 'box'::text)) EXECUTE FUNCTION box_item_follows()
  trigger document_due_at_once: CREATE TRIGGER document_due_at_once BEFORE INSERT ON public.document FOR EACH ROW EXECUTE FUNCTION due_at_once()
  trigger document_moves_box_item: CREATE TRIGGER document_moves_box_item AFTER UPDATE OF status, lease_owner ON public.document FOR EACH ROW WHEN (((new.door = 'box'::text) AND ((new.status <> old.status) OR (new.lease_owner IS DISTINCT FROM old.lease_owner)))) EXECUTE FUNCTION box_item_follows()
  trigger document_tallied: CREATE TRIGGER document_tallied AFTER UPDATE ON public.document REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION tally_moved_documents()
  trigger document_tallied_at_once: CREATE TRIGGER document_tallied_at_once AFTER INSERT ON public.document FOR EACH ROW WHEN ((new.status <> ALL (ARRAY['queued'::text, 'sent'::text]))) EXECUTE FUNCTION tally_documents()
  trigger document_tallied_gone: CREATE TRIGGER document_tallied_gone AFTER DELETE ON public.document FOR EACH ROW WHEN ((old.status <> ALL (ARRAY['queued'::text, 'sent'::text]))) EXECUTE FUNCTION tally_documents()

table document_attempt
  document_id uuid not null
  number integer not null
  owner text not null
  started_at timestamp with time zone not null
  finished_at timestamp with time zone
  outcome text
  code text
  retryable boolean
  detail text
  seat text
  with options: fillfactor=70
  constraint document_attempt_outcome_check: CHECK ((outcome = ANY (ARRAY['receipt'::text, 'already_handed_over'::text, 'unconfirmed'::text, 'recipient_unregistered'::text, 'recipient_capability'::text, 'lookup_failed'::text, 'certificate_rejected'::text, 'transport_failed'::text, 'peer_busy'::text, 'peer_refused'::text, 'deferred'::text, 'unsendable'::text, 'internal'::text, 'cut'::text]))) NOT VALID
  constraint document_attempt_pkey: PRIMARY KEY (document_id, number)

table document_event
  id uuid not null
  position bigint not null generated always as identity
  document_id uuid not null
  firm_id uuid not null
  kind text not null
  actor text not null
  feed boolean not null
  detail text
  meta jsonb
  occurred_at timestamp with time zone not null
  transaction_id xid8 not null default pg_current_xact_id()
  constraint document_event_actor_check: CHECK ((actor = ANY (ARRAY['system'::text, 'user'::text, 'api'::text])))
  constraint document_event_kind_check: CHECK ((kind = ANY (ARRAY['document.sent'::text, 'document.delivered'::text, 'document.delivery_failed'::text, 'document.mls_received'::text, 'document.rejected'::text, 'document.response_received'::text, 'document.queued'::text, 'document.cancelled'::text, 'document.attempt_failed'::text, 'document.mls_ignored'::text, 'document.response_ignored'::text, 'document.marked'::text, 'document.processed'::text]))) NOT VALID
  constraint document_event_pkey: PRIMARY KEY (id)
  index document_event_feed: CREATE INDEX document_event_feed ON public.document_event USING btree (transaction_id, "position") WHERE (feed OR (kind = 'document.queued'::text))
  index document_event_firm: CREATE INDEX document_event_firm ON public.document_event USING btree (firm_id, transaction_id, "position") WHERE (feed OR (kind = 'document.queued'::text))
  index document_event_timeline: CREATE INDEX document_event_timeline ON public.document_event USING btree (document_id, occurred_at, "position")

table document_history
  document_id uuid not null
  version integer not null
  status text not null
  trigger text not null
  detail text
  occurred_at timestamp with time zone not null
  constraint document_history_status_check: CHECK ((status = ANY (ARRAY['queued'::text, 'sent'::text, 'delivered'::text, 'rejected'::text, 'send_failed'::text, 'delivery_failed'::text, 'validation_failed'::text])))
  constraint document_history_trigger_check: CHECK ((trigger = ANY (ARRAY['accepted'::text, 'rules_refused'::text, 'transmitted'::text, 'receipt_confirmed'::text, 'attempts_exhausted'::text, 'peer_refused'::text, 'mls_ap'::text, 'mls_ab'::text, 'mls_re'::text, 'invoice_response'::text, 'cancelled'::text]))) NOT VALID
  constraint document_history_pkey: PRIMARY KEY (document_id, version)

table document_mark
  document_id uuid not null
  state text not null
  firm_id uuid not null
  note text
  marked_at timestamp with time zone not null
  constraint document_mark_note_check: CHECK (((char_length(note) >= 1) AND (char_length(note) <= 500)))
  constraint document_mark_state_check: CHECK ((state = ANY (ARRAY['delivered'::text, 'processed'::text, 'failed'::text, 'read'::text])))
  constraint document_mark_firm_id_fkey: FOREIGN KEY (firm_id) REFERENCES firm(id)
  constraint document_mark_pkey: PRIMARY KEY (document_id, state)

table document_tally
  status text not null
  share integer not null generated always as identity
  n bigint not null
  with options: fillfactor=50
  constraint document_tally_status_check: CHECK ((status = ANY (ARRAY['delivered'::text, 'rejected'::text, 'send_failed'::text, 'delivery_failed'::text, 'validation_failed'::text, 'cancelled'::text])))
  constraint document_tally_pkey: PRIMARY KEY (status, share)

table evidence
  index bigint not null
  hash bytea not null
  previous_hash bytea not null
  direction text not null
  outcome text not null
  document_id uuid not null
  firm_id uuid
  message_id text not null
  references_sha256 text not null
  object text not null
  byte_offset integer not null
  byte_length integer not null
  record_sha256 text not null
  envelope_sha256 text not null
  envelope_bytes integer not null
  envelope_content_type text not null
  answer_sha256 text
  request_at timestamp with time zone not null
  answer_at timestamp with time zone
  stored_at timestamp with time zone not null
  constraint evidence_byte_length_check: CHECK ((byte_length > 0))
  constraint evidence_byte_offset_check: CHECK ((byte_offset >= 0))
  constraint evidence_direction_check: CHECK ((direction = ANY (ARRAY['outbound'::text, 'inbound'::text])))
  constraint evidence_hash_check: CHECK ((octet_length(hash) = 32))
  constraint evidence_index_check: CHECK ((index >= 1))
  constraint evidence_previous_hash_check: CHECK ((octet_length(previous_hash) = 32))
  constraint evidence_pkey: PRIMARY KEY (index)
  constraint evidence_hash_key: UNIQUE (hash)
  constraint evidence_previous_hash_key: UNIQUE (previous_hash)
  constraint evidence_record_sha256_key: UNIQUE (record_sha256)
  index evidence_document: CREATE INDEX evidence_document ON public.evidence USING btree (document_id, index)
  index evidence_message: CREATE INDEX evidence_message ON public.evidence USING btree (direction, message_id)
  index evidence_stored_at: CREATE INDEX evidence_stored_at ON public.evidence USING btree (stored_at)
  trigger evidence_immutable: CREATE TRIGGER evidence_immutable BEFORE UPDATE OR TRUNCATE ON public.evidence FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()
  trigger evidence_kept: CREATE TRIGGER evidence_kept BEFORE DELETE ON public.evidence FOR EACH ROW EXECUTE FUNCTION keep_evidence()

table evidence_head
  id boolean not null default true
  index bigint not null
  hash bytea not null
  constraint evidence_head_id_check: CHECK (id)
  constraint evidence_head_pkey: PRIMARY KEY (id)

table evidence_leftover
  object text not null
  is_shared boolean not null
  needed_until timestamp with time zone not null
  constraint evidence_leftover_pkey: PRIMARY KEY (object)

table evidence_tombstone
  first_index bigint not null
  last_index bigint not null
  previous_hash bytea not null
  last_hash bytea not null
  entries_sha256 bytea not null
  faults integer not null
  stored_from timestamp with time zone not null
  stored_to timestamp with time zone not null
  proved_at timestamp with time zone not null
  previous_tombstone bytea not null
  hash bytea not null
  seal_key_id text not null
  seal bytea not null
  constraint evidence_tombstone_check: CHECK ((last_index >= first_index))
  constraint evidence_tombstone_entries_sha256_check: CHECK ((octet_length(entries_sha256) = 32))
  constraint evidence_tombstone_faults_check: CHECK ((faults >= 0))
  constraint evidence_tombstone_first_index_check: CHECK ((first_index >= 1))
  constraint evidence_tombstone_hash_check: CHECK ((octet_length(hash) = 32))
  constraint evidence_tombstone_last_hash_check: CHECK ((octet_length(last_hash) = 32))
  constraint evidence_tombstone_previous_hash_check: CHECK ((octet_length(previous_hash) = 32))
  constraint evidence_tombstone_previous_tombstone_check: CHECK ((octet_length(previous_tombstone) = 32))
  constraint evidence_tombstone_pkey: PRIMARY KEY (first_index)
  constraint evidence_tombstone_hash_key: UNIQUE (hash)
  constraint evidence_tombstone_last_index_key: UNIQUE (last_index)
  trigger evidence_tombstone_kept: CREATE TRIGGER evidence_tombstone_kept BEFORE DELETE OR UPDATE OR TRUNCATE ON public.evidence_tombstone FOR EACH STATEMENT EXECUTE FUNCTION keep_tombstone()

table exchange
  id uuid not null
  direction text not null
  kind text not null
  firm_id uuid
  c2_seat text not null
  c3_seat text not null
  document_type_id text not null
  process_id text not null
  transport_profile text not null
  c1_country text not null
  c4_country text
  end_user text not null
  exchanged_at timestamp with time zone not null
  status_at timestamp with time zone
  status_received_at timestamp with time zone
  constraint exchange_check: CHECK (((direction = 'incoming'::text) = (c4_country IS NOT NULL)))
  constraint exchange_direction_check: CHECK ((direction = ANY (ARRAY['incoming'::text, 'outgoing'::text])))
  constraint exchange_kind_check: CHECK ((kind = ANY (ARRAY['business'::text, 'mls'::text, 'invoice_response'::text])))
  constraint exchange_pkey: PRIMARY KEY (id)
  index exchange_firm: CREATE INDEX exchange_firm ON public.exchange USING btree (firm_id, exchanged_at)
  index exchange_time: CREATE INDEX exchange_time ON public.exchange USING btree (exchanged_at)

table failed_credential
  slot integer not null
  failed_at timestamp with time zone[] not null
  with options: fillfactor=70
  constraint failed_credential_failed_at_check: CHECK ((cardinality(failed_at) <= 5))
  constraint failed_credential_slot_check: CHECK (((slot >= 0) AND (slot <= 262143)))
  constraint failed_credential_pkey: PRIMARY KEY (slot)

table feed_consumer
  name text not null
  transaction_id xid8 not null
  position bigint not null
  constraint feed_consumer_pkey: PRIMARY KEY (name)

table firm
  id uuid not null
  name text not null
  ico text
  dic text
  ic_dph text
  address jsonb
  peppol_status text not null
  sandbox boolean not null
  created_at timestamp with time zone not null
  sends_only boolean not null default false
  erased_at timestamp with time zone
  end_user_salt uuid
  constraint firm_name_check: CHECK (((char_length(name) >= 1) AND (char_length(name) <= 255)))
  constraint firm_peppol_status_check: CHECK ((peppol_status = ANY (ARRAY['not_registered'::text, 'registered'::text])))
  constraint firm_pkey: PRIMARY KEY (id)
  index firm_by_name: CREATE INDEX firm_by_name ON public.firm USING btree (search_form(name) COLLATE "C", id) WHERE (erased_at IS NULL)
  index firm_dic: CREATE INDEX firm_dic ON public.firm USING btree (dic) WHERE (dic IS NOT NULL)
  index firm_ic_dph: CREATE INDEX firm_ic_dph ON public.firm USING btree (ic_dph) WHERE (ic_dph IS NOT NULL)
  index firm_ico: CREATE INDEX firm_ico ON public.firm USING btree (ico) WHERE (ico IS NOT NULL)
  index firm_search: CREATE INDEX firm_search ON public.firm USING btree (search_form(name), id) WHERE (NOT sends_only)

table firm_binding
  integrator_id uuid not null
  firm_id uuid not null
  customer_ref text
  state text not null
  scopes text[] not null
  interfaces text[] not null
  revoked_generation integer not null default 0
  created_at timestamp with time zone not null
  updated_at timestamp with time zone not null
  constraint firm_binding_customer_ref_check: CHECK (((char_length(customer_ref) >= 1) AND (char_length(customer_ref) <= 128)))
  constraint firm_binding_interfaces_check: CHECK ((interfaces <@ ARRAY['enterprise'::text, 'sapi'::text, 'connector'::text]))
  constraint firm_binding_state_check: CHECK ((state = ANY (ARRAY['required'::text, 'pending'::text, 'active'::text, 'revoked'::text])))
  constraint firm_binding_firm_id_fkey: FOREIGN KEY (firm_id) REFERENCES firm(id)
  constraint firm_binding_integrator_id_fkey: FOREIGN KEY (integrator_id) REFERENCES integrator(id)
  constraint firm_binding_pkey: PRIMARY KEY (integrator_id, firm_id)
  constraint firm_binding_integrator_id_customer_ref_key: UNIQUE (integrator_id, customer_ref)
  index firm_binding_firm: CREATE INDEX firm_binding_firm ON public.firm_binding USING btree (firm_id)
  trigger firm_binding_changed: CREATE TRIGGER firm_binding_changed AFTER INSERT OR DELETE OR UPDATE ON public.firm_binding FOR EACH ROW EXECUTE FUNCTION announce_firm_binding()
  trigger firm_binding_ended: CREATE TRIGGER firm_binding_ended AFTER UPDATE OF state ON public.firm_binding FOR EACH ROW WHEN (((new.state = 'revoked'::text) AND (old.state <> 'revoked'::text))) EXECUTE FUNCTION end_onboarding_of_binding()
  trigger firm_binding_ended_offers: CREATE TRIGGER firm_binding_ended_offers AFTER UPDATE OF state ON public.firm_binding FOR EACH ROW WHEN (((new.state = 'revoked'::text) AND (old.state <> 'revoked'::text))) EXECUTE FUNCTION end_offers_of_binding()

table firm_key_made
  firm_id uuid not null
  made_at timestamp with time zone not null
  constraint firm_key_made_pkey: PRIMARY KEY (firm_id)

table firm_key_store
  only_one boolean not null default true
  name text not null
  made_at timestamp with time zone not null
  remembered_at timestamp with time zone
  constraint firm_key_store_name_check: CHECK ((name ~ '^[0-9a-f]{32}$'::text))
  constraint firm_key_store_only_one_check: CHECK (only_one)
  constraint firm_key_store_pkey: PRIMARY KEY (only_one)

table firm_plan
  firm_id uuid not null
  code text not null
  expires_at timestamp with time zone
  updated_at timestamp with time zone not null
  constraint firm_plan_code_check: CHECK ((code = ANY (ARRAY['standard'::text, 'start'::text, 'business'::text])))
  constraint firm_plan_firm_id_fkey: FOREIGN KEY (firm_id) REFERENCES firm(id)
  constraint firm_plan_pkey: PRIMARY KEY (firm_id)

table inbound_status
  id uuid not null
  kind text not null
  sender text not null
  receiver text not null
  peer_seat text not null
  as4_message_id text not null
  sbdh_instance_id text not null
  received_at timestamp with time zone not null
  payload_key_id text not null
  payload_sealed bytea not null
  payload_sha256 text not null
  next_at timestamp with time zone
  tries integer not null
  outcome text
  handled_at timestamp with time zone
  document_id uuid
  code text
  response_id text
  issued_at timestamp with time zone
  fault text
  constraint inbound_status_check: CHECK (((outcome IS NULL) = (next_at IS NOT NULL)))
  constraint inbound_status_check1: CHECK (((outcome IS NULL) = (handled_at IS NULL)))
  constraint inbound_status_kind_check: CHECK ((kind = ANY (ARRAY['mls'::text, 'invoice_response'::text])))
  constraint inbound_status_outcome_check: CHECK ((outcome = ANY (ARRAY['applied'::text, 'late'::text, 'duplicate'::text, 'contradicting'::text, 'outdated'::text, 'misdated'::text, 'out_of_order'::text, 'ambiguous'::text, 'unknown'::text, 'foreign'::text, 'invalid'::text, 'unreadable'::text])))
  constraint inbound_status_document_id_fkey: FOREIGN KEY (document_id) REFERENCES document(id)
  constraint inbound_status_pkey: PRIMARY KEY (id)
  constraint inbound_status_instance_seat: UNIQUE (sbdh_instance_id, peer_seat)
  constraint inbound_status_message_seat: UNIQUE (as4_message_id, peer_seat)
  index inbound_status_due_of_peer: CREATE INDEX inbound_status_due_of_peer ON public.inbound_status USING btree (peer_seat, next_at) WHERE (next_at IS NOT NULL)
  index inbound_status_one_mls: CREATE UNIQUE INDEX inbound_status_one_mls ON public.inbound_status USING btree (document_id) WHERE ((kind = 'mls'::text) AND (outcome = ANY (ARRAY['applied'::text, 'late'::text])))
  index inbound_status_one_response: CREATE UNIQUE INDEX inbound_status_one_response ON public.inbound_status USING btree (document_id, response_id) WHERE ((kind = 'invoice_response'::text) AND (outcome = 'applied'::text))
  index inbound_status_settled_in_order: CREATE INDEX inbound_status_settled_in_order ON public.inbound_status USING btree (document_id, kind, outcome, received_at) WHERE (document_id IS NOT NULL)
  trigger inbound_status_due_at_once: CREATE TRIGGER inbound_status_due_at_once BEFORE INSERT ON public.inbound_status FOR EACH ROW EXECUTE FUNCTION received_due_at_once()

table integrator
  id uuid not null
  name text not null
  production_authorized boolean not null
  binding_generation integer not null default 0
  created_at timestamp with time zone not null
  managed_billing boolean not null default false
  production_changed_at timestamp with time zone
  constraint integrator_name_check: CHECK (((char_length(name) >= 1) AND (char_length(name) <= 255)))
  constraint integrator_pkey: PRIMARY KEY (id)
  trigger integrator_changed: CREATE TRIGGER integrator_changed AFTER UPDATE ON public.integrator FOR EACH ROW EXECUTE FUNCTION announce_integrator()

table mapper_template
  integrator_id uuid not null
  template_key text not null
  field_map jsonb not null
  created_at timestamp with time zone not null
  updated_at timestamp with time zone not null
  constraint mapper_template_template_key_check: CHECK (((length(template_key) >= 1) AND (length(template_key) <= 64)))
  constraint mapper_template_integrator_id_fkey: FOREIGN KEY (integrator_id) REFERENCES integrator(id)
  constraint mapper_template_pkey: PRIMARY KEY (integrator_id, template_key)

table master_key
  key_id text not null
  canary bytea not null
  wrapped_by text
  wrapped bytea
  made_at timestamp with time zone not null
  constraint master_key_check: CHECK (((wrapped_by IS NULL) = (wrapped IS NULL)))
  constraint master_key_check1: CHECK ((wrapped_by <> key_id))
  constraint master_key_key_id_check: CHECK ((key_id ~ '^[0-9a-f]{16}$'::text))
  constraint master_key_wrapped_by_fkey: FOREIGN KEY (wrapped_by) REFERENCES master_key(key_id)
  constraint master_key_pkey: PRIMARY KEY (key_id)

table membership
  person_id uuid not null
  firm_id uuid
  integrator_id uuid
  role text not null
  created_at timestamp with time zone not null
  constraint membership_check: CHECK (((firm_id IS NULL) <> (integrator_id IS NULL)))
  constraint membership_check1: CHECK (((integrator_id IS NULL) OR (role = 'admin'::text)))
  constraint membership_role_check: CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text])))
  constraint membership_firm_id_fkey: FOREIGN KEY (firm_id) REFERENCES firm(id)
  constraint membership_integrator_id_fkey: FOREIGN KEY (integrator_id) REFERENCES integrator(id)
  constraint membership_person_id_fkey: FOREIGN KEY (person_id) REFERENCES person(id)
  index membership_firm: CREATE UNIQUE INDEX membership_firm ON public.membership USING btree (person_id, firm_id) WHERE (firm_id IS NOT NULL)
  index membership_integrator: CREATE UNIQUE INDEX membership_integrator ON public.membership USING btree (person_id, integrator_id) WHERE (integrator_id IS NOT NULL)
  index membership_of_firm: CREATE INDEX membership_of_firm ON public.membership USING btree (firm_id) WHERE (firm_id IS NOT NULL)
  index membership_of_integrator: CREATE INDEX membership_of_integrator ON public.membership USING btree (integrator_id) WHERE (integrator_id IS NOT NULL)
  index membership_of_person: CREATE INDEX membership_of_person ON public.membership USING btree (person_id)

table metered_event
  event_id uuid not null
  firm_id uuid not null
  direction text not null
  month date not null
  constraint metered_event_direction_check: CHECK ((direction = ANY (ARRAY['outbound'::text, 'inbound'::text])))
  constraint metered_event_month_check: CHECK ((EXTRACT(day FROM month) = (1)::numeric))
  constraint metered_event_firm_id_fkey: FOREIGN KEY (firm_id) REFERENCES firm(id)
  constraint metered_event_pkey: PRIMARY KEY (event_id)
  index metered_event_month: CREATE INDEX metered_event_month ON public.metered_event USING btree (month, firm_id)

table mls_duty
  id uuid not null
  firm_id uuid not null
  sbdh_instance_id text not null
  document_type_id text not null
  receiver text not null
  always boolean not null
  received_at timestamp with time zone not null
  next_at timestamp with time zone
  lease_until timestamp with time zone
  code text
  lease_owner text
  payload_bytes integer
  with options: fillfactor=50
  constraint mls_duty_check: CHECK (((code IS NULL) OR (next_at IS NULL)))
  constraint mls_duty_code_check: CHECK ((code = ANY (ARRAY['AP'::text, 'AB'::text, 'RE'::text])))
  constraint mls_duty_pkey: PRIMARY KEY (id)
  index mls_duty_due: CREATE INDEX mls_duty_due ON public.mls_duty USING btree (next_at) WHERE (next_at IS NOT NULL)
  trigger mls_duty_due_at_once: CREATE TRIGGER mls_duty_due_at_once BEFORE INSERT ON public.mls_duty FOR EACH ROW EXECUTE FUNCTION received_due_at_once()

table node
  id uuid not null
  seen_at timestamp with time zone not null
  facts jsonb
  constraint node_pkey: PRIMARY KEY (id)

table oauth_client
  id uuid not null
  name text not null
  secret_sha256 bytea not null
  redirect_uris text[] not null
  created_at timestamp with time zone not null
  constraint oauth_client_name_check: CHECK (((char_length(name) >= 1) AND (char_length(name) <= 80)))
  constraint oauth_client_redirect_uris_check: CHECK (((cardinality(redirect_uris) >= 1) AND (cardinality(redirect_uris) <= 10)))
  constraint oauth_client_secret_sha256_check: CHECK ((octet_length(secret_sha256) = 32))
  constraint oauth_client_pkey: PRIMARY KEY (id)

table oauth_code
  code_sha256 bytea not null
  client_id uuid not null
  person_id uuid not null
  integrator_id uuid not null
  redirect_uri text not null
  challenge text not null
  scopes text[] not null
  created_at timestamp with time zone not null
  expires_at timestamp with time zone not null
  used_at timestamp with time zone
  replayed_at timestamp with time zone
  key_id uuid
  constraint oauth_code_challenge_check: CHECK ((challenge ~ '^[A-Za-z0-9_-]{43}$'::text))
  constraint oauth_code_code_sha256_check: CHECK ((octet_length(code_sha256) = 32))
  constraint oauth_code_scopes_check: CHECK ((cardinality(scopes) >= 1))
  constraint oauth_code_client_id_fkey: FOREIGN KEY (client_id) REFERENCES oauth_client(id)
  constraint oauth_code_integrator_id_fkey: FOREIGN KEY (integrator_id) REFERENCES integrator(id)
  constraint oauth_code_key_id_fkey: FOREIGN KEY (key_id) REFERENCES api_key(id)
  constraint oauth_code_person_id_fkey: FOREIGN KEY (person_id) REFERENCES person(id)
  constraint oauth_code_pkey: PRIMARY KEY (code_sha256)
  index oauth_code_age: CREATE INDEX oauth_code_age ON public.oauth_code USING btree (created_at)
  index oauth_code_key: CREATE INDEX oauth_code_key ON public.oauth_code USING btree (key_id) WHERE (key_id IS NOT NULL)
  index oauth_code_person: CREATE INDEX oauth_code_person ON public.oauth_code USING btree (person_id)

table onboarding_history
  request_id uuid not null
  version integer not null
  status text not null
  trigger text not null
  detail text
  occurred_at timestamp with time zone not null
  constraint onboarding_history_detail_check: CHECK ((char_length(detail) <= 500))
  constraint onboarding_history_request_id_fkey: FOREIGN KEY (request_id) REFERENCES onboarding_request(id)
  constraint onboarding_history_pkey: PRIMARY KEY (request_id, version)

table onboarding_request
  id uuid not null
  integrator_id uuid not null
  idempotency_key text not null
  body_sha256 bytea not null
  service_mode text not null
  customer_ref text not null
  dic text not null
  contact_email text not null
  relationship_mode text not null
  status text not null
  firm_id uuid
  next_action text
  legal_name text
  vouched_at timestamp with time zone
  version integer not null default 1
  created_at timestamp with time zone not null
  updated_at timestamp with time zone not null
  constraint onboarding_request_body_sha256_check: CHECK ((octet_length(body_sha256) = 32))
  constraint onboarding_request_check: CHECK (((status <> 'active'::text) OR (firm_id IS NOT NULL)))
  constraint onboarding_request_contact_email_check: CHECK ((char_length(contact_email) <= 255))
  constraint onboarding_request_customer_ref_check: CHECK (((char_length(customer_ref) >= 1) AND (char_length(customer_ref) <= 128)))
  constraint onboarding_request_dic_check: CHECK ((dic ~ '^[0-9]{10}$'::text))
  constraint onboarding_request_idempotency_key_check: CHECK (((char_length(idempotency_key) >= 8) AND (char_length(idempotency_key) <= 128)))
  constraint onboarding_request_legal_name_check: CHECK (((char_length(legal_name) >= 1) AND (char_length(legal_name) <= 255)))
  constraint onboarding_request_next_action_check: CHECK ((char_length(next_action) <= 500))
  constraint onboarding_request_relationship_mode_check: CHECK ((relationship_mode = ANY (ARRAY['technical_delegation'::text, 'managed_service'::text])))
  constraint onboarding_request_service_mode_check: CHECK ((service_mode = 'send_only'::text))
  constraint onboarding_request_status_check: CHECK ((status = ANY (ARRAY['awaiting_pfs'::text, 'action_required'::text, 'activating'::text, 'active'::text, 'blocked'::text, 'revoked'::text])))
  constraint onboarding_request_firm_id_fkey: FOREIGN KEY (firm_id) REFERENCES firm(id)
  constraint onboarding_request_integrator_id_fkey: FOREIGN KEY (integrator_id) REFERENCES integrator(id)
  constraint onboarding_request_pkey: PRIMARY KEY (id)
  constraint onboarding_request_integrator_id_idempotency_key_key: UNIQUE (integrator_id, idempotency_key)
  index onboarding_binding: CREATE INDEX onboarding_binding ON public.onboarding_request USING btree (integrator_id, firm_id) WHERE (firm_id IS NOT NULL)
  index onboarding_dic: CREATE INDEX onboarding_dic ON public.onboarding_request USING btree (dic) WHERE (status = ANY (ARRAY['awaiting_pfs'::text, 'activating'::text]))
  index onboarding_due: CREATE INDEX onboarding_due ON public.onboarding_request USING btree (vouched_at) WHERE ((status = 'activating'::text) AND (vouched_at IS NOT NULL))
  index onboarding_ended: CREATE INDEX onboarding_ended ON public.onboarding_request USING btree (updated_at) WHERE (status = ANY (ARRAY['blocked'::text, 'revoked'::text]))
  index onboarding_idle: CREATE INDEX onboarding_idle ON public.onboarding_request USING btree (updated_at) WHERE (status <> 'active'::text)
  index onboarding_newest: CREATE INDEX onboarding_newest ON public.onboarding_request USING btree (created_at DESC)
  index onboarding_open_dic: CREATE UNIQUE INDEX onboarding_open_dic ON public.onboarding_request USING btree (integrator_id, dic) WHERE (status <> ALL (ARRAY['blocked'::text, 'revoked'::text]))
  index onboarding_open_ref: CREATE UNIQUE INDEX onboarding_open_ref ON public.onboarding_request USING btree (integrator_id, customer_ref) WHERE (status <> ALL (ARRAY['blocked'::text, 'revoked'::text]))
  index onboarding_waiting: CREATE INDEX onboarding_waiting ON public.onboarding_request USING btree (created_at) WHERE (status = ANY (ARRAY['awaiting_pfs'::text, 'action_required'::text]))

table outbox
  id bigint not null generated always as identity
  stream text not null
  key text not null
  body jsonb not null
  created_at timestamp with time zone not null default clock_timestamp()
  claimed_until timestamp with time zone
  with options: autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=1000, fillfactor=70
  constraint outbox_key_check: CHECK (((char_length(key) >= 1) AND (char_length(key) <= 255)))
  constraint outbox_stream_check: CHECK ((stream = ANY (ARRAY['dispatch'::text, 'events'::text])))
  constraint outbox_pkey: PRIMARY KEY (id)

table participant
  key text not null
  id text not null
  firm_id uuid not null
  registered_at timestamp with time zone not null
  constraint participant_check: CHECK (((lower(id) = key) AND ((char_length(id) >= 6) AND (char_length(id) <= 135))))
  constraint participant_key_check: CHECK ((key = lower(key)))
  constraint participant_provider_check: CHECK ((NOT starts_with(key, '0242:'::text))) NOT VALID
  constraint participant_firm_id_fkey: FOREIGN KEY (firm_id) REFERENCES firm(id)
  constraint participant_pkey: PRIMARY KEY (key)
  index participant_firm: CREATE INDEX participant_firm ON public.participant USING btree (firm_id)
  trigger participant_changed: CREATE TRIGGER participant_changed AFTER INSERT OR DELETE OR UPDATE ON public.participant FOR EACH ROW EXECUTE FUNCTION announce_participant()

table participant_capability
  participant_key text not null
  document_type_id text not null
  process_id text not null
  constraint participant_capability_participant_key_fkey: FOREIGN KEY (participant_key) REFERENCES participant(key)
  constraint participant_capability_pkey: PRIMARY KEY (participant_key, document_type_id, process_id)

table payload
  document_id uuid not null
  key_id text not null
  sealed bytea not null
  bytes integer not null
  constraint payload_bytes_check: CHECK ((bytes > 0))
  constraint payload_pkey: PRIMARY KEY (document_id)

table payload_announced
  object text not null
  announced_at timestamp with time zone not null
  constraint payload_announced_pkey: PRIMARY KEY (object)

table payload_leftover
  object text not null
  constraint payload_leftover_pkey: PRIMARY KEY (object)

table payload_moved
  document_id uuid not null
  key_id text not null
  bytes integer not null
  object text not null
  byte_offset integer not null
  byte_length integer not null
  constraint payload_moved_byte_length_check: CHECK ((byte_length > 0))
  constraint payload_moved_byte_offset_check: CHECK ((byte_offset >= 0))
  constraint payload_moved_pkey: PRIMARY KEY (document_id)
  index payload_moved_object: CREATE INDEX payload_moved_object ON public.payload_moved USING btree (object)
  trigger payload_moved_gone: CREATE TRIGGER payload_moved_gone AFTER DELETE ON public.payload_moved REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION leave_payload_object()

table person
  id uuid not null
  email text not null
  created_at timestamp with time zone not null
  constraint person_email_check: CHECK (((email = lower(email)) AND ((char_length(email) >= 3) AND (char_length(email) <= 254))))
  constraint person_pkey: PRIMARY KEY (id)
  constraint person_email_key: UNIQUE (email)

table person_session
  token_sha256 bytea not null
  person_id uuid not null
  created_at timestamp with time zone not null
  seen_at timestamp with time zone not null
  expires_at timestamp with time zone not null
  constraint person_session_token_sha256_check: CHECK ((octet_length(token_sha256) = 32))
  constraint person_session_person_id_fkey: FOREIGN KEY (person_id) REFERENCES person(id)
  constraint person_session_pkey: PRIMARY KEY (token_sha256)
  index person_session_expiry: CREATE INDEX person_session_expiry ON public.person_session USING btree (expires_at)
  index person_session_person: CREATE INDEX person_session_person ON public.person_session USING btree (person_id, created_at)

table pfs_confirmation
  token_sha256 bytea not null
  dic text not null
  legal_name text
  received_at timestamp with time zone not null
  request_id uuid
  constraint pfs_confirmation_dic_check: CHECK ((dic ~ '^[0-9]{10}$'::text))
  constraint pfs_confirmation_legal_name_check: CHECK (((char_length(legal_name) >= 1) AND (char_length(legal_name) <= 255)))
  constraint pfs_confirmation_token_sha256_check: CHECK ((octet_length(token_sha256) = 32))
  constraint pfs_confirmation_request_id_fkey: FOREIGN KEY (request_id) REFERENCES onboarding_request(id)
  constraint pfs_confirmation_pkey: PRIMARY KEY (token_sha256)
  index pfs_confirmation_dic: CREATE INDEX pfs_confirmation_dic ON public.pfs_confirmation USING btree (dic, received_at)
  index pfs_confirmation_waiting: CREATE INDEX pfs_confirmation_waiting ON public.pfs_confirmation USING btree (received_at) WHERE (request_id IS NULL)

table rate_window
  key text not null
  buckets bigint[] not null
  admitted integer[] not null
  touched_at timestamp with time zone not null
  with options: fillfactor=50
  constraint rate_window_check: CHECK ((cardinality(buckets) = cardinality(admitted)))
  constraint rate_window_key_check: CHECK ((char_length(key) <= 200))
  constraint rate_window_pkey: PRIMARY KEY (key)
  index rate_window_touched: CREATE INDEX rate_window_touched ON public.rate_window USING btree (touched_at)

table received_document
  id uuid not null
  position bigint not null generated always as identity
  firm_id uuid not null
  participant_key text not null
  sender text not null
  receiver text not null
  document_type_id text not null
  process_id text not null
  creation_date_time timestamp with time zone not null
  status text not null
  payload_sha256 bytea not null
  as4_message_id text not null
  sbdh_instance_id text not null
  facts jsonb not null
  received_at timestamp with time zone not null
  acknowledged_at timestamp with time zone
  findings jsonb
  feed_transaction_id xid8
  feed_position bigint
  api_received_at timestamp with time zone
  client_reference text
  api_transaction_id xid8
  peer_seat text not null default ''::text
  constraint received_document_check: CHECK (((status = 'ACKNOWLEDGED'::text) = (acknowledged_at IS NOT NULL)))
  constraint received_document_client_reference_check: CHECK (((char_length(client_reference) >= 1) AND (char_length(client_reference) <= 256)))
  constraint received_document_findings_check: CHECK (((findings IS NULL) OR (status = 'REFUSED'::text)))
  constraint received_document_payload_sha256_check: CHECK ((octet_length(payload_sha256) = 32))
  constraint received_document_status_check: CHECK ((status = ANY (ARRAY['HELD'::text, 'RECEIVED'::text, 'ACKNOWLEDGED'::text, 'REFUSED'::text])))
  constraint received_document_firm_id_fkey: FOREIGN KEY (firm_id) REFERENCES firm(id)
  constraint received_document_pkey: PRIMARY KEY (id)
  index received_document_api: CREATE INDEX received_document_api ON public.received_document USING btree (api_transaction_id, "position") WHERE (api_transaction_id IS NOT NULL)
  index received_document_feed: CREATE INDEX received_document_feed ON public.received_document USING btree (feed_transaction_id, feed_position) WHERE (feed_position IS NOT NULL)
  index received_document_held: CREATE INDEX received_document_held ON public.received_document USING btree (received_at) WHERE (status = 'HELD'::text)
  index received_document_inbox: CREATE INDEX received_document_inbox ON public.received_document USING btree (participant_key, firm_id, status, "position")
  index received_document_instance_seat: CREATE UNIQUE INDEX received_document_instance_seat ON public.received_document USING btree (sbdh_instance_id, peer_seat)
  index received_document_message_seat: CREATE UNIQUE INDEX received_document_message_seat ON public.received_document USING btree (as4_message_id, peer_seat)
  index received_document_pull: CREATE INDEX received_document_pull ON public.received_document USING btree (firm_id, COALESCE(feed_transaction_id, '1'::xid8), COALESCE(feed_position, "position")) WHERE received_is_visible(status)
  index received_document_refused: CREATE INDEX received_document_refused ON public.received_document USING btree (received_at) WHERE (status = 'REFUSED'::text)
  trigger received_by_api: CREATE TRIGGER received_by_api BEFORE UPDATE OF api_received_at ON public.received_document FOR EACH ROW WHEN (((old.api_received_at IS NULL) AND (new.api_received_at IS NOT NULL))) EXECUTE FUNCTION received_by_api()
  trigger received_is_processed: CREATE TRIGGER received_is_processed AFTER UPDATE OF status ON public.received_document FOR EACH ROW WHEN (((new.status = 'ACKNOWLEDGED'::text) AND (old.status <> 'ACKNOWLEDGED'::text))) EXECUTE FUNCTION received_is_processed()
  trigger received_joins_feed_at_once: CREATE TRIGGER received_joins_feed_at_once BEFORE INSERT ON public.received_document FOR EACH ROW WHEN ((new.status = 'RECEIVED'::text)) EXECUTE FUNCTION received_joins_feed()
  trigger received_joins_feed_later: CREATE TRIGGER received_joins_feed_later BEFORE UPDATE OF status ON public.received_document FOR EACH ROW WHEN (((new.status = 'RECEIVED'::text) AND (old.status = 'HELD'::text))) EXECUTE FUNCTION received_joins_feed()

table refresh_family
  family_sha256 bytea not null
  current_sha256 bytea not null
  key_id uuid not null
  generation integer not null
  scopes text[] not null
  created_at timestamp with time zone not null
  expires_at timestamp with time zone not null
  constraint refresh_family_current_sha256_check: CHECK ((octet_length(current_sha256) = 32))
  constraint refresh_family_family_sha256_check: CHECK ((octet_length(family_sha256) = 32))
  constraint refresh_family_key_id_fkey: FOREIGN KEY (key_id) REFERENCES api_key(id)
  constraint refresh_family_pkey: PRIMARY KEY (family_sha256)
  index refresh_family_expiry: CREATE INDEX refresh_family_expiry ON public.refresh_family USING btree (expires_at)
  index refresh_family_key: CREATE INDEX refresh_family_key ON public.refresh_family USING btree (key_id, created_at)

table registration
  participant_key text not null
  participant text not null
  smp_id text not null
  state text not null
  last_operation text not null
  outcome text
  code text
  operation_id uuid
  claimed_until timestamp with time zone
  migration_key_id text
  migration_key_sealed bytea
  migration_prepared_at timestamp with time zone
  created_at timestamp with time zone not null
  changed_at timestamp with time zone not null
  constraint registration_check: CHECK (((operation_id IS NULL) = (claimed_until IS NULL)))
  constraint registration_check1: CHECK (((migration_key_id IS NULL) = (migration_key_sealed IS NULL)))
  constraint registration_check2: CHECK (((migration_prepared_at IS NULL) OR (migration_key_sealed IS NOT NULL)))
  constraint registration_last_operation_check: CHECK ((last_operation = ANY (ARRAY['register'::text, 'unregister'::text, 'prepare_migration'::text, 'migrate'::text])))
  constraint registration_participant_key_check: CHECK ((participant_key = lower(participant_key)))
  constraint registration_state_check: CHECK ((state = ANY (ARRAY['registered'::text, 'unregistered'::text, 'manual_review'::text])))
  constraint registration_pkey: PRIMARY KEY (participant_key)
  index registration_state: CREATE INDEX registration_state ON public.registration USING btree (state, participant_key)

table registration_operation
  id uuid not null
  position bigint not null generated always as identity
  participant_key text not null
  operation text not null
  started_at timestamp with time zone not null
  ended_at timestamp with time zone
  outcome text
  code text
  state text
  constraint registration_operation_check: CHECK (((ended_at IS NULL) = (outcome IS NULL)))
  constraint registration_operation_operation_check: CHECK ((operation = ANY (ARRAY['register'::text, 'unregister'::text, 'prepare_migration'::text, 'migrate'::text, 'check'::text, 'settle'::text])))
  constraint registration_operation_participant_key_fkey: FOREIGN KEY (participant_key) REFERENCES registration(participant_key)
  constraint registration_operation_pkey: PRIMARY KEY (id)
  index registration_operation_participant: CREATE INDEX registration_operation_participant ON public.registration_operation USING btree (participant_key, "position")

table report_submission
  report_type text not null
  period date not null
  message_id uuid not null
  made_at timestamp with time zone not null
  constraint report_submission_period_check: CHECK ((EXTRACT(day FROM period) = (1)::numeric))
  constraint report_submission_report_type_check: CHECK ((report_type = ANY (ARRAY['TSR'::text, 'EUSR'::text])))
  constraint report_submission_message_id_fkey: FOREIGN KEY (message_id) REFERENCES service_message(id)
  constraint report_submission_pkey: PRIMARY KEY (report_type, period)
  constraint report_submission_message_id_key: UNIQUE (message_id)

table revoked_token
  jti uuid not null
  expires_at timestamp with time zone not null
  constraint revoked_token_pkey: PRIMARY KEY (jti)
  index revoked_token_expiry: CREATE INDEX revoked_token_expiry ON public.revoked_token USING btree (expires_at)
  trigger revoked_token_added: CREATE TRIGGER revoked_token_added AFTER INSERT ON public.revoked_token FOR EACH ROW EXECUTE FUNCTION announce_revoked_token()

table schema_migration
  number integer not null
  name text not null
  checksum text not null
  applied_at timestamp with time zone not null
  constraint schema_migration_checksum_check: CHECK ((checksum ~ '^[0-9a-f]{64}$'::text))
  constraint schema_migration_pkey: PRIMARY KEY (number)

table service_attempt
  message_id uuid not null
  number integer not null
  owner text not null
  started_at timestamp with time zone not null
  finished_at timestamp with time zone
  outcome text
  code text
  detail text
  constraint service_attempt_outcome_check: CHECK ((outcome = ANY (ARRAY['receipt'::text, 'already_handed_over'::text, 'unconfirmed'::text, 'recipient_unregistered'::text, 'recipient_capability'::text, 'lookup_failed'::text, 'certificate_rejected'::text, 'transport_failed'::text, 'peer_busy'::text, 'peer_refused'::text, 'deferred'::text, 'unsendable'::text, 'internal'::text, 'cut'::text]))) NOT VALID
  constraint service_attempt_message_id_fkey: FOREIGN KEY (message_id) REFERENCES service_message(id)
  constraint service_attempt_pkey: PRIMARY KEY (message_id, number)

table service_message
  id uuid not null
  kind text not null
  subject text not null
  firm_id uuid
  about uuid
  code text not null
  note text
  sender text not null
  receiver text not null
  document_type_id text not null
  process_id text not null
  as4_message_id text not null
  sbdh_instance_id uuid not null
  payload_key_id text not null
  payload_sealed bytea not null
  payload_sha256 text not null
  status text not null
  status_reason text
  version integer not null
  attempts integer not null
  next_attempt_at timestamp with time zone
  lease_owner text
  lease_until timestamp with time zone
  created_at timestamp with time zone not null
  delivered_at timestamp with time zone
  answers integer not null default 0
  faults integer not null default 0
  note_sealed bytea
  constraint service_message_answers_check: CHECK ((answers >= 0))
  constraint service_message_check: CHECK ((document_is_open(status) = (next_attempt_at IS NOT NULL)))
  constraint service_message_check1: CHECK (((status = 'delivered'::text) = (delivered_at IS NOT NULL)))
  constraint service_message_faults_check: CHECK ((faults >= 0))
  constraint service_message_kind_check: CHECK ((kind = ANY (ARRAY['mls'::text, 'invoice_response'::text, 'report'::text])))
  constraint service_message_status_check: CHECK ((status = ANY (ARRAY['queued'::text, 'sent'::text, 'delivered'::text, 'rejected'::text, 'send_failed'::text, 'delivery_failed'::text])))
  constraint service_message_version_check: CHECK ((version >= 1))
  constraint service_message_firm_id_fkey: FOREIGN KEY (firm_id) REFERENCES firm(id)
  constraint service_message_pkey: PRIMARY KEY (id)
  constraint service_message_as4_message_id_key: UNIQUE (as4_message_id)
  constraint service_message_sbdh_instance_id_key: UNIQUE (sbdh_instance_id)
  constraint service_message_subject_key: UNIQUE (subject)
  index service_message_about: CREATE INDEX service_message_about ON public.service_message USING btree (about, kind, created_at)
  index service_message_due: CREATE INDEX service_message_due ON public.service_message USING btree (next_attempt_at) WHERE (next_attempt_at IS NOT NULL)
  trigger service_message_due_at_once: CREATE TRIGGER service_message_due_at_once BEFORE INSERT ON public.service_message FOR EACH ROW EXECUTE FUNCTION service_message_due_at_once()

table sign_in
  visit_sha256 bytea not null
  address_sha256 bytea not null
  person_id uuid
  code_hmac bytea not null
  tries integer not null default 0
  created_at timestamp with time zone not null
  expires_at timestamp with time zone not null
  place_sha256 bytea
  constraint sign_in_address_sha256_check: CHECK ((octet_length(address_sha256) = 32))
  constraint sign_in_code_hmac_check: CHECK ((octet_length(code_hmac) = 32))
  constraint sign_in_place_sha256_check: CHECK ((octet_length(place_sha256) = 32))
  constraint sign_in_visit_sha256_check: CHECK ((octet_length(visit_sha256) = 32))
  constraint sign_in_person_id_fkey: FOREIGN KEY (person_id) REFERENCES person(id)
  constraint sign_in_pkey: PRIMARY KEY (visit_sha256)
  index sign_in_address: CREATE INDEX sign_in_address ON public.sign_in USING btree (address_sha256, created_at)
  index sign_in_age: CREATE INDEX sign_in_age ON public.sign_in USING btree (created_at)
  index sign_in_person: CREATE INDEX sign_in_person ON public.sign_in USING btree (person_id) WHERE (person_id IS NOT NULL)

table sign_in_place
  address_sha256 bytea not null
  place_sha256 bytea not null
  seen_at timestamp with time zone not null
  constraint sign_in_place_address_sha256_check: CHECK ((octet_length(address_sha256) = 32))
  constraint sign_in_place_place_sha256_check: CHECK ((octet_length(place_sha256) = 32))
  constraint sign_in_place_pkey: PRIMARY KEY (address_sha256, place_sha256)
  index sign_in_place_age: CREATE INDEX sign_in_place_age ON public.sign_in_place USING btree (seen_at)

table signing_key
  kid text not null
  seq integer not null
  alg text not null
  public_jwk jsonb not null
  private_sealed bytea not null
  master_key_id text not null
  published_at timestamp with time zone not null
  signs_from timestamp with time zone not null
  signs_until timestamp with time zone not null
  retired_at timestamp with time zone
  constraint signing_key_alg_check: CHECK ((alg = 'EdDSA'::text))
  constraint signing_key_check: CHECK ((signs_until > signs_from))
  constraint signing_key_pkey: PRIMARY KEY (kid)
  constraint signing_key_seq_key: UNIQUE (seq)
  trigger signing_key_changed: CREATE TRIGGER signing_key_changed AFTER INSERT OR UPDATE ON public.signing_key FOR EACH ROW EXECUTE FUNCTION announce_signing_key()

table stored_payload
  document_id uuid
  key_id text
  bytes integer
  sealed bytea
  object text
  byte_offset integer
  byte_length integer

table stream_consumer
  stream text not null
  consumer text not null
  created_at timestamp with time zone not null default clock_timestamp()
  constraint stream_consumer_consumer_check: CHECK (((char_length(consumer) >= 1) AND (char_length(consumer) <= 64)))
  constraint stream_consumer_stream_check: CHECK ((stream = ANY (ARRAY['dispatch'::text, 'events'::text])))
  constraint stream_consumer_pkey: PRIMARY KEY (stream, consumer)

table stream_message
  id bigint not null generated always as identity
  stream text not null
  consumer text not null
  key text not null
  body jsonb not null
  published_at timestamp with time zone not null default clock_timestamp()
  available_at timestamp with time zone not null default clock_timestamp()
  deliveries integer not null default 0
  with options: autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=1000
  constraint stream_message_deliveries_check: CHECK ((deliveries >= 0))
  constraint stream_message_key_check: CHECK (((char_length(key) >= 1) AND (char_length(key) <= 255)))
  constraint stream_message_stream_consumer_fkey: FOREIGN KEY (stream, consumer) REFERENCES stream_consumer(stream, consumer) ON DELETE CASCADE
  constraint stream_message_pkey: PRIMARY KEY (id)
  index stream_message_due: CREATE INDEX stream_message_due ON public.stream_message USING btree (stream, consumer, available_at, id)

table usage_month
  firm_id uuid not null
  month date not null
  outbound integer not null
  inbound integer not null
  constraint usage_month_inbound_check: CHECK ((inbound >= 0))
  constraint usage_month_month_check: CHECK ((EXTRACT(day FROM month) = (1)::numeric))
  constraint usage_month_outbound_check: CHECK ((outbound >= 0))
  constraint usage_month_firm_id_fkey: FOREIGN KEY (firm_id) REFERENCES firm(id)
  constraint usage_month_pkey: PRIMARY KEY (firm_id, month)
  index usage_month_age: CREATE INDEX usage_month_age ON public.usage_month USING btree (month)

table webhook_attempt
  id uuid not null
  delivery_id uuid not null
  number integer not null
  outcome text not null
  started_at timestamp with time zone not null
  completed_at timestamp with time zone
  endpoint text not null
  request_timestamp bigint
  request_body_sha256 text
  response_status integer
  response_content_type text
  response_body text
  response_body_sha256 text
  response_body_truncated boolean
  retryable boolean
  retry_after_ms bigint
  next_retry_at timestamp with time zone
  cause text
  constraint webhook_attempt_check: CHECK (((outcome = 'STARTED'::text) = (completed_at IS NULL)))
  constraint webhook_attempt_number_check: CHECK ((number >= 1))
  constraint webhook_attempt_outcome_check: CHECK ((outcome = ANY (ARRAY['STARTED'::text, 'SUCCESS'::text, 'RETRY_SCHEDULED'::text, 'TERMINAL_FAILURE'::text, 'AUTHORIZATION_CANCELLED'::text])))
  constraint webhook_attempt_delivery_id_fkey: FOREIGN KEY (delivery_id) REFERENCES webhook_delivery(id) ON DELETE CASCADE
  constraint webhook_attempt_pkey: PRIMARY KEY (id)
  constraint webhook_attempt_delivery_id_number_key: UNIQUE (delivery_id, number)

table webhook_delivery
  id uuid not null
  position bigint not null generated always as identity
  subscription_id uuid not null
  endpoint_id uuid
  owner_id uuid not null
  firm_id uuid not null
  event_id uuid not null
  event text not null
  place bigint not null
  document_id uuid not null
  occurred_at timestamp with time zone not null
  test_run_id uuid
  test_data jsonb
  replay_of uuid
  status text not null
  attempts integer not null default 0
  due_at timestamp with time zone
  lease_owner text
  attempted_at timestamp with time zone
  response_status integer
  response_body text
  cause text
  created_at timestamp with time zone not null
  settled_at timestamp with time zone
  resolved_at timestamp with time zone
  resolution text
  customer_ref text
  scenario text
  begun integer not null default 0
  with options: fillfactor=70, autovacuum_vacuum_scale_factor=0.05
  constraint webhook_delivery_attempts_check: CHECK ((attempts >= 0))
  constraint webhook_delivery_begun_check: CHECK ((begun >= 0))
  constraint webhook_delivery_check: CHECK (((status = ANY (ARRAY['SUCCESS'::text, 'FAILED'::text])) = (settled_at IS NOT NULL)))
  constraint webhook_delivery_check1: CHECK (((settled_at IS NULL) OR ((due_at IS NULL) AND (lease_owner IS NULL))))
  constraint webhook_delivery_check2: CHECK (((due_at IS NULL) OR (endpoint_id IS NOT NULL)))
  constraint webhook_delivery_check3: CHECK (((lease_owner IS NULL) OR (due_at IS NOT NULL)))
  constraint webhook_delivery_check4: CHECK (((resolved_at IS NULL) OR (status = 'FAILED'::text)))
  constraint webhook_delivery_scenario_check: CHECK ((scenario = ANY (ARRAY['success'::text, 'deduplication'::text, 'retry_503'::text, 'rate_limit_429'::text, 'terminal_422'::text, 'timeout'::text, 'signature'::text])))
  constraint webhook_delivery_status_check: CHECK ((status = ANY (ARRAY['PENDING'::text, 'RETRYING'::text, 'SUCCESS'::text, 'FAILED'::text])))
  constraint webhook_delivery_subscription_id_fkey: FOREIGN KEY (subscription_id) REFERENCES webhook_subscription(id)
  constraint webhook_delivery_pkey: PRIMARY KEY (id)
  index webhook_delivery_age_first: CREATE INDEX webhook_delivery_age_first ON public.webhook_delivery USING btree (created_at) WHERE ((status = 'SUCCESS'::text) AND (replay_of IS NULL) AND (scenario IS NULL))
  index webhook_delivery_age_rest: CREATE INDEX webhook_delivery_age_rest ON public.webhook_delivery USING btree (created_at) WHERE (((status <> 'SUCCESS'::text) OR (replay_of IS NOT NULL)) AND (scenario IS NULL))
  index webhook_delivery_age_test: CREATE INDEX webhook_delivery_age_test ON public.webhook_delivery USING btree (created_at) WHERE (scenario IS NOT NULL)
  index webhook_delivery_customer: CREATE INDEX webhook_delivery_customer ON public.webhook_delivery USING btree (subscription_id, customer_ref, "position") WHERE (customer_ref IS NOT NULL)
  index webhook_delivery_dead: CREATE INDEX webhook_delivery_dead ON public.webhook_delivery USING btree (owner_id, firm_id, "position") WHERE ((status = 'FAILED'::text) AND (resolved_at IS NULL))
  index webhook_delivery_dead_page: CREATE INDEX webhook_delivery_dead_page ON public.webhook_delivery USING btree (subscription_id, "position") WHERE ((status = 'FAILED'::text) AND (resolved_at IS NULL) AND (test_data IS NULL))
  index webhook_delivery_document: CREATE INDEX webhook_delivery_document ON public.webhook_delivery USING btree (document_id, subscription_id, place) WHERE (due_at IS NOT NULL)
  index webhook_delivery_due: CREATE INDEX webhook_delivery_due ON public.webhook_delivery USING btree (endpoint_id, due_at) WHERE (due_at IS NOT NULL)
  index webhook_delivery_event: CREATE UNIQUE INDEX webhook_delivery_event ON public.webhook_delivery USING btree (subscription_id, event_id, COALESCE(replay_of, '00000000-0000-0000-0000-000000000000'::uuid))
  index webhook_delivery_leased: CREATE INDEX webhook_delivery_leased ON public.webhook_delivery USING btree (endpoint_id) WHERE (lease_owner IS NOT NULL)
  index webhook_delivery_page: CREATE INDEX webhook_delivery_page ON public.webhook_delivery USING btree (subscription_id, "position")
  index webhook_delivery_pull: CREATE INDEX webhook_delivery_pull ON public.webhook_delivery USING btree (owner_id, firm_id, place) WHERE ((endpoint_id IS NULL) AND (settled_at IS NULL))
  index webhook_delivery_pull_all: CREATE INDEX webhook_delivery_pull_all ON public.webhook_delivery USING btree (owner_id, place) WHERE ((endpoint_id IS NULL) AND (settled_at IS NULL))
  index webhook_delivery_test_run: CREATE INDEX webhook_delivery_test_run ON public.webhook_delivery USING btree (test_run_id) WHERE (scenario IS NOT NULL)

table webhook_endpoint
  id uuid not null
  owner_id uuid not null
  origin text not null
  failures integer not null default 0
  rest_until timestamp with time zone
  with options: fillfactor=70
  constraint webhook_endpoint_failures_check: CHECK ((failures >= 0))
  constraint webhook_endpoint_pkey: PRIMARY KEY (id)
  constraint webhook_endpoint_owner_id_origin_key: UNIQUE (owner_id, origin)
  index webhook_endpoint_failing: CREATE INDEX webhook_endpoint_failing ON public.webhook_endpoint USING btree (failures DESC) WHERE (failures > 0)

table webhook_subscription
  id uuid not null
  firm_id uuid
  integrator_id uuid
  url text
  endpoint_id uuid
  events text[] not null
  active boolean not null
  disabled_reason text
  failed_attempts integer not null default 0
  failing_since timestamp with time zone
  secret_key_id text not null
  secret_sealed bytea not null
  old_secret_key_id text
  old_secret_sealed bytea
  old_secret_until timestamp with time zone
  seen_from pg_snapshot not null
  created_at timestamp with time zone not null
  deleted_at timestamp with time zone
  updated_at timestamp with time zone
  ending text
  ending_from bigint
  ending_to bigint
  failed_at timestamp with time zone
  with options: fillfactor=70
  constraint webhook_subscription_check: CHECK (((url IS NULL) = (endpoint_id IS NULL)))
  constraint webhook_subscription_check1: CHECK ((((old_secret_sealed IS NULL) = (old_secret_key_id IS NULL)) AND ((old_secret_sealed IS NULL) = (old_secret_until IS NULL))))
  constraint webhook_subscription_check2: CHECK (((failed_attempts = 0) = (failing_since IS NULL)))
  constraint webhook_subscription_check3: CHECK (((deleted_at IS NULL) OR (NOT active)))
  constraint webhook_subscription_connector_check: CHECK (((firm_id IS NOT NULL) OR ((integrator_id IS NOT NULL) AND (url IS NOT NULL) AND (updated_at IS NOT NULL))))
  constraint webhook_subscription_connector_events_check: CHECK (((firm_id IS NOT NULL) OR (events <@ ARRAY['document.queued'::text, 'document.delivered'::text, 'document.received'::text, 'document.processed'::text, 'document.needs_attention'::text, 'document.cancelled'::text, 'document.failed'::text])))
  constraint webhook_subscription_disabled_reason_check: CHECK ((disabled_reason = ANY (ARRAY['gone'::text, 'failing'::text])))
  constraint webhook_subscription_ending_check: CHECK ((((ending IS NULL) = (ending_from IS NULL)) AND ((ending IS NULL) = (ending_to IS NULL))))
  constraint webhook_subscription_events_check: CHECK ((cardinality(events) >= 1))
  constraint webhook_subscription_events_check1: CHECK (((firm_id IS NULL) OR (events <@ ARRAY['document.sent'::text, 'document.delivered'::text, 'document.delivery_failed'::text, 'document.mls_received'::text, 'document.rejected'::text, 'document.response_received'::text, 'document.created'::text, 'document.validated'::text, 'document.received'::text])))
  constraint webhook_subscription_failed_attempts_check: CHECK ((failed_attempts >= 0))
  constraint webhook_subscription_endpoint_id_fkey: FOREIGN KEY (endpoint_id) REFERENCES webhook_endpoint(id)
  constraint webhook_subscription_firm_id_fkey: FOREIGN KEY (firm_id) REFERENCES firm(id)
  constraint webhook_subscription_integrator_id_fkey: FOREIGN KEY (integrator_id) REFERENCES integrator(id)
  constraint webhook_subscription_pkey: PRIMARY KEY (id)
  index webhook_subscription_connector: CREATE UNIQUE INDEX webhook_subscription_connector ON public.webhook_subscription USING btree (integrator_id) WHERE ((firm_id IS NULL) AND (deleted_at IS NULL))
  index webhook_subscription_deleted: CREATE INDEX webhook_subscription_deleted ON public.webhook_subscription USING btree (deleted_at) WHERE (deleted_at IS NOT NULL)
  index webhook_subscription_ending: CREATE INDEX webhook_subscription_ending ON public.webhook_subscription USING btree (id) WHERE (ending IS NOT NULL)
  index webhook_subscription_endpoint: CREATE INDEX webhook_subscription_endpoint ON public.webhook_subscription USING btree (endpoint_id) WHERE (endpoint_id IS NOT NULL)
  index webhook_subscription_failing: CREATE INDEX webhook_subscription_failing ON public.webhook_subscription USING btree (failing_since) WHERE (failing_since IS NOT NULL)
  index webhook_subscription_firm: CREATE INDEX webhook_subscription_firm ON public.webhook_subscription USING btree (firm_id, integrator_id) WHERE (deleted_at IS NULL)
  index webhook_subscription_integrator: CREATE INDEX webhook_subscription_integrator ON public.webhook_subscription USING btree (integrator_id) WHERE ((integrator_id IS NOT NULL) AND (deleted_at IS NULL))
  index webhook_subscription_place: CREATE INDEX webhook_subscription_place ON public.webhook_subscription USING btree (pg_snapshot_xmax(seen_from))

table white_label_customer
  id uuid not null
  integrator_id uuid not null
  idempotency_key text not null
  body_sha256 bytea not null
  customer_ref text not null
  relationship text not null
  customer_authorization text not null
  dic text not null
  company_email text not null
  legal_name text
  created_at timestamp with time zone not null
  constraint white_label_customer_body_sha256_check: CHECK ((octet_length(body_sha256) = 32))
  constraint white_label_customer_company_email_check: CHECK (((char_length(company_email) >= 3) AND (char_length(company_email) <= 254)))
  constraint white_label_customer_customer_authorization_check: CHECK (((char_length(customer_authorization) >= 1) AND (char_length(customer_authorization) <= 4000)))
  constraint white_label_customer_customer_ref_check: CHECK (((char_length(customer_ref) >= 1) AND (char_length(customer_ref) <= 128)))
  constraint white_label_customer_dic_check: CHECK ((dic ~ '^[0-9]{10}$'::text))
  constraint white_label_customer_idempotency_key_check: CHECK (((char_length(idempotency_key) >= 1) AND (char_length(idempotency_key) <= 255)))
  constraint white_label_customer_legal_name_check: CHECK (((char_length(legal_name) >= 1) AND (char_length(legal_name) <= 255)))
  constraint white_label_customer_relationship_check: CHECK ((relationship = 'represented'::text))
  constraint white_label_customer_integrator_id_fkey: FOREIGN KEY (integrator_id) REFERENCES integrator(id)
  constraint white_label_customer_pkey: PRIMARY KEY (id)
  constraint white_label_customer_integrator_id_customer_ref_key: UNIQUE (integrator_id, customer_ref)
  constraint white_label_customer_integrator_id_dic_key: UNIQUE (integrator_id, dic)
  constraint white_label_customer_integrator_id_idempotency_key_key: UNIQUE (integrator_id, idempotency_key)
  index white_label_customer_list: CREATE INDEX white_label_customer_list ON public.white_label_customer USING btree (integrator_id, id)
  trigger white_label_customer_name: CREATE TRIGGER white_label_customer_name BEFORE INSERT ON public.white_label_customer FOR EACH ROW EXECUTE FUNCTION refuse_second_white_label_name()

table white_label_operation
  id uuid not null
  integrator_id uuid not null
  operation_type text not null
  status text not null
  version integer not null
  idempotency_key text
  customer_ref text not null
  dic text not null
  participant_key text not null
  company_email text not null
  legal_name text
  secret_key_id text
  secret_sealed bytea
  body_key_id text
  body_sealed bytea
  firm_id uuid
  participant_id uuid
  error_code text
  due_at timestamp with time zone
  claimed_until timestamp with time zone
  asked_at timestamp with time zone
  created_at timestamp with time zone not null
  updated_at timestamp with time zone not null
  completed_at timestamp with time zone
  vouched_at timestamp with time zone
  constraint white_label_operation_check: CHECK (((status = ANY (ARRAY['processing'::text, 'smp_succeeded'::text])) = (due_at IS NOT NULL)))
  constraint white_label_operation_check1: CHECK (((status = ANY (ARRAY['succeeded'::text, 'rejected'::text, 'released'::text])) = (completed_at IS NOT NULL)))
  constraint white_label_operation_check2: CHECK (((secret_key_id IS NULL) = (secret_sealed IS NULL)))
  constraint white_label_operation_check3: CHECK (((body_key_id IS NULL) = (body_sealed IS NULL)))
  constraint white_label_operation_company_email_check: CHECK (((char_length(company_email) >= 3) AND (char_length(company_email) <= 254)))
  constraint white_label_operation_customer_ref_check: CHECK (((char_length(customer_ref) >= 1) AND (char_length(customer_ref) <= 128)))
  constraint white_label_operation_dic_check: CHECK ((dic ~ '^[0-9]{10}$'::text))
  constraint white_label_operation_idempotency_key_check: CHECK (((char_length(idempotency_key) >= 1) AND (char_length(idempotency_key) <= 255)))
  constraint white_label_operation_legal_name_check: CHECK (((char_length(legal_name) >= 1) AND (char_length(legal_name) <= 255)))
  constraint white_label_operation_operation_type_check: CHECK ((operation_type = ANY (ARRAY['registration'::text, 'migration_in'::text, 'migration_out'::text])))
  constraint white_label_operation_participant_key_check: CHECK ((participant_key = lower(participant_key)))
  constraint white_label_operation_status_check: CHECK ((status = ANY (ARRAY['processing'::text, 'smp_succeeded'::text, 'succeeded'::text, 'rejected'::text, 'manual_review'::text, 'released'::text])))
  constraint white_label_operation_version_check: CHECK ((version >= 1))
  constraint white_label_operation_firm_id_fkey: FOREIGN KEY (firm_id) REFERENCES firm(id)
  constraint white_label_operation_integrator_id_fkey: FOREIGN KEY (integrator_id) REFERENCES integrator(id)
  constraint white_label_operation_pkey: PRIMARY KEY (id)
  index white_label_operation_due: CREATE INDEX white_label_operation_due ON public.white_label_operation USING btree (due_at) WHERE (due_at IS NOT NULL)
  index white_label_operation_key: CREATE UNIQUE INDEX white_label_operation_key ON public.white_label_operation USING btree (integrator_id, idempotency_key) WHERE (idempotency_key IS NOT NULL)
  index white_label_operation_open: CREATE UNIQUE INDEX white_label_operation_open ON public.white_label_operation USING btree (participant_key) WHERE (status = ANY (ARRAY['processing'::text, 'smp_succeeded'::text, 'manual_review'::text]))
  index white_label_operation_ref: CREATE UNIQUE INDEX white_label_operation_ref ON public.white_label_operation USING btree (integrator_id, customer_ref) WHERE ((status = ANY (ARRAY['processing'::text, 'smp_succeeded'::text, 'manual_review'::text])) AND (operation_type <> 'migration_out'::text))
  index white_label_operation_review: CREATE INDEX white_label_operation_review ON public.white_label_operation USING btree (updated_at DESC) WHERE (status = 'manual_review'::text)
  trigger white_label_operation_name: CREATE TRIGGER white_label_operation_name BEFORE INSERT ON public.white_label_operation FOR EACH ROW WHEN ((new.operation_type <> 'migration_out'::text)) EXECUTE FUNCTION refuse_second_white_label_name()

table white_label_participant
  id uuid not null
  integrator_id uuid not null
  operation_id uuid not null
  customer_ref text not null
  firm_id uuid not null
  participant_key text not null
  status text not null
  authorization_source text not null
  managed_since timestamp with time zone not null
  constraint white_label_participant_authorization_source_check: CHECK ((authorization_source = ANY (ARRAY['fs_verification_token'::text, 'smp_migration_code'::text])))
  constraint white_label_participant_status_check: CHECK ((status = ANY (ARRAY['active'::text, 'leaving'::text])))
  constraint white_label_participant_firm_id_fkey: FOREIGN KEY (firm_id) REFERENCES firm(id)
  constraint white_label_participant_integrator_id_fkey: FOREIGN KEY (integrator_id) REFERENCES integrator(id)
  constraint white_label_participant_operation_id_fkey: FOREIGN KEY (operation_id) REFERENCES white_label_operation(id)
  constraint white_label_participant_participant_key_fkey: FOREIGN KEY (participant_key) REFERENCES participant(key)
  constraint white_label_participant_pkey: PRIMARY KEY (id)
  constraint white_label_participant_participant_key_key: UNIQUE (participant_key)
  index white_label_participant_list: CREATE INDEX white_label_participant_list ON public.white_label_participant USING btree (integrator_id, id)
  index white_label_participant_operation: CREATE INDEX white_label_participant_operation ON public.white_label_participant USING btree (operation_id)

CREATE OR REPLACE FUNCTION public.accept_documents(p_id uuid[], p_firm_id uuid[], p_key_id uuid[], p_sender text[], p_receiver text[], p_erp_document_id text[], p_document_type_id text[], p_process_id text[], p_creation_date_time timestamp with time zone[], p_facts jsonb[], p_idempotency_key text[], p_request_sha256 text[], p_payload_sha256 text[], p_reply_status smallint[], p_reply_body text[], p_as4_message_id text[], p_sbdh_instance_id uuid[], p_validation_result jsonb[], p_accepted_at timestamp with time zone[], p_payload_key_id text[], p_payload_sealed text[], p_payload_bytes integer[], p_event_id uuid[], p_door text[] DEFAULT NULL::text[], p_number_warning jsonb DEFAULT '[]'::jsonb, p_owner text[] DEFAULT NULL::text[], p_lease_ms integer DEFAULT 0)
 RETURNS TABLE(ordinal bigint, outcome text, document_id uuid, reply_status smallint, reply_body text)
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET work_mem TO '64MB'
AS $function$
declare
  accepted uuid[];
  living uuid[] := array(
    select f.id from firm as f where f.id = any (p_firm_id) and f.erased_at is null order by f.id for key share
  );
begin
  with added as (
    insert into document (
      id, door, firm_id, key_id, sender, sender_key, receiver, receiver_key, erp_document_id, document_type_id, process_id,
      creation_date_time, facts, status, version, idempotency_key, request_sha256, payload_sha256, reply_status, reply_body,
      as4_message_id, sbdh_instance_id, validation_result, next_attempt_at, created_at, updated_at, attempts, lease_owner, lease_until,
      attempted_at
    )
    select a.id, coalesce(a.door, 'sapi'), a.firm_id, a.key_id, a.sender, lower(a.sender), a.receiver, lower(a.receiver),
      a.erp_document_id, a.document_type_id, a.process_id, a.creation_date_time, a.facts, 'queued', 1, a.idempotency_key,
      decode(a.request_sha256, 'hex'), decode(a.payload_sha256, 'hex'), a.reply_status, a.reply_body, a.as4_message_id,
      a.sbdh_instance_id,
      case
        when exists (
          select 1 from document as e
          where e.sender_key = lower(a.sender) and e.facts ->> 'documentNumber' = a.facts ->> 'documentNumber'
            and e.facts ->> 'issueDate' = a.facts ->> 'issueDate'
            and lower(e.facts ->> 'supplierEndpoint') is not distinct from lower(a.facts ->> 'supplierEndpoint')
            and e.payload_sha256 <> decode(a.payload_sha256, 'hex')
        ) then jsonb_set(a.validation_result, '{warnings}', (a.validation_result -> 'warnings') || p_number_warning)
        else a.validation_result
      end,
      a.accepted_at, a.accepted_at, a.accepted_at, (a.owner is not null)::integer, a.owner,
      case when a.owner is not null then clock_timestamp() + p_lease_ms * interval '1 millisecond' end,
      case when a.owner is not null then clock_timestamp() end
    from unnest(
      p_id, p_firm_id, p_key_id, p_sender, p_receiver, p_erp_document_id, p_document_type_id, p_process_id, p_creation_date_time,
      p_facts, p_idempotency_key, p_request_sha256, p_payload_sha256, p_reply_status, p_reply_body, p_as4_message_id,
      p_sbdh_instance_id, p_validation_result, p_accepted_at, p_door, p_owner
    ) as a (
      id, firm_id, key_id, sender, receiver, erp_document_id, document_type_id, process_id, creation_date_time,
      facts, idempotency_key, request_sha256, payload_sha256, reply_status, reply_body, as4_message_id,
      sbdh_instance_id, validation_result, accepted_at, door, owner
    )
    where a.firm_id = any (living)
    order by coalesce(a.door, 'sapi'), case when coalesce(a.door, 'sapi') = 'sapi' then lower(a.sender) else a.firm_id::text end
    on conflict do nothing
    returning id
  )
  select coalesce(array_agg(added.id), '{}') into accepted from added;

  insert into payload (document_id, key_id, sealed, bytes)
  select a.id, a.key_id, decode(a.sealed, 'base64'), a.bytes
  from unnest(p_id, p_payload_key_id, p_payload_sealed, p_payload_bytes) as a (id, key_id, sealed, bytes)
  where a.id = any (accepted);

  insert into document_history (document_id, version, status, trigger, occurred_at)
  select a.id, 1, 'queued', 'accepted', a.accepted_at
  from unnest(p_id, p_accepted_at) as a (id, accepted_at)
  where a.id = any (accepted);

  insert into document_event (id, document_id, firm_id, kind, actor, feed, occurred_at)
  select a.event_id, a.id, a.firm_id, 'document.queued', 'api', false, a.accepted_at
  from unnest(p_event_id, p_id, p_firm_id, p_accepted_at) as a (event_id, id, firm_id, accepted_at)
  where a.id = any (accepted);

  -- A statement of its own sees what a concurrent winner has committed while the insert waited for it.
  return query
  select a.n, 'accepted', a.id, a.reply_status, a.reply_body
  from unnest(p_id, p_reply_status, p_reply_body) with ordinality as a (id, reply_status, reply_body, n)
  where a.id = any (accepted)
  union all
  select a.n, coalesce(p.outcome, case when a.firm_id = any (living) then 'lost_race' else 'firm_erased' end), p.document_id,
    p.reply_status, p.reply_body
  from unnest(p_id, p_door, p_firm_id, p_sender, p_idempotency_key, p_erp_document_id, p_request_sha256, p_payload_sha256)
    with ordinality as a (id, door, firm_id, sender, idempotency_key, erp_document_id, request_sha256, payload_sha256, n)
  left join lateral find_precedent(
    a.id, coalesce(a.door, 'sapi'), a.firm_id, a.sender, a.idempotency_key, a.erp_document_id, a.request_sha256, a.payload_sha256
  ) as p on true
  where a.id <> all (accepted);
end
$function$

CREATE OR REPLACE FUNCTION public.acknowledge_received(p_id uuid, p_participant_key text, p_firm_id uuid, p_now timestamp with time zone)
 RETURNS TABLE(acknowledged_at timestamp with time zone)
 LANGUAGE sql
AS $function$
  select a.acknowledged_at from acknowledge_received(p_id, p_participant_key, p_firm_id, p_now, null) as a
$function$

CREATE OR REPLACE FUNCTION public.acknowledge_received(p_id uuid, p_participant_key text, p_firm_id uuid, p_now timestamp with time zone, p_reference text)
 RETURNS TABLE(acknowledged_at timestamp with time zone, client_reference text)
 LANGUAGE sql
AS $function$
  update received_document as r
  set status = 'ACKNOWLEDGED', acknowledged_at = coalesce(r.acknowledged_at, p_now),
    api_received_at = coalesce(r.api_received_at, p_now), client_reference = coalesce(r.client_reference, p_reference)
  where r.id = p_id and r.participant_key = p_participant_key and r.firm_id = p_firm_id and received_is_visible(r.status)
  returning r.acknowledged_at, r.client_reference
$function$

CREATE OR REPLACE FUNCTION public.activate_onboarding(p_id uuid, p_version integer, p_firm uuid, p_participant_key text, p_sandbox boolean, p_now timestamp with time zone, p_firm_audit jsonb, p_audit jsonb)
 RETURNS text
 LANGUAGE plpgsql
AS $function$
declare
  v_dic text := (select dic from onboarding_request where id = p_id);
  v_request onboarding_request;
  v_found uuid;
  v_firm firm;
  v_binding firm_binding;
  v_is_new boolean := false;
begin
  perform 1 from integrator i join onboarding_request r on r.integrator_id = i.id where r.id = p_id for update of i;
  -- Two requests for one new company make one firm.
  perform pg_advisory_xact_lock(hashtextextended('firm:' || v_dic, 0));
  select f.id into v_found from firm f where f.dic = v_dic
    or f.id = (select firm_id from participant where key = p_participant_key) order by f.created_at limit 1;
  -- One that is erased meanwhile takes its requests along; what is left of them is decided anew.
  if v_found is not null and not lock_living_firm(v_found) then return 'changed'; end if;
  select * into v_request from onboarding_request where id = p_id for update;
  if not found or v_request.version <> p_version or v_request.status <> 'activating' then return 'changed'; end if;
  select * into v_firm from firm where id = v_found;
  if found then
    select * into v_binding from firm_binding where integrator_id = v_request.integrator_id and firm_id = v_firm.id;
    if not v_firm.sends_only and (v_binding is null or not covers_sending(v_binding)) then return 'firm_elsewhere'; end if;
  else
    insert into firm (id, name, dic, peppol_status, sandbox, sends_only, created_at)
      values (p_firm, coalesce(v_request.legal_name, 'DIČ ' || v_request.dic), v_request.dic, 'not_registered', p_sandbox, true, p_now)
      returning * into v_firm;
    insert into participant (key, id, firm_id, registered_at) values (p_participant_key, p_participant_key, v_firm.id, p_now);
    v_is_new := true;
  end if;
  perform 1 from firm_binding where integrator_id = v_request.integrator_id and customer_ref = v_request.customer_ref and firm_id <> v_firm.id;
  if found then return 'ref_taken'; end if;
  if v_firm.sends_only then
    insert into firm_binding as b (integrator_id, firm_id, customer_ref, state, scopes, interfaces, created_at, updated_at)
      values (v_request.integrator_id, v_firm.id, v_request.customer_ref, 'active', array['documents:send', 'documents:read'],
        array['enterprise', 'sapi', 'connector'], p_now, p_now)
      on conflict (integrator_id, firm_id) do update set state = 'active', scopes = excluded.scopes,
        interfaces = excluded.interfaces, customer_ref = excluded.customer_ref, updated_at = excluded.updated_at;
  end if;
  update onboarding_request set status = 'active', firm_id = v_firm.id, next_action = null, version = version + 1,
    updated_at = greatest(updated_at, p_now) where id = p_id;
  insert into onboarding_history (request_id, version, status, trigger, occurred_at) values (p_id, p_version + 1, 'active', 'activated', p_now);
  if v_is_new then
    perform append_audit(p_firm_audit, 'firm.created', v_firm.id, v_request.integrator_id, 'firm', v_firm.id::text, jsonb_build_object('onboarding', p_id));
  end if;
  if v_firm.sends_only then
    perform append_audit(p_audit, 'consent.granted', v_firm.id, v_request.integrator_id, 'firm', v_firm.id::text,
      jsonb_build_object('scopes', array['documents:send', 'documents:read'], 'onboarding', p_id));
  end if;
  return 'activated';
end $function$

CREATE OR REPLACE FUNCTION public.add_firm_participant(p_firm uuid, p_key text, p_id text, p_now timestamp with time zone, p_integrator uuid, p_audit jsonb)
 RETURNS text
 LANGUAGE plpgsql
AS $function$
declare
  v_owner uuid;
begin
  if not lock_living_firm(p_firm) then return 'taken'; end if;
  insert into participant (key, id, firm_id, registered_at) values (p_key, p_id, p_firm, p_now) on conflict (key) do nothing;
  if not found then
    select firm_id into v_owner from participant where key = p_key;
    return case when v_owner = p_firm then 'known' else 'taken' end;
  end if;
  update firm set peppol_status = 'registered' where id = p_firm and peppol_status <> 'registered';
  perform append_audit(p_audit, 'firm.identifier_added', p_firm, p_integrator, 'participant', p_id, '{}');
  return 'added';
end $function$

CREATE OR REPLACE FUNCTION public.announce_api_key()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_notify('kurier_identity', 'key:' || new.id);
  return null;
end $function$

CREATE OR REPLACE FUNCTION public.announce_firm_binding()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if tg_op = 'DELETE' then
    perform pg_notify('kurier_identity', 'binding:' || old.integrator_id || ':' || old.firm_id);
  else
    perform pg_notify('kurier_identity', 'binding:' || new.integrator_id || ':' || new.firm_id);
  end if;
  return null;
end $function$

CREATE OR REPLACE FUNCTION public.announce_integrator()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_notify('kurier_identity', 'integrator:' || new.id);
  return null;
end $function$

CREATE OR REPLACE FUNCTION public.announce_participant()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if tg_op = 'DELETE' then
    perform pg_notify('kurier_identity', 'participant:' || old.key);
  else
    perform pg_notify('kurier_identity', 'participant:' || new.key);
  end if;
  return null;
end $function$

CREATE OR REPLACE FUNCTION public.announce_revoked_token()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_notify('kurier_identity', 'token:' || new.jti);
  return null;
end $function$

CREATE OR REPLACE FUNCTION public.announce_signing_key()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_notify('kurier_identity', 'signing_key:' || new.kid);
  return null;
end $function$

CREATE OR REPLACE FUNCTION public.append_audit(p_audit jsonb, p_event text, p_firm uuid, p_integrator uuid, p_target_type text, p_target_id text, p_metadata jsonb)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  v_tenant bigint;
begin
  if p_audit is null then return; end if;
  for v_tenant in
    select distinct hashtextextended('audit:' || t, 0) from unnest(array[p_firm, p_integrator]) as t where t is not null order by 1
  loop
    perform pg_advisory_xact_lock(v_tenant);
  end loop;
  insert into audit_entry (
    id, occurred_at, actor_type, actor_id, firm_id, integrator_id, event, target_type, target_id, ip, user_agent, metadata
  ) values (
    (p_audit ->> 'id')::uuid, (p_audit ->> 'at')::timestamptz, p_audit ->> 'actorType', p_audit ->> 'actorId', p_firm,
    p_integrator, p_event, p_target_type, p_target_id, p_audit ->> 'ip', p_audit ->> 'userAgent', jsonb_strip_nulls(p_metadata)
  );
end $function$

CREATE OR REPLACE FUNCTION public.append_evidence(p_entries jsonb)
 RETURNS TABLE(n bigint, index bigint, hash text, previous_hash text)
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
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
$function$

CREATE OR REPLACE FUNCTION public.apply_move(p_id uuid, p_version integer, p_status text, p_trigger text, p_detail text, p_now timestamp with time zone, p_next_attempt_at timestamp with time zone, p_events jsonb, p_attempt jsonb, p_changes jsonb)
 RETURNS TABLE(version integer)
 LANGUAGE sql
AS $function$
  with moved as (
    update document as d
    set status = p_status, version = d.version + 1, updated_at = greatest(d.updated_at, p_now),
      next_attempt_at = case when document_is_open(p_status) then coalesce(p_next_attempt_at, d.next_attempt_at) end,
      lease_owner = case when p_attempt is null then d.lease_owner end,
      lease_until = case when p_attempt is null then d.lease_until end,
      delivered_at = coalesce(d.delivered_at, case when p_status = 'delivered' then greatest(d.updated_at, p_now) end),
      status_reason = coalesce(p_changes ->> 'statusReason', d.status_reason),
      invoice_response_status = coalesce(p_changes ->> 'invoiceResponseStatus', d.invoice_response_status),
      validation_result = coalesce(p_changes -> 'validationResult', d.validation_result)
    where d.id = p_id and d.version = p_version
    returning d.id, d.firm_id, d.version, d.status, d.updated_at
  ), history as (
    insert into document_history (document_id, version, status, trigger, detail, occurred_at)
    select moved.id, moved.version, moved.status, p_trigger, p_detail, moved.updated_at from moved where p_trigger is not null
  ), events as (
    insert into document_event (id, document_id, firm_id, kind, actor, feed, detail, meta, occurred_at)
    select (e.value ->> 'id')::uuid, moved.id, moved.firm_id, e.value ->> 'kind', 'system', (e.value ->> 'feed')::boolean,
      e.value ->> 'detail', e.value -> 'meta', moved.updated_at
    from moved cross join lateral jsonb_array_elements(p_events) with ordinality as e (value, n)
    order by e.n
  ), announced as (
    insert into outbox (stream, key, body)
    select 'events', e.value ->> 'id', jsonb_build_object('eventId', e.value ->> 'id', 'documentId', moved.id, 'kind', e.value ->> 'kind')
    from moved cross join lateral jsonb_array_elements(p_events) with ordinality as e (value, n)
    where (e.value ->> 'feed')::boolean
    order by e.n
  ), finished as (
    update document_attempt as a
    set finished_at = p_now, outcome = p_attempt ->> 'outcome', code = p_attempt ->> 'code',
      retryable = (p_attempt ->> 'retryable')::boolean, detail = p_attempt ->> 'detail'
    from moved
    where a.document_id = moved.id and a.number = (p_attempt ->> 'number')::integer
  )
  select moved.version from moved
$function$

CREATE OR REPLACE FUNCTION public.apply_status(p_status uuid, p_outcome text, p_code text, p_response_id text, p_issued_at timestamp with time zone, p_id uuid, p_version integer, p_state text, p_trigger text, p_detail text, p_now timestamp with time zone, p_events jsonb, p_changes jsonb)
 RETURNS TABLE(version integer)
 LANGUAGE plpgsql
AS $function$
declare
  written integer;
begin
  perform 1 from inbound_status as s where s.id = p_status and s.outcome is null for update;
  if not found then return; end if;
  select m.version into written from apply_move(p_id, p_version, p_state, p_trigger, p_detail, p_now, null, p_events, null, p_changes) as m;
  if written is null then return; end if;
  update inbound_status as s
  set outcome = p_outcome, code = p_code, response_id = p_response_id, issued_at = p_issued_at, document_id = p_id, handled_at = p_now, next_at = null
  where s.id = p_status;
  update exchange as e
  set status_at = p_issued_at, status_received_at = s.received_at
  from inbound_status as s
  where e.id = p_id and s.id = p_status and s.kind = 'mls' and p_outcome = 'applied';
  return query select written;
end
$function$

CREATE OR REPLACE FUNCTION public.assign_firm(p_integrator uuid, p_ico text, p_now timestamp with time zone, p_audit jsonb)
 RETURNS TABLE(outcome text, firm_id uuid)
 LANGUAGE plpgsql
AS $function$
declare
  v_firm uuid;
  v_state text;
begin
  perform 1 from integrator where id = p_integrator for update;
  select f.id into v_firm from firm f left join firm_binding b on b.firm_id = f.id and b.integrator_id = p_integrator
    where f.ico = p_ico order by b.firm_id is null, f.created_at, f.id limit 1;
  if not found then return query select 'not_registered', null::uuid; return; end if;
  select b.state into v_state from firm_binding b where b.integrator_id = p_integrator and b.firm_id = v_firm for update;
  if v_state = 'active' then return query select 'already_linked', v_firm; return; end if;
  if v_state is distinct from 'pending' or not exists (
    select 1 from consent_offer o where o.integrator_id = p_integrator and o.firm_id = v_firm and o.status = 'accepted'
  ) then
    return query select 'consent_required', v_firm; return;
  end if;
  update firm_binding b set state = 'active', updated_at = p_now where b.integrator_id = p_integrator and b.firm_id = v_firm;
  perform append_audit(p_audit, 'firm.assigned', v_firm, p_integrator, 'firm', v_firm::text, '{}');
  return query select 'assigned', v_firm;
end $function$

CREATE OR REPLACE FUNCTION public.audit_key(p_audit jsonb, p_event text, p_key api_key, p_metadata jsonb)
 RETURNS void
 LANGUAGE sql
AS $function$
  select append_audit(
    case when p_audit ->> 'actorType' = 'api_key' then jsonb_build_object('actorId', p_key.id) || jsonb_strip_nulls(p_audit) else p_audit end,
    p_event, coalesce(p_key.firm_id, p_key.scoped_firm_id), p_key.integrator_id, 'api_key',
    p_key.id::text, jsonb_build_object('prefix', p_key.prefix) || p_metadata)
$function$

CREATE OR REPLACE FUNCTION public.beat_dispatcher(p_owner text, p_dead_ms integer)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  v_dead_for interval := p_dead_ms * interval '1 millisecond';
  v_heard_since timestamptz;
  v_dead text[];
  v_documents integer;
  v_messages integer;
  v_duties integer;
begin
  insert into dispatcher as d (owner, seen_at) values (p_owner, clock_timestamp())
  on conflict (owner) do update set seen_at = excluded.seen_at,
    heard_since = case when d.seen_at < excluded.seen_at - v_dead_for then excluded.seen_at else d.heard_since end
  returning d.heard_since into v_heard_since;
  if v_heard_since > clock_timestamp() - v_dead_for then return 0; end if;
  with gone as (
    delete from dispatcher as d
    where d.owner <> p_owner and d.seen_at < clock_timestamp() - v_dead_for
    returning d.owner
  )
  select array_agg(gone.owner) into v_dead from gone;
  if v_dead is null then return 0; end if;
  update document as d set lease_until = '-infinity', version = d.version + 1
  where d.next_attempt_at is not null and d.lease_owner = any (v_dead) and d.lease_until > '-infinity';
  get diagnostics v_documents = row_count;
  update service_message as m set lease_owner = null, lease_until = null, version = m.version + 1
  where m.next_attempt_at is not null and m.lease_owner = any (v_dead);
  get diagnostics v_messages = row_count;
  update mls_duty as d set lease_owner = null, lease_until = null
  where d.next_at is not null and d.lease_until is not null and d.lease_owner = any (v_dead);
  get diagnostics v_duties = row_count;
  return v_documents + v_messages + v_duties;
end
$function$

CREATE OR REPLACE FUNCTION public.begin_registration(p_key text, p_participant text, p_smp_id text, p_operation text, p_id uuid, p_now timestamp with time zone, p_lease_ms integer, p_migration_key_id text, p_migration_key_sealed bytea)
 RETURNS TABLE(verdict text, migration_key_id text, migration_key_sealed bytea)
 LANGUAGE plpgsql
AS $function$
declare
  r registration;
  fresh boolean;
  repeats boolean;
begin
  insert into registration (participant_key, participant, smp_id, state, last_operation, created_at, changed_at)
  values (p_key, p_participant, p_smp_id, 'unregistered', p_operation, p_now, p_now)
  on conflict (participant_key) do nothing;
  fresh := found;
  select * into r from registration as g where g.participant_key = p_key for update;
  if r.operation_id is not null and r.claimed_until > clock_timestamp() then
    return query select 'busy', null::text, null::bytea;
    return;
  end if;
  if r.operation_id is not null then
    update registration_operation as o set ended_at = p_now, outcome = 'interrupted', state = 'manual_review' where o.id = r.operation_id;
    update registration as g
    set state = 'manual_review', outcome = 'interrupted', code = null, operation_id = null, claimed_until = null, changed_at = p_now
    where g.participant_key = p_key returning g.* into r;
  end if;
  -- The same key asked for again gives the same migration, whatever the first time did.
  repeats := p_operation = 'prepare_migration' and r.last_operation = 'prepare_migration' and r.migration_key_sealed is not null;
  if r.state = 'manual_review' and not repeats then
    return query select 'in_review', null::text, null::bytea;
    return;
  end if;
  if p_operation = 'prepare_migration' and r.state = 'unregistered' then
    return query select 'not_registered', null::text, null::bytea;
    return;
  end if;
  if (p_operation in ('register', 'migrate') and r.state = 'registered')
    or (p_operation = 'unregister' and r.state = 'unregistered' and not fresh)
    or (p_operation = 'prepare_migration' and r.migration_prepared_at is not null) then
    return query select 'settled', r.migration_key_id, r.migration_key_sealed;
    return;
  end if;
  insert into registration_operation (id, participant_key, operation, started_at) values (p_id, p_key, p_operation, p_now);
  update registration as g
  set last_operation = p_operation, smp_id = p_smp_id, operation_id = p_id, claimed_until = clock_timestamp() + p_lease_ms * interval '1 millisecond',
    migration_key_id = case when repeats or p_operation <> 'prepare_migration' then g.migration_key_id else p_migration_key_id end,
    migration_key_sealed = case when repeats or p_operation <> 'prepare_migration' then g.migration_key_sealed else p_migration_key_sealed end,
    changed_at = p_now
  where g.participant_key = p_key returning g.* into r;
  return query select 'begun', r.migration_key_id, r.migration_key_sealed;
end
$function$

CREATE OR REPLACE FUNCTION public.begin_webhook_leases()
 RETURNS void
 LANGUAGE sql
AS $function$
  select pg_advisory_xact_lock(hashtextextended('webhook leases', 0))
$function$

CREATE OR REPLACE FUNCTION public.billing_month(p_at timestamp with time zone)
 RETURNS date
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
  select date_trunc('month', p_at at time zone 'Europe/Bratislava')::date
$function$

CREATE OR REPLACE FUNCTION public.bind_white_label(p_id uuid, p_version integer, p_firm uuid, p_participant uuid, p_sandbox boolean, p_scopes text[], p_document_types text[], p_processes text[], p_now timestamp with time zone, p_audit jsonb)
 RETURNS text
 LANGUAGE plpgsql
AS $function$
declare
  v_operation white_label_operation;
begin
  perform 1 from integrator i join white_label_operation o on o.integrator_id = i.id where o.id = p_id for update of i;
  perform lock_living_firm(o.firm_id) from white_label_operation o where o.id = p_id and o.firm_id is not null;
  select * into v_operation from white_label_operation where id = p_id for update;
  if not found or v_operation.version <> p_version or v_operation.status <> 'smp_succeeded' then return 'changed'; end if;
  if v_operation.operation_type = 'migration_out' then
    update white_label_participant set status = 'leaving' where id = v_operation.participant_id;
    update white_label_operation set status = 'succeeded', due_at = null, claimed_until = null, completed_at = p_now,
      version = version + 1, updated_at = p_now where id = p_id;
    perform append_audit(p_audit, 'white_label.ended', v_operation.firm_id, v_operation.integrator_id,
      'white_label_operation', p_id::text, '{}');
    return 'bound';
  end if;
  perform pg_advisory_xact_lock(hashtextextended('white label:' || v_operation.participant_key, 0));
  perform 1 from participant where key = v_operation.participant_key;
  if found then return 'identity_taken'; end if;
  perform 1 from firm_binding where integrator_id = v_operation.integrator_id and customer_ref = v_operation.customer_ref;
  if found then return 'ref_conflict'; end if;
  insert into firm (id, name, dic, peppol_status, sandbox, created_at)
    values (p_firm, coalesce(v_operation.legal_name, 'DIČ ' || v_operation.dic), v_operation.dic, 'registered', p_sandbox, p_now);
  insert into participant (key, id, firm_id, registered_at)
    values (v_operation.participant_key, v_operation.participant_key, p_firm, p_now);
  insert into participant_capability (participant_key, document_type_id, process_id)
    select v_operation.participant_key, c.type, c.process from unnest(p_document_types, p_processes) as c (type, process);
  insert into firm_binding (integrator_id, firm_id, customer_ref, state, scopes, interfaces, created_at, updated_at)
    values (v_operation.integrator_id, p_firm, v_operation.customer_ref, 'active', p_scopes,
      array['enterprise', 'sapi', 'connector'], p_now, p_now);
  insert into white_label_participant (id, integrator_id, operation_id, customer_ref, firm_id, participant_key, status,
      authorization_source, managed_since)
    values (p_participant, v_operation.integrator_id, p_id, v_operation.customer_ref, p_firm, v_operation.participant_key,
      'active', case v_operation.operation_type when 'registration' then 'fs_verification_token' else 'smp_migration_code' end,
      p_now);
  update white_label_operation set status = 'succeeded', firm_id = p_firm, participant_id = p_participant, due_at = null,
    claimed_until = null, completed_at = p_now, version = version + 1, updated_at = p_now where id = p_id;
  perform append_audit(p_audit, 'white_label.ended', p_firm, v_operation.integrator_id, 'white_label_operation', p_id::text, '{}');
  return 'bound';
end $function$

CREATE OR REPLACE FUNCTION public.box_firms(p_after uuid, p_max integer)
 RETURNS TABLE(firm_id uuid, due boolean)
 LANGUAGE plpgsql
 STABLE
 SET enable_sort TO 'off'
 SET enable_incremental_sort TO 'off'
AS $function$
declare
  v_firm uuid := p_after;
  v_round boolean := p_after is null;
begin
  for v_count in 1..p_max loop
    select i.firm_id into v_firm from box_item as i
    where i.due_at is not null and i.firm_id > coalesce(v_firm, '00000000-0000-0000-0000-000000000000')
    order by i.firm_id, i.due_at limit 1;
    if not found then
      exit when v_round;
      v_round := true;
      v_firm := null;
      continue;
    end if;
    exit when v_round and p_after is not null and v_firm > p_after;
    firm_id := v_firm;
    perform 1 from box_item as i
    where i.due_at is not null and (i.firm_id, i.due_at) >= (v_firm, '-infinity') and (i.firm_id, i.due_at) <= (v_firm, now())
    order by i.firm_id, i.due_at limit 1;
    due := found;
    return next;
  end loop;
end
$function$

CREATE OR REPLACE FUNCTION public.box_is_allowed(p_firm uuid, p_key uuid, p_integrator uuid, p_generation integer, p_sender text)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select exists (select 1 from participant as p where p.key = lower(p_sender) and p.firm_id = p_firm)
    and not key_has_ended(p_key)
    and (p_integrator is null or exists (
      select 1 from firm_binding as b
      join integrator as i on i.id = b.integrator_id
      join firm as f on f.id = b.firm_id
      where b.firm_id = p_firm and b.integrator_id = p_integrator and b.state = 'active' and 'documents:send' = any (b.scopes)
        and b.revoked_generation <= coalesce(p_generation, b.revoked_generation)
        and (f.sandbox or i.production_authorized)))
$function$

CREATE OR REPLACE FUNCTION public.box_item_follows()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  v_item box_item;
  v_status text := box_status_of(new.status, new.attempts, new.lease_owner is not null);
begin
  select * into v_item from box_item as i where i.document_id = new.id for update;
  if tg_op = 'INSERT' and (v_item.status <> 'sending' or exists (select 1 from box_event as e where e.document_id = new.id)) then
    raise exception 'the item of document % has moved on', new.id;
  end if;
  update box_item as i
  set status = v_status, version = i.version + 1, due_at = null, lease_owner = null, locked_at = null, tries = 0, last_error = null,
    sent_at = coalesce(i.sent_at, case when v_status = 'sent' then greatest(new.updated_at, i.created_at) end),
    status_since = case when i.status = v_status then i.status_since else clock_timestamp() end,
    updated_at = greatest(i.updated_at, clock_timestamp())
  where i.id = v_item.id and i.status not in ('cancelled', 'expired') and (i.status <> v_status or i.due_at is not null);
  return null;
end
$function$

CREATE OR REPLACE FUNCTION public.box_status_of(p_status text, p_attempts integer, p_leased boolean)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select case
    when p_status = 'queued' and (p_attempts = 0 or p_leased) then 'sending'
    when p_status = 'queued' then 'retrying'
    when p_status in ('sent', 'delivered') then 'sent'
    when p_status = 'validation_failed' then 'needs_repair'
    when p_status in ('rejected', 'send_failed', 'delivery_failed') then 'failed'
  end
$function$

CREATE OR REPLACE FUNCTION public.bury_evidence(p_tombstone jsonb, p_objects jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
declare
  v evidence_tombstone := jsonb_populate_record(null::evidence_tombstone, p_tombstone);
  v_before record;
begin
  perform pg_advisory_xact_lock(hashtextextended('evidence tombstones', 0));
  select t.last_index, t.hash into v_before from evidence_tombstone as t order by t.last_index desc limit 1;
  if v.first_index <> coalesce(v_before.last_index, 0) + 1
    or not exists (select 1 from evidence as e where e.index = v.first_index and e.previous_hash = v.previous_hash)
    or not exists (select 1 from evidence as e where e.index = v.last_index and e.hash = v.last_hash)
    or exists (
      select 1 from evidence as e
      where e.index between v.first_index and v.last_index and e.stored_at >= now() - interval '10 years'
    )
  then return false; end if;
  insert into evidence_tombstone select v.*;
  insert into evidence_leftover (object, is_shared, needed_until)
    select o.object, o.is_shared, o.needed_until
    from jsonb_to_recordset(p_objects) as o (object text, is_shared boolean, needed_until timestamptz)
    on conflict (object) do update set needed_until = greatest(evidence_leftover.needed_until, excluded.needed_until);
  return true;
end $function$

CREATE OR REPLACE FUNCTION public.cancel_held(p_id uuid, p_firm uuid, p_version integer, p_move jsonb, p_event uuid, p_integrator uuid, p_audit jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
declare
  v_version integer;
begin
  update document as d set staged = 'cancelled', staged_at = clock_timestamp(), next_attempt_at = clock_timestamp()
  where d.id = p_id and d.firm_id = p_firm and d.version = coalesce(p_version, d.version) and case when d.staged = 'held' then true end
  returning d.version into v_version;
  if not found then return false; end if;
  perform 1 from apply_move(p_id, v_version, p_move ->> 'status', 'cancelled', p_move ->> 'reason', clock_timestamp(), null,
    jsonb_build_array(jsonb_build_object('id', p_event, 'kind', 'document.cancelled', 'feed', true, 'detail', p_move ->> 'reason')), null,
    jsonb_build_object('statusReason', p_move ->> 'reason'));
  perform append_audit(p_audit, 'connector.cancelled', p_firm, p_integrator, 'document', p_id::text, '{}');
  return true;
end
$function$

CREATE OR REPLACE FUNCTION public.change_webhook(p_id uuid, p_firm uuid, p_integrator uuid, p_with_url boolean, p_url text, p_origin text, p_events text[], p_active boolean, p_audit jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
declare
  v_before webhook_subscription;
begin
  select * into v_before from webhook_subscription
    where id = p_id and firm_id = p_firm and integrator_id is not distinct from p_integrator and deleted_at is null for update;
  if not found then return false; end if;
  update webhook_subscription set
    url = case when p_with_url then p_url else url end,
    endpoint_id = case when p_with_url then webhook_endpoint_of(coalesce(p_integrator, p_firm), p_origin) else endpoint_id end,
    events = coalesce(p_events, events), active = coalesce(p_active, active),
    disabled_reason = case when p_active is not null then null else disabled_reason end,
    failed_attempts = case when p_active then 0 else failed_attempts end,
    failing_since = case when p_active then null else failing_since end,
    seen_from = case when p_active and not v_before.active then pg_current_snapshot() else seen_from end
  where id = p_id;
  if p_with_url and p_url is distinct from v_before.url then
    perform 1 from webhook_delivery as d where d.subscription_id = p_id and d.settled_at is null order by d.id for update;
    -- What waits goes to the new place, each document's events in their order, or waits to be pulled there. An attempt under
    -- way says nothing of the new place, so that its end is not written any more, and the event goes there too.
    update webhook_delivery as d set endpoint_id = s.endpoint_id, lease_owner = null, begun = 0,
      attempts = d.attempts + (d.lease_owner is not null and s.endpoint_id is not null)::integer,
      status = case when s.endpoint_id is null then 'PENDING' else d.status end,
      due_at = case
        when s.endpoint_id is null then null
        when d.due_at is null and o.turn > 1 then 'infinity'
        when d.due_at is null or d.lease_owner is not null then clock_timestamp()
        else d.due_at
      end
    from webhook_subscription as s cross join (
      select w.id, case when w.replay_of is null
        then row_number() over (partition by w.document_id, w.replay_of is null order by w.place) else 1 end as turn
      from webhook_delivery as w where w.subscription_id = p_id and w.settled_at is null
    ) as o
    where s.id = p_id and d.id = o.id;
  end if;
  if p_active = false then perform end_webhook_deliveries(p_id, 'subscription_inactive'); end if;
  perform append_audit(p_audit, 'webhook.changed', p_firm, p_integrator, 'webhook', p_id::text,
    jsonb_build_object('origin', p_origin, 'events', p_events, 'active', p_active));
  return true;
end $function$

CREATE OR REPLACE FUNCTION public.claim_box_items(p_firms uuid[], p_max integer, p_owner text, p_lease_ms integer, p_bytes_max bigint, p_one boolean)
 RETURNS TABLE(id uuid, firm_id uuid, key_id uuid, external_id text, version integer, sender text, receiver text, document_type_id text, process_id text, document_id uuid, tries integer, late_ms double precision, allowed boolean, payload_key_id text, payload_sealed bytea, payload_bytes integer)
 LANGUAGE sql
 SET enable_sort TO 'off'
 SET enable_incremental_sort TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
  with candidate as (
    select c.id, firm.n as lane, c.due_at, c.payload_bytes
    from unnest(p_firms) with ordinality as firm (id, n)
    cross join lateral (
      select i.id, i.due_at, i.payload_bytes from box_item as i
      where i.due_at is not null and (i.firm_id, i.due_at) >= (firm.id, '-infinity')
        and (i.firm_id, i.due_at) <= (firm.id, now())
      order by i.firm_id, i.due_at limit greatest(1, (p_max + cardinality(p_firms) - 1) / greatest(1, cardinality(p_firms)))
      for update skip locked
    ) as c
  ), ranked as (
    select c.id, c.lane, c.payload_bytes, row_number() over (partition by c.lane order by c.due_at) as rank from candidate as c
  ), weighed as (
    select r.id, row_number() over w as n, sum(r.payload_bytes) over w as octets
    from ranked as r window w as (order by r.rank, r.lane rows between unbounded preceding and current row)
  ), chosen as (
    select w.id, w.n, c.due_at as was_due from weighed as w join candidate as c on c.id = w.id
    where w.n <= p_max and (w.octets <= p_bytes_max or (p_one and w.n = 1))
  ), taken as (
    update box_item as i
    set status = 'sending', version = i.version + 1, lease_owner = p_owner, locked_at = clock_timestamp(),
      due_at = clock_timestamp() + p_lease_ms * interval '1 millisecond',
      status_since = case when i.status = 'sending' then i.status_since else clock_timestamp() end,
      updated_at = greatest(i.updated_at, clock_timestamp())
    from chosen
    where i.id = any (array(select c.id from chosen as c)) and i.id = chosen.id
    returning i.*, chosen.was_due, chosen.n
  )
  select t.id, t.firm_id, t.key_id, t.external_id, t.version, t.sender, t.receiver, t.document_type_id, t.process_id, t.document_id,
    t.tries, extract(epoch from t.locked_at - t.was_due)::double precision * 1000,
    box_is_allowed(t.firm_id, t.key_id, t.integrator_id, t.binding_generation, t.sender),
    p.key_id, p.sealed, t.payload_bytes
  from taken as t
  cross join lateral (select b.key_id, b.sealed from box_payload as b where b.item_id = t.id offset 0) as p
  order by t.n
$function$

CREATE OR REPLACE FUNCTION public.claim_documents(p_firm_id uuid[], p_receiver_key text[], p_count integer[], p_owner text, p_lease_ms integer, p_bytes_max bigint, p_one boolean)
 RETURNS TABLE(id uuid, firm_id uuid, sender text, receiver text, document_type_id text, process_id text, status text, version integer, attempt integer, answers integer, faults integer, as4_message_id text, sbdh_instance_id uuid, facts jsonb, created_at timestamp with time zone, payload_key_id text, payload_sealed bytea, payload_bytes integer)
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_sort TO 'off'
 SET enable_incremental_sort TO 'off'
AS $function$
#variable_conflict use_column
declare
  v_candidate record;
  v_left bigint := p_bytes_max;
  v_one boolean := p_one;
  v_ids uuid[] := '{}';
begin
  for v_candidate in
    with candidate as (
      select c.id, lane.n as lane
      from unnest(p_firm_id, p_receiver_key, p_count) with ordinality as lane (firm_id, receiver_key, count, n)
      cross join lateral (
        select d.id from document as d
        where d.next_attempt_at is not null
          and (d.firm_id, d.receiver_key, d.next_attempt_at) >= (lane.firm_id, lane.receiver_key, '-infinity')
          and (d.firm_id, d.receiver_key, d.next_attempt_at) <= (lane.firm_id, lane.receiver_key, now())
          and (d.lease_until is null or d.lease_until < now())
        order by d.firm_id, d.receiver_key, d.next_attempt_at limit lane.count
        for update skip locked
      ) as c
    ), ranked as materialized (
      select c.id, row_number() over (partition by c.lane) as rank, c.lane,
        (select p.bytes from payload as p where p.document_id = c.id) as bytes
      from candidate as c
    )
    select r.id, r.bytes from ranked as r where r.bytes is not null order by r.rank, r.lane
  loop
    if v_candidate.bytes <= v_left then
      v_left := v_left - v_candidate.bytes;
    elsif v_one then
      v_one := false;
    else
      continue;
    end if;
    v_ids := v_ids || v_candidate.id;
  end loop;
  return query
  select a.* from (select t.id from unnest(v_ids) as t (id) order by t.id) as w
  cross join lateral take_attempt(w.id, p_owner, p_lease_ms) as a;
end
$function$

CREATE OR REPLACE FUNCTION public.claim_mls_duties(p_owner text, p_lease_ms integer, p_limit integer, p_firm_max integer, p_looked_max integer, p_small_bytes_max integer, p_large boolean)
 RETURNS TABLE(id uuid, firm_id uuid, sbdh_instance_id text, document_type_id text, receiver text, always boolean, received_at timestamp with time zone, acknowledged boolean, is_response boolean, held boolean, has_payload boolean, payload_bytes integer, sealed_bytes integer, process_id text, document_sender text, document_receiver text)
 LANGUAGE sql
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
  with due as (
    select d.id, d.firm_id, d.next_at, coalesce(d.lease_until >= now(), false) as is_leased
    from mls_duty as d
    where d.next_at <= now() and coalesce(d.payload_bytes > p_small_bytes_max, true) = p_large
      and (d.lease_until is null or d.lease_until < now() or d.lease_owner = p_owner)
    order by d.next_at limit p_looked_max
  ), ranked as (
    -- What the claimer is at already is its firm's first share.
    select due.id, due.next_at, due.is_leased,
      row_number() over (partition by due.firm_id order by due.is_leased desc, due.next_at) as share
    from due
  ), chosen as (
    select d.id from ranked as r join mls_duty as d on d.id = r.id
    where not r.is_leased and r.share <= p_firm_max
      and case when d.next_at <= now() then d.lease_until is null or d.lease_until < now() end
    order by r.share, r.next_at limit p_limit
    for update of d skip locked
  ), taken as (
    update mls_duty as d
    set lease_until = clock_timestamp() + p_lease_ms * interval '1 millisecond', lease_owner = p_owner
    from chosen where d.id = chosen.id
    returning d.id, d.firm_id, d.sbdh_instance_id, d.document_type_id, d.receiver, d.always, d.received_at, d.payload_bytes
  )
  select t.id, t.firm_id, t.sbdh_instance_id, t.document_type_id, t.receiver, t.always, t.received_at,
    coalesce(r.status = 'ACKNOWLEDGED', false), s.id is not null, coalesce(r.status = 'HELD', false),
    s.id is not null or p.document_id is not null, coalesce(t.payload_bytes, p.bytes),
    octet_length(coalesce(s.payload_sealed, p.sealed)), coalesce(r.process_id, e.process_id),
    coalesce(r.sender, s.sender), coalesce(r.receiver, s.receiver)
  from taken as t
  left join received_document as r on r.id = t.id
  left join payload as p on p.document_id = t.id
  left join inbound_status as s on s.id = t.id
  left join exchange as e on e.id = t.id
$function$

CREATE OR REPLACE FUNCTION public.claim_overdue(p_owner text, p_lease_ms integer, p_overdue_ms bigint, p_limit integer)
 RETURNS TABLE(id uuid, firm_id uuid, sender text, receiver text, document_type_id text, process_id text, status text, version integer, attempt integer, answers integer, faults integer, as4_message_id text, sbdh_instance_id uuid, facts jsonb, created_at timestamp with time zone, payload_key_id text, payload_sealed bytea, payload_bytes integer)
 LANGUAGE sql
AS $function$
  select a.* from (
    select d.id from document as d
    where d.next_attempt_at <= now() - p_overdue_ms * interval '1 millisecond'
      and (d.lease_until is null or d.lease_until < now())
    order by d.next_attempt_at limit p_limit
    for update skip locked
  ) as o
  cross join lateral take_attempt(o.id, p_owner, p_lease_ms) as a
$function$

CREATE OR REPLACE FUNCTION public.claim_overdue(p_owner text, p_lease_ms integer, p_overdue_ms bigint, p_limit integer, p_bytes bigint, p_one boolean)
 RETURNS TABLE(id uuid, firm_id uuid, sender text, receiver text, document_type_id text, process_id text, status text, version integer, attempt integer, answers integer, faults integer, as4_message_id text, sbdh_instance_id uuid, facts jsonb, created_at timestamp with time zone, payload_key_id text, payload_sealed bytea, payload_bytes integer)
 LANGUAGE sql
AS $function$
  select a.* from (
    select d.id, d.next_attempt_at, row_number() over oldest as n, sum(p.bytes) over oldest as octets
    from (
      select d.id, d.next_attempt_at from document as d
      where d.next_attempt_at <= now() - p_overdue_ms * interval '1 millisecond'
        and (d.lease_until is null or d.lease_until < now())
      order by d.next_attempt_at limit p_limit
      for update skip locked
    ) as d
    cross join lateral (select b.bytes from payload as b where b.document_id = d.id offset 0) as p
    window oldest as (order by d.next_attempt_at, d.id)
  ) as o
  cross join lateral take_attempt(o.id, p_owner, p_lease_ms) as a
  where o.octets <= p_bytes or (p_one and o.n = 1)
  order by o.next_attempt_at, o.id
$function$

CREATE OR REPLACE FUNCTION public.claim_service_messages(p_owner text, p_lease_ms integer, p_limit integer, p_receiver_max integer, p_looked_max integer, p_under_way text[])
 RETURNS TABLE(id uuid, kind text, status text, version integer, attempt integer, answers integer, faults integer, sender text, receiver text, document_type_id text, process_id text, as4_message_id text, sbdh_instance_id uuid, created_at timestamp with time zone, payload_key_id text, payload_sealed bytea, firm_id uuid, about uuid)
 LANGUAGE sql
AS $function$
  with busy as (
    select service_lane(u.receiver) as lane, count(*) as n from unnest(p_under_way) as u (receiver) group by 1
  ), due as (
    select m.id, m.next_attempt_at, service_lane(m.receiver) as lane from service_message as m
    where m.next_attempt_at <= now() and (m.lease_until is null or m.lease_until < now())
      and service_lane(m.receiver) <> all (array(select b.lane from busy as b where b.n >= p_receiver_max))
    order by m.next_attempt_at limit p_looked_max
  ), ranked as (
    select due.id, due.next_attempt_at,
      row_number() over (partition by due.lane order by due.next_attempt_at) + coalesce(b.n, 0) as share
    from due left join busy as b on b.lane = due.lane
  ), chosen as (
    select m.id from ranked as r join service_message as m on m.id = r.id
    where r.share <= p_receiver_max
      and case when m.next_attempt_at <= now() then true end and (m.lease_until is null or m.lease_until < now())
    order by r.share, r.next_attempt_at limit p_limit
    for update of m skip locked
  ), taken as (
    update service_message as m
    set attempts = m.attempts + 1, version = m.version + 1, lease_owner = p_owner,
      lease_until = clock_timestamp() + p_lease_ms * interval '1 millisecond'
    from chosen where m.id = chosen.id
    returning m.*
  ), begun as (
    insert into service_attempt (message_id, number, owner, started_at)
    select taken.id, taken.attempts, p_owner, clock_timestamp() from taken
  ), cut as (
    update service_attempt as a set finished_at = clock_timestamp(), outcome = 'cut'
    from taken
    where taken.attempts > 1 and a.message_id = taken.id and a.number = taken.attempts - 1 and a.finished_at is null
  )
  select taken.id, taken.kind, taken.status, taken.version, taken.attempts, taken.answers, taken.faults, taken.sender,
    taken.receiver, taken.document_type_id, taken.process_id, taken.as4_message_id, taken.sbdh_instance_id,
    taken.created_at, taken.payload_key_id, taken.payload_sealed, taken.firm_id, taken.about
  from taken
$function$

CREATE OR REPLACE FUNCTION public.claim_white_label(p_limit integer, p_lease_ms integer, p_now timestamp with time zone)
 RETURNS SETOF white_label_operation
 LANGUAGE plpgsql
AS $function$
begin
  update white_label_operation set status = 'manual_review', error_code = 'INTERRUPTED', due_at = null, claimed_until = null,
    version = version + 1, updated_at = p_now
  where id in (
    select id from white_label_operation
    where status = 'processing' and asked_at is not null and claimed_until < clock_timestamp() for update skip locked
  );
  return query
    update white_label_operation as o
    set claimed_until = clock_timestamp() + p_lease_ms * interval '1 millisecond',
      asked_at = case when o.status = 'processing' then coalesce(o.asked_at, p_now) else o.asked_at end,
      version = o.version + 1
    where o.id in (
      select d.id from white_label_operation as d
      where d.due_at is not null and d.due_at <= p_now and (d.claimed_until is null or d.claimed_until < clock_timestamp())
        and (d.status = 'smp_succeeded' or d.asked_at is null)
      order by d.due_at limit p_limit for update skip locked
    )
    returning o.*;
end
$function$

CREATE OR REPLACE FUNCTION public.close_firm(p_firm uuid, p_now timestamp with time zone, p_audit jsonb)
 RETURNS text
 LANGUAGE plpgsql
AS $function$
declare
  v_firm firm;
  v_participants text[];
  v_people uuid[];
  v_dic text;
begin
  -- Two firms of one company that close at once would each leave to the other what is known by their tax id alone. A lock
  -- of closings only: whoever activates a request holds an integrator, for whom those wait who hold the firm.
  perform pg_advisory_xact_lock(hashtextextended('forgotten company:' || dic, 0)) from firm where id = p_firm and dic is not null;
  select * into v_firm from firm where id = p_firm for update;
  if not found then return 'missing'; end if;
  if exists (select 1 from document where firm_id = p_firm and document_is_open(status)) or exists (
    select 1 from box_item where firm_id = p_firm and status in ('ready', 'scheduled', 'sending', 'retrying')
  ) then return 'under_way'; end if;
  select coalesce(array_agg(key), '{}') into v_participants from participant where firm_id = p_firm;
  if exists (select 1 from registration where participant_key = any (v_participants) and state <> 'unregistered') then return 'registered'; end if;

  update api_key set active = false, deactivated_at = coalesce(deactivated_at, p_now), generation = generation + 1, name = null,
    ip_allowlist = '{}' where firm_id = p_firm or scoped_firm_id = p_firm;
  delete from refresh_family where key_id in (select id from api_key where firm_id = p_firm or scoped_firm_id = p_firm);
  delete from consent_offer
    where firm_id = p_firm or (
      firm_id is null and target_identifier = any (array[v_firm.ico, v_firm.dic]) and not exists (
        select 1 from firm as o where o.id <> p_firm and o.erased_at is null and target_identifier in (o.ico, o.dic)
      )
    );
  v_dic := case when not exists (select 1 from firm as o where o.id <> p_firm and o.erased_at is null and o.dic = v_firm.dic) then v_firm.dic end;
  delete from firm_binding where firm_id = p_firm;
  with gone as (delete from membership where firm_id = p_firm returning person_id)
    select coalesce(array_agg(gone.person_id), '{}') into v_people from gone;
  perform forget_people(v_people);
  delete from firm_plan where firm_id = p_firm;
  delete from white_label_participant where firm_id = p_firm or participant_key = any (v_participants);
  delete from white_label_operation
    where firm_id = p_firm or participant_key = any (v_participants) or (
      dic = v_dic and firm_id is null
        and (completed_at is not null or (status = 'manual_review' and error_code = 'VERIFICATION_REQUIRED'))
    );
  delete from white_label_customer where dic = v_dic;
  delete from registration_operation where participant_key = any (v_participants);
  delete from registration where participant_key = any (v_participants);
  delete from participant_capability where participant_key = any (v_participants);
  delete from participant where key = any (v_participants);
  perform remove_onboarding(array(select id from onboarding_request where firm_id = p_firm or dic = v_dic));
  delete from pfs_confirmation where dic = v_dic;
  perform 1 from webhook_subscription where firm_id = p_firm order by id for no key update;
  update webhook_subscription set active = false, deleted_at = coalesce(deleted_at, p_now) where firm_id = p_firm;
  perform 1 from webhook_delivery where id in (
    select w.id from webhook_subscription as s cross join lateral (
      select d.id from webhook_delivery as d where d.subscription_id = s.id and d.settled_at is null limit 2000
    ) as w where s.firm_id = p_firm
  ) order by id for update;
  perform end_webhook_deliveries(s.id, 'subscription_deleted') from webhook_subscription as s where s.firm_id = p_firm;
  update firm set name = 'erased', ico = null, dic = null, ic_dph = null, address = null, peppol_status = 'not_registered',
    sends_only = true, erased_at = coalesce(erased_at, p_now) where id = p_firm;
  if v_firm.erased_at is null then
    perform append_audit(p_audit, 'firm.erased', p_firm, null, 'firm', p_firm::text, '{}');
  end if;
  return 'closed';
end $function$

CREATE OR REPLACE FUNCTION public.connector_event(p_kind text, p_document uuid)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select case p_kind
    when 'document.created' then 'document.queued'
    when 'document.delivered' then p_kind
    when 'document.received' then p_kind
    when 'document.processed' then p_kind
    when 'document.cancelled' then p_kind
    when 'document.delivery_failed' then 'document.failed'
    when 'document.rejected' then case
      when exists (select 1 from document as d where d.id = p_document and d.status = 'validation_failed')
      then 'document.needs_attention' else 'document.failed'
    end
  end
$function$

CREATE OR REPLACE FUNCTION public.connector_is_told(p_integrator uuid, p_firm uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select exists (
    select 1 from firm_binding as b
    join integrator as i on i.id = b.integrator_id
    join firm as f on f.id = b.firm_id
    where b.integrator_id = p_integrator and b.firm_id = p_firm and b.state = 'active' and 'connector' = any (b.interfaces)
      and 'webhooks:read' = any (b.scopes) and (i.production_authorized or f.sandbox)
  )
$function$

CREATE OR REPLACE FUNCTION public.covers_sending(p_binding firm_binding)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select p_binding.state = 'active' and p_binding.scopes @> array['documents:send', 'documents:read']
$function$

CREATE OR REPLACE FUNCTION public.create_api_key(p_id uuid, p_key_type text, p_firm uuid, p_integrator uuid, p_scoped_firm uuid, p_prefix text, p_secret_sha256 bytea, p_scopes text[], p_ip_allowlist text[], p_name text, p_now timestamp with time zone, p_unrestricted_max integer, p_scoped_max integer, p_audit jsonb DEFAULT NULL::jsonb, p_caller uuid DEFAULT NULL::uuid, p_caller_generation integer DEFAULT NULL::integer)
 RETURNS text
 LANGUAGE plpgsql
AS $function$
declare
  v_active integer;
  v_granted text[];
  v_key api_key;
begin
  if p_integrator is not null then
    perform 1 from integrator where id = p_integrator for update;
    if not found then return 'owner_unknown'; end if;
    if p_caller is not null then
      select scopes into v_granted from api_key
        where id = p_caller and integrator_id = p_integrator and active and generation = p_caller_generation for share;
      if not found then return 'caller_changed'; end if;
      if not p_scopes <@ v_granted then return 'scope_exceeds'; end if;
    end if;
    if p_scoped_firm is not null then
      if not lock_living_firm(p_scoped_firm) then return 'not_bound'; end if;
      select scopes into v_granted from firm_binding
        where integrator_id = p_integrator and firm_id = p_scoped_firm and state = 'active';
      if not found then return 'not_bound'; end if;
      if p_caller is not null and not p_scopes <@ v_granted then return 'scope_exceeds'; end if;
    end if;
    select count(*) into v_active from api_key
      where integrator_id = p_integrator and active and scoped_firm_id is not distinct from p_scoped_firm;
    if v_active >= (case when p_scoped_firm is null then p_unrestricted_max else p_scoped_max end) then return 'limit_reached'; end if;
  else
    if not lock_living_firm(p_firm) then return 'owner_unknown'; end if;
  end if;
  insert into api_key (id, key_type, firm_id, integrator_id, scoped_firm_id, prefix, secret_sha256, scopes, ip_allowlist, active, name, created_at)
    values (p_id, p_key_type, p_firm, p_integrator, p_scoped_firm, p_prefix, p_secret_sha256, p_scopes, p_ip_allowlist, true, p_name, p_now)
    returning * into v_key;
  perform audit_key(p_audit, 'api_key.created', v_key, jsonb_build_object('scopes', p_scopes, 'name', p_name));
  return 'created';
end $function$

CREATE OR REPLACE FUNCTION public.create_box_item(p_item jsonb, p_payload_sha256 bytea, p_payload_key_id text, p_payload_sealed bytea, p_metadata_sealed bytea, p_audit jsonb)
 RETURNS TABLE(outcome text, id uuid)
 LANGUAGE plpgsql
AS $function$
#variable_conflict use_column
declare
  v_id uuid := (p_item ->> 'id')::uuid;
  v_firm uuid := (p_item ->> 'firmId')::uuid;
  v_now timestamptz := (p_item ->> 'createdAt')::timestamptz;
  v_scheduled timestamptz := (p_item ->> 'scheduledFor')::timestamptz;
  v_status text := case when v_scheduled is null then 'ready' else 'scheduled' end;
  v_lives boolean := lock_living_firm(v_firm);
begin
  insert into box_item (
    id, firm_id, integrator_id, key_id, external_id, status, version, sender, receiver, document_type_id, process_id, payload_sha256,
    payload_bytes, scheduled_for, due_at, document_id, status_since, created_at, updated_at, binding_generation
  )
  select v_id, v_firm, (p_item ->> 'integratorId')::uuid, (p_item ->> 'keyId')::uuid, p_item ->> 'externalId', v_status, 1,
    p_item ->> 'sender', p_item ->> 'receiver', p_item ->> 'documentTypeId', p_item ->> 'processId', p_payload_sha256,
    (p_item ->> 'payloadBytes')::integer, v_scheduled, coalesce(v_scheduled, clock_timestamp()), v_id, clock_timestamp(), v_now, v_now,
    (select g.binding_generation from integrator as g where g.id = (p_item ->> 'integratorId')::uuid)
  where v_lives on conflict do nothing;
  if found then
    insert into box_payload (item_id, key_id, sealed, metadata_sealed)
    values (v_id, p_payload_key_id, p_payload_sealed, p_metadata_sealed);
    insert into box_event (item_id, version, kind, status, actor_type, actor_id, occurred_at)
    values (v_id, 1, 'created', v_status, p_audit ->> 'actorType', p_audit ->> 'actorId', v_now);
    return query select 'created', v_id;
    return;
  end if;
  return query
  select case when i.id = v_id then 'created' when i.payload_sha256 = p_payload_sha256 then 'existing' else 'conflict' end, i.id
  from box_item as i
  where i.id = v_id or (i.firm_id = v_firm and i.external_id = p_item ->> 'externalId')
  order by i.id = v_id desc limit 1;
  if not found and not v_lives then return query select 'firm_erased', v_id; end if;
end
$function$

CREATE OR REPLACE FUNCTION public.create_consent_offer(p_offer jsonb, p_token_sha256 bytea, p_key_generation integer, p_sandbox boolean, p_audit jsonb)
 RETURNS text
 LANGUAGE plpgsql
AS $function$
declare
  v_offer consent_offer;
  v_scopes text[];
begin
  select * into v_offer from jsonb_populate_record(null::consent_offer, p_offer);
  -- The integrator before its key, as everywhere: two who lock them in two orders would wait for each other.
  perform 1 from integrator where id = v_offer.integrator_id for key share;
  select scopes into v_scopes from api_key
    where id = v_offer.key_id and integrator_id = v_offer.integrator_id and active and generation = p_key_generation for share;
  if not found then return 'caller_changed'; end if;
  if not v_scopes @> v_offer.requested_scopes or not 'firms:manage' = any (v_scopes) then return 'scope_exceeds'; end if;
  if p_sandbox then
    perform 1 from firm f join firm_binding b on b.firm_id = f.id
      where b.integrator_id = v_offer.integrator_id and f.sandbox
        and (f.ico = v_offer.target_identifier or f.dic = v_offer.target_identifier);
  else
    perform 1 from integrator where id = v_offer.integrator_id and production_authorized;
  end if;
  if not found then return 'unavailable'; end if;
  v_offer.token_sha256 := p_token_sha256;
  v_offer.status := 'issued';
  insert into consent_offer select v_offer.*;
  perform append_audit(p_audit, 'consent_offer.created', null, v_offer.integrator_id, 'consent_offer', v_offer.id::text,
    jsonb_build_object('scopes', v_offer.requested_scopes, 'interface', v_offer.requested_interface));
  return 'created';
end $function$

CREATE OR REPLACE FUNCTION public.create_onboarding_request(p_request jsonb, p_body_sha256 bytea, p_production boolean, p_next_action text)
 RETURNS TABLE(outcome text, id uuid)
 LANGUAGE plpgsql
AS $function$
declare
  v_request onboarding_request;
  v_other onboarding_request;
  v_integrator integrator;
  v_firm uuid;
begin
  select * into v_request from jsonb_populate_record(null::onboarding_request, p_request);
  select i.* into v_integrator from integrator i where i.id = v_request.integrator_id for update;
  select r.* into v_other from onboarding_request r
    where r.integrator_id = v_request.integrator_id and r.idempotency_key = v_request.idempotency_key;
  if found then
    return query select case when v_other.body_sha256 = p_body_sha256 then 'replay' else 'key_conflict' end, v_other.id;
    return;
  end if;
  if p_production and not v_integrator.production_authorized then
    return query select 'not_authorized', null::uuid;
    return;
  end if;
  if v_request.relationship_mode = 'managed_service' and not v_integrator.managed_billing then
    return query select 'no_billing', null::uuid;
    return;
  end if;
  perform 1 from onboarding_request r where r.integrator_id = v_request.integrator_id and r.status not in ('blocked', 'revoked')
    and (r.customer_ref = v_request.customer_ref or r.dic = v_request.dic);
  if found then return query select 'ref_conflict', null::uuid; return; end if;
  perform 1 from firm_binding b join firm f on f.id = b.firm_id
    where b.integrator_id = v_request.integrator_id and (b.customer_ref = v_request.customer_ref) <> (f.dic = v_request.dic)
      and b.state <> 'revoked' and b.customer_ref is not null;
  if found or white_label_has_other_name(v_request.integrator_id, v_request.customer_ref, v_request.dic) then
    return query select 'ref_conflict', null::uuid;
    return;
  end if;
  select f.id into v_firm from firm f join firm_binding b on b.firm_id = f.id
    where b.integrator_id = v_request.integrator_id and f.dic = v_request.dic and covers_sending(b) limit 1;
  v_request.body_sha256 := p_body_sha256;
  v_request.firm_id := v_firm;
  v_request.status := case when v_firm is not null then 'active'
    when v_request.relationship_mode = 'managed_service' then 'activating' else 'awaiting_pfs' end;
  v_request.next_action := case when v_request.status = 'awaiting_pfs' then p_next_action end;
  v_request.version := 1;
  v_request.updated_at := v_request.created_at;
  insert into onboarding_request select v_request.*;
  insert into onboarding_history (request_id, version, status, trigger, occurred_at)
    values (v_request.id, 1, v_request.status, 'created', v_request.created_at);
  return query select 'created', v_request.id;
end
$function$

CREATE OR REPLACE FUNCTION public.create_webhook(p_id uuid, p_firm uuid, p_integrator uuid, p_url text, p_origin text, p_events text[], p_active boolean, p_secret_key_id text, p_secret_sealed bytea, p_now timestamp with time zone, p_firm_max integer, p_owner_max integer, p_audit jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  if p_firm is not null and not lock_living_firm(p_firm) then return false; end if;
  -- Two that are made at once take turns, so that the bounds hold.
  perform pg_advisory_xact_lock(hashtextextended('webhooks:' || coalesce(p_integrator, p_firm), 0));
  if (
    select count(*) >= p_owner_max or count(*) filter (where firm_id = p_firm) >= p_firm_max
    from webhook_subscription
    where integrator_id is not distinct from p_integrator and (p_integrator is not null or firm_id = p_firm) and deleted_at is null
  ) then return false; end if;
  insert into webhook_subscription (
    id, firm_id, integrator_id, url, endpoint_id, events, active, secret_key_id, secret_sealed, seen_from, created_at
  ) values (
    p_id, p_firm, p_integrator, p_url, webhook_endpoint_of(coalesce(p_integrator, p_firm), p_origin), p_events, p_active,
    p_secret_key_id, p_secret_sealed, pg_current_snapshot(), p_now
  );
  perform append_audit(p_audit, 'webhook.created', p_firm, p_integrator, 'webhook', p_id::text,
    jsonb_build_object('origin', p_origin, 'events', p_events));
  return true;
end $function$

CREATE OR REPLACE FUNCTION public.create_white_label_customer(p_customer jsonb, p_body_sha256 bytea)
 RETURNS TABLE(outcome text, id uuid)
 LANGUAGE plpgsql
AS $function$
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
    and (a.metadata ->> 'idempotencyKeySha256' = encode(sha256(convert_to(v_new.idempotency_key, 'UTF8')), 'hex')
      or a.metadata ->> 'idempotencyKey' = v_new.idempotency_key);
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
$function$

CREATE OR REPLACE FUNCTION public.create_white_label_leave(p_operation uuid, p_integrator uuid, p_participant uuid, p_now timestamp with time zone, p_audit jsonb)
 RETURNS TABLE(outcome text, id uuid)
 LANGUAGE plpgsql
AS $function$
#variable_conflict use_column
declare
  v_firm uuid := (select w.firm_id from white_label_participant w where w.id = p_participant and w.integrator_id = p_integrator);
  v_participant white_label_participant;
  v_open white_label_operation;
  v_first white_label_operation;
begin
  if v_firm is null or not lock_living_firm(v_firm) then return query select 'unknown', null::uuid; return; end if;
  select * into v_participant from white_label_participant w
    where w.id = p_participant and w.integrator_id = p_integrator for update;
  if not found then return query select 'unknown', null::uuid; return; end if;
  select * into v_open from white_label_operation o
    where o.participant_id = p_participant and o.operation_type = 'migration_out'
      and o.status in ('processing', 'smp_succeeded', 'manual_review', 'succeeded')
    order by o.created_at desc limit 1;
  if found then
    return query select case v_open.status when 'manual_review' then 'under_review' else 'repeat' end, v_open.id;
    return;
  end if;
  select * into v_first from white_label_operation o where o.id = v_participant.operation_id;
  insert into white_label_operation (
    id, integrator_id, operation_type, status, version, customer_ref, dic, participant_key, company_email, legal_name,
    firm_id, participant_id, due_at, created_at, updated_at
  ) values (
    p_operation, p_integrator, 'migration_out', 'processing', 1, v_participant.customer_ref, v_first.dic,
    v_participant.participant_key, v_first.company_email, v_first.legal_name, v_participant.firm_id, p_participant,
    p_now, p_now, p_now
  );
  perform append_audit(p_audit, 'white_label.requested', v_participant.firm_id, p_integrator, 'white_label_operation',
    p_operation::text, jsonb_build_object('operationType', 'migration_out', 'dic', v_first.dic));
  return query select 'created', p_operation;
end $function$

CREATE OR REPLACE FUNCTION public.create_white_label_operation(p_operation jsonb, p_secret bytea, p_body bytea, p_production boolean, p_audit jsonb)
 RETURNS TABLE(outcome text, id uuid)
 LANGUAGE plpgsql
AS $function$
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
$function$

CREATE OR REPLACE FUNCTION public.deactivate_api_key(p_id uuid, p_integrator uuid, p_now timestamp with time zone, p_audit jsonb DEFAULT NULL::jsonb, p_caller uuid DEFAULT NULL::uuid)
 RETURNS text
 LANGUAGE plpgsql
AS $function$
declare
  v_key api_key;
begin
  if p_integrator is not null then
    perform 1 from integrator where id = p_integrator for update;
  end if;
  if p_caller is not null then
    perform 1 from api_key where id = p_caller and active;
    if not found then return 'caller_changed'; end if;
  end if;
  select * into v_key from api_key where id = p_id and (p_integrator is null or integrator_id = p_integrator) for update;
  if not found then return 'unknown'; end if;
  if not v_key.active then return 'already_inactive'; end if;
  if p_integrator is not null and v_key.scoped_firm_id is null and not exists (
    select 1 from api_key where integrator_id = p_integrator and active and scoped_firm_id is null and id <> p_id
  ) then
    return 'last_main_key';
  end if;
  update api_key set active = false, generation = generation + 1, deactivated_at = p_now where id = p_id;
  delete from refresh_family where key_id = p_id;
  perform audit_key(p_audit, 'api_key.revoked', v_key, '{}');
  return 'deactivated';
end $function$

CREATE OR REPLACE FUNCTION public.decide_consent_offer(p_offer uuid, p_firm uuid, p_accept boolean, p_sandbox boolean, p_person text, p_now timestamp with time zone, p_audit jsonb)
 RETURNS text
 LANGUAGE plpgsql
AS $function$
declare
  v_offer consent_offer;
  v_authorized boolean;
  v_status text;
  v_wish text := case when p_accept then 'accepted' else 'declined' end;
begin
  if not lock_living_firm(p_firm) then return 'unknown'; end if;
  select * into v_offer from consent_offer where id = p_offer;
  if not found then return 'unknown'; end if;
  select production_authorized into v_authorized from integrator where id = v_offer.integrator_id for update;
  select * into v_offer from consent_offer where id = p_offer for update;
  if not firm_is_target(p_firm, v_offer.target_identifier) or v_offer.firm_id <> p_firm then return 'unknown'; end if;
  if v_offer.status = v_wish then return 'already'; end if;
  perform 1 from api_key where id = v_offer.key_id for share;
  v_status := offer_status(v_offer, p_now);
  if v_status not in ('issued', 'viewed') then return v_status; end if;
  if p_accept and not p_sandbox and not v_authorized then return 'unavailable'; end if;
  update consent_offer set status = v_wish, firm_id = p_firm, decided_by = p_person, decided_at = p_now where id = p_offer;
  if p_accept then
    insert into firm_binding as b (integrator_id, firm_id, customer_ref, state, scopes, interfaces, created_at, updated_at)
      values (v_offer.integrator_id, p_firm, (
        select v_offer.customer_reference where not exists (
          select 1 from firm_binding t where t.integrator_id = v_offer.integrator_id and t.customer_ref = v_offer.customer_reference and t.firm_id <> p_firm
        )), 'active', v_offer.requested_scopes, v_offer.interfaces, p_now, p_now)
      on conflict (integrator_id, firm_id) do update set state = 'active', scopes = excluded.scopes, interfaces = excluded.interfaces,
        customer_ref = coalesce(b.customer_ref, excluded.customer_ref), updated_at = excluded.updated_at;
  end if;
  perform append_audit(p_audit, 'consent.' || v_wish, p_firm, v_offer.integrator_id, 'consent_offer', p_offer::text,
    jsonb_build_object('scopes', v_offer.requested_scopes, 'interface', v_offer.requested_interface));
  return v_wish;
end $function$

CREATE OR REPLACE FUNCTION public.delete_cancelled(p_kept_days integer, p_limit integer)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  v_ids uuid[];
begin
  select coalesce(array_agg(c.id), '{}') into v_ids from (
    select d.id from document as d
    where d.staged = 'cancelled' and d.staged_at < now() - make_interval(days => p_kept_days)
    order by d.staged_at limit p_limit for update skip locked
  ) as c;
  return remove_documents(v_ids);
end
$function$

CREATE OR REPLACE FUNCTION public.delete_connector_webhook(p_integrator uuid, p_now timestamp with time zone, p_audit jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
declare
  v_id uuid;
begin
  select id into v_id from webhook_subscription
    where integrator_id = p_integrator and firm_id is null and deleted_at is null for update;
  if not found then return false; end if;
  update webhook_subscription set deleted_at = p_now, active = false where id = v_id;
  perform end_webhook_deliveries(v_id, 'subscription_deleted');
  perform append_audit(p_audit, 'webhook.deleted', null, p_integrator, 'webhook', v_id::text,
    jsonb_build_object('interface', 'connector'));
  return true;
end $function$

CREATE OR REPLACE FUNCTION public.delete_webhook(p_id uuid, p_firm uuid, p_integrator uuid, p_now timestamp with time zone, p_audit jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  perform 1 from webhook_subscription
    where id = p_id and firm_id = p_firm and integrator_id is not distinct from p_integrator and deleted_at is null for update;
  if not found then return false; end if;
  update webhook_subscription set deleted_at = p_now, active = false where id = p_id;
  perform end_webhook_deliveries(p_id, 'subscription_deleted');
  perform append_audit(p_audit, 'webhook.deleted', p_firm, p_integrator, 'webhook', p_id::text, '{}');
  return true;
end $function$

CREATE OR REPLACE FUNCTION public.disable_webhook(p_id uuid, p_reason text, p_audit jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
declare
  v_subscription webhook_subscription;
begin
  perform 1 from webhook_subscription where id = p_id and active for update;
  if not found then return false; end if;
  update webhook_subscription set active = false, disabled_reason = p_reason where id = p_id returning * into v_subscription;
  perform end_webhook_deliveries(p_id, 'subscription_disabled');
  perform append_audit(p_audit, 'webhook.disabled', v_subscription.firm_id, v_subscription.integrator_id, 'webhook', p_id::text,
    jsonb_build_object('reason', p_reason));
  return true;
end $function$

CREATE OR REPLACE FUNCTION public.disable_webhook(p_id uuid, p_reason text, p_url text, p_audit jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  perform 1 from webhook_subscription where id = p_id and url = p_url for update;
  if not found then return false; end if;
  return disable_webhook(p_id, p_reason, p_audit);
end $function$

CREATE OR REPLACE FUNCTION public.document_is_open(p_status text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select p_status in ('queued', 'sent')
$function$

CREATE OR REPLACE FUNCTION public.document_was_cut(p_id uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select exists (select 1 from document_attempt as a where a.document_id = p_id and a.outcome = 'cut')
$function$

CREATE OR REPLACE FUNCTION public.due_at_once()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  new.next_attempt_at := least(new.next_attempt_at, clock_timestamp());
  return new;
end
$function$

CREATE OR REPLACE FUNCTION public.due_lanes(p_after uuid, p_firms uuid[], p_receivers text[], p_firms_max integer, p_lanes_max integer, p_ready_max integer)
 RETURNS TABLE(firm_id uuid, receiver_key text, ready integer)
 LANGUAGE plpgsql
 STABLE
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_sort TO 'off'
 SET enable_incremental_sort TO 'off'
AS $function$
declare
  v_firm uuid := p_after;
  v_firms integer := 0;
  v_firms_round boolean := p_after is null;
  v_start text;
  v_receiver text;
  v_lanes integer;
  v_round boolean;
begin
  while v_firms < p_firms_max loop
    select d.firm_id into v_firm from document as d
    where d.next_attempt_at is not null and d.firm_id > coalesce(v_firm, '00000000-0000-0000-0000-000000000000')
    order by d.firm_id limit 1;
    if not found then
      exit when v_firms_round;
      v_firms_round := true;
      v_firm := null;
      continue;
    end if;
    v_firms := v_firms + 1;
    v_start := p_receivers[array_position(p_firms, v_firm)];
    v_receiver := v_start;
    v_round := v_start is null;
    v_lanes := 0;
    while v_lanes < p_lanes_max loop
      select d.receiver_key into v_receiver from document as d
      where d.next_attempt_at is not null and d.firm_id = v_firm and d.receiver_key > coalesce(v_receiver, '')
      order by d.receiver_key limit 1;
      if not found then
        exit when v_round;
        v_round := true;
        v_receiver := null;
        continue;
      end if;
      v_lanes := v_lanes + 1;
      firm_id := v_firm;
      receiver_key := v_receiver;
      select count(*) into ready from (
        select 1 from document as d
        where d.next_attempt_at is not null
          and (d.firm_id, d.receiver_key, d.next_attempt_at) >= (v_firm, v_receiver, '-infinity')
          and (d.firm_id, d.receiver_key, d.next_attempt_at) <= (v_firm, v_receiver, now())
          and (d.lease_until is null or d.lease_until < now())
        order by d.firm_id, d.receiver_key, d.next_attempt_at
        limit p_ready_max
      ) as r;
      return next;
      -- Once round: the receiver it began after was the last.
      exit when v_round and v_start is not null and v_receiver >= v_start;
    end loop;
    exit when v_firms_round and p_after is not null and v_firm >= p_after;
  end loop;
end
$function$

CREATE OR REPLACE FUNCTION public.due_webhooks(p_places integer, p_per_endpoint integer, p_per_owner integer, p_first integer, p_breaker integer)
 RETURNS TABLE(id uuid, endpoint_id uuid)
 LANGUAGE plpgsql
 ROWS 64
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_sort TO 'off'
AS $function$
#variable_conflict use_column
begin
  perform begin_webhook_leases();
  return query
  with recursive waiting (id) as (
    (select d.endpoint_id from webhook_delivery as d where d.due_at is not null order by d.endpoint_id limit 1)
    union all
    select (
      select d.endpoint_id from webhook_delivery as d
      where d.due_at is not null and d.endpoint_id > waiting.id order by d.endpoint_id limit 1
    )
    from waiting where waiting.id is not null
  ), open as (
    select w.id, w.owner_id, w.failures from webhook_endpoint as w
    where w.id in (select waiting.id from waiting) and (w.rest_until is null or w.rest_until <= now())
  ), leased as materialized (
    select l.endpoint_id, l.owner_id, l.places from leased_webhooks() as l
  ), free as (
    select open.id, coalesce(leased.places, 0) as taken, least(
      p_places, case when open.failures >= p_breaker then 1 else p_per_endpoint end - coalesce(leased.places, 0)
    ) as places
    from open left join leased on leased.endpoint_id = open.id and leased.owner_id = open.owner_id
  ), due as materialized (
    select t.id, t.owner_id, t.endpoint_id, t.due_at, free.taken
    from free cross join lateral (
      select d.id, d.owner_id, d.endpoint_id, d.due_at from webhook_delivery as d
      where d.endpoint_id = free.id and d.due_at <= now()
      order by d.due_at limit greatest(free.places, 0)
    ) as t
  ), turns as (
    select due.id, due.owner_id, due.endpoint_id, due.due_at,
      due.taken + row_number() over (partition by due.endpoint_id order by due.due_at) as turn
    from due
  ), shares as (
    select turns.id, turns.endpoint_id, turns.due_at, turns.turn,
      row_number() over (partition by turns.owner_id order by turns.turn, turns.due_at) + coalesce(busy.places, 0) as share
    from turns left join (
      select leased.owner_id, sum(leased.places) as places from leased group by leased.owner_id
    ) as busy on busy.owner_id = turns.owner_id
  )
  select shares.id, shares.endpoint_id from shares
  where shares.share <= p_per_owner and (shares.turn = 1 or shares.share <= p_per_owner - p_first)
  order by shares.turn, shares.due_at limit p_places;
end
$function$

CREATE OR REPLACE FUNCTION public.end_attempt(p_id uuid, p_version integer, p_status text, p_now timestamp with time zone, p_wait_ms bigint, p_plan text, p_moves jsonb, p_events jsonb, p_attempt jsonb, p_reason text, p_exchange jsonb)
 RETURNS TABLE(version integer)
 LANGUAGE sql
AS $function$
  select e.version
  from end_attempts(array[p_id], array[p_version], array[p_status], array[p_now], array[p_wait_ms], array[p_plan],
    array[p_moves], array[p_events], array[p_attempt], array[p_reason], array[p_exchange],
    array[coalesce((select d.lease_owner from document as d where d.id = p_id), '')], 0) as e
$function$

CREATE OR REPLACE FUNCTION public.end_attempts(p_id uuid[], p_version integer[], p_status text[], p_now timestamp with time zone[], p_wait_ms bigint[], p_plan text[], p_moves jsonb[], p_events jsonb[], p_attempt jsonb[], p_reason text[], p_exchange jsonb[], p_owner text[], p_claim_ms integer, p_published bigint[] DEFAULT '{}'::bigint[], p_evidence jsonb DEFAULT '[]'::jsonb)
 RETURNS TABLE(n bigint, version integer, outbox_id bigint, outbox_body jsonb)
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
#variable_conflict use_column
begin
  return query
  with given as (
    select g.* from unnest(
      p_id, p_version, p_status, p_now, p_wait_ms, p_plan, p_moves, p_events, p_attempt, p_reason, p_exchange, p_owner
    ) with ordinality as g (id, version, status, now, wait_ms, plan, moves, events, attempt, reason, exchange, owner, n)
  ), moved as (
    update document as d
    set status = g.status, version = d.version + greatest(1, jsonb_array_length(g.moves)),
      updated_at = greatest(d.updated_at, g.now), lease_owner = null, lease_until = null,
      next_attempt_at = case when document_is_open(g.status)
        then clock_timestamp() + g.wait_ms * interval '1 millisecond' end,
      answers = d.answers + (g.plan = 'answer')::integer,
      faults = case when g.plan = 'fault' then d.faults + 1 else 0 end,
      delivered_at = coalesce(d.delivered_at, case when g.status = 'delivered' then greatest(d.updated_at, g.now) end),
      status_reason = coalesce(g.reason, d.status_reason)
    from given as g
    where d.id = g.id and d.version = g.version
    returning g.n, d.id, d.firm_id, d.version, g.version as version_before, d.updated_at, d.attempted_at, d.sender_key,
      d.document_type_id, d.process_id, g.now, g.moves, g.events, g.attempt, g.exchange, g.owner
  ), history as (
    insert into document_history (document_id, version, status, trigger, detail, occurred_at)
    select moved.id, moved.version_before + m.n, m.value ->> 'status', m.value ->> 'trigger', m.value ->> 'detail',
      moved.updated_at
    from moved cross join lateral jsonb_array_elements(moved.moves) with ordinality as m (value, n)
    order by moved.n, m.n
  ), events as (
    insert into document_event (id, document_id, firm_id, kind, actor, feed, detail, meta, occurred_at)
    select (e.value ->> 'id')::uuid, moved.id, moved.firm_id, e.value ->> 'kind', 'system',
      (e.value ->> 'feed')::boolean, e.value ->> 'detail', e.value -> 'meta', moved.updated_at
    from moved cross join lateral jsonb_array_elements(moved.events) with ordinality as e (value, n)
    order by moved.n, e.n
  ), telling as (
    select min(moved.id::text) as key,
      jsonb_agg(jsonb_build_object('key', e.value ->> 'id', 'body', jsonb_build_object('eventId', e.value ->> 'id',
        'documentId', moved.id, 'kind', e.value ->> 'kind')) order by moved.n, e.n) as body,
      clock_timestamp() + p_claim_ms * interval '1 millisecond' as claimed_until
    from moved cross join lateral jsonb_array_elements(moved.events) with ordinality as e (value, n)
    where (e.value ->> 'feed')::boolean
    having count(*) > 0
  ), reused as (
    update outbox as o
    set id = default, stream = 'events', key = t.key, body = t.body, created_at = clock_timestamp(),
      claimed_until = t.claimed_until
    from telling as t where o.id = p_published[1]
    returning o.id, o.body
  ), added as (
    insert into outbox (stream, key, body, claimed_until)
    select 'events', t.key, t.body, t.claimed_until from telling as t where not exists (select 1 from reused)
    returning outbox.id, outbox.body
  ), told as (
    select * from reused union all select * from added
  ), exchanged as (
    insert into exchange (id, direction, kind, firm_id, c2_seat, c3_seat, document_type_id, process_id,
      transport_profile, c1_country, end_user, exchanged_at)
    select moved.id, 'outgoing', 'business', moved.firm_id, moved.exchange ->> 'c2Seat', moved.exchange ->> 'c3Seat',
      moved.document_type_id, moved.process_id, moved.exchange ->> 'transportProfile', moved.exchange ->> 'c1Country',
      moved.sender_key, moved.now
    from moved where moved.exchange is not null
    on conflict (id) do nothing
  ), ended as (
    insert into document_attempt (document_id, number, owner, started_at, finished_at, outcome, code, retryable,
      detail, seat)
    select moved.id, (moved.attempt ->> 'number')::integer, moved.owner, coalesce(moved.attempted_at, moved.now),
      greatest(moved.attempted_at, moved.now), moved.attempt ->> 'outcome', moved.attempt ->> 'code',
      (moved.attempt ->> 'retryable')::boolean, moved.attempt ->> 'detail', moved.attempt ->> 'seat'
    from moved
    on conflict (document_id, number) do update
    set finished_at = excluded.finished_at, outcome = excluded.outcome, code = excluded.code,
      retryable = excluded.retryable, detail = excluded.detail, seat = excluded.seat
    where document_attempt.outcome = 'cut'
  ), published as (
    delete from outbox
    where outbox.id = any (case when exists (select 1 from telling) then p_published[2:] else p_published end)
  )
  select moved.n, moved.version, told.id, told.body
  from moved left join told on moved.n = (select min(first.n) from moved as first);
  if jsonb_array_length(p_evidence) > 0 then
    perform 1 from append_evidence(p_evidence);
  end if;
end
$function$

CREATE OR REPLACE FUNCTION public.end_box_dispatch(p_id uuid, p_document_id uuid, p_owner text, p_status text, p_kind text, p_error jsonb, p_wait_ms bigint)
 RETURNS boolean
 LANGUAGE sql
AS $function$
  with ended as (
    update box_item as i
    set status = p_status, version = i.version + 1, lease_owner = null, locked_at = null, last_error = p_error,
      tries = case when p_wait_ms is null then 0 else i.tries + 1 end,
      due_at = clock_timestamp() + p_wait_ms * interval '1 millisecond', status_since = clock_timestamp(),
      updated_at = greatest(i.updated_at, clock_timestamp())
    where i.id = p_id and i.document_id = p_document_id and i.status = 'sending' and i.lease_owner = p_owner
      and not exists (select 1 from document as d where d.id = p_document_id)
    returning i.id, i.version, i.updated_at
  ), told as (
    insert into box_event (item_id, version, kind, status, actor_type, detail, occurred_at)
    select ended.id, ended.version, p_kind, p_status, 'system', p_error ->> 'message', ended.updated_at from ended
    where p_kind <> 'postponed' or p_kind is distinct from
      (select e.kind from box_event as e where e.item_id = ended.id order by e.version desc limit 1)
  )
  select exists (select 1 from ended)
$function$

CREATE OR REPLACE FUNCTION public.end_held(p_kept_days integer, p_limit integer, p_move jsonb)
 RETURNS integer
 LANGUAGE sql
AS $function$
  with ended as materialized (
    select d.id, d.firm_id from document as d
    where d.staged = 'held' and d.staged_at < now() - make_interval(days => p_kept_days)
    order by d.staged_at limit p_limit for update skip locked
  )
  select count(*) filter (where cancel_held(e.id, e.firm_id, null, p_move, new_row_id(), null, null))::integer
  from ended as e
$function$

CREATE OR REPLACE FUNCTION public.end_mls_duty(p_id uuid, p_wait_ms bigint, p_code text, p_message jsonb, p_document text DEFAULT NULL::text, p_findings jsonb DEFAULT NULL::jsonb, p_facts jsonb DEFAULT NULL::jsonb)
 RETURNS TABLE(id uuid)
 LANGUAGE plpgsql
AS $function$
begin
  perform 1 from mls_duty as d where d.id = p_id and case when d.next_at is not null then true end for update;
  if not found then return; end if;
  if p_document is not null then
    update received_document as r set status = p_document, findings = p_findings, facts = coalesce(p_facts, r.facts)
    where r.id = p_id and case when r.status = 'HELD' then true end;
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
$function$

CREATE OR REPLACE FUNCTION public.end_offers_of_binding()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  update consent_offer as o set withdrawn_at = new.updated_at
    from firm as f
    where f.id = new.firm_id and o.integrator_id = new.integrator_id and o.target_identifier in (f.ico, f.dic)
      and o.status in ('issued', 'viewed') and o.expires_at > new.updated_at and o.withdrawn_at is null;
  return null;
end $function$

CREATE OR REPLACE FUNCTION public.end_onboarding_of_binding()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  with ended as (
    update onboarding_request set status = 'revoked', next_action = null, version = version + 1, updated_at = greatest(updated_at, new.updated_at)
      where integrator_id = new.integrator_id and firm_id = new.firm_id and status <> 'revoked'
      returning id, version
  )
  insert into onboarding_history (request_id, version, status, trigger, occurred_at)
    select id, version, 'revoked', 'revoked', new.updated_at from ended;
  return null;
end $function$

CREATE OR REPLACE FUNCTION public.end_refresh_family(p_family bytea, p_audit jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
declare
  v_key_id uuid;
  v_key api_key;
begin
  delete from refresh_family where family_sha256 = p_family returning key_id into v_key_id;
  if not found then return false; end if;
  select * into v_key from api_key where id = v_key_id;
  perform audit_key(p_audit, 'refresh.revoked', v_key, '{}');
  return true;
end $function$

CREATE OR REPLACE FUNCTION public.end_refused(p_id uuid, p_outcome text, p_detail text, p_now timestamp with time zone, p_events jsonb, p_changes jsonb)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  if p_outcome = 'accepted' then
    perform 1 from apply_move(p_id, 1, 'validation_failed', 'rules_refused', p_detail, p_now, null, p_events, null, p_changes);
  end if;
end
$function$

CREATE OR REPLACE FUNCTION public.end_registration(p_key text, p_id uuid, p_state text, p_outcome text, p_code text, p_now timestamp with time zone)
 RETURNS TABLE(state text)
 LANGUAGE plpgsql
AS $function$
declare
  ended registration;
begin
  update registration as g
  set state = coalesce(p_state, g.state), outcome = p_outcome, code = p_code, operation_id = null, claimed_until = null, changed_at = p_now,
    migration_prepared_at = case when coalesce(p_state, g.state) = 'unregistered' then null when g.last_operation = 'prepare_migration' and p_outcome = 'done' then p_now else g.migration_prepared_at end,
    migration_key_id = case when coalesce(p_state, g.state) = 'unregistered' or (g.last_operation = 'prepare_migration' and p_outcome = 'refused') then null else g.migration_key_id end,
    migration_key_sealed = case when coalesce(p_state, g.state) = 'unregistered' or (g.last_operation = 'prepare_migration' and p_outcome = 'refused') then null else g.migration_key_sealed end
  where g.participant_key = p_key and g.operation_id = p_id
  returning g.* into ended;
  if not found then return; end if;
  update registration_operation as o set ended_at = p_now, outcome = p_outcome, code = p_code, state = ended.state where o.id = p_id;
  return query select ended.state;
end
$function$

CREATE OR REPLACE FUNCTION public.end_service_attempt(p_id uuid, p_version integer, p_status text, p_now timestamp with time zone, p_wait_ms bigint, p_plan text, p_attempt jsonb, p_exchange jsonb)
 RETURNS TABLE(received_at timestamp with time zone)
 LANGUAGE plpgsql
AS $function$
declare
  ended service_message;
  -- A deferred attempt was not made: its number is free again.
  v_not_made boolean := p_attempt ->> 'outcome' = 'deferred' and document_is_open(p_status);
begin
  update service_message as m
  set status = p_status, version = m.version + 1, lease_owner = null, lease_until = null,
    attempts = m.attempts - v_not_made::integer,
    next_attempt_at = case when document_is_open(p_status)
      then clock_timestamp() + p_wait_ms * interval '1 millisecond' end,
    answers = m.answers + (p_plan = 'answer')::integer,
    faults = case p_plan when 'fault' then m.faults + 1 when 'answer' then 0 else m.faults end,
    delivered_at = case when p_status = 'delivered' then p_now end,
    status_reason = case when document_is_open(p_status) or p_status = 'delivered' then m.status_reason
      else p_attempt ->> 'outcome' end
  where m.id = p_id and m.version = p_version
  returning m.* into ended;
  if not found then return; end if;
  if v_not_made then
    delete from service_attempt as a where a.message_id = p_id and a.number = (p_attempt ->> 'number')::integer;
  end if;
  update service_attempt as a
  set finished_at = p_now, outcome = p_attempt ->> 'outcome', code = p_attempt ->> 'code',
    detail = p_attempt ->> 'detail'
  where a.message_id = p_id and a.number = (p_attempt ->> 'number')::integer;
  if p_status = 'delivered' and p_exchange is not null then
    insert into exchange select (jsonb_populate_record(null::exchange, p_exchange)).* on conflict do nothing;
  end if;
  if p_status = 'delivered' and ended.kind = 'mls' then
    update exchange as e set status_at = p_now where e.id = ended.about and e.status_at is null;
  end if;
  return query
    select d.received_at from service_message as m
    left join mls_duty as d on d.id = m.about and m.kind = 'mls' where m.id = p_id;
end
$function$

CREATE OR REPLACE FUNCTION public.end_webhook_deliveries(p_id uuid, p_cause text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  v_first constant integer := 2000;
  v_subscription webhook_subscription;
  v_ids uuid[];
begin
  select * into v_subscription from webhook_subscription as s where s.id = p_id;
  if v_subscription.deleted_at is null then
    v_ids := array(
      select d.id from webhook_delivery as d
      where d.endpoint_id = v_subscription.endpoint_id and d.due_at is not null and d.subscription_id = p_id limit v_first
    );
  else
    v_ids := array(
      select d.id from webhook_delivery as d where d.subscription_id = p_id and d.settled_at is null limit v_first
    );
  end if;
  perform end_webhooks_named(v_ids, p_cause);
  if cardinality(v_ids) = v_first then
    update webhook_subscription as s set ending = p_cause, ending_from = 0,
      ending_to = (select max(d.position) from webhook_delivery as d where d.subscription_id = p_id)
    where s.id = p_id;
  end if;
end $function$

CREATE OR REPLACE FUNCTION public.end_webhooks_further(p_limit integer)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
declare
  v_subscription webhook_subscription;
  v_last bigint;
  v_ids uuid[];
begin
  select * into v_subscription from webhook_subscription
    where ending is not null order by id limit 1 for no key update skip locked;
  if not found then return false; end if;
  select max(w.position), array_agg(w.id) filter (
      where case when v_subscription.deleted_at is null then w.due_at is not null else w.settled_at is null end
    ) into v_last, v_ids
    from (
      select d.id, d.position, d.due_at, d.settled_at from webhook_delivery as d
      where d.subscription_id = v_subscription.id
        and d.position > v_subscription.ending_from and d.position <= v_subscription.ending_to
      order by d.position limit p_limit
    ) as w;
  if v_ids is not null then
    if v_subscription.active then
      perform 1 from webhook_delivery as d
      where d.id in (
        select unnest(v_ids)
        union
        select b.id from unnest(v_ids) as g (id) join webhook_delivery as e on e.id = g.id
        cross join lateral (
          select o.id from webhook_delivery as o
          where o.document_id = e.document_id and o.subscription_id = e.subscription_id and o.due_at is not null
          offset 0
        ) as b
      )
      order by d.id for update;
    end if;
    perform end_webhooks_named(v_ids, v_subscription.ending);
    if v_subscription.active then
      update webhook_delivery as d set due_at = clock_timestamp()
      from (
        select distinct on (b.document_id) b.id
        from (
          select distinct e.document_id from webhook_delivery as e where e.id = any (v_ids) and e.replay_of is null
        ) as over
        cross join lateral (
          select o.id, o.document_id, o.place from webhook_delivery as o
          where o.document_id = over.document_id and o.subscription_id = v_subscription.id
            and o.due_at is not null and o.replay_of is null
          offset 0
        ) as b
        order by b.document_id, b.place
      ) as next
      where d.id = next.id and case when d.due_at = 'infinity' then d.position > v_subscription.ending_to end;
    end if;
  end if;
  update webhook_subscription as s set
    ending = case when v_last is not null then s.ending end,
    ending_from = v_last,
    ending_to = case when v_last is not null then s.ending_to end
  where s.id = v_subscription.id;
  return true;
end
$function$

CREATE OR REPLACE FUNCTION public.end_webhooks_named(p_ids uuid[], p_cause text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform 1 from webhook_delivery as d where d.id = any (p_ids) order by d.id for update;
  update webhook_delivery as d
  set status = 'FAILED', due_at = null, lease_owner = null, settled_at = clock_timestamp(), cause = p_cause
  where d.id = any (p_ids) and d.settled_at is null;
end $function$

CREATE OR REPLACE FUNCTION public.end_white_label_customer(p_id uuid, p_audit jsonb)
 RETURNS text
 LANGUAGE plpgsql
AS $function$
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
$function$

CREATE OR REPLACE FUNCTION public.erase_firm_rows(p_firm uuid, p_limit integer)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  v_ids uuid[];
  v_gone integer := 0;
  v_some integer;
  v_salt uuid;
begin
  if not exists (select 1 from firm where id = p_firm and erased_at is not null) then return 0; end if;
  v_ids := array(select x.id from exchange as x where x.firm_id = p_firm order by x.exchanged_at limit p_limit);
  if cardinality(v_ids) > 0 then
    update firm set end_user_salt = coalesce(end_user_salt, gen_random_uuid()) where id = p_firm returning end_user_salt into v_salt;
    perform 1 from inbound_status where id = any (v_ids) order by id for update;
    delete from inbound_status where id = any (v_ids);
    perform 1 from exchange where id = any (v_ids) order by id for update;
    update exchange set firm_id = null, end_user = encode(sha256(convert_to(v_salt || end_user, 'UTF8')), 'hex')
      where id = any (v_ids) and firm_id = p_firm;
    return cardinality(v_ids);
  end if;

  v_ids := array(
    select d.id from document as d where d.firm_id = p_firm and not document_is_open(d.status) order by d.created_at limit p_limit
  );
  perform 1 from inbound_status where document_id = any (v_ids) order by id for update;
  v_ids := array(select d.id from document as d where d.id = any (v_ids) and not document_is_open(d.status) order by d.id for update);
  delete from inbound_status where document_id = any (v_ids);
  perform meter_erased(v_ids);
  v_gone := remove_documents(v_ids);
  if v_gone > 0 then return v_gone; end if;

  v_ids := array(select r.id from received_document as r where r.firm_id = p_firm order by r.id limit p_limit);
  perform 1 from mls_duty where id = any (v_ids) order by id for update;
  perform 1 from received_document where id = any (v_ids) order by id for update;
  perform meter_erased(v_ids);
  v_gone := remove_received(v_ids);
  if v_gone > 0 then return v_gone; end if;

  v_ids := array(
    select m.id from service_message as m where m.firm_id = p_firm and not document_is_open(m.status) order by m.id limit p_limit for update
  );
  v_gone := remove_service_messages(v_ids);
  delete from box_item where id in (select i.id from box_item as i where i.firm_id = p_firm order by i.id limit p_limit for update);
  get diagnostics v_some = row_count;
  v_gone := v_gone + v_some;
  delete from document_event where id in (select e.id from document_event as e where e.firm_id = p_firm limit p_limit)
    and not exists (select 1 from document as d where d.id = document_event.document_id);
  get diagnostics v_some = row_count;
  v_gone := v_gone + v_some;
  if v_gone > 0 then return v_gone; end if;

  v_ids := array(
    select w.id from webhook_subscription as s join webhook_delivery as w on w.subscription_id = s.id where s.firm_id = p_firm limit p_limit
  );
  perform 1 from webhook_delivery where id = any (v_ids) order by id for update;
  delete from webhook_delivery where id = any (v_ids);
  get diagnostics v_gone = row_count;
  if v_gone > 0 then return v_gone; end if;

  -- What no index finds by its firm is looked for once, when nothing else is left.
  delete from mls_duty where id in (select d.id from mls_duty as d where d.firm_id = p_firm order by d.id for update);
  get diagnostics v_gone = row_count;
  delete from webhook_delivery where id in (
    select d.id from webhook_delivery as d where d.firm_id = p_firm and d.customer_ref is not null order by d.id for update
  );
  get diagnostics v_some = row_count;
  v_gone := v_gone + v_some;
  -- Whoever is telling receivers of events holds their subscriptions: those are left to the upkeep of the engines.
  v_ids := array(select s.id from webhook_subscription as s where s.firm_id = p_firm for update skip locked);
  delete from webhook_subscription as s
    where s.id = any (v_ids) and not exists (select 1 from webhook_delivery as d where d.subscription_id = s.id);
  get diagnostics v_some = row_count;
  v_gone := v_gone + v_some;
  delete from webhook_endpoint as w
    where w.owner_id = p_firm and not exists (select 1 from webhook_subscription as s where s.endpoint_id = w.id)
      and not exists (select 1 from webhook_delivery as d where d.endpoint_id = w.id and d.due_at is not null);
  get diagnostics v_some = row_count;
  if v_gone + v_some = 0 then update firm set end_user_salt = null where id = p_firm and end_user_salt is not null; end if;
  return v_gone + v_some;
end $function$

CREATE OR REPLACE FUNCTION public.evidence_text(e evidence)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select array_to_string(array[
    'kurier-evidence-1', e.index::text, encode(e.previous_hash, 'hex'), e.direction, e.outcome, e.document_id::text, coalesce(e.firm_id::text, ''), e.message_id,
    e.references_sha256, e.object, e.byte_offset::text, e.byte_length::text, e.record_sha256, e.envelope_sha256, e.envelope_bytes::text,
    e.envelope_content_type, coalesce(e.answer_sha256, ''), (extract(epoch from e.request_at) * 1000)::bigint::text,
    coalesce((extract(epoch from e.answer_at) * 1000)::bigint::text, ''), (extract(epoch from e.stored_at) * 1000)::bigint::text
  ], E'\n')
$function$

CREATE OR REPLACE FUNCTION public.fan_out_connector(p_limit integer)
 RETURNS TABLE(read bigint, queued bigint)
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
AS $function$
#variable_conflict use_column
declare
  v_from feed_consumer;
  v_to record;
  v_queued bigint;
begin
  if not exists (select 1 from webhook_subscription where firm_id is null and deleted_at is null and active) then return; end if;
  select * into v_from from feed_consumer where name = 'connector' for update skip locked;
  if not found then return; end if;
  select f.transaction_id, f.feed_position, count(*) over () as events into v_to
    from read_feed(v_from.transaction_id, v_from.position, p_limit) as f
    order by f.transaction_id desc, f.feed_position desc limit 1;
  if not found then return; end if;

  perform 1 from webhook_subscription as s
    where s.firm_id is null and s.deleted_at is null and s.active order by s.id for key share;
  perform 1 from webhook_delivery as h
    where h.id = any (array(
      select o.id from (
        select distinct f.document_id from read_feed(v_from.transaction_id, v_from.position, p_limit) as f
      ) as f
      cross join lateral (
        select w.id from webhook_delivery as w
        where w.document_id = f.document_id and w.due_at is not null and w.customer_ref is not null
        offset 0
      ) as o
    ))
    order by h.id for update;

  with page as (
    select f.id, f.kind, f.document_id, f.firm_id, f.occurred_at, f.transaction_id, f.feed_position, f.part
    from read_feed(v_from.transaction_id, v_from.position, p_limit) as f
    where (f.transaction_id, f.feed_position) <= (v_to.transaction_id, v_to.feed_position)
  ), ahead as (
    select e.id, e.kind, e.document_id, e.firm_id, e.occurred_at, e.transaction_id, e.position as feed_position, 0::smallint as part
    from (select document_id, max(feed_position) as last from page group by document_id) as p
    join document_event as e on e.document_id = p.document_id and e.position < p.last
    where v_to.events >= p_limit and e.feed
      and (e.transaction_id, e.position) > (v_to.transaction_id, v_to.feed_position)
      and e.transaction_id < pg_snapshot_xmin(pg_current_snapshot())
  ), told as (
    select f.id, connector_event(f.kind, f.document_id) as event, f.document_id, f.firm_id, f.occurred_at,
      f.feed_position * 2 + f.part as place, s.id as subscription_id, s.endpoint_id, s.events, b.customer_ref
    from (
      select id, kind, document_id, firm_id, occurred_at, transaction_id, feed_position, part from page
      union all
      select id, kind, document_id, firm_id, occurred_at, transaction_id, feed_position, part from ahead
    ) as f
    join firm_binding as b on b.firm_id = f.firm_id and b.customer_ref is not null
    join webhook_subscription as s on s.integrator_id = b.integrator_id and s.firm_id is null and s.deleted_at is null
      and s.active and not pg_visible_in_snapshot(f.transaction_id, s.seen_from)
      and connector_is_told(s.integrator_id, f.firm_id)
    where (select 1 from webhook_delivery as x where x.subscription_id = s.id and x.event_id = f.id limit 1) is null
  ), added as (
    insert into webhook_delivery (
      id, subscription_id, endpoint_id, owner_id, firm_id, customer_ref, event_id, event, place, document_id, occurred_at,
      status, due_at, created_at
    )
    select new_row_id(), t.subscription_id, t.endpoint_id, t.subscription_id, t.firm_id, t.customer_ref, t.id, t.event,
      t.place, t.document_id, t.occurred_at, 'PENDING',
      case
        when row_number() over (partition by t.subscription_id, t.document_id order by t.place) > 1 then 'infinity'
        when exists (
          select 1 from webhook_delivery as h
          where h.document_id = t.document_id and h.subscription_id = t.subscription_id and h.due_at is not null
            and h.replay_of is null
        ) then 'infinity'
        else now()
      end,
      clock_timestamp()
    from told as t
    where t.event = any (t.events)
    order by t.place
    on conflict do nothing
    returning 1
  )
  select count(*) into v_queued from added;

  update feed_consumer set transaction_id = v_to.transaction_id, position = v_to.feed_position where name = 'connector';
  return query select v_to.events, v_queued;
end
$function$

CREATE OR REPLACE FUNCTION public.fan_out_webhooks(p_limit integer, p_owner text DEFAULT NULL::text, p_lease_ms integer DEFAULT 0, p_places integer DEFAULT 0, p_per_endpoint integer DEFAULT 0, p_per_owner integer DEFAULT 0, p_first integer DEFAULT 0)
 RETURNS TABLE(read bigint, queued bigint, waiting bigint, taken uuid[])
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
AS $function$
#variable_conflict use_column
declare
  v_from feed_consumer;
  v_id uuid[];
  v_kind text[];
  v_document uuid[];
  v_firm uuid[];
  v_occurred timestamptz[];
  v_transaction xid8[];
  v_position bigint[];
  v_part smallint[];
  v_subscriptions webhook_subscription[];
  v_events integer;
  v_queued bigint;
  v_waiting bigint;
  v_taken uuid[];
begin
  select * into v_from from feed_consumer where name = 'webhooks' for update skip locked;
  if not found then return; end if;
  select count(*), array_agg(f.id), array_agg(f.kind), array_agg(f.document_id), array_agg(f.firm_id),
      array_agg(f.occurred_at), array_agg(f.transaction_id), array_agg(f.feed_position), array_agg(f.part)
    into v_events, v_id, v_kind, v_document, v_firm, v_occurred, v_transaction, v_position, v_part
    from (
      select * from read_feed(v_from.transaction_id, v_from.position, p_limit) as f
      order by f.transaction_id, f.feed_position, f.part
    ) as f;
  if v_events = 0 then return; end if;

  select array_agg(t.locked) into v_subscriptions from (
    select s as locked from webhook_subscription as s
    where s.deleted_at is null and s.active and s.firm_id = any (v_firm) order by s.id for key share
  ) as t;
  if v_subscriptions is null then
    v_queued := 0;
    v_waiting := 0;
  else
    perform 1 from webhook_delivery as h
      where h.id = any (array(
        select o.id from (select distinct f.id from unnest(v_document) as f (id)) as f
        cross join lateral (
          select w.id from webhook_delivery as w where w.document_id = f.id and w.due_at is not null offset 0
        ) as o
      ))
      order by h.id for update;
    if p_places > 0 then perform begin_webhook_leases(); end if;
    -- What a full page leaves behind of its documents.
    if v_events >= p_limit then
      select v_id || array_agg(e.id), v_kind || array_agg(e.kind), v_document || array_agg(e.document_id),
          v_firm || array_agg(e.firm_id), v_occurred || array_agg(e.occurred_at),
          v_transaction || array_agg(e.transaction_id), v_position || array_agg(e.position),
          v_part || array_agg(0::smallint)
        into v_id, v_kind, v_document, v_firm, v_occurred, v_transaction, v_position, v_part
        from (
          select f.document_id, max(f.feed_position) as last
          from unnest(v_document, v_position) as f (document_id, feed_position) group by f.document_id
        ) as p
        join document_event as e on e.document_id = p.document_id and e.position < p.last
        where e.feed and (e.transaction_id, e.position) > (v_transaction[v_events], v_position[v_events])
          and e.transaction_id < pg_snapshot_xmin(pg_current_snapshot());
    end if;

    with page as (
      select f.id, f.kind, f.document_id, f.firm_id, f.occurred_at, f.transaction_id, f.feed_position, f.part
      from unnest(v_id, v_kind, v_document, v_firm, v_occurred, v_transaction, v_position, v_part)
        as f (id, kind, document_id, firm_id, occurred_at, transaction_id, feed_position, part)
    ), told as materialized (
      select f.id, f.kind, f.document_id, f.occurred_at, f.feed_position * 2 + f.part as place, s.id as subscription_id,
        s.endpoint_id, s.firm_id, coalesce(s.integrator_id, s.firm_id) as owner_id
      from page as f
      join unnest(v_subscriptions) as s on s.firm_id = f.firm_id and f.kind = any (s.events)
        and not pg_visible_in_snapshot(f.transaction_id, s.seen_from)
        and (s.integrator_id is null or webhook_is_allowed(s.integrator_id, s.firm_id))
      where (select 1 from webhook_delivery as x where x.subscription_id = s.id and x.event_id = f.id limit 1) is null
    ), ordered as materialized (
      select t.id, t.kind, t.document_id, t.occurred_at, t.place, t.subscription_id, t.endpoint_id, t.firm_id, t.owner_id,
        row_number() over (order by t.place, t.subscription_id) as n,
        row_number() over (partition by t.subscription_id, t.document_id order by t.place) = 1 and not exists (
          select 1 from webhook_delivery as h
          where h.document_id = t.document_id and h.subscription_id = t.subscription_id and h.due_at is not null
            and h.replay_of is null
        ) as is_first
      from told as t
    ), leased as materialized (
      select l.endpoint_id, l.owner_id, l.places from leased_webhooks() as l where p_places > 0
    ), free as materialized (
      select w.id, w.owner_id from webhook_endpoint as w
      where p_places > 0 and w.id = any (array(select distinct o.endpoint_id from ordered as o where o.is_first))
        and w.failures = 0 and w.rest_until is null and not webhook_is_due(w.id)
    ), turns as (
      select o.n, o.owner_id, o.place,
        coalesce(l.places, 0) + row_number() over (partition by o.endpoint_id order by o.place) as turn
      from ordered as o
      join free as w on w.id = o.endpoint_id
      left join leased as l on l.endpoint_id = w.id and l.owner_id = w.owner_id
      where o.is_first
    ), shares as (
      select t.n, t.turn, t.place,
        row_number() over (partition by t.owner_id order by t.turn, t.place) + coalesce(busy.places, 0) as share
      from turns as t left join (
        select l.owner_id, sum(l.places) as places from leased as l group by l.owner_id
      ) as busy on busy.owner_id = t.owner_id
    ), chosen as materialized (
      select coalesce(array_agg(c.n), '{}') as ns from (
        select s.n from shares as s
        where s.turn <= p_per_endpoint and s.share <= p_per_owner and (s.turn = 1 or s.share <= p_per_owner - p_first)
        order by s.turn, s.place limit p_places
      ) as c
    ), added as (
      insert into webhook_delivery (
        id, subscription_id, endpoint_id, owner_id, firm_id, event_id, event, place, document_id, occurred_at, status,
        due_at, lease_owner, attempted_at, begun, created_at
      )
      select new_row_id(), t.subscription_id, t.endpoint_id, t.owner_id, t.firm_id, t.id, t.kind, t.place, t.document_id,
        t.occurred_at, 'PENDING',
        case
          when t.endpoint_id is null then null
          when not t.is_first then 'infinity'
          when t.is_taken then clock_timestamp() + p_lease_ms * interval '1 millisecond'
          else now()
        end,
        case when t.is_taken then p_owner end, case when t.is_taken then clock_timestamp() end, t.is_taken::integer,
        clock_timestamp()
      from (
        select o.id, o.kind, o.document_id, o.occurred_at, o.place, o.subscription_id, o.endpoint_id, o.firm_id, o.owner_id,
          o.is_first, o.n = any ((select c.ns from chosen as c)::bigint[]) as is_taken
        from ordered as o
      ) as t
      order by t.place
      on conflict do nothing
      returning id, subscription_id, document_id, place, due_at, lease_owner
    )
    select count(*), count(*) filter (where isfinite(a.due_at) and a.lease_owner is null),
        array_agg(a.id order by a.place) filter (where (a.subscription_id, a.document_id) in (
          select h.subscription_id, h.document_id from added as h where h.lease_owner is not null
        ))
      into v_queued, v_waiting, v_taken
      from added as a;
  end if;

  update feed_consumer set transaction_id = v_transaction[v_events], position = v_position[v_events] where name = 'webhooks';
  return query select v_events::bigint, v_queued, v_waiting, v_taken;
end
$function$

CREATE OR REPLACE FUNCTION public.find_precedent(p_id uuid, p_door text, p_firm_id uuid, p_sender text, p_idempotency_key text, p_erp_document_id text, p_request_sha256 text, p_payload_sha256 text)
 RETURNS TABLE(outcome text, document_id uuid, reply_status smallint, reply_body text)
 LANGUAGE sql
 STABLE
AS $function$
  select
    case
      when f.taken = 'own_id' then 'replay'
      -- At SAPI a documentId names one document for ever; elsewhere the same request under the same external id is a repeat.
      when f.request_sha256 = decode(p_request_sha256, 'hex') and (f.taken = 'key_conflict' or p_door <> 'sapi') then 'replay'
      else f.taken
    end,
    f.id, f.reply_status, f.reply_body
  from (
    -- The same statement came again, because its first answer was lost.
    select 1 as precedence, 'own_id' as taken, d.id, d.request_sha256, d.reply_status, d.reply_body
    from document as d where d.id = p_id
    union all
    select 2, 'key_conflict', d.id, d.request_sha256, d.reply_status, d.reply_body
    from document as d
    where p_door = 'sapi' and d.door = 'sapi' and d.sender_key = lower(p_sender) and d.idempotency_key = p_idempotency_key
    union all
    select 3, 'duplicate_document', d.id, d.request_sha256, d.reply_status, d.reply_body
    from document as d
    where p_door = 'sapi' and d.door = 'sapi' and d.sender_key = lower(p_sender) and d.erp_document_id = p_erp_document_id
    union all
    select 4, 'duplicate_payload', d.id, d.request_sha256, d.reply_status, d.reply_body
    from document as d
    where p_door = 'sapi' and d.door = 'sapi' and d.sender_key = lower(p_sender) and d.payload_sha256 = decode(p_payload_sha256, 'hex')
    union all
    select 2, 'key_conflict', d.id, d.request_sha256, d.reply_status, d.reply_body
    from document as d
    where p_door <> 'sapi' and d.door <> 'sapi' and d.firm_id = p_firm_id and d.door = p_door and d.idempotency_key = p_idempotency_key
    union all
    select 3, 'duplicate_document', d.id, d.request_sha256, d.reply_status, d.reply_body
    from document as d
    where p_door <> 'sapi' and d.door <> 'sapi' and d.firm_id = p_firm_id and d.door = p_door and d.erp_document_id = p_erp_document_id
  ) as f
  order by f.precedence
  limit 1
$function$

CREATE OR REPLACE FUNCTION public.finish_sign_in(p_visit bytea, p_place bytea, p_code bytea, p_now timestamp with time zone, p_tries_max integer, p_session bytea, p_expires timestamp with time zone, p_sessions_max integer, p_places_max integer)
 RETURNS text
 LANGUAGE plpgsql
AS $function$
declare
  v_person uuid;
  v_address bytea;
  v_right boolean;
  v_tries integer;
begin
  update sign_in set tries = tries + 1
    where visit_sha256 = p_visit and tries < p_tries_max and expires_at > p_now
    returning person_id, address_sha256, person_id is not null and code_hmac = p_code, tries
    into v_person, v_address, v_right, v_tries;
  if not found then return 'used_up'; end if;
  if not v_right then return case when v_tries >= p_tries_max then 'used_up' else 'wrong' end; end if;
  update sign_in set expires_at = p_now where visit_sha256 = p_visit;
  insert into person_session (token_sha256, person_id, created_at, seen_at, expires_at)
    values (p_session, v_person, p_now, p_now, p_expires);
  delete from person_session where token_sha256 in (
    select token_sha256 from person_session where person_id = v_person
    order by created_at desc, token_sha256 offset p_sessions_max);
  insert into sign_in_place (address_sha256, place_sha256, seen_at) values (v_address, p_place, p_now)
    on conflict (address_sha256, place_sha256) do update set seen_at = excluded.seen_at;
  delete from sign_in_place where address_sha256 = v_address and place_sha256 in (
    select place_sha256 from sign_in_place where address_sha256 = v_address
    order by seen_at desc, place_sha256 offset p_places_max);
  return 'signed_in';
end $function$

CREATE OR REPLACE FUNCTION public.firm_is_managed(p_integrator uuid, p_firm uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce((
    select a.mode = 'managed_service' from (
      select relationship_mode as mode, decided_at as at from consent_offer
      where integrator_id = p_integrator and firm_id = p_firm and status = 'accepted'
      union all
      select relationship_mode, updated_at from onboarding_request
      where integrator_id = p_integrator and firm_id = p_firm and status = 'active'
    ) as a order by a.at desc limit 1
  ), false)
$function$

CREATE OR REPLACE FUNCTION public.firm_is_target(p_firm uuid, p_target text)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select exists (select 1 from firm where id = p_firm and (ico = p_target or dic = p_target))
$function$

CREATE OR REPLACE FUNCTION public.forget_people(p_people uuid[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  v_people uuid[] := array(
    select p.id from unnest(p_people) as p (id) where not exists (select 1 from membership as m where m.person_id = p.id)
  );
  v_addresses bytea[];
begin
  delete from sign_in where person_id = any (v_people);
  delete from person_session where person_id = any (v_people);
  delete from oauth_code where person_id = any (v_people);
  perform 1 from person where id = any (v_people) order by id for update;
  with gone as (
    delete from person as p
      where p.id = any (v_people) and not exists (select 1 from membership as m where m.person_id = p.id)
        and not exists (select 1 from sign_in as s where s.person_id = p.id)
        and not exists (select 1 from person_session as s where s.person_id = p.id)
        and not exists (select 1 from oauth_code as c where c.person_id = p.id)
      returning p.email
  )
  select coalesce(array_agg(sha256(convert_to('address:' || gone.email, 'UTF8'))), '{}') into v_addresses from gone;
  delete from sign_in where address_sha256 = any (v_addresses);
  delete from sign_in_place where address_sha256 = any (v_addresses);
end $function$

CREATE OR REPLACE FUNCTION public.free_box_leases(p_owner text, p_node text, p_working uuid[], p_young_ms integer, p_dead_ms integer)
 RETURNS integer
 LANGUAGE sql
AS $function$
  with idle as (
    select i.id from box_item as i
    where case when i.due_at > clock_timestamp() then true end and i.status = 'sending' and i.lease_owner is not null
      and (starts_with(i.lease_owner, p_node || '/')
        or (i.lease_owner = p_owner and i.id <> all (p_working)
          and i.locked_at < clock_timestamp() - p_young_ms * interval '1 millisecond')
        or (i.locked_at < clock_timestamp() - p_dead_ms * interval '1 millisecond' and split_part(i.lease_owner, '#', 1) <> p_owner
          and not exists (select 1 from dispatcher as d where d.owner = split_part(i.lease_owner, '#', 1))))
    for update skip locked
  ), freed as (
    update box_item as i set due_at = clock_timestamp(), version = i.version + 1 from idle where i.id = idle.id returning 1
  )
  select count(*)::integer from freed
$function$

CREATE OR REPLACE FUNCTION public.free_dead(p_owner text, p_dead_ms integer)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  v_silent_since timestamptz := clock_timestamp() - p_dead_ms * interval '1 millisecond';
  v_dead text[];
  v_documents integer;
  v_messages integer;
  v_duties integer;
begin
  perform 1 from dispatcher as d where d.owner = p_owner and d.heard_since <= v_silent_since;
  if not found then return 0; end if;
  with gone as (
    delete from dispatcher as d where d.owner <> p_owner and d.seen_at < v_silent_since returning d.owner
  )
  select array_agg(gone.owner) into v_dead from gone;
  if v_dead is null then return 0; end if;
  update document as d set lease_until = '-infinity', version = d.version + 1
  where d.next_attempt_at is not null and d.lease_owner = any (v_dead) and d.lease_until > '-infinity';
  get diagnostics v_documents = row_count;
  update service_message as m set lease_owner = null, lease_until = null, version = m.version + 1
  where m.next_attempt_at is not null and m.lease_owner = any (v_dead);
  get diagnostics v_messages = row_count;
  update mls_duty as d set lease_owner = null, lease_until = null
  where d.next_at is not null and d.lease_until is not null and d.lease_owner = any (v_dead);
  get diagnostics v_duties = row_count;
  return v_documents + v_messages + v_duties;
end
$function$

CREATE OR REPLACE FUNCTION public.free_idle_leases(p_owner text, p_working uuid[], p_lease_ms integer, p_young_ms integer)
 RETURNS TABLE(id uuid)
 LANGUAGE sql
AS $function$
  update document as d set lease_until = '-infinity', version = d.version + 1
  where d.next_attempt_at is not null and d.lease_owner = p_owner and d.id <> all (p_working)
    and d.lease_until > '-infinity'
    and d.lease_until < clock_timestamp() + (p_lease_ms - p_young_ms) * interval '1 millisecond'
  returning d.id
$function$

CREATE OR REPLACE FUNCTION public.free_idle_service_leases(p_owner text, p_messages uuid[], p_duties uuid[], p_lease_ms integer, p_young_ms integer)
 RETURNS TABLE(id uuid)
 LANGUAGE sql
AS $function$
  with messages as (
    update service_message as m set lease_owner = null, lease_until = null, version = m.version + 1
    where m.next_attempt_at is not null and m.lease_owner = p_owner and m.id <> all (p_messages)
      and m.lease_until < clock_timestamp() + (p_lease_ms - p_young_ms) * interval '1 millisecond'
    returning m.id
  ), duties as (
    update mls_duty as d set lease_owner = null, lease_until = null
    where d.next_at is not null and d.lease_owner = p_owner and d.id <> all (p_duties)
      and d.lease_until < clock_timestamp() + (p_lease_ms - p_young_ms) * interval '1 millisecond'
    returning d.id
  )
  select messages.id from messages union all select duties.id from duties
$function$

CREATE OR REPLACE FUNCTION public.free_waiting_webhooks(p_document uuid, p_subscription uuid, p_place bigint, p_limit integer)
 RETURNS TABLE(document_id uuid, subscription_id uuid, place bigint)
 LANGUAGE plpgsql
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_sort TO 'off'
AS $function$
#variable_conflict use_column
begin
  return query
  with part as materialized (
    select d.id, d.document_id, d.subscription_id, d.place, d.due_at from webhook_delivery as d
    where d.due_at is not null and (d.document_id, d.subscription_id, d.place) > (p_document, p_subscription, p_place)
    order by d.document_id, d.subscription_id, d.place limit p_limit
  ), free as (
    select w.id from part cross join lateral (
      select o.id from webhook_delivery as o
      where o.id = part.id and case when o.due_at = 'infinity' then (
        select 1 from webhook_delivery as h
        where h.document_id = o.document_id and h.subscription_id = o.subscription_id and h.due_at is not null
          and h.replay_of is null and h.place < o.place
        limit 1
      ) is null end
      for update skip locked
    ) as w
    where part.due_at = 'infinity'
  ), freed as (
    update webhook_delivery as d set due_at = clock_timestamp() from free where d.id = free.id
  )
  select part.document_id, part.subscription_id, part.place from part offset p_limit - 1;
end
$function$

CREATE OR REPLACE FUNCTION public.free_webhook_leases(p_owner text, p_working uuid[], p_young_ms integer, p_dead_ms integer)
 RETURNS integer
 LANGUAGE sql
AS $function$
  with idle as (
    select d.id from webhook_delivery as d
    where d.lease_owner is not null and case when d.due_at > now() then true end
      and (
        (d.lease_owner = p_owner and d.id <> all (p_working)
          and d.attempted_at < clock_timestamp() - p_young_ms * interval '1 millisecond')
        or (d.lease_owner <> p_owner and strpos(d.lease_owner, '#') = 0
          and d.attempted_at < clock_timestamp() - p_dead_ms * interval '1 millisecond'
          and not exists (select 1 from dispatcher as p where p.owner = d.lease_owner))
      )
    for update skip locked
  ), freed as (
    update webhook_delivery as d set lease_owner = null, due_at = clock_timestamp() from idle where d.id = idle.id
    returning 1
  )
  select count(*)::integer from freed
$function$

CREATE OR REPLACE FUNCTION public.hasten_document(p_id uuid)
 RETURNS TABLE(version integer)
 LANGUAGE sql
AS $function$
  update document as d set next_attempt_at = clock_timestamp(), version = d.version + 1
  where d.id = p_id and case when d.next_attempt_at > clock_timestamp() then true end
    and (d.lease_until is null or d.lease_until < clock_timestamp())
  returning d.version
$function$

CREATE OR REPLACE FUNCTION public.hear_dispatcher(p_owner text, p_dead_ms integer)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
declare
  v_silent_since timestamptz := clock_timestamp() - p_dead_ms * interval '1 millisecond';
  v_heard_since timestamptz;
begin
  insert into dispatcher as d (owner, seen_at) values (p_owner, clock_timestamp())
  on conflict (owner) do update set seen_at = excluded.seen_at,
    heard_since = case when d.seen_at < v_silent_since then excluded.seen_at else d.heard_since end
  returning d.heard_since into v_heard_since;
  return v_heard_since <= v_silent_since
    and exists (select 1 from dispatcher as d where d.owner <> p_owner and d.seen_at < v_silent_since);
end
$function$

CREATE OR REPLACE FUNCTION public.hold_document(p_id uuid, p_outcome text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  if p_outcome = 'accepted' then
    update document as d set staged = 'held', staged_at = d.created_at, next_attempt_at = null where d.id = p_id;
  end if;
end
$function$

CREATE OR REPLACE FUNCTION public.id_floor(p_at timestamp with time zone)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select (lpad(to_hex((extract(epoch from p_at) * 1000)::bigint), 12, '0') || '00000000000000000000')::uuid
$function$

CREATE OR REPLACE FUNCTION public.keep_audit_entry()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if tg_op = 'DELETE' and old.occurred_at < now() - interval '730 days' then return old; end if;
  raise exception 'entries of audit_entry are append-only';
end $function$

CREATE OR REPLACE FUNCTION public.keep_connector_request(p_subscription uuid, p_key text, p_sha256 text, p_made uuid)
 RETURNS TABLE(outcome text, made uuid)
 LANGUAGE plpgsql
AS $function$
#variable_conflict use_column
begin
  insert into connector_request (subscription_id, idempotency_key, request_sha256, made, created_at)
  values (p_subscription, p_key, p_sha256, p_made, clock_timestamp())
  on conflict do nothing;
  if found then
    return query select 'new', p_made;
    return;
  end if;
  return query
  select case when r.request_sha256 = p_sha256 then 'repeat' else 'conflict' end, r.made
  from connector_request as r where r.subscription_id = p_subscription and r.idempotency_key = p_key;
end
$function$

CREATE OR REPLACE FUNCTION public.keep_evidence()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if old.stored_at < now() - interval '10 years' and exists (
    select 1 from evidence_tombstone as t where old.index between t.first_index and t.last_index
  ) then
    return old;
  end if;
  raise exception 'evidence is never changed';
end $function$

CREATE OR REPLACE FUNCTION public.keep_tombstone()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'tombstones of evidence are never changed';
end $function$

CREATE OR REPLACE FUNCTION public.key_has_ended(p_key uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  with recursive heir (id, active, successor_id) as (
    select k.id, k.active, k.successor_id from api_key as k where k.id = p_key
    union all
    select k.id, k.active, k.successor_id from heir join api_key as k on k.id = heir.successor_id
  )
  select coalesce(not bool_or(heir.active), false) from heir
$function$

CREATE OR REPLACE FUNCTION public.lease_rate(p_key text, p_want integer, p_unused integer, p_limit integer, p_window_ms integer, p_bucket_ms integer, p_now timestamp with time zone DEFAULT NULL::timestamp with time zone)
 RETURNS TABLE(granted integer, used integer, resets_in_ms integer)
 LANGUAGE plpgsql
AS $function$
declare
  v_now timestamptz;
  v_now_ms bigint;
  v_bucket bigint;
  v_buckets bigint[];
  v_admitted integer[];
  v_used integer;
  v_granted integer;
begin
  insert into rate_window (key, buckets, admitted, touched_at) values (p_key, '{}', '{}', clock_timestamp()) on conflict (key) do nothing;
  select w.buckets, w.admitted into v_buckets, v_admitted from rate_window w where w.key = p_key for update;
  v_now := coalesce(p_now, clock_timestamp());
  v_now_ms := floor(extract(epoch from v_now) * 1000);
  v_bucket := v_now_ms / p_bucket_ms;
  -- What is given back is taken from the newest buckets.
  select coalesce(array_agg(r.b order by r.b), '{}'), coalesce(array_agg(r.n order by r.b), '{}'), coalesce(sum(r.n), 0)
    into v_buckets, v_admitted, v_used
    from (
      select u.b, (u.n - greatest(0, least(u.n, p_unused - coalesce(sum(u.n) over (order by u.b desc rows between unbounded preceding and 1 preceding), 0))))::integer as n
      from unnest(v_buckets, v_admitted) as u (b, n)
      where u.b >= (v_now_ms - p_window_ms) / p_bucket_ms and u.b <= (v_now_ms + p_window_ms) / p_bucket_ms
    ) r where r.n > 0;
  v_granted := greatest(0, least(p_want, p_limit - v_used));
  if v_granted > 0 then
    if cardinality(v_buckets) > 0 and v_buckets[cardinality(v_buckets)] >= v_bucket then
      v_admitted[cardinality(v_admitted)] := v_admitted[cardinality(v_admitted)] + v_granted;
    else
      v_buckets := v_buckets || v_bucket;
      v_admitted := v_admitted || v_granted;
    end if;
  end if;
  update rate_window w set buckets = v_buckets, admitted = v_admitted, touched_at = v_now where w.key = p_key;
  return query select v_granted, v_used + v_granted,
    case when cardinality(v_buckets) = 0 then 0 else ((v_buckets[1] + 1) * p_bucket_ms + p_window_ms - v_now_ms)::integer end;
end $function$

CREATE OR REPLACE FUNCTION public.leased_webhooks()
 RETURNS TABLE(endpoint_id uuid, owner_id uuid, places bigint)
 LANGUAGE sql
 STABLE ROWS 64
AS $function$
  select l.endpoint_id, l.owner_id, count(*) from webhook_delivery as l
  where l.lease_owner is not null and case when l.due_at > now() then true end
  group by l.endpoint_id, l.owner_id
$function$

CREATE OR REPLACE FUNCTION public.leave_payload_object()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into payload_leftover (object) select distinct object from gone on conflict do nothing;
  return null;
end $function$

CREATE OR REPLACE FUNCTION public.lock_living_firm(p_firm uuid)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  perform 1 from firm as f where f.id = p_firm and f.erased_at is null for key share;
  return found;
end
$function$

CREATE OR REPLACE FUNCTION public.mark_document(p_id uuid, p_participant_key text, p_firm_id uuid, p_state text, p_note text, p_now timestamp with time zone)
 RETURNS TABLE(marked_at timestamp with time zone, note text, acknowledged_at timestamp with time zone)
 LANGUAGE sql
AS $function$
  select m.marked_at, m.note, m.acknowledged_at
  from mark_document(p_id, p_participant_key, p_firm_id, p_state, p_note, p_now, gen_random_uuid()) as m
$function$

CREATE OR REPLACE FUNCTION public.mark_document(p_id uuid, p_participant_key text, p_firm_id uuid, p_state text, p_note text, p_now timestamp with time zone, p_event_id uuid)
 RETURNS TABLE(marked_at timestamp with time zone, note text, acknowledged_at timestamp with time zone)
 LANGUAGE plpgsql
AS $function$
#variable_conflict use_column
declare
  v_acknowledged timestamptz;
  v_marked document_mark;
  v_sent boolean;
begin
  update document as d
  set acknowledged_at = case when p_state = 'processed' then coalesce(d.acknowledged_at, p_now) else d.acknowledged_at end
  where d.id = p_id and d.sender_key = p_participant_key and d.firm_id = p_firm_id
  returning d.acknowledged_at into v_acknowledged;
  v_sent := found;
  if not v_sent then
    update received_document as r
    set status = case when p_state = 'processed' then 'ACKNOWLEDGED' else r.status end,
      acknowledged_at = case when p_state = 'processed' then coalesce(r.acknowledged_at, p_now) else r.acknowledged_at end,
      api_received_at = coalesce(r.api_received_at, p_now)
    where r.id = p_id and r.participant_key = p_participant_key and r.firm_id = p_firm_id and received_is_visible(r.status)
    returning r.acknowledged_at into v_acknowledged;
    if not found then return; end if;
  end if;
  insert into document_mark (document_id, state, firm_id, note, marked_at)
  values (p_id, p_state, p_firm_id, p_note, p_now)
  on conflict (document_id, state) do nothing
  returning * into v_marked;
  if not found then
    update document_mark as m set note = coalesce(p_note, m.note) where m.document_id = p_id and m.state = p_state
    returning * into v_marked;
  elsif v_sent then
    insert into document_event (id, document_id, firm_id, kind, actor, feed, meta, occurred_at)
    values (p_event_id, p_id, p_firm_id, 'document.marked', 'api', false, jsonb_build_object('mark', p_state), p_now);
  end if;
  return query select v_marked.marked_at, v_marked.note, v_acknowledged;
end
$function$

CREATE OR REPLACE FUNCTION public.meter_erased(p_ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  v_sent feed_consumer;
  v_received feed_consumer;
begin
  if cardinality(p_ids) = 0 then return; end if;
  -- Waits for a meter that counts at this moment: its place is then behind all that it has counted.
  select * into v_sent from feed_consumer where name = 'meter' for update;
  select * into v_received from feed_consumer where name = 'meter receipts' for update;
  with due as (
    select e.id, e.firm_id, 'outbound' as direction, billing_month(e.occurred_at) as month
    from document_event as e
    where e.document_id = any (p_ids) and e.kind = 'document.delivered'
      and (e.transaction_id, e.position) > (v_sent.transaction_id, v_sent.position)
    union all
    select r.id, r.firm_id, 'inbound', billing_month(r.api_received_at)
    from received_document as r
    where r.id = any (p_ids) and r.api_transaction_id is not null
      and (r.api_transaction_id, r.position) > (v_received.transaction_id, v_received.position)
  ), counted as (
    insert into metered_event (event_id, firm_id, direction, month) select id, firm_id, direction, month from due
    on conflict (event_id) do nothing
    returning firm_id, direction, month
  )
  insert into usage_month as u (firm_id, month, outbound, inbound)
  select firm_id, month, count(*) filter (where direction = 'outbound'), count(*) filter (where direction = 'inbound')
  from counted group by firm_id, month order by firm_id, month
  on conflict (firm_id, month) do update
    set outbound = u.outbound + excluded.outbound, inbound = u.inbound + excluded.inbound;
end $function$

CREATE OR REPLACE FUNCTION public.meter_events(p_limit integer, p_kept_since date)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  v_sent feed_consumer;
  v_received feed_consumer;
  v_read integer;
begin
  select * into v_sent from feed_consumer where name = 'meter' for update skip locked;
  if not found then return 0; end if;
  select * into v_received from feed_consumer where name = 'meter receipts' for update;

  with told as materialized (
    select f.transaction_id, f.feed_position, f.id, f.kind, f.firm_id, f.occurred_at
    from read_feed(v_sent.transaction_id, v_sent.position, p_limit) as f
  ), shown as materialized (
    select r.api_transaction_id, r.position, r.id, r.firm_id, r.api_received_at
    from received_document as r
    where r.api_transaction_id is not null
      and (r.api_transaction_id, r.position) > (v_received.transaction_id, v_received.position)
      and r.api_transaction_id < pg_snapshot_xmin(pg_current_snapshot())
    order by r.api_transaction_id, r.position limit p_limit
  ), due as (
    select id, firm_id, 'outbound' as direction, billing_month(occurred_at) as month from told
    where kind = 'document.delivered'
    union all
    select id, firm_id, 'inbound', billing_month(api_received_at) from shown
  ), counted as (
    insert into metered_event (event_id, firm_id, direction, month)
    select id, firm_id, direction, month from due where month >= p_kept_since
    on conflict (event_id) do nothing
    returning firm_id, direction, month
  ), summed as (
    insert into usage_month as u (firm_id, month, outbound, inbound)
    select firm_id, month, count(*) filter (where direction = 'outbound'), count(*) filter (where direction = 'inbound')
    from counted group by firm_id, month order by firm_id, month
    on conflict (firm_id, month) do update
      set outbound = u.outbound + excluded.outbound, inbound = u.inbound + excluded.inbound
  ), moved as (
    update feed_consumer as c set transaction_id = last.transaction_id, position = last.position
    from (
      (select 'meter' as name, transaction_id, feed_position as position from told order by 2 desc, 3 desc limit 1)
      union all
      (select 'meter receipts', api_transaction_id, position from shown order by 2 desc, 3 desc limit 1)
    ) as last
    where c.name = last.name
  )
  select (select count(*) from told) + (select count(*) from shown) into v_read;
  return v_read;
end
$function$

CREATE OR REPLACE FUNCTION public.move_announced_payloads(p_object text, p_ids uuid[], p_key_ids text[], p_offsets integer[], p_lengths integer[])
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
begin
  delete from payload_announced where object = p_object;
  if not found then
    insert into payload_leftover (object) values (p_object) on conflict (object) do nothing;
    return 0;
  end if;
  return move_payloads_of(p_object, p_ids, p_key_ids, p_offsets, p_lengths);
end $function$

CREATE OR REPLACE FUNCTION public.move_box_item(p_move jsonb, p_events jsonb, p_audit jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
declare
  v_id uuid := (p_move ->> 'id')::uuid;
  v_firm uuid := (p_move ->> 'firmId')::uuid;
  v_trigger text := p_move ->> 'trigger';
  v_to text := p_move ->> 'to';
  v_scheduled timestamptz := (p_move ->> 'scheduledFor')::timestamptz;
  v_document document;
  v_item box_item;
  v_waits boolean;
  v_leaves boolean;
  v_key uuid := case when v_to <> 'cancelled' and p_audit ->> 'actorType' = 'api_key' then (p_audit ->> 'actorId')::uuid end;
  v_generation integer;
begin
  select d.* into v_document from document as d join box_item as i on i.document_id = d.id
  where i.id = v_id and i.firm_id = v_firm for update of d;
  select * into v_item from box_item as i
  where i.id = v_id and i.firm_id = v_firm and i.version = (p_move ->> 'version')::integer for update;
  if not found then return false; end if;
  v_waits := v_document.id is not null and document_is_open(v_document.status);
  v_leaves := v_document.id is not null and not v_waits and v_to <> 'cancelled';
  -- Somebody has begun an attempt: the item is not what it was decided on.
  if v_waits and v_document.lease_owner is not null then return false; end if;
  -- An attempt that was cut may have arrived: the document is ours to see to its end.
  if v_waits and v_to = 'cancelled' and document_was_cut(v_document.id) then return false; end if;
  if v_waits and v_to = 'cancelled' then
    perform 1 from apply_move(v_document.id, v_document.version, p_move ->> 'documentStatus', 'cancelled', p_move ->> 'reason',
      clock_timestamp(), null, p_events, null, jsonb_build_object('statusReason', p_move ->> 'reason'));
  elsif v_waits then
    update document as d set next_attempt_at = least(d.next_attempt_at, clock_timestamp()), version = d.version + 1
    where d.id = v_document.id;
  end if;
  select g.binding_generation into v_generation from integrator as g where g.id = (p_move ->> 'integratorId')::uuid;
  update box_item as i
  set status = v_to, version = i.version + 1, tries = 0, last_error = null,
    scheduled_for = coalesce(v_scheduled, i.scheduled_for),
    due_at = case v_to
      when 'scheduled' then v_scheduled
      when 'retrying' then case when not v_waits then clock_timestamp() end
      when 'sending' then clock_timestamp() + (p_move ->> 'leaseMs')::integer * interval '1 millisecond'
    end,
    lease_owner = case when v_to = 'sending' then p_move ->> 'owner' end,
    locked_at = case when v_to = 'sending' then clock_timestamp() end,
    document_id = case when v_leaves then (p_move ->> 'freshId')::uuid else i.document_id end,
    attempts_before = i.attempts_before + case when v_leaves then v_document.attempts else 0 end,
    sent_at = case when v_leaves then null else i.sent_at end,
    key_id = coalesce(v_key, i.key_id),
    integrator_id = case when v_key is null then i.integrator_id else (p_move ->> 'integratorId')::uuid end,
    binding_generation = case when v_key is null then i.binding_generation else v_generation end,
    cancelled_at = case when v_to = 'cancelled' then clock_timestamp() end,
    status_since = case when v_item.status = v_to then i.status_since else clock_timestamp() end,
    updated_at = greatest(i.updated_at, clock_timestamp())
  where i.id = v_id
  returning * into v_item;
  insert into box_event (item_id, version, kind, status, actor_type, actor_id, detail, document_id, occurred_at)
  values (v_id, v_item.version, v_trigger, v_to, p_audit ->> 'actorType', p_audit ->> 'actorId', p_move ->> 'scheduledFor',
    case when v_leaves then v_document.id end, clock_timestamp());
  perform append_audit(
    p_audit,
    case v_trigger when 'schedule' then 'box.scheduled' when 'send_now' then 'box.sent_now' when 'retry' then 'box.retried'
      when 'cancel' then 'box.cancelled' end,
    v_firm, (p_move ->> 'integratorId')::uuid, 'box_item', v_id::text,
    jsonb_build_object('status', v_to, 'scheduledFor', p_move ->> 'scheduledFor'));
  return true;
end
$function$

CREATE OR REPLACE FUNCTION public.move_onboarding(p_id uuid, p_version integer, p_status text, p_trigger text, p_detail text, p_next_action text, p_vouched boolean, p_legal_name text, p_confirmation bytea, p_now timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
AS $function$
  with moved as (
    update onboarding_request set status = p_status, next_action = p_next_action, version = version + 1,
      vouched_at = case when p_vouched then coalesce(vouched_at, p_now) else vouched_at end,
      legal_name = coalesce(p_legal_name, legal_name), updated_at = greatest(updated_at, p_now)
    where id = p_id and version = p_version
    returning id, version, updated_at
  ), history as (
    insert into onboarding_history (request_id, version, status, trigger, detail, occurred_at)
    select id, version, p_status, p_trigger, p_detail, updated_at from moved
  ), used as (
    update pfs_confirmation set request_id = p_id where token_sha256 = p_confirmation and exists (select 1 from moved)
  )
  select exists (select 1 from moved)
$function$

CREATE OR REPLACE FUNCTION public.move_payloads(p_object text, p_ids uuid[], p_offsets integer[], p_lengths integer[])
 RETURNS integer
 LANGUAGE sql
AS $function$
  with gone as (
    delete from payload as p using unnest(p_ids, p_offsets, p_lengths) as m (id, byte_offset, byte_length)
    where p.document_id = m.id and octet_length(p.sealed) = m.byte_length
    returning p.document_id, p.key_id, p.bytes, m.byte_offset, m.byte_length
  ), moved as (
    insert into payload_moved (document_id, key_id, bytes, object, byte_offset, byte_length)
    select document_id, key_id, bytes, p_object, byte_offset, byte_length from gone
    returning 1
  )
  select count(*)::integer from moved
$function$

CREATE OR REPLACE FUNCTION public.move_payloads_of(p_object text, p_ids uuid[], p_key_ids text[], p_offsets integer[], p_lengths integer[])
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  v_moved integer;
begin
  with gone as (
    delete from payload as p using unnest(p_ids, p_key_ids, p_offsets, p_lengths) as m (id, key_id, byte_offset, byte_length)
    where p.document_id = m.id and p.key_id = m.key_id and octet_length(p.sealed) = m.byte_length
    returning p.document_id, p.key_id, p.bytes, m.byte_offset, m.byte_length
  ), moved as (
    insert into payload_moved (document_id, key_id, bytes, object, byte_offset, byte_length)
    select gone.document_id, gone.key_id, gone.bytes, p_object, gone.byte_offset, gone.byte_length from gone
    returning 1
  )
  select count(*) into v_moved from moved;
  if v_moved = 0 then
    insert into payload_leftover (object) values (p_object) on conflict (object) do nothing;
  end if;
  return v_moved;
end $function$

CREATE OR REPLACE FUNCTION public.move_white_label(p_id uuid, p_version integer, p_status text, p_error_code text, p_due_at timestamp with time zone, p_secret_key_id text, p_secret bytea, p_now timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
AS $function$
  with moved as (
    update white_label_operation set status = p_status, error_code = p_error_code, due_at = p_due_at, claimed_until = null,
      asked_at = case when p_status = 'processing' then null else asked_at end,
      secret_key_id = case when p_status = 'processing' then secret_key_id else p_secret_key_id end,
      secret_sealed = case when p_status = 'processing' then secret_sealed else p_secret end,
      completed_at = case when p_status in ('succeeded', 'rejected', 'released') then p_now end,
      version = version + 1, updated_at = p_now
    where id = p_id and version = p_version returning id
  )
  select exists (select 1 from moved)
$function$

CREATE OR REPLACE FUNCTION public.new_row_id()
 RETURNS uuid
 LANGUAGE sql
AS $function$
  select encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
    placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6), 52, 1), 53, 1),
    'hex')::uuid
$function$

CREATE OR REPLACE FUNCTION public.next_box_due()
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
AS $function$
begin
  return (select i.due_at from box_item as i where i.due_at is not null order by i.due_at limit 1);
end
$function$

CREATE OR REPLACE FUNCTION public.note_pfs_confirmation(p_token bytea, p_dic text, p_legal_name text, p_now timestamp with time zone)
 RETURNS TABLE(request_id uuid)
 LANGUAGE plpgsql
AS $function$
begin
  insert into pfs_confirmation (token_sha256, dic, legal_name, received_at) values (p_token, p_dic, p_legal_name, p_now)
    on conflict (token_sha256) do nothing;
  perform 1 from pfs_confirmation c where c.token_sha256 = p_token and c.dic = p_dic and c.request_id is null;
  if not found then return; end if;
  return query
    select min(r.id::text)::uuid from onboarding_request r
    where r.dic = p_dic and r.vouched_at is null and r.status in ('awaiting_pfs', 'activating') having count(*) = 1;
end $function$

CREATE OR REPLACE FUNCTION public.offer_key_holds(p_offer consent_offer)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select exists (
    select 1 from api_key where id = p_offer.key_id and active and scopes @> p_offer.requested_scopes and 'firms:manage' = any (scopes)
  )
$function$

CREATE OR REPLACE FUNCTION public.offer_status(p_offer consent_offer, p_now timestamp with time zone)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select case
    when p_offer.status in ('accepted', 'declined') then p_offer.status
    when p_offer.withdrawn_at is not null then 'withdrawn'
    when p_offer.expires_at <= p_now then 'expired'
    when not offer_key_holds(p_offer) then 'withdrawn'
    else p_offer.status
  end
$function$

CREATE OR REPLACE FUNCTION public.open_console_session(p_token bytea, p_id uuid, p_now timestamp with time zone, p_expires timestamp with time zone, p_max integer)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  -- Two that sign in at once take turns, so that the bound holds.
  perform pg_advisory_xact_lock(hashtextextended('console sessions', 0));
  insert into console_session (token_hmac, id, created_at, seen_at, expires_at) values (p_token, p_id, p_now, p_now, p_expires);
  delete from console_session where token_hmac in (
    select token_hmac from console_session order by created_at desc, token_hmac offset p_max);
end $function$

CREATE OR REPLACE FUNCTION public.open_refresh_family(p_family bytea, p_current bytea, p_key uuid, p_generation integer, p_scopes text[], p_now timestamp with time zone, p_expires timestamp with time zone, p_families_max integer, p_audit jsonb DEFAULT NULL::jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
declare
  v_key api_key;
begin
  update api_key set last_used_at = greatest(last_used_at, p_now) where id = p_key and active and generation = p_generation
    returning * into v_key;
  if not found then return false; end if;
  insert into refresh_family (family_sha256, current_sha256, key_id, generation, scopes, created_at, expires_at)
    values (p_family, p_current, p_key, p_generation, p_scopes, p_now, p_expires);
  delete from refresh_family where family_sha256 in (
    select family_sha256 from refresh_family where key_id = p_key order by created_at desc, family_sha256 offset p_families_max);
  perform audit_key(p_audit, 'jwt.issued', v_key, jsonb_build_object('scopes', p_scopes));
  return true;
end $function$

CREATE OR REPLACE FUNCTION public.prune_ended_webhooks(p_success_ms bigint, p_other_ms bigint, p_limit integer)
 RETURNS bigint
 LANGUAGE plpgsql
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
AS $function$
declare
  v_gone bigint;
begin
  with gone as (
    delete from webhook_delivery as d where d.id = any (array(
      (
        select o.id from webhook_delivery as o
        where o.status = 'SUCCESS' and o.replay_of is null and o.scenario is null
          and o.created_at < now() - p_success_ms * interval '1 millisecond'
          and (
            select 1 from webhook_delivery as r
            where r.subscription_id = o.subscription_id and r.event_id = o.event_id and r.replay_of is not null limit 1
          ) is null
        order by o.created_at limit p_limit
      )
      union all
      (
        select o.id from webhook_delivery as o
        where (o.status <> 'SUCCESS' or o.replay_of is not null) and o.scenario is null
          and o.created_at < now() - p_other_ms * interval '1 millisecond'
          and o.due_at is null
          and (o.status <> 'FAILED' or coalesce(o.settled_at, o.created_at) < now() - p_other_ms * interval '1 millisecond')
          and (o.status <> 'SUCCESS' or (
            select 1 from webhook_delivery as r
            where r.subscription_id = o.subscription_id and r.event_id = o.event_id and r.status <> 'SUCCESS' limit 1
          ) is null)
        order by o.created_at limit p_limit
      )
      union all
      (
        select t.id
        from (
          select o.test_run_id from webhook_delivery as o
          where o.scenario is not null and o.created_at < now() - p_other_ms * interval '1 millisecond'
          order by o.created_at limit p_limit
        ) as old
        join webhook_delivery as t on t.test_run_id = old.test_run_id and t.scenario is not null
      )
      union all
      (
        select o.id from webhook_subscription as s join webhook_delivery as o on o.subscription_id = s.id
        where s.deleted_at is not null limit p_limit
      )
    )) returning 1
  ) select count(*) into v_gone from gone;
  delete from webhook_subscription as s
    where s.deleted_at is not null
      and (select 1 from webhook_delivery as d where d.subscription_id = s.id limit 1) is null;
  delete from webhook_endpoint as w
    where not exists (select 1 from webhook_subscription as s where s.endpoint_id = w.id)
      and (
        select 1 from webhook_delivery as d
        where d.endpoint_id = w.id and d.due_at is not null order by d.due_at limit 1
      ) is null;
  return v_gone;
end
$function$

CREATE OR REPLACE FUNCTION public.prune_webhooks(p_success_ms bigint, p_other_ms bigint, p_limit integer)
 RETURNS bigint
 LANGUAGE plpgsql
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
AS $function$
declare
  v_gone bigint := prune_ended_webhooks(p_success_ms, p_other_ms, p_limit);
begin
  update webhook_delivery as d set due_at = clock_timestamp()
    where d.id in (
      select w.id from webhook_delivery as w
      where w.due_at = 'infinity' and (
        select 1 from webhook_delivery as h
        where h.document_id = w.document_id and h.subscription_id = w.subscription_id and h.due_at is not null
          and h.replay_of is null and h.place < w.place
        limit 1
      ) is null
      for update skip locked
    );
  return v_gone;
end
$function$

CREATE OR REPLACE FUNCTION public.put_connector_webhook(p_id uuid, p_integrator uuid, p_url text, p_origin text, p_events text[], p_active boolean, p_secret_key_id text, p_secret_sealed bytea, p_now timestamp with time zone, p_audit jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
declare
  v_before webhook_subscription;
begin
  -- The consumer is locked first, as the fan-out locks it: all that switch a webhook on take turns, and only the first sets
  -- the place. It is set before the snapshot of the subscription is taken, so that nothing lies between the two.
  perform 1 from feed_consumer where name = 'connector' for update;
  select * into v_before from webhook_subscription
    where integrator_id = p_integrator and firm_id is null and deleted_at is null for update;
  if p_active and not exists (
    select 1 from webhook_subscription where firm_id is null and deleted_at is null and active
  ) then
    update feed_consumer set transaction_id = pg_snapshot_xmin(pg_current_snapshot()), position = 0 where name = 'connector';
  end if;

  if v_before.id is null then
    insert into webhook_subscription (
      id, integrator_id, url, endpoint_id, events, active, secret_key_id, secret_sealed, seen_from, created_at, updated_at
    ) values (
      p_id, p_integrator, p_url, webhook_endpoint_of(p_id, p_origin), p_events, p_active, p_secret_key_id,
      p_secret_sealed, pg_current_snapshot(), p_now, p_now
    );
    perform append_audit(p_audit, 'webhook.created', null, p_integrator, 'webhook', p_id::text,
      jsonb_build_object('origin', p_origin, 'events', p_events, 'interface', 'connector'));
    return true;
  end if;

  update webhook_subscription set
    url = p_url, endpoint_id = webhook_endpoint_of(v_before.id, p_origin), events = p_events, active = p_active,
    disabled_reason = null,
    failed_attempts = case when p_active then 0 else failed_attempts end,
    failing_since = case when p_active then null else failing_since end,
    seen_from = case when p_active and not v_before.active then pg_current_snapshot() else seen_from end,
    updated_at = p_now
  where id = v_before.id;
  if p_url <> v_before.url then
    perform 1 from webhook_delivery as d
      where d.subscription_id = v_before.id and d.settled_at is null order by d.id for update;
    -- What waits goes to the new place. An attempt under way says nothing of the new place, so that its end is not written
    -- any more, and the event goes there too.
    update webhook_delivery as d set endpoint_id = s.endpoint_id, lease_owner = null, begun = 0,
      attempts = d.attempts + (d.lease_owner is not null and s.endpoint_id is not null)::integer,
      due_at = case when d.lease_owner is null then d.due_at else clock_timestamp() end
    from webhook_subscription as s
    where s.id = v_before.id and d.subscription_id = s.id and d.settled_at is null;
  end if;
  if not p_active then perform end_webhook_deliveries(v_before.id, 'subscription_inactive'); end if;
  perform append_audit(p_audit, 'webhook.changed', null, p_integrator, 'webhook', v_before.id::text,
    jsonb_build_object('origin', p_origin, 'events', p_events, 'active', p_active, 'interface', 'connector'));
  return false;
end $function$

CREATE OR REPLACE FUNCTION public.put_firm_binding(p_integrator uuid, p_firm uuid, p_customer_ref text, p_state text, p_scopes text[], p_interfaces text[], p_now timestamp with time zone, p_audit jsonb)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  if not lock_living_firm(p_firm) then
    raise exception 'a binding needs a firm' using errcode = 'foreign_key_violation';
  end if;
  insert into firm_binding (integrator_id, firm_id, customer_ref, state, scopes, interfaces, created_at, updated_at)
    values (p_integrator, p_firm, p_customer_ref, p_state, p_scopes, p_interfaces, p_now, p_now)
    on conflict (integrator_id, firm_id) do update set customer_ref = excluded.customer_ref, state = excluded.state,
      scopes = excluded.scopes, interfaces = excluded.interfaces, updated_at = excluded.updated_at;
  perform append_audit(p_audit, 'consent.granted', p_firm, p_integrator, 'firm', p_firm::text,
    jsonb_build_object('scopes', p_scopes, 'interfaces', p_interfaces, 'state', p_state));
end $function$

CREATE OR REPLACE FUNCTION public.put_firm_plan(p_firm uuid, p_code text, p_expires_at timestamp with time zone, p_now timestamp with time zone, p_audit jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  if not lock_living_firm(p_firm) then return false; end if;
  insert into firm_plan (firm_id, code, expires_at, updated_at) values (p_firm, p_code, p_expires_at, p_now)
    on conflict (firm_id) do update set code = excluded.code, expires_at = excluded.expires_at, updated_at = excluded.updated_at;
  perform append_audit(p_audit, 'plan.changed', p_firm, null, 'firm', p_firm::text,
    jsonb_build_object('plan', p_code, 'expiresAt', p_expires_at));
  return true;
end
$function$

CREATE OR REPLACE FUNCTION public.put_mapper_template(p_integrator uuid, p_key text, p_field_map jsonb, p_now timestamp with time zone, p_most integer)
 RETURNS text
 LANGUAGE plpgsql
AS $function$
begin
  perform 1 from integrator where id = p_integrator for update;
  update mapper_template set field_map = p_field_map, updated_at = p_now
    where integrator_id = p_integrator and template_key = p_key;
  if found then return 'replaced'; end if;
  if (select count(*) from mapper_template where integrator_id = p_integrator) >= p_most then
    return 'limit_reached';
  end if;
  insert into mapper_template (integrator_id, template_key, field_map, created_at, updated_at)
    values (p_integrator, p_key, p_field_map, p_now, p_now);
  return 'created';
end $function$

CREATE OR REPLACE FUNCTION public.put_member(p_person uuid, p_email text, p_firm uuid, p_integrator uuid, p_role text, p_now timestamp with time zone)
 RETURNS text
 LANGUAGE plpgsql
AS $function$
declare
  v_person uuid;
begin
  if p_firm is not null and not lock_living_firm(p_firm) then return 'owner_unknown'; end if;
  if p_integrator is not null and not exists (select 1 from integrator where id = p_integrator) then
    return 'owner_unknown';
  end if;
  insert into person (id, email, created_at) values (p_person, p_email, p_now)
    on conflict (email) do update set email = excluded.email returning id into v_person;
  if p_firm is not null then
    insert into membership (person_id, firm_id, role, created_at) values (v_person, p_firm, p_role, p_now)
      on conflict (person_id, firm_id) where firm_id is not null do update set role = excluded.role;
  else
    insert into membership (person_id, integrator_id, role, created_at) values (v_person, p_integrator, p_role, p_now)
      on conflict (person_id, integrator_id) where integrator_id is not null do nothing;
  end if;
  return 'put';
end $function$

CREATE OR REPLACE FUNCTION public.put_off_attempt(p_id uuid, p_version integer, p_number integer, p_wait_ms bigint)
 RETURNS TABLE(version integer)
 LANGUAGE sql
AS $function$
  update document as d
  set attempts = d.attempts - 1, version = d.version + 1, lease_owner = null, lease_until = null,
    next_attempt_at = clock_timestamp() + p_wait_ms * interval '1 millisecond'
  where d.id = p_id and d.version = p_version and d.attempts = p_number
  returning d.version
$function$

CREATE OR REPLACE FUNCTION public.read_feed(p_transaction_id xid8, p_position bigint, p_limit integer)
 RETURNS TABLE(transaction_id xid8, feed_position bigint, part smallint, id uuid, kind text, document_id uuid, firm_id uuid, direction text, occurred_at timestamp with time zone)
 LANGUAGE sql
 STABLE
AS $function$
  with told as (
    (
      select e.transaction_id, e.position, e.id, e.kind, e.document_id, e.firm_id,
        case e.kind when 'document.processed' then 'inbound' else 'outbound' end as direction, e.occurred_at
      from document_event as e
      where (e.feed or e.kind = 'document.queued') and (e.transaction_id, e.position) > (p_transaction_id, p_position)
        and e.transaction_id < pg_snapshot_xmin(pg_current_snapshot())
      order by e.transaction_id, e.position limit p_limit
    )
    union all
    (
      select r.feed_transaction_id, r.feed_position, r.id, 'document.received', r.id, r.firm_id, 'inbound', r.received_at
      from received_document as r
      where r.feed_position is not null
        and (r.feed_transaction_id, r.feed_position) > (p_transaction_id, p_position)
        and r.feed_transaction_id < pg_snapshot_xmin(pg_current_snapshot())
      order by r.feed_transaction_id, r.feed_position limit p_limit
    )
    order by 1, 2 limit p_limit
  )
  select t.transaction_id, t.position, p.part::smallint,
    case when p.kind = 'document.validated' then t.document_id else t.id end,
    p.kind, t.document_id, t.firm_id, t.direction, t.occurred_at
  from told as t
  cross join lateral (
    select 0, t.kind where t.kind <> 'document.queued'
    union all select 0, 'document.created' where t.kind = 'document.queued'
    union all select 1, 'document.validated' where t.kind = 'document.queued' and not exists (
      select 1 from document_event as e
      where e.document_id = t.document_id and e.kind = 'document.rejected' and e.transaction_id = t.transaction_id
    )
  ) as p (part, kind)
  order by 1, 2, 3
$function$

CREATE OR REPLACE FUNCTION public.ready_lanes(p_after uuid, p_firms uuid[], p_receivers text[], p_firms_max integer, p_lanes_max integer, p_ready_max integer, p_passed_max integer, p_passed_firm_max integer)
 RETURNS TABLE(firm_id uuid, receiver_key text, ready integer, after text, firms_go_on boolean)
 LANGUAGE plpgsql
 STABLE
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_sort TO 'off'
 SET enable_incremental_sort TO 'off'
AS $function$
declare
  v_firm uuid := p_after;
  v_firms integer := 0;
  v_firms_round boolean := p_after is null;
  v_start text;
  v_receiver text;
  v_due_at timestamptz;
  v_ready integer;
  v_lanes integer;
  v_passed integer := 0;
  v_passed_firm integer;
  v_round boolean;
  v_all boolean;
begin
  loop
    select d.firm_id into v_firm from document as d
    where d.next_attempt_at is not null and d.firm_id > coalesce(v_firm, '00000000-0000-0000-0000-000000000000')
    order by d.firm_id limit 1;
    if not found then
      exit when v_firms_round;
      v_firms_round := true;
      v_firm := null;
      continue;
    end if;
    exit when v_firms_round and v_firm > p_after;
    v_firms := v_firms + 1;
    v_start := p_receivers[array_position(p_firms, v_firm)];
    v_receiver := v_start;
    v_round := v_start is null;
    v_all := false;
    v_lanes := 0;
    v_passed_firm := 0;
    while v_lanes < p_lanes_max and v_passed_firm < p_passed_firm_max and v_passed < p_passed_max loop
      select d.receiver_key, d.next_attempt_at into v_receiver, v_due_at from document as d
      where d.next_attempt_at is not null and d.firm_id = v_firm and d.receiver_key > coalesce(v_receiver, '')
      order by d.receiver_key, d.next_attempt_at limit 1;
      -- Once round: the receiver it began after was the last.
      if v_round and (not found or v_receiver > v_start) then
        v_all := true;
        exit;
      end if;
      if not found then
        v_round := true;
        v_receiver := null;
        continue;
      end if;
      v_passed := v_passed + 1;
      v_passed_firm := v_passed_firm + 1;
      v_ready := 0;
      if v_due_at <= now() then
        select count(*) into v_ready from (
          select 1 from document as d
          where d.next_attempt_at is not null
            and (d.firm_id, d.receiver_key, d.next_attempt_at) >= (v_firm, v_receiver, '-infinity')
            and (d.firm_id, d.receiver_key, d.next_attempt_at) <= (v_firm, v_receiver, now())
            and (d.lease_until is null or d.lease_until < now())
          order by d.firm_id, d.receiver_key, d.next_attempt_at
          limit p_ready_max
        ) as r;
      end if;
      if v_ready > 0 then
        v_lanes := v_lanes + 1;
        firm_id := v_firm; receiver_key := v_receiver; ready := v_ready; after := null; firms_go_on := null;
        return next;
      end if;
      v_all := v_round and v_receiver is not distinct from v_start;
      exit when v_all;
    end loop;
    firm_id := v_firm; receiver_key := null; ready := 0;
    after := case when not v_all then v_receiver end;
    firms_go_on := v_firms >= p_firms_max or v_passed >= p_passed_max;
    return next;
    exit when firms_go_on or (v_firms_round and p_after is not null and v_firm >= p_after);
  end loop;
end
$function$

CREATE OR REPLACE FUNCTION public.receive_business(p_id uuid, p_firm_id uuid, p_participant_key text, p_sender text, p_receiver text, p_document_type_id text, p_process_id text, p_creation_date_time timestamp with time zone, p_payload_sha256 text, p_as4_message_id text, p_sbdh_instance_id text, p_facts jsonb, p_received_at timestamp with time zone, p_payload_key_id text, p_payload_sealed text, p_payload_bytes integer, p_exchange jsonb, p_duty jsonb, p_status text DEFAULT 'RECEIVED'::text)
 RETURNS TABLE(id uuid)
 LANGUAGE plpgsql
AS $function$
begin
  return query select r.id from receive_document(
    p_id, p_firm_id, p_participant_key, p_sender, p_receiver, p_document_type_id, p_process_id, p_creation_date_time, p_payload_sha256,
    p_as4_message_id, p_sbdh_instance_id, p_facts, p_received_at, p_payload_key_id, p_payload_sealed, p_payload_bytes, p_status
  ) as r;
  if found then
    insert into exchange select (jsonb_populate_record(null::exchange, p_exchange)).*;
    insert into mls_duty select (jsonb_populate_record(null::mls_duty, p_duty)).* where p_duty is not null;
  end if;
end
$function$

CREATE OR REPLACE FUNCTION public.receive_businesses(p_id uuid[], p_firm_id uuid[], p_participant_key text[], p_sender text[], p_receiver text[], p_document_type_id text[], p_process_id text[], p_creation_date_time timestamp with time zone[], p_payload_sha256 text[], p_as4_message_id text[], p_sbdh_instance_id text[], p_facts jsonb[], p_received_at timestamp with time zone[], p_payload_key_id text[], p_payload_sealed text[], p_payload_bytes integer[], p_exchange jsonb[], p_duty jsonb[], p_status text[], p_evidence jsonb[])
 RETURNS TABLE(n bigint)
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET work_mem TO '64MB'
AS $function$
#variable_conflict use_column
declare
  v_new uuid[];
  v_evidence jsonb;
  v_living uuid[] := array(
    select f.id from firm as f where f.id = any (p_firm_id) and f.erased_at is null order by f.id for key share
  );
begin
  with added as (
    insert into received_document (
      id, firm_id, participant_key, sender, receiver, document_type_id, process_id, creation_date_time, status,
      payload_sha256, as4_message_id, sbdh_instance_id, facts, received_at, peer_seat
    )
    select r.id, r.firm_id, r.participant_key, r.sender, r.receiver, r.document_type_id, r.process_id,
      r.creation_date_time, r.status, decode(r.payload_sha256, 'hex'), r.as4_message_id, r.sbdh_instance_id, r.facts,
      r.received_at, r.exchange ->> 'c2_seat'
    from unnest(
      p_id, p_firm_id, p_participant_key, p_sender, p_receiver, p_document_type_id, p_process_id, p_creation_date_time,
      p_status, p_payload_sha256, p_as4_message_id, p_sbdh_instance_id, p_facts, p_received_at, p_exchange
    ) with ordinality as r (
      id, firm_id, participant_key, sender, receiver, document_type_id, process_id, creation_date_time, status,
      payload_sha256, as4_message_id, sbdh_instance_id, facts, received_at, exchange, n
    )
    -- Rows without a seat are as old as this function and change no more, so that looking is enough.
    where r.firm_id = any (v_living) and not exists (
      select 1 from received_document as o where o.as4_message_id = r.as4_message_id and o.peer_seat = ''
    ) and not exists (
      select 1 from received_document as o where o.sbdh_instance_id = r.sbdh_instance_id and o.peer_seat = ''
    )
    order by r.n
    on conflict do nothing
    returning received_document.id
  )
  select array_agg(added.id) into v_new from added;
  if v_new is null then return; end if;

  with given as (
    select r.* from unnest(p_id, p_payload_key_id, p_payload_sealed, p_payload_bytes, p_exchange, p_duty)
      as r (id, key_id, sealed, bytes, exchange, duty)
    where r.id = any (v_new)
  ), stored as (
    insert into payload (document_id, key_id, sealed, bytes)
    select given.id, given.key_id, decode(given.sealed, 'base64'), given.bytes from given
  ), exchanged as (
    insert into exchange select e.* from given cross join lateral jsonb_populate_record(null::exchange, given.exchange) as e
  )
  insert into mls_duty
  select d.* from given cross join lateral jsonb_populate_record(null::mls_duty, given.duty) as d
  where given.duty is not null;

  select jsonb_agg(r.evidence order by r.n) into v_evidence
  from unnest(p_id, p_evidence) with ordinality as r (id, evidence, n)
  where r.id = any (v_new) and r.evidence is not null;
  if v_evidence is not null then
    perform 1 from append_evidence(v_evidence);
  end if;

  return query select r.n from unnest(p_id) with ordinality as r (id, n) where r.id = any (v_new);
end
$function$

CREATE OR REPLACE FUNCTION public.receive_document(p_id uuid, p_firm_id uuid, p_participant_key text, p_sender text, p_receiver text, p_document_type_id text, p_process_id text, p_creation_date_time timestamp with time zone, p_payload_sha256 text, p_as4_message_id text, p_sbdh_instance_id text, p_facts jsonb, p_received_at timestamp with time zone, p_payload_key_id text, p_payload_sealed text, p_payload_bytes integer, p_status text DEFAULT 'RECEIVED'::text)
 RETURNS TABLE(id uuid)
 LANGUAGE sql
AS $function$
  with added as (
    insert into received_document (
      id, firm_id, participant_key, sender, receiver, document_type_id, process_id, creation_date_time, status, payload_sha256,
      as4_message_id, sbdh_instance_id, facts, received_at
    ) values (
      p_id, p_firm_id, p_participant_key, p_sender, p_receiver, p_document_type_id, p_process_id, p_creation_date_time, p_status,
      decode(p_payload_sha256, 'hex'), p_as4_message_id, p_sbdh_instance_id, p_facts, p_received_at
    )
    on conflict do nothing
    returning received_document.id
  ), stored as (
    insert into payload (document_id, key_id, sealed, bytes)
    select added.id, p_payload_key_id, decode(p_payload_sealed, 'base64'), p_payload_bytes from added
  )
  select added.id from added
$function$

CREATE OR REPLACE FUNCTION public.receive_status(p_status jsonb, p_exchange jsonb, p_duty jsonb)
 RETURNS TABLE(id uuid)
 LANGUAGE plpgsql
AS $function$
begin
  if p_exchange ->> 'firm_id' is not null and not lock_living_firm((p_exchange ->> 'firm_id')::uuid) then return; end if;
  return query
    insert into inbound_status select (jsonb_populate_record(null::inbound_status, p_status)).*
    on conflict do nothing returning inbound_status.id;
  if found then
    insert into exchange select (jsonb_populate_record(null::exchange, p_exchange)).*;
    insert into mls_duty select (jsonb_populate_record(null::mls_duty, p_duty)).* where p_duty is not null;
  end if;
end
$function$

CREATE OR REPLACE FUNCTION public.received_by_api()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  new.api_transaction_id := pg_current_xact_id();
  return new;
end
$function$

CREATE OR REPLACE FUNCTION public.received_due_at_once()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  new.next_at := least(new.next_at, clock_timestamp());
  return new;
end
$function$

CREATE OR REPLACE FUNCTION public.received_is_processed()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into document_event (id, document_id, firm_id, kind, actor, feed, occurred_at)
  values (new_row_id(), new.id, new.firm_id, 'document.processed', 'api', true, new.acknowledged_at);
  return null;
end
$function$

CREATE OR REPLACE FUNCTION public.received_is_visible(p_status text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select p_status in ('RECEIVED', 'ACKNOWLEDGED')
$function$

CREATE OR REPLACE FUNCTION public.received_joins_feed()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  new.feed_transaction_id := pg_current_xact_id();
  new.feed_position := nextval(pg_get_serial_sequence('document_event', 'position'));
  return new;
end
$function$

CREATE OR REPLACE FUNCTION public.record_failed_credential(p_slot integer, p_now timestamp with time zone, p_window interval, p_kept interval, p_failures_max integer)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
AS $function$
declare
  v_failed timestamptz[];
  v_counted timestamptz[];
begin
  insert into failed_credential (slot, failed_at) values (p_slot, '{}') on conflict (slot) do nothing;
  select failed_at into v_failed from failed_credential where slot = p_slot for update;
  -- An instant ahead of this node's clock counts: clocks of nodes differ. One a whole window ahead is from a clock that was wrong.
  select coalesce(array_agg(t order by t), '{}') into v_failed from unnest(v_failed) t where t > p_now - p_kept and t < p_now + p_window;
  select coalesce(array_agg(t order by t), '{}') into v_counted from unnest(v_failed) t where t > p_now - p_window;
  if cardinality(v_counted) >= p_failures_max then
    return v_counted[cardinality(v_counted) - p_failures_max + 1] + p_window;
  end if;
  v_failed := v_failed || p_now;
  update failed_credential set failed_at = v_failed[greatest(1, cardinality(v_failed) - p_failures_max + 1):] where slot = p_slot;
  return null;
end $function$

CREATE OR REPLACE FUNCTION public.recount_usage(p_firm uuid, p_kept_since date)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  v_sent feed_consumer;
  v_received feed_consumer;
begin
  -- Held against its erasure, which removes what is counted here.
  perform 1 from firm where id = p_firm and erased_at is null for share;
  if not found then return; end if;
  select * into v_sent from feed_consumer where name = 'meter' for update;
  select * into v_received from feed_consumer where name = 'meter receipts' for update;
  delete from metered_event where firm_id = p_firm and month >= p_kept_since;
  insert into metered_event (event_id, firm_id, direction, month)
  select due.id, p_firm, due.direction, due.month
  from (
    select e.id, 'outbound' as direction, billing_month(e.occurred_at) as month
    from document as d join document_event as e on e.document_id = d.id
    where d.firm_id = p_firm and e.kind = 'document.delivered'
      and (e.transaction_id, e.position) <= (v_sent.transaction_id, v_sent.position)
    union all
    select r.id, 'inbound', billing_month(r.api_received_at)
    from received_document as r
    where r.firm_id = p_firm and r.api_transaction_id is not null
      and (r.api_transaction_id, r.position) <= (v_received.transaction_id, v_received.position)
  ) as due
  where due.month >= p_kept_since
  on conflict (event_id) do nothing;
  delete from usage_month where firm_id = p_firm and month >= p_kept_since;
  insert into usage_month (firm_id, month, outbound, inbound)
  select p_firm, month, count(*) filter (where direction = 'outbound'), count(*) filter (where direction = 'inbound')
  from metered_event where firm_id = p_firm and month >= p_kept_since group by month;
end
$function$

CREATE OR REPLACE FUNCTION public.redeem_oauth_code(p_code bytea, p_client uuid, p_now timestamp with time zone)
 RETURNS TABLE(outcome text, person_id uuid, integrator_id uuid, redirect_uri text, challenge text, scopes text[], key_id uuid)
 LANGUAGE plpgsql
AS $function$
begin
  return query
    update oauth_code c set used_at = p_now
      where c.code_sha256 = p_code and c.client_id = p_client and c.used_at is null and c.expires_at > p_now
      returning case when exists (
          select 1 from membership m where m.person_id = c.person_id and m.integrator_id = c.integrator_id
        ) then 'redeemed' else 'invalid' end,
        c.person_id, c.integrator_id, c.redirect_uri, c.challenge, c.scopes, c.key_id;
  if found then return; end if;
  return query
    update oauth_code c set replayed_at = coalesce(c.replayed_at, p_now)
      where c.code_sha256 = p_code and c.client_id = p_client and c.used_at is not null
      returning 'replayed', c.person_id, c.integrator_id, c.redirect_uri, c.challenge, c.scopes, c.key_id;
  if found then return; end if;
  return query select 'invalid', null::uuid, null::uuid, null::text, null::text, null::text[], null::uuid;
end $function$

CREATE OR REPLACE FUNCTION public.refuse_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'evidence is never changed';
end
$function$

CREATE OR REPLACE FUNCTION public.refuse_second_white_label_name()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform 1 from integrator where id = new.integrator_id for update;
  if white_label_name_differs(new.integrator_id, new.customer_ref, new.dic) then
    raise exception 'one customerRef is one company' using errcode = 'unique_violation';
  end if;
  return new;
end
$function$

CREATE OR REPLACE FUNCTION public.register_master_key(p_key_id text, p_canary bytea, p_made_at timestamp with time zone, p_ring text[])
 RETURNS text[]
 LANGUAGE plpgsql
AS $function$
declare
  v_strange text[];
begin
  if exists (select 1 from master_key where key_id = p_key_id) then
    return '{}';
  end if;
  lock table master_key in share row exclusive mode;
  select coalesce(array_agg(m.key_id order by m.made_at, m.key_id), '{}') into v_strange
    from master_key as m where m.key_id <> all (p_ring);
  if v_strange = '{}' then
    insert into master_key (key_id, canary, made_at) values (p_key_id, p_canary, p_made_at) on conflict (key_id) do nothing;
  end if;
  return v_strange;
end
$function$

CREATE OR REPLACE FUNCTION public.release_node(p_node text)
 RETURNS TABLE(id uuid)
 LANGUAGE sql
AS $function$
  with gone as (
    delete from dispatcher where starts_with(owner, p_node || '/')
  )
  update document as d set lease_until = '-infinity', version = d.version + 1
  where d.next_attempt_at is not null and starts_with(d.lease_owner, p_node || '/') and d.lease_until > '-infinity'
  returning d.id
$function$

CREATE OR REPLACE FUNCTION public.release_received(p_id uuid)
 RETURNS TABLE(id uuid)
 LANGUAGE sql
AS $function$
  update received_document as r set status = 'RECEIVED'
  where r.id = p_id and case when r.status = 'HELD' then true end
  returning r.id
$function$

CREATE OR REPLACE FUNCTION public.release_unvouched_white_label(p_before timestamp with time zone, p_now timestamp with time zone, p_limit integer)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  v_operation record;
  v_released integer := 0;
begin
  for v_operation in
    select o.id, o.integrator_id from white_label_operation as o
    where o.status = 'manual_review' and o.error_code = 'VERIFICATION_REQUIRED' and o.created_at < p_before
    order by o.integrator_id, o.id limit p_limit for update skip locked
  loop
    update white_label_operation set status = 'released', error_code = 'VERIFICATION_EXPIRED', due_at = null,
      claimed_until = null, secret_key_id = null, secret_sealed = null, completed_at = p_now, version = version + 1,
      updated_at = p_now
    where id = v_operation.id;
    perform append_audit(jsonb_build_object('id', new_row_id(), 'at', p_now, 'actorType', 'system'), 'white_label.ended',
      null, v_operation.integrator_id, 'white_label_operation', v_operation.id::text,
      jsonb_build_object('status', 'released', 'errorCode', 'VERIFICATION_EXPIRED'));
    v_released := v_released + 1;
  end loop;
  return v_released;
end
$function$

CREATE OR REPLACE FUNCTION public.release_webhooks(p_node text)
 RETURNS void
 LANGUAGE sql
AS $function$
  update webhook_delivery set lease_owner = null, due_at = clock_timestamp()
  where lease_owner is not null and starts_with(lease_owner, p_node || '/')
$function$

CREATE OR REPLACE FUNCTION public.remove_documents(p_ids uuid[])
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  v_gone integer;
begin
  perform 1 from payload where document_id = any (p_ids) order by document_id for update;
  delete from payload where document_id = any (p_ids);
  delete from payload_moved where document_id = any (p_ids);
  delete from document_attempt where document_id = any (p_ids);
  delete from document_history where document_id = any (p_ids);
  delete from document_mark where document_id = any (p_ids);
  delete from document_event where document_id = any (p_ids);
  delete from document where id = any (p_ids);
  get diagnostics v_gone = row_count;
  return v_gone;
end $function$

CREATE OR REPLACE FUNCTION public.remove_onboarding(p_ids uuid[])
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  v_gone integer;
begin
  delete from onboarding_history where request_id = any (p_ids);
  delete from pfs_confirmation where request_id = any (p_ids);
  delete from onboarding_request where id = any (p_ids);
  get diagnostics v_gone = row_count;
  return v_gone;
end $function$

CREATE OR REPLACE FUNCTION public.remove_received(p_ids uuid[])
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  v_gone integer;
begin
  perform 1 from payload where document_id = any (p_ids) order by document_id for update;
  delete from payload where document_id = any (p_ids);
  delete from payload_moved where document_id = any (p_ids);
  delete from document_mark where document_id = any (p_ids);
  delete from document_event where document_id = any (p_ids);
  delete from mls_duty where id = any (p_ids);
  delete from received_document where id = any (p_ids);
  get diagnostics v_gone = row_count;
  return v_gone;
end $function$

CREATE OR REPLACE FUNCTION public.remove_service_messages(p_ids uuid[])
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  v_gone integer;
begin
  delete from service_attempt where message_id = any (p_ids);
  delete from report_submission where message_id = any (p_ids);
  delete from service_message where id = any (p_ids);
  get diagnostics v_gone = row_count;
  return v_gone;
end $function$

CREATE OR REPLACE FUNCTION public.replace_ip_allowlist(p_key uuid, p_entries text[], p_audit jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
declare
  v_key api_key;
begin
  update api_key set ip_allowlist = p_entries where id = p_key and active returning * into v_key;
  if not found then return false; end if;
  perform audit_key(p_audit, 'api_key.allowlist_changed', v_key, jsonb_build_object('entries', p_entries));
  return true;
end $function$

CREATE OR REPLACE FUNCTION public.replay_connector(p_delivery uuid, p_integrator uuid, p_confirmed boolean, p_made uuid, p_key text, p_sha256 text)
 RETURNS TABLE(outcome text, made uuid, event_id uuid)
 LANGUAGE plpgsql
AS $function$
#variable_conflict use_column
declare
  v_subscription webhook_subscription;
  v_asked webhook_delivery;
  v_last webhook_delivery;
  v_kept record;
  v_refusal text;
begin
  select s.* into v_subscription from webhook_subscription as s
    where s.integrator_id = p_integrator and s.firm_id is null and s.deleted_at is null for key share;
  select d.* into v_asked from webhook_delivery as d where d.id = p_delivery and d.subscription_id = v_subscription.id;
  if not found then
    return query select 'unknown', null::uuid, null::uuid;
    return;
  end if;
  -- Two replays of one event take turns.
  perform 1 from webhook_delivery as d
    where d.subscription_id = v_subscription.id and d.event_id = v_asked.event_id order by d.id for update;
  select r.* into v_kept from connector_request as r
    where r.subscription_id = v_subscription.id and r.idempotency_key = p_key;
  if not found then
    select d.* into v_last from webhook_delivery as d
      where d.subscription_id = v_subscription.id and d.event_id = v_asked.event_id order by d.position desc limit 1;
    v_refusal := case
      when not v_subscription.active then 'inactive'
      when v_last.settled_at is null then 'pending'
      when not p_confirmed and exists (
        select 1 from webhook_delivery as d
        where d.subscription_id = v_subscription.id and d.event_id = v_asked.event_id and d.status = 'SUCCESS'
      ) then 'unconfirmed'
    end;
    if v_refusal is not null then
      return query select v_refusal, null::uuid, v_asked.event_id;
      return;
    end if;
  end if;
  select * into v_kept from keep_connector_request(v_subscription.id, p_key, p_sha256, p_made);
  if v_kept.outcome = 'new' then
    insert into webhook_delivery (
      id, subscription_id, endpoint_id, owner_id, firm_id, customer_ref, event_id, event, place, document_id, occurred_at,
      test_data, replay_of, status, due_at, created_at
    ) values (
      p_made, v_last.subscription_id, v_subscription.endpoint_id, v_last.owner_id, v_last.firm_id, v_last.customer_ref,
      v_last.event_id, v_last.event, v_last.place, v_last.document_id, v_last.occurred_at, v_last.test_data, v_last.id,
      'PENDING', clock_timestamp(), clock_timestamp()
    );
  end if;
  return query select v_kept.outcome, v_kept.made, v_asked.event_id;
end
$function$

CREATE OR REPLACE FUNCTION public.replay_webhook(p_delivery uuid, p_firm uuid, p_integrator uuid)
 RETURNS TABLE(outcome text, delivery_id uuid, subscription_id uuid, event_id uuid)
 LANGUAGE plpgsql
AS $function$
#variable_conflict use_column
declare
  v_dead webhook_delivery;
  v_subscription webhook_subscription;
begin
  select d.* into v_dead from webhook_delivery as d
    where d.id = p_delivery and d.owner_id = coalesce(p_integrator, p_firm) and d.firm_id = p_firm and d.status = 'FAILED'
      and d.test_run_id is null
    for update;
  if not found then return; end if;
  select s.* into v_subscription from webhook_subscription as s
    where s.id = v_dead.subscription_id and s.integrator_id is not distinct from p_integrator and s.deleted_at is null
    for key share;
  if not found then return; end if;
  if not v_subscription.active then
    return query select 'inactive', v_dead.id, v_dead.subscription_id, v_dead.event_id;
    return;
  end if;
  insert into webhook_delivery (
    id, subscription_id, endpoint_id, owner_id, firm_id, event_id, event, place, document_id, occurred_at, replay_of,
    status, due_at, created_at
  ) values (
    new_row_id(), v_dead.subscription_id, v_subscription.endpoint_id, v_dead.owner_id, v_dead.firm_id, v_dead.event_id,
    v_dead.event, v_dead.place, v_dead.document_id, v_dead.occurred_at, v_dead.id, 'PENDING',
    case when v_subscription.endpoint_id is not null then clock_timestamp() end, clock_timestamp()
  ) on conflict do nothing;
  update webhook_delivery as d set resolved_at = coalesce(d.resolved_at, clock_timestamp()),
      resolution = coalesce(d.resolution, 'replayed')
    where d.id = v_dead.id;
  return query
  select 'replayed', d.id, d.subscription_id, d.event_id from webhook_delivery as d
  where d.subscription_id = v_dead.subscription_id and d.event_id = v_dead.event_id and d.replay_of = v_dead.id;
end
$function$

CREATE OR REPLACE FUNCTION public.rest_attempt(p_id uuid, p_version integer, p_number integer, p_wait_ms bigint)
 RETURNS TABLE(version integer)
 LANGUAGE sql
AS $function$
  update document as d
  set attempts = d.attempts - 1, version = d.version + 1, lease_owner = null,
    lease_until = clock_timestamp() + p_wait_ms * interval '1 millisecond'
  where d.id = p_id and d.version = p_version and d.attempts = p_number
  returning d.version
$function$

CREATE OR REPLACE FUNCTION public.revoke_access_token(p_jti uuid, p_key uuid, p_expires timestamp with time zone, p_audit jsonb)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  v_key api_key;
begin
  insert into revoked_token (jti, expires_at) values (p_jti, p_expires) on conflict (jti) do nothing;
  if not found then return; end if;
  select * into v_key from api_key where id = p_key;
  if found then perform audit_key(p_audit, 'jwt.revoked', v_key, jsonb_build_object('jti', p_jti)); end if;
end $function$

CREATE OR REPLACE FUNCTION public.revoke_firm_binding(p_integrator uuid, p_firm uuid, p_now timestamp with time zone, p_audit jsonb DEFAULT NULL::jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
declare
  v_generation integer;
  v_keys uuid[];
begin
  perform 1 from integrator where id = p_integrator for update;
  if not lock_living_firm(p_firm) then return false; end if;
  perform 1 from firm_binding where integrator_id = p_integrator and firm_id = p_firm and state <> 'revoked' for update;
  if not found then return false; end if;
  update integrator set binding_generation = binding_generation + 1 where id = p_integrator returning binding_generation into v_generation;
  update firm_binding set state = 'revoked', revoked_generation = v_generation, updated_at = p_now
    where integrator_id = p_integrator and firm_id = p_firm;
  with ended as (
    update api_key set active = false, generation = generation + 1, deactivated_at = p_now
      where integrator_id = p_integrator and scoped_firm_id = p_firm and active returning id
  )
  select coalesce(array_agg(id), '{}') into v_keys from ended;
  delete from refresh_family where key_id = any (v_keys);
  perform append_audit(p_audit, 'consent.revoked', p_firm, p_integrator, 'firm', p_firm::text, jsonb_build_object('keys', v_keys));
  return true;
end $function$

CREATE OR REPLACE FUNCTION public.rotate_api_key(p_id uuid, p_generation integer, p_new_id uuid, p_prefix text, p_secret_sha256 bytea, p_now timestamp with time zone, p_audit jsonb)
 RETURNS text
 LANGUAGE plpgsql
AS $function$
declare
  v_firm uuid := (select firm_id from api_key where id = p_id);
  v_key api_key;
begin
  if v_firm is not null and not lock_living_firm(v_firm) then return 'changed'; end if;
  select * into v_key from api_key where id = p_id for update;
  if not found or not v_key.active or v_key.generation <> p_generation then return 'changed'; end if;
  if v_key.firm_id is null then return 'not_a_firm_key'; end if;
  insert into api_key (id, key_type, firm_id, prefix, secret_sha256, scopes, ip_allowlist, active, name, created_at)
    values (p_new_id, v_key.key_type, v_key.firm_id, p_prefix, p_secret_sha256, v_key.scopes, v_key.ip_allowlist, true, v_key.name, p_now);
  update api_key set active = false, generation = generation + 1, deactivated_at = p_now, successor_id = p_new_id where id = p_id;
  delete from refresh_family where key_id = p_id;
  perform audit_key(p_audit, 'api_key.rotated', v_key, jsonb_build_object('successor', p_new_id));
  return 'rotated';
end $function$

CREATE OR REPLACE FUNCTION public.rotate_connector_secret(p_id uuid, p_integrator uuid, p_secret_key_id text, p_secret_sealed bytea, p_old_until timestamp with time zone, p_now timestamp with time zone, p_audit jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  update webhook_subscription set old_secret_key_id = secret_key_id, old_secret_sealed = secret_sealed,
      old_secret_until = p_old_until, secret_key_id = p_secret_key_id, secret_sealed = p_secret_sealed, updated_at = p_now
    where id = p_id and integrator_id = p_integrator and firm_id is null and deleted_at is null;
  if not found then return false; end if;
  perform append_audit(p_audit, 'webhook.secret_rotated', null, p_integrator, 'webhook', p_id::text,
    jsonb_build_object('interface', 'connector'));
  return true;
end $function$

CREATE OR REPLACE FUNCTION public.rotate_refresh_family(p_family bytea, p_old bytea, p_new bytea, p_generation integer, p_now timestamp with time zone, p_expires timestamp with time zone, p_audit jsonb DEFAULT NULL::jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
declare
  v_key_id uuid;
  v_rotated boolean;
  v_key api_key;
begin
  update refresh_family f set current_sha256 = p_new, expires_at = p_expires
    where f.family_sha256 = p_family and f.current_sha256 = p_old and f.expires_at > p_now and f.generation = p_generation
      and exists (select 1 from api_key k where k.id = f.key_id and k.active and k.generation = p_generation)
    returning f.key_id into v_key_id;
  v_rotated := found;
  if not v_rotated then
    delete from refresh_family where family_sha256 = p_family returning key_id into v_key_id;
    if not found then return false; end if;
  end if;
  select * into v_key from api_key where id = v_key_id;
  perform audit_key(p_audit, case when v_rotated then 'jwt.renewed' else 'refresh.reused' end, v_key, '{}');
  return v_rotated;
end $function$

CREATE OR REPLACE FUNCTION public.rotate_webhook_secret(p_id uuid, p_firm uuid, p_integrator uuid, p_secret_key_id text, p_secret_sealed bytea, p_old_until timestamp with time zone, p_audit jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  update webhook_subscription set old_secret_key_id = secret_key_id, old_secret_sealed = secret_sealed,
      old_secret_until = p_old_until, secret_key_id = p_secret_key_id, secret_sealed = p_secret_sealed
    where id = p_id and firm_id = p_firm and integrator_id is not distinct from p_integrator and deleted_at is null;
  if not found then return false; end if;
  perform append_audit(p_audit, 'webhook.secret_rotated', p_firm, p_integrator, 'webhook', p_id::text, '{}');
  return true;
end $function$

CREATE OR REPLACE FUNCTION public.search_form(p_text text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
  select translate(lower(p_text),
    'áäčďéíĺľňóôŕšťúýžěřůöüőűÁÄČĎÉÍĹĽŇÓÔŔŠŤÚÝŽĚŘŮÖÜŐŰ',
    'aacdeillnoorstuyzeruououaacdeillnoorstuyzeruouou')
$function$

CREATE OR REPLACE FUNCTION public.send_held(p_id uuid, p_firm uuid, p_version integer, p_integrator uuid, p_audit jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  update document as d
  set staged = 'sent', staged_at = clock_timestamp(), next_attempt_at = clock_timestamp(), version = d.version + 1,
    updated_at = greatest(d.updated_at, clock_timestamp())
  where d.id = p_id and d.firm_id = p_firm and d.version = p_version and case when d.staged = 'held' then true end;
  if not found then return false; end if;
  perform append_audit(p_audit, 'connector.sent', p_firm, p_integrator, 'document', p_id::text, '{}');
  return true;
end
$function$

CREATE OR REPLACE FUNCTION public.service_lane(p_receiver text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select case when starts_with(p_receiver, '0242:') then left(p_receiver, 11) else p_receiver end
$function$

CREATE OR REPLACE FUNCTION public.service_message_due_at_once()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  new.next_attempt_at := least(new.next_attempt_at, clock_timestamp());
  new.answers := coalesce(new.answers, 0);
  new.faults := coalesce(new.faults, 0);
  return new;
end
$function$

CREATE OR REPLACE FUNCTION public.settle_registration(p_key text, p_id uuid, p_operation text, p_from text, p_state text, p_outcome text, p_now timestamp with time zone)
 RETURNS TABLE(state text)
 LANGUAGE plpgsql
AS $function$
begin
  update registration as g
  set state = p_state, outcome = p_outcome, code = null, operation_id = null, claimed_until = null, changed_at = p_now,
    migration_prepared_at = case when p_state = 'unregistered' then null else g.migration_prepared_at end,
    migration_key_id = case when p_state = 'unregistered' then null else g.migration_key_id end,
    migration_key_sealed = case when p_state = 'unregistered' then null else g.migration_key_sealed end
  where g.participant_key = p_key and g.state = p_from and (g.operation_id is null or g.claimed_until <= clock_timestamp());
  if not found then return; end if;
  update registration_operation as o set ended_at = p_now, outcome = 'interrupted', state = p_state where o.participant_key = p_key and o.ended_at is null;
  insert into registration_operation (id, participant_key, operation, started_at, ended_at, outcome, state)
  values (p_id, p_key, p_operation, p_now, p_now, p_outcome, p_state);
  return query select p_state;
end
$function$

CREATE OR REPLACE FUNCTION public.settle_webhooks(p_owner text[], p_head uuid[], p_id uuid[], p_attempt integer[], p_status text[], p_wait_ms bigint[], p_response_status integer[], p_response_body text[], p_cause text[], p_health text[], p_breaker integer, p_rest_ms integer, p_rest_max_ms integer, p_failing_ms bigint)
 RETURNS TABLE(n bigint, failing boolean, freed boolean)
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
#variable_conflict use_column
declare
  v_subscriptions uuid[];
  v_behind boolean;
  v_freed boolean := false;
  v_ended integer[];
  v_failed boolean := not p_status <@ array['SUCCESS'];
  v_unwell boolean := not p_health <@ array['well'];
  v_ailing boolean := v_failed or v_unwell;
  -- Longer than all attempts at one event take: failures that lie further apart are not one failure that goes on.
  v_apart constant interval := '48 hours';
begin
  -- Mostly all is well and was so before: then nothing but deliveries is written. A failure that commits after this look
  -- counts as one that came after these ends.
  if not v_ailing then
    v_ailing := exists (
      select 1 from unnest(p_id) as g (id) join webhook_delivery as d on d.id = g.id
      join webhook_subscription as s on s.id = d.subscription_id left join webhook_endpoint as w on w.id = d.endpoint_id
      where s.failed_attempts > 0 or w.failures > 0
    );
  end if;
  -- A subscription changes when an attempt fails, and when the first one succeeds after that. Only those that are locked
  -- here are changed below: who switches one off locks it first, and its deliveries after it.
  if v_ailing then
    select array_agg(s.id) into v_subscriptions from (
      select s.id from webhook_subscription as s
      where s.id in (select d.subscription_id from webhook_delivery as d where d.id = any (p_id))
        and (s.failed_attempts > 0 or v_failed)
      order by s.id for no key update
    ) as s;
  end if;
  -- The deliveries, and what waits behind them.
  perform 1 from webhook_delivery as d
  where d.id in (
    select unnest(p_id)
    union
    select b.id from unnest(p_id) as g (id) join webhook_delivery as e on e.id = g.id
    cross join lateral (
      select o.id from webhook_delivery as o
      where o.document_id = e.document_id and o.subscription_id is not distinct from e.subscription_id
        and o.due_at is not null
      offset 0
    ) as b
  )
  order by d.id for update;

  -- What the fan-out has added while its lock was waited for is seen from here on only; from now on it waits.
  with given as (
    select g.owner, g.head, g.id, g.attempt, g.status, g.wait_ms, g.response_status, g.response_body, g.cause, g.n
    from unnest(p_owner, p_head, p_id, p_attempt, p_status, p_wait_ms, p_response_status, p_response_body, p_cause)
      with ordinality as g (owner, head, id, attempt, status, wait_ms, response_status, response_body, cause, n)
  ), held as (
    select g.head from given as g
    join webhook_delivery as d on d.id = g.id and d.lease_owner = g.owner and d.attempts = g.attempt - 1
    where g.id = g.head
  ), ended as (
    update webhook_delivery as d
    set status = g.status, attempts = g.attempt, begun = 0, lease_owner = null, response_status = g.response_status,
      response_body = g.response_body, cause = g.cause, attempted_at = coalesce(d.attempted_at, clock_timestamp()),
      due_at = clock_timestamp() + g.wait_ms * interval '1 millisecond',
      settled_at = case when g.wait_ms is null then clock_timestamp() end
    from given as g join held as h on h.head = g.head
    where d.id = g.id and d.attempts = g.attempt - 1
      and (g.id = g.head or (d.due_at = 'infinity' and d.lease_owner is null))
    returning g.n::integer as n
  )
  select array_agg(ended.n), exists (
      select 1 from unnest(p_id) as g (id) join webhook_delivery as e on e.id = g.id
      cross join lateral (
        select o.id from webhook_delivery as o
        where o.document_id = e.document_id and o.subscription_id is not distinct from e.subscription_id
          and o.due_at is not null
        offset 0
      ) as b
      where b.id <> all (p_id)
    )
    into v_ended, v_behind from ended;
  if v_ended is null then return; end if;

  -- The next event of each document whose turn is over; repeats have no turn.
  if v_behind or cardinality(v_ended) < cardinality(p_id) then
    update webhook_delivery as d set due_at = clock_timestamp()
    from (
      select distinct on (b.subscription_id, b.document_id) b.id
      from (
        select distinct e.subscription_id, e.document_id from webhook_delivery as e
        where e.id = any (p_id) and e.settled_at is not null and e.replay_of is null
      ) as over
      cross join lateral (
        select o.id, o.subscription_id, o.document_id, o.place from webhook_delivery as o
        where o.document_id = over.document_id and o.subscription_id is not distinct from over.subscription_id
          and o.due_at is not null and o.replay_of is null
        offset 0
      ) as b
      order by b.subscription_id, b.document_id, b.place
    ) as next
    where d.id = next.id and case when d.due_at = 'infinity' then true end;
    v_freed := found;
  end if;

  if not v_ailing then
    foreach n in array v_ended loop
      failing := false;
      freed := v_freed;
      return next;
    end loop;
    return;
  end if;

  perform 1 from webhook_endpoint as w
    where w.id in (select d.endpoint_id from unnest(v_ended) as e (n) join webhook_delivery as d on d.id = p_id[e.n])
      and (w.failures > 0 or v_unwell)
    order by w.id for no key update;
  if found then
    update webhook_endpoint as w
    set failures = case when h.well then 0 else w.failures + h.ill end,
      rest_until = case when not h.well and w.failures + h.ill >= p_breaker then
        now() + least(p_rest_ms * 2 ^ least(w.failures + h.ill - p_breaker, 16), p_rest_max_ms) * interval '1 millisecond' end
    from (
      select d.endpoint_id, bool_or(p_health[d.n] = 'well') as well,
        count(*) filter (where p_health[d.n] = 'ill')::integer as ill
      from (
        select d.endpoint_id, e.n from unnest(v_ended) as e (n) join webhook_delivery as d on d.id = p_id[e.n]
      ) as d
      group by d.endpoint_id
    ) as h
    where w.id = h.endpoint_id and (h.well and w.failures > 0 or not h.well and h.ill > 0);
  end if;

  if v_subscriptions is null then
    return query select e.n::bigint, false, v_freed from unnest(v_ended) as e (n);
    return;
  end if;

  update webhook_subscription as s
  set failed_attempts = case when o.succeeded then 0 else s.failed_attempts + o.failed end,
    failing_since = case
      when o.succeeded then null
      when s.failed_at >= now() - v_apart then coalesce(s.failing_since, now())
      else now()
    end,
    failed_at = case when not o.succeeded then now() end
  from (
    select d.subscription_id, bool_or(p_status[e.n] = 'SUCCESS') as succeeded,
      (count(*) filter (where d.test_data is null and p_cause[e.n] is distinct from 'consent_withdrawn'))::integer as failed
    from unnest(v_ended) as e (n) join webhook_delivery as d on d.id = p_id[e.n]
    group by d.subscription_id
  ) as o
  where s.id = o.subscription_id and s.id = any (v_subscriptions)
    and case when o.succeeded then s.failed_attempts > 0 else o.failed > 0 end;

  return query
  select e.n::bigint, coalesce(
      s.active and s.failed_at = now() and s.failing_since < now() - p_failing_ms * interval '1 millisecond', false
    ), v_freed
  from unnest(v_ended) as e (n)
  join webhook_delivery as d on d.id = p_id[e.n]
  join webhook_subscription as s on s.id = d.subscription_id;
end
$function$

CREATE OR REPLACE FUNCTION public.settle_webhooks(p_owner text[], p_id uuid[], p_attempt integer[], p_status text[], p_wait_ms bigint[], p_response_status integer[], p_response_body text[], p_cause text[], p_health text[], p_breaker integer, p_rest_ms integer, p_rest_max_ms integer, p_failing_ms bigint)
 RETURNS TABLE(n bigint, failing boolean)
 LANGUAGE sql
AS $function$
  select s.n, s.failing from settle_webhooks(
    p_owner, p_id, p_id, p_attempt, p_status, p_wait_ms, p_response_status, p_response_body, p_cause, p_health,
    p_breaker, p_rest_ms, p_rest_max_ms, p_failing_ms
  ) as s
$function$

CREATE OR REPLACE FUNCTION public.start_sign_in(p_visit bytea, p_email text, p_address bytea, p_place bytea, p_code bytea, p_now timestamp with time zone, p_expires timestamp with time zone, p_window interval, p_codes_max integer, p_known interval)
 RETURNS text
 LANGUAGE plpgsql
AS $function$
declare
  v_person uuid;
  v_place bytea;
  v_sent integer;
begin
  -- Two that ask at once for one address take turns, so that the bound on codes holds.
  perform pg_advisory_xact_lock(hashtextextended(encode(p_address, 'hex'), 0));
  select id into v_person from person where email = p_email for key share;
  select place_sha256 into v_place from sign_in_place
    where address_sha256 = p_address and place_sha256 = p_place and seen_at > p_now - p_known;
  select count(*) into v_sent from sign_in
    where address_sha256 = p_address and created_at > p_now - p_window and place_sha256 is not distinct from v_place;
  if v_sent >= p_codes_max then v_person := null; end if;
  insert into sign_in (visit_sha256, address_sha256, place_sha256, person_id, code_hmac, created_at, expires_at)
    values (p_visit, p_address, v_place, v_person, p_code, p_now, p_expires);
  return case when v_person is null then null else p_email end;
end $function$

CREATE OR REPLACE FUNCTION public.status_counts(p_outcome text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select p_outcome in ('applied', 'late')
$function$

CREATE OR REPLACE FUNCTION public.submit_report(p_report_type text, p_period date, p_made_at timestamp with time zone, p_message jsonb)
 RETURNS TABLE(message_id uuid)
 LANGUAGE plpgsql
AS $function$
begin
  insert into service_message select (jsonb_populate_record(null::service_message, p_message)).* on conflict (subject) do nothing;
  if not found then return; end if;
  return query insert into report_submission (report_type, period, message_id, made_at)
    values (p_report_type, p_period, (p_message ->> 'id')::uuid, p_made_at) returning report_submission.message_id;
end
$function$

CREATE OR REPLACE FUNCTION public.take_attempt(p_id uuid, p_owner text, p_lease_ms integer)
 RETURNS TABLE(id uuid, firm_id uuid, sender text, receiver text, document_type_id text, process_id text, status text, version integer, attempt integer, answers integer, faults integer, as4_message_id text, sbdh_instance_id uuid, facts jsonb, created_at timestamp with time zone, payload_key_id text, payload_sealed bytea, payload_bytes integer)
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
#variable_conflict use_column
begin
  return query
  with taken as (
    update document as d
    set attempts = d.attempts + 1, version = d.version + 1, lease_owner = p_owner, attempted_at = clock_timestamp(),
      lease_until = clock_timestamp() + p_lease_ms * interval '1 millisecond'
    from document as before
    where d.id = p_id and before.id = d.id and document_is_open(d.status)
      and case when d.next_attempt_at <= clock_timestamp() then true end
      and (d.lease_until is null or d.lease_until < clock_timestamp())
    returning d.*, before.lease_owner as owner_before, before.attempted_at as attempted_before
  ), cut as (
    insert into document_attempt (document_id, number, owner, started_at, finished_at, outcome, retryable)
    select taken.id, taken.attempts - 1, taken.owner_before, coalesce(taken.attempted_before, clock_timestamp()),
      clock_timestamp(), 'cut', true
    from taken where taken.owner_before is not null and taken.attempts > 1
    on conflict (document_id, number) do nothing
  )
  select taken.id, taken.firm_id, taken.sender, taken.receiver, taken.document_type_id, taken.process_id, taken.status,
    taken.version, taken.attempts, taken.answers, taken.faults, taken.as4_message_id, taken.sbdh_instance_id,
    taken.facts, case when taken.staged is null then taken.created_at else taken.staged_at end, payload.key_id, payload.sealed,
    payload.bytes
  from taken join payload on payload.document_id = taken.id;
end
$function$

CREATE OR REPLACE FUNCTION public.take_mls_duties(p_owner text, p_lease_ms integer, p_limit integer)
 RETURNS TABLE(id uuid, firm_id uuid, sbdh_instance_id text, document_type_id text, receiver text, always boolean, received_at timestamp with time zone, acknowledged boolean, is_response boolean, held boolean, payload_key_id text, payload_sealed bytea, process_id text, document_sender text, document_receiver text)
 LANGUAGE sql
AS $function$
  with due as (
    select d.id from mls_duty as d
    where d.next_at <= now() and (d.lease_until is null or d.lease_until < now())
    order by d.next_at limit p_limit
    for update skip locked
  ), taken as (
    update mls_duty as d
    set lease_until = clock_timestamp() + p_lease_ms * interval '1 millisecond', lease_owner = p_owner
    from due where d.id = due.id
    returning d.id, d.firm_id, d.sbdh_instance_id, d.document_type_id, d.receiver, d.always, d.received_at
  )
  select t.id, t.firm_id, t.sbdh_instance_id, t.document_type_id, t.receiver, t.always, t.received_at,
    coalesce(r.status = 'ACKNOWLEDGED', false), s.id is not null, coalesce(r.status = 'HELD', false),
    coalesce(s.payload_key_id, p.key_id), coalesce(s.payload_sealed, p.sealed), coalesce(r.process_id, e.process_id),
    coalesce(r.sender, s.sender), coalesce(r.receiver, s.receiver)
  from taken as t
  left join received_document as r on r.id = t.id
  left join payload as p on p.document_id = t.id
  left join inbound_status as s on s.id = t.id
  left join exchange as e on e.id = t.id
$function$

CREATE OR REPLACE FUNCTION public.take_service_messages(p_owner text, p_lease_ms integer, p_limit integer)
 RETURNS TABLE(id uuid, kind text, status text, version integer, attempt integer, answers integer, faults integer, sender text, receiver text, document_type_id text, process_id text, as4_message_id text, sbdh_instance_id uuid, created_at timestamp with time zone, payload_key_id text, payload_sealed bytea, firm_id uuid, about uuid)
 LANGUAGE sql
AS $function$
  with due as (
    select m.id from service_message as m
    where m.next_attempt_at <= now() and (m.lease_until is null or m.lease_until < now())
    order by m.next_attempt_at limit p_limit
    for update skip locked
  ), taken as (
    update service_message as m
    set attempts = m.attempts + 1, version = m.version + 1, lease_owner = p_owner,
      lease_until = clock_timestamp() + p_lease_ms * interval '1 millisecond'
    from due where m.id = due.id
    returning m.*
  ), begun as (
    insert into service_attempt (message_id, number, owner, started_at)
    select taken.id, taken.attempts, p_owner, clock_timestamp() from taken
  ), cut as (
    update service_attempt as a set finished_at = clock_timestamp(), outcome = 'cut'
    from taken
    where taken.attempts > 1 and a.message_id = taken.id and a.number = taken.attempts - 1 and a.finished_at is null
  )
  select taken.id, taken.kind, taken.status, taken.version, taken.attempts, taken.answers, taken.faults, taken.sender,
    taken.receiver, taken.document_type_id, taken.process_id, taken.as4_message_id, taken.sbdh_instance_id,
    taken.created_at, taken.payload_key_id, taken.payload_sealed, taken.firm_id, taken.about
  from taken
$function$

CREATE OR REPLACE FUNCTION public.tallied_as(p_status text, p_staged text, p_reason text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select case when p_status = 'send_failed' and (
    p_staged is not distinct from 'cancelled' or p_reason = 'It was cancelled in the Box before it was transmitted.'
  ) then 'cancelled' else p_status end
$function$

CREATE OR REPLACE FUNCTION public.tally_documents()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  v record;
begin
  for v in
    select tallied_as(s.status, s.staged, s.reason) as status, s.change from (
      select old.status as status, old.staged as staged, old.status_reason as reason, -1 as change where tg_op <> 'INSERT'
      union all select new.status, new.staged, new.status_reason, 1 where tg_op <> 'DELETE'
    ) as s where not document_is_open(s.status)
  loop
    update document_tally as t set n = t.n + v.change where t.status = v.status
      and t.share = (select f.share from document_tally as f where f.status = v.status limit 1 for update skip locked);
    if not found then insert into document_tally (status, n) values (v.status, v.change); end if;
  end loop;
  return null;
end $function$

CREATE OR REPLACE FUNCTION public.tally_moved_documents()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  v record;
begin
  for v in
    select s.status, sum(s.change) as change from (
      select tallied_as(b.status, b.staged, b.status_reason) as status, -1 as change
      from before as b join after as a on a.id = b.id where a.status <> b.status and not document_is_open(b.status)
      union all
      select tallied_as(a.status, a.staged, a.status_reason), 1
      from before as b join after as a on a.id = b.id where a.status <> b.status and not document_is_open(a.status)
    ) as s group by s.status having sum(s.change) <> 0 order by s.status
  loop
    update document_tally as t set n = t.n + v.change where t.status = v.status
      and t.share = (select f.share from document_tally as f where f.status = v.status limit 1 for update skip locked);
    if not found then insert into document_tally (status, n) values (v.status, v.change); end if;
  end loop;
  return null;
end $function$

CREATE OR REPLACE FUNCTION public.test_connector(p_integrator uuid, p_firm uuid, p_customer_ref text, p_event text, p_data jsonb, p_id uuid[], p_event_id uuid[], p_document_id uuid[], p_scenario text[], p_made uuid, p_key text, p_sha256 text)
 RETURNS TABLE(outcome text, made uuid)
 LANGUAGE plpgsql
AS $function$
#variable_conflict use_column
declare
  v_subscription webhook_subscription;
  v_kept record;
begin
  select * into v_subscription from webhook_subscription
    where integrator_id = p_integrator and firm_id is null and deleted_at is null for key share;
  if v_subscription.active is not true and not exists (
    select 1 from connector_request as r where r.subscription_id = v_subscription.id and r.idempotency_key = p_key
  ) then
    return query select 'inactive', null::uuid;
    return;
  end if;
  if p_key is not null then
    select * into v_kept from keep_connector_request(v_subscription.id, p_key, p_sha256, p_made);
    if v_kept.outcome <> 'new' then
      return query select v_kept.outcome, v_kept.made;
      return;
    end if;
  end if;
  insert into webhook_delivery (
    id, subscription_id, endpoint_id, owner_id, firm_id, customer_ref, event_id, event, place, document_id, occurred_at,
    test_run_id, test_data, scenario, status, due_at, created_at
  )
  select t.id, v_subscription.id, v_subscription.endpoint_id, v_subscription.id, p_firm, p_customer_ref, t.event_id, p_event,
    nextval(pg_get_serial_sequence('document_event', 'position')) * 2, t.document_id, clock_timestamp(), p_made, p_data,
    t.scenario, 'PENDING', clock_timestamp(), clock_timestamp()
  from unnest(p_id, p_event_id, p_document_id, p_scenario) as t (id, event_id, document_id, scenario);
  return query select 'new', p_made;
end
$function$

CREATE OR REPLACE FUNCTION public.test_webhook(p_id uuid, p_firm uuid, p_integrator uuid, p_run uuid, p_event text, p_events uuid[], p_data jsonb[], p_owner text, p_lease_ms integer)
 RETURNS TABLE(id uuid, event_id uuid)
 LANGUAGE sql
AS $function$
  insert into webhook_delivery (
    id, subscription_id, endpoint_id, owner_id, firm_id, event_id, event, place, document_id, occurred_at, test_run_id,
    test_data, status, due_at, lease_owner, attempted_at, created_at
  )
  select new_row_id(), s.id, s.endpoint_id, coalesce(s.integrator_id, s.firm_id), s.firm_id, t.id, p_event,
    nextval(pg_get_serial_sequence('document_event', 'position')) * 2, (t.data ->> 'document_id')::uuid, clock_timestamp(),
    p_run, t.data, 'PENDING',
    case
      when s.endpoint_id is null then null
      when p_owner is null then clock_timestamp()
      else clock_timestamp() + p_lease_ms * interval '1 millisecond'
    end,
    case when s.endpoint_id is not null then p_owner end,
    case when s.endpoint_id is not null and p_owner is not null then clock_timestamp() end, clock_timestamp()
  from (
    select w.id, w.firm_id, w.integrator_id, w.endpoint_id from webhook_subscription as w
    where w.id = p_id and w.firm_id = p_firm and w.integrator_id is not distinct from p_integrator and w.deleted_at is null
    for key share
  ) as s cross join unnest(p_events, p_data) as t (id, data)
  returning id, event_id
$function$

CREATE OR REPLACE FUNCTION public.vouch_white_label(p_id uuid, p_version integer, p_now timestamp with time zone, p_audit jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
declare
  v_integrator uuid;
begin
  perform 1 from integrator i join white_label_operation o on o.integrator_id = i.id where o.id = p_id for update of i;
  update white_label_operation o set status = 'processing', error_code = null, due_at = p_now, claimed_until = null,
    asked_at = null, vouched_at = p_now, version = version + 1, updated_at = p_now
  where o.id = p_id and o.version = p_version and o.status = 'manual_review' and not exists (
    select 1 from firm_binding b where b.integrator_id = o.integrator_id and b.customer_ref = o.customer_ref
  )
  returning o.integrator_id into v_integrator;
  if not found then return false; end if;
  perform append_audit(p_audit, 'white_label.vouched', null, v_integrator, 'white_label_operation', p_id::text, '{}');
  return true;
end
$function$

CREATE OR REPLACE FUNCTION public.webhook_endpoint_of(p_owner uuid, p_origin text)
 RETURNS uuid
 LANGUAGE plpgsql
AS $function$
declare
  v_id uuid;
begin
  if p_origin is null then return null; end if;
  loop
    select w.id into v_id from webhook_endpoint as w where w.owner_id = p_owner and w.origin = p_origin for key share;
    if found then return v_id; end if;
    insert into webhook_endpoint (id, owner_id, origin) values (new_row_id(), p_owner, p_origin)
    on conflict (owner_id, origin) do nothing;
  end loop;
end
$function$

CREATE OR REPLACE FUNCTION public.webhook_is_allowed(p_integrator uuid, p_firm uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select p_integrator is null or exists (
    select 1 from firm_binding as b
    join integrator as i on i.id = b.integrator_id
    join firm as f on f.id = b.firm_id
    where b.integrator_id = p_integrator and b.firm_id = p_firm and b.state = 'active' and 'enterprise' = any (b.interfaces)
      and b.scopes && array['webhooks:read', 'webhooks:write'] and (f.sandbox or i.production_authorized)
  )
$function$

CREATE OR REPLACE FUNCTION public.webhook_is_due(p_endpoint uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
AS $function$
begin
  perform 1 from webhook_delivery as d
  where d.endpoint_id = p_endpoint and d.due_at <= now() order by d.due_at limit 1;
  return found;
end
$function$

CREATE OR REPLACE FUNCTION public.white_label_has_other_name(p_integrator uuid, p_customer_ref text, p_dic text)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
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
  )
$function$

CREATE OR REPLACE FUNCTION public.white_label_name_differs(p_integrator uuid, p_customer_ref text, p_dic text)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select white_label_has_other_name(p_integrator, p_customer_ref, p_dic) or exists (
    select 1 from onboarding_request r
    where r.integrator_id = p_integrator and r.customer_ref = p_customer_ref and r.dic <> p_dic
      and r.status not in ('blocked', 'revoked', 'active')
  ) or exists (
    select 1 from onboarding_request r
    where r.integrator_id = p_integrator and r.dic = p_dic and r.customer_ref <> p_customer_ref
      and r.status not in ('blocked', 'revoked', 'active')
  ) or exists (
    select 1 from firm_binding b join firm f on f.id = b.firm_id
    where b.integrator_id = p_integrator and b.customer_ref = p_customer_ref and f.dic is distinct from p_dic
  ) or exists (
    select 1 from firm f join firm_binding b on b.firm_id = f.id
    where f.dic = p_dic and b.integrator_id = p_integrator and b.customer_ref <> p_customer_ref
  )
$function$
