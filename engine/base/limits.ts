/** Every number that bounds something, with its unit and its source. Nothing else in the project invents one. */

const KiB = 1024;
const MiB = 1024 * KiB;
const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export const LIMITS = {
  // Tokens and credentials
  /** spec/sapi.md, Limits: access token lifetime. */
  token_access_s: 900,
  /** spec/sapi.md, Limits: refresh token lifetime, 30 days. */
  token_refresh_s: 30 * 86_400,
  /** spec/enterprise.md, Token status: should_refresh within the last 25 % of the lifetime. */
  token_refresh_share: 0.25,
  /** spec/sapi.md, Token status: should_refresh about 3 minutes before expiry. */
  token_refresh_before_s: 180,
  /** Signing keys: how long one signs, and how long before it signs it is published. Ours. */
  signing_key_active_ms: 30 * DAY_MS,
  signing_key_published_before_ms: 1 * HOUR_MS,
  /**
   * design/reliability.md, 2.7: at most 60 s. A token that begins this far in the future is believed; one that has
   * ended is not.
   */
  token_clock_skew_s: 30,
  /** A JWT longer than this is refused unread; ours have about 700 bytes. */
  token_bytes_max: 4 * KiB,
  /** spec/sapi.md, Limits: 5 failed credentials within 10 minutes, then 423. */
  credential_failures_max: 5,
  credential_window_sapi_ms: 10 * MINUTE_MS,
  /** spec/enterprise.md, Limits: 5 within 15 minutes. */
  credential_window_enterprise_ms: 15 * MINUTE_MS,
  /** spec/enterprise.md, Limits. */
  ip_allowlist_entries_max: 50,
  keys_unrestricted_active_max: 5,
  keys_scoped_active_max: 5,
  /** Verified tokens kept per node, so that a signature is checked once per token. Ours: 2 KB each. */
  token_cache_entries: 50_000,
  /** How long a node may believe a cached key without asking Postgres when nothing announced a change. Ours. */
  key_cache_ms: 5 * SECOND_MS,
  key_cache_entries: 100_000,
  binding_cache_entries: 100_000,
  participant_cache_entries: 200_000,
  /** Revoked access tokens remembered per node; beyond, every request asks Postgres. Ours: 100 bytes each. */
  revoked_tokens_max: 100_000,
  /** How often a node proves to itself that announcements of changes reach it, and how long a proof is believed. */
  change_probe_ms: 500,
  change_proof_ms: 2 * SECOND_MS,
  /**
   * How long a change waits for a node that does not say that it knows: until that node believes its memory no more.
   */
  change_ack_timeout_ms: 2_250,
  /** A channel without a sign of life for this long is opened anew. */
  change_channel_dead_ms: 10 * SECOND_MS,
  /** Failed attempts are counted in this many slots; the check of table failed_credential has the same number. */
  credential_slots: 262_144,
  /**
   * Refresh families that a key keeps; the oldest go first, and whoever held one logs in again. Ours: one a process of
   * the client.
   */
  refresh_families_per_key_max: 200,
  /** An unknown `kid` reads the signing keys again, at most this often. */
  signing_key_reload_ms: 1 * SECOND_MS,
  /** What has expired is deleted this often, this many rows a statement. */
  identity_prune_interval_ms: 5 * MINUTE_MS,
  identity_prune_batch: 1_000,
  /** Lengths of the members of token requests. Ours: ours have 36, 57, 68 and about 200 characters. */
  client_id_chars_max: 128,
  client_secret_chars_max: 256,
  refresh_token_chars_max: 256,
  scope_chars_max: 1_024,
  /** Statements that one kind of row may take in one pass, so that a pass ends. */
  identity_prune_rounds_max: 20,
  /** Probes waited for; more than a node can send before its channel is opened anew. */
  change_probes_max: 64,
  /** Signing keys that are read: one signs, the others verify tokens that are still valid. Ours. */
  signing_keys_max: 64,

  // People
  /** A one-time code: how long it is good, and how many wrong ones end it. */
  sign_in_code_ms: 10 * MINUTE_MS,
  sign_in_tries_max: 5,
  /**
   * Codes that are sent to one address in a window. With five tries each, an attacker who asks all day guesses one code
   * in 1,700 days. Ours.
   */
  sign_in_codes_max: 5,
  sign_in_window_ms: 1 * HOUR_MS,
  /**
   * Network addresses from which a person has signed in: each has its own codes in a window, beside those of all others
   * together, so that strangers use up none of its. How long one is known, and how many; the oldest goes. Ours.
   */
  sign_in_place_ms: 180 * DAY_MS,
  sign_in_places_max: 20,
  /** A session ends 12 hours after its sign-in, and an hour after its last use; the use is written once a minute. */
  session_ms: 12 * HOUR_MS,
  session_idle_ms: 1 * HOUR_MS,
  session_seen_step_ms: 1 * MINUTE_MS,
  /** Browsers in which one person is signed in; the oldest goes. Ours. */
  sessions_per_person_max: 20,
  /** Operators at the console: how long one is signed in, how long without a click, and browsers at once. Ours. */
  console_session_ms: 12 * HOUR_MS,
  console_idle_ms: 30 * MINUTE_MS,
  console_sessions_max: 20,
  /** An operator's token in the form of the console: as long as ADMIN_TOKEN may be. */
  console_token_chars_max: 1_000,
  /** Things that one search finds, and characters of a search and of a reason. Ours. */
  console_found_max: 20,
  console_search_chars_max: 255,
  console_reason_chars_max: 500,
  /** A longer page is not masked: the event loop would stand still while it is. Ours. */
  console_masked_chars_max: 2 * MiB,
  /** Over how long a node says what it does a second. */
  pulse_window_ms: 1 * MINUTE_MS,
  /** How old a heartbeat may be that is shown to several who look: one look at the database for all. Ours. */
  heartbeat_cached_ms: 1 * SECOND_MS,
  /** Rows of each of its lists, and documents that are looked at for its slowest receivers. Ours. */
  heartbeat_rows_max: 10,
  heartbeat_open_max: 10_000,
  /** From which age of the oldest due dispatch on it is shown as late, and as stuck, as the alert has it. Ours. */
  heartbeat_late_s: 60,
  heartbeat_stuck_s: 300,
  /** A certificate that ends so soon is shown in red, as the alert has it. Ours. */
  heartbeat_certificate_days: 5,
  /** How often the console's overview asks for a heartbeat while somebody looks at it. Ours. */
  live_interval_ms: 5 * SECOND_MS,
  /**
   * What kurier doctor asks of an installation: days that a certificate still holds, bits of the operators' token, how
   * far the database's clock may be, room in DATA_DIR. Ours.
   */
  doctor_certificate_days: 30,
  doctor_token_bits_min: 128,
  doctor_clock_skew_ms: 2 * SECOND_MS,
  doctor_disk_bytes_min: 5 * 1024 * MiB,
  doctor_disk_share_min: 0.1,
  /** How often kurier top looks. Ours. */
  top_interval_ms: 2 * SECOND_MS,
  /** spec/enterprise.md, Integrator API key: name. */
  key_name_chars_max: 80,
  /** A code of OAuth is good for a minute; it is kept for a day, so that its key ends when it comes again. Ours. */
  oauth_code_ms: 1 * MINUTE_MS,
  oauth_code_kept_ms: 1 * DAY_MS,
  /** Characters of an address to which OAuth leads back, and of any other member of its requests. Ours. */
  oauth_redirect_chars_max: 1_000,
  oauth_redirects_max: 10,
  /** Onboarding: words of an operator, a company's name, how long an activation may take before it is tried again. */
  onboarding_words_chars_max: 500,
  firm_name_chars_max: 255,
  onboarding_activation_ms: 1 * MINUTE_MS,
  /** The tax authority's confirmation has some hundred octets. How many come in a minute from one address. Ours. */
  pfs_body_bytes_max: 64 * KiB,
  rate_pfs: 120,
  /** Firms that a node knows to have a mailbox. Ours: 100 bytes each. */
  receiving_firms_known_max: 100_000,
  /** Forms of one address in a minute: sign-in, its code, decisions. Ours. */
  rate_forms: 60,
  form_bytes_max: 32 * KiB,
  rate_sign_in: 20,
  /** Letters that leave at once; more are dropped and logged. What a mail server may take to answer. Ours. */
  mails_under_way_max: 64,
  mail_timeout_ms: 20 * SECOND_MS,
  /** Letters kept as files; the oldest go. Ours. */
  mail_files_max: 1_000,

  // Partners: keys, consents, firms, audit
  /** Keys that a list shows, the newest first; who makes one a day reaches it in a year and a half. Ours. */
  keys_listed_max: 500,
  /** spec/rulings.md, section 8: offers expire after 14 days. */
  consent_offer_ms: 14 * DAY_MS,
  /** How long an offer that nobody accepted can still be read after its end. Ours. */
  consent_offer_kept_ms: 90 * DAY_MS,
  /** spec/enterprise.md, Limits: customerRef; spec/shapes.md, section 3: customer_reference of the older form. */
  customer_ref_chars_max: 128,
  customer_reference_chars_max: 120,
  /** spec/shapes.md, section 3: POST /firms/assign/batch. */
  assign_batch_max: 50,
  /** Firms on one page. Ours: clients that know no pages still see a thousand. */
  firms_page_max: 1_000,
  /** Documents of a firm on one page, and how many pages can be asked for. Ours. */
  firm_documents_page_default: 20,
  firm_documents_page_max: 100,
  firm_documents_pages_max: 1_000,
  /** Documents that a total counts; beyond, it says this number. Ours: counting ten million rows takes seconds. */
  firm_documents_counted_max: 10_000,
  /** Entries of the audit on one page. Ours. */
  audit_page_default: 50,
  audit_page_max: 200,
  /** How long entries of the audit are kept; the database refuses to delete younger ones. Ours. */
  audit_kept_ms: 731 * DAY_MS,
  /** The check of table audit_entry has the same number. */
  user_agent_chars_max: 255,

  // Webhooks
  /** Subscriptions of one owner to one firm, and of an integrator to all its firms. Ours. */
  webhooks_per_firm_max: 20,
  webhooks_per_integrator_max: 20_000,
  /** How long the name of a new URL's host is looked up; one that is not known by then is judged at the connection. */
  webhook_resolve_ms: 2 * SECOND_MS,
  /** How long the secret before signs beside a new one. Ours. */
  webhook_secret_overlap_ms: 24 * HOUR_MS,
  /** spec/rulings.md, section 10: ten attempts over about 44 h; the wait after each, with the jitter of the plan. */
  webhook_attempts_max: 10,
  webhook_plan_ms: [
    5 * SECOND_MS,
    30 * SECOND_MS,
    2 * MINUTE_MS,
    10 * MINUTE_MS,
    30 * MINUTE_MS,
    2 * HOUR_MS,
    6 * HOUR_MS,
    12 * HOUR_MS,
    24 * HOUR_MS,
  ],
  /** spec/rulings.md, section 10: Retry-After is honoured up to 24 h. */
  webhook_retry_after_max_ms: 24 * HOUR_MS,
  /** What is read of an answer, and what is kept of it. The first is the issue's, the second ours. */
  webhook_answer_bytes_max: 16 * KiB,
  webhook_answer_chars_kept: 2_000,
  /** spec/shapes.md, section 5: failure_reason (<=400). */
  webhook_reason_chars_max: 400,
  /**
   * Attempts of a node at once, of all nodes at what one owner has behind one origin, and for one owner wherever its
   * subscriptions lead: slow receivers of one cannot take the places of all. Of an owner's share the last are for
   * endpoints that have nothing under way, so that some that hang leave room for its others. Ours.
   */
  webhook_attempts_concurrent_max: 64,
  webhook_per_endpoint: 4,
  webhook_per_owner: 16,
  webhook_owner_first: 4,
  /** Events of a document that are sent before the end of the first is written; none is begun later than this. Ours. */
  webhook_chain_max: 8,
  webhook_chain_ms: 1 * SECOND_MS,
  /** A lease outlives the attempt, which the outbound client bounds. */
  webhook_lease_ms: 60 * SECOND_MS,
  /** Attempts at one delivery in a row that were begun and never ended, after which it is a dead letter. Ours. */
  webhook_begun_max: 10,
  /** Failures in a row after which an endpoint rests; the rest doubles from the first to the last. Ours. */
  webhook_breaker_failures: 5,
  webhook_rest_ms: 5 * SECOND_MS,
  webhook_rest_max_ms: 60 * SECOND_MS,
  /** design/reliability.md, 4: disabled after 5 days of failure. */
  webhook_failing_ms: 5 * DAY_MS,
  /** How often an end is written anew while Postgres is away: for about half a minute, within the lease. Ours. */
  webhook_settle_tries: 10,
  /** Rows of the feed that become deliveries by one statement, and attempts whose ends are written by one. Ours. */
  webhook_feed_batch: 500,
  webhook_settle_batch: 64,
  /** How often a node looks for events when nobody tells it, and for deliveries whose time has come. */
  webhook_poll_ms: 500,
  webhook_due_poll_ms: 1 * SECOND_MS,
  /** What happens together is seen by one statement: a moment between two claims, and between two looks at the feed. */
  webhook_claim_rest_ms: 10,
  webhook_claim_idle_rest_ms: 100,
  webhook_feed_rest_ms: 100,
  /** How long a delivery is kept that succeeded, any other or a test; how many go at once, and how often. Ours. */
  webhook_delivered_kept_ms: 7 * DAY_MS,
  webhook_kept_ms: 30 * DAY_MS,
  webhook_prune_batch: 1_000,
  webhook_prune_interval_ms: 5 * MINUTE_MS,
  /** spec/enterprise.md, Limits: pull page size; spec/shapes.md, section 5: over all firms 500. */
  webhook_pull_max: 100,
  webhook_pull_all_max: 500,
  /** Events confirmed by one call. Ours. */
  webhook_ack_batch_max: 500,
  /** Deliveries of one test. Ours. */
  webhook_test_count_max: 10,
  webhook_resolution_chars_max: 500,
  /** What is kept of a receiver's Content-Type. Ours. */
  webhook_content_type_chars_max: 200,
  /** Attempts at a test of the Connector's webhook, and until one of its scenario `timeout` is given up. Ours. */
  connector_test_attempts_max: 3,
  connector_test_timeout_ms: 5 * SECOND_MS,
  /** Attempts that one answer shows: those of a delivery, or of all scenarios of a test suite. Ours. */
  connector_attempts_shown_max: 100,
  /** spec/shapes.md, section 5: GET /webhooks/{id} adds deliveries[<=20]. */
  webhook_latest_deliveries: 20,
  /** Deliveries on one page, and how many can be passed over; a cursor goes further. Ours. */
  webhook_page_default: 50,
  webhook_page_max: 100,
  webhook_offset_max: 10_000,

  // White Label
  /** One call to the registry: an operation makes at most seven of them within the time of an actor's answer. Ours. */
  white_label_registry_ms: 3 * SECOND_MS,
  /** How long a request waits for the end of its operation before it is answered 202. Ours. */
  white_label_wait_ms: 8 * SECOND_MS,
  white_label_poll_ms: 50,
  /** Operations that one look takes, how long each is taken for, and how often a process looks. Ours. */
  white_label_batch: 8,
  white_label_lease_ms: 2 * MINUTE_MS,
  white_label_look_ms: 2 * SECOND_MS,
  /** When a registry that could not be asked is asked again, and when an operation that never was ends. Ours. */
  white_label_again_ms: 30 * SECOND_MS,
  white_label_give_up_ms: 1 * HOUR_MS,
  /** How long an operation waits for an operator to vouch for its token before it is released. Ours. */
  white_label_unvouched_kept_ms: 30 * DAY_MS,
  /** Lengths of tokens, codes and words. Ours; the SML's migration keys have 24 characters at most. */
  verification_token_chars_max: 512,
  migration_code_chars_max: 200,
  customer_authorization_chars_max: 4_000,
  /** spec/shapes.md, section 8: list ?limit(1–100, default 50). */
  white_label_page_default: 50,
  white_label_page_max: 100,

  // What is paid for
  /** Rows of the feed that the meter reads at once, and how often it looks when there was nothing. Ours. */
  meter_batch: 1_000,
  meter_look_ms: 5 * SECOND_MS,
  /** Months before this one whose documents are still counted and proved one by one. Ours: two years of disputes. */
  metered_kept_months: 25,
  /**
   * One firm counted anew, which is one statement of the command `meter rebuild`: 200,000 documents take longer than
   * the statements of requests may. Ours.
   */
  meter_rebuild_statement_ms: 30 * MINUTE_MS,
  /** How long a plan works on after its end. Ours. */
  plan_grace_ms: 14 * DAY_MS,
  /** spec/enterprise.md, Limits: integrator licence per-firm list. How far an offset goes: ours. */
  licence_firms_page_default: 50,
  licence_firms_page_max: 100,
  licence_firms_offset_max: 1_000_000,

  // Nodes
  /** A node says this often that it is alive, in database time, and is forgotten after so long a silence. */
  node_beat_ms: 2 * SECOND_MS,
  node_dead_ms: 10 * SECOND_MS,

  // Requests
  /** spec/rulings.md, section 11 allows 15 MB of attachments, 20 MB as base64: a JSON wrapper around them fits. */
  request_body_bytes_max: 25 * MiB,
  /** design/validation.md, V5: UBL text, exact bytes. */
  payload_bytes_max: 20 * MiB,
  /** gzip's fastest level: 12 KB become 3 KB in 0.08 ms, which Postgres and its log no longer have to carry. Ours. */
  payload_gzip_level: 1,
  /**
   * Payloads up to this are compressed where they are: 64 KiB take 0.5 ms, which giving them to a thread costs too.
   * Ours.
   */
  payload_inline_bytes: 64 * KiB,
  /** Octets that are hashed or sealed before the event loop turns: about 1 ms. Ours. */
  payload_slice_bytes: 512 * KiB,
  /** Octets of a large body that are read before its connection waits for the next turn of its own. Ours. */
  request_body_turn_bytes: 64 * KiB,
  /**
   * Memory for a body whose length was told is asked for when one part in so many has come: what is asked for and never
   * written is no memory, but counts where collections of garbage are planned. Ours.
   */
  request_body_ahead: 8,
  /** Octets of a stored payload in one row of an answer of Postgres, which is read in one turn: about 2 ms. Ours. */
  payload_piece_bytes: 1 * MiB,
  /** Bodies of operations that carry no document. @source spec/rulings.md, section 1: 1 MB elsewhere */
  request_small_body_bytes_max: 1 * MiB,
  /** design/reliability.md, H-03: all headers together; uWS answers 431 beyond. */
  request_header_bytes_max: 16 * KiB,
  /** What is read of a longer head, to refuse it in the words of its family. */
  request_header_bytes_read_max: 64 * KiB,
  /** design/reliability.md, 2.8: what uWebSockets.js reads at most; beyond: 431. */
  request_headers_max: 99,
  /** Names in a query string or a form. Ours: the longest of the specifications has 6. */
  request_pairs_max: 64,
  /** Hops of X-Forwarded-For that are read. Ours. */
  forwarded_hops_max: 16,
  /** design/reliability.md, H-06: JSON nesting that is read at all; the deepest body of the specifications has 5. */
  json_depth_max: 64,
  json_members_max: 20_000,
  /** design/reliability.md, 2.8: bodies must average this rate, or the connection is closed. */
  request_body_bytes_per_s_min: 16 * KiB,
  request_idle_ms: 10 * SECOND_MS,
  /** A handler that has not answered by then answers 503. Ours. */
  request_timeout_ms: 30 * SECOND_MS,
  /** Retry-After of a 503 that tells of passing load. Ours. */
  temporary_retry_after_s: 1,
  /** Findings that one error shows; a body of 20,000 wrong members needs no 20,000 sentences. Ours. */
  error_details_max: 20,
  /** Characters of a claimed client_id that count for its rate: ours are UUIDs or shorter prefixes. */
  rate_client_id_chars: 64,
  /** An answer longer than this leaves in pieces as its client takes them: a slow reader holds no second copy. Ours. */
  response_streamed_bytes: 64 * KiB,
  /**
   * Connections that clients of a listener have at most; where the system gives few files, a share of them for the API
   * and one for operators. The rest is for Postgres, evidence and connections of ours. Ours.
   */
  connections_max: 16_384,
  connections_share: 3 / 8,
  admin_connections_share: 1 / 16,
  /** Octets of such answers that are made or written at once on a node. Ours. */
  responses_bytes_max: 256 * MiB,
  /** Answers that may wait for room among them. Ours: each is a request under way. */
  responses_waiting_max: 1_024,
  /** Of these octets, and of those who wait, one key holds this much, or one address where no key is shown. Ours. */
  response_key_share: 1 / 4,
  /** Who takes an answer more slowly, on average, is cut off. Ours: as slow as a body may come. */
  response_bytes_per_s_min: 16 * KiB,
  /**
   * What a stored document takes while it is made an answer, in times its own octets: as it is sealed, opened and
   * written. Ours.
   */
  response_copies: 3,
  /** Rows that one answer of /admin and one listing of the command line have at most. Ours. */
  operator_page_max: 200,
  /** Lines of a sample invoice: enough for the largest benchmark that travels over HTTP. Ours. */
  sample_invoice_lines_max: 10_000,
  /** How long browsers keep the files that pages load. Ours. */
  reference_cache_s: 3_600,
  /** How deep examples and tables of the reference follow schemas that contain others. Ours. */
  reference_example_depth_max: 8,
  /** Lines of the invoice that the reference fills in. Ours. */
  reference_invoice_lines: 3,
  /** Longer patterns are left out of the OpenAPI documents: they are for machines, no reader gains by them. Ours. */
  openapi_pattern_chars_max: 80,
  /** For how long security.txt is good; RFC 9116, 2.5.5 asks for less than a year. */
  security_text_days: 180,
  /** What `kurier demo` waits for a delivery and for one answer. Ours. */
  demo_delivery_ms: 30 * SECOND_MS,
  demo_request_ms: 10 * SECOND_MS,
  /** How often the demo asks whether its document has arrived. Ours. */
  demo_poll_ms: 25,
  /**
   * kurier probe: connections at once, what is waited for an answer and for the end of a slow one, how often it looks,
   * how long a connection is quiet behind a whole answer before nothing more is expected, and what is read. Ours.
   */
  probe_connections: 4,
  probe_answer_ms: 20 * SECOND_MS,
  probe_slow_ms: 90 * SECOND_MS,
  probe_look_ms: 20,
  probe_settled_ms: 400,
  probe_answer_chars_max: 4 * MiB,
  /** What a probe sends: an octet each so often, and how many; what is unpacked, nested and long. Ours. */
  probe_trickle_ms: 500,
  probe_trickle_octets: 200,
  probe_bomb_bytes: 64 * MiB,
  probe_levels: 100_000,
  probe_xml_levels: 50_000,
  probe_long_token_chars: 1_000_000,
  probe_signature_chars: 342,
  /**
   * Requests under way at once on a node; more are answered 503 unread. Ours: 2,000 × 25 MB never happens at 64 KB
   * typical.
   */
  requests_in_flight_max: 4_096,
  /** Bytes of request bodies held at once on a node. */
  request_bodies_bytes_max: 512 * MiB,
  /**
   * Shares of these bytes and of the requests under way: other access points, logins, callers of the API, the public;
   * and what one key or address may hold of a share. A body that is alone in its share may be larger than it. Ours.
   */
  share_network: 1 / 4,
  share_token: 1 / 32,
  share_api: 9 / 16,
  share_public: 5 / 32,
  share_holder: 1 / 2,
  /** Calls of the API are counted by address when this much of the requests that a node takes is under way. Ours. */
  share_uncounted: 1 / 4,
  /** Open connections of one address to a listener, whatever they are used for. Ours. */
  connections_per_address_max: 1_024,
  /** How often the system is asked whose connections are open; between two questions those that came are counted. */
  connections_recount_ms: 250,
  /** Requests that every share and every address has room for, however few a node takes. Ours. */
  share_requests_min: 16,
  /** Bytes that gzip bodies have become, held at once by a listener; those that are just inflated come on top. Ours. */
  request_inflated_bytes_max: 256 * MiB,
  /** Bodies inflated at once, as many as node:zlib has threads, and how many may wait for that; more are 503. Ours. */
  request_inflating_max: 4,
  request_inflations_waiting_max: 512,
  /** Retry-After for a request whose key is in flight: by then the first one will have been answered. */
  in_flight_retry_after_s: 1,

  // Rates, per 60 s and key unless named otherwise. @source spec/rulings.md, section 4
  rate_window_ms: 60 * SECOND_MS,
  rate_sapi: 200,
  rate_sapi_send: 150,
  rate_enterprise: 300,
  rate_consent_create: 30,
  rate_consent_read: 60,
  rate_token: 60,
  /** Logins of one address, whichever clients it names: thousands of keys start behind one address. Ours. */
  rate_token_address: 6_000,
  /** spec/rulings.md, section 13: public validation, per address. */
  rate_public_validate: 20,
  /** Windows remembered on a node; the least recently used goes first. 1.6 KB each. */
  rate_windows_max: 100_000,
  /** Shared windows count in buckets this long: an error of at most 1 % of the window, on the strict side. */
  rate_bucket_ms: 500,
  /** spec/rulings.md, section 4: the limit holds across all nodes within 5 %. */
  rate_reserve_share: 0.05,
  /** How long a leased admission may be kept before it is given back. Ours. */
  rate_lease_ms: 3 * SECOND_MS,
  /** How long a common store that had no admission left is not asked again. Ours. */
  rate_empty_ms: 1 * SECOND_MS,
  /** A common store that has not answered by then is taken for away. Ours. */
  rate_lease_timeout_ms: 250,

  // SAPI
  /** spec/sapi.md, Limits. */
  document_id_chars_max: 255,
  receive_page_default: 20,
  receive_page_max: 100,
  /** spec/rulings.md, section 5: GET /documents/{id}/events. Ours: same bounds as the receive list. */
  events_page_default: 50,
  events_page_max: 100,
  /** spec/shapes.md, section 6: send/batch and status/batch; how many of a batch are on their way at once is ours. */
  send_batch_max: 100,
  send_batch_parallel: 8,
  status_batch_max: 100,
  /** Pages of inbox and outbox, and how far into them one can look; `since` goes further. Ours. */
  inbox_page_default: 50,
  inbox_page_max: 100,
  inbox_offset_max: 10_000,
  /** How far the clocks of nodes may be apart where a document is looked for by the time in its id. */
  inbox_since_slack_ms: 1 * DAY_MS,
  /** spec/shapes.md, section 6: the pull interface's limit is 1 to 500. */
  pull_page_default: 100,
  pull_page_max: 500,
  /** spec/shapes.md, section 6: client_reference and the notes of marks. */
  client_reference_chars_max: 256,
  mark_note_chars_max: 500,
  /** Answers to one document that are listed, the newest. Ours. */
  responses_listed_max: 100,
  /** Entries of the timeline and attempts in a support packet. Ours. */
  support_packet_entries_max: 500,
  /** Legal issue deadline in days, from the day on which it is in force. @source design/reliability.md, K-07 */
  issue_deadline_days: [
    { from: "2027-01-01", days: 15 },
    { from: "2030-07-01", days: 10 },
  ],
  /** spec/sapi.md, Errors: SAPI-DOC-027 and SAPI-DOC-028 apply from this Bratislava day. */
  handoff_rules_from: "2027-01-01",

  // Dispatch. @source spec/rulings.md, section 5
  /** Waits before the attempts after the first. */
  retry_plan_ms: [
    10 * SECOND_MS,
    1 * MINUTE_MS,
    5 * MINUTE_MS,
    15 * MINUTE_MS,
    1 * HOUR_MS,
    3 * HOUR_MS,
    6 * HOUR_MS,
    12 * HOUR_MS,
    24 * HOUR_MS,
  ],
  retry_jitter_share: 0.2,
  /** One attempt, look-ups and transmission included; the lease outlives it. */
  attempt_timeout_ms: 60 * SECOND_MS,
  attempt_lease_ms: 90 * SECOND_MS,
  /**
   * Measured on two cores, one quick receiver, a run each: 258 documents a second with 48, 294 with 64, 294 and 336
   * with 96: what is under way shares statements.
   */
  attempts_concurrent_max: 96,
  /** Attempts that are taken or ended in one statement. */
  attempts_batch: 32,
  /** Received documents that are stored in one statement. */
  receive_batch: 32,
  /**
   * Attempts on the wire to one receiving access point: to one that has not answered yet, and at most. Between them its
   * answers decide.
   */
  attempts_receiver_first: 2,
  attempts_per_receiver_max: 64,

  /** How long an answer about a recipient is believed before a 202; an attempt always looks itself. Ours. */
  recipient_cache_ms: 30 * SECOND_MS,
  recipient_cache_entries: 50_000,
  /** Octets of payloads that are under way at once on a node: 96 attempts at 20 MiB each would be 2 GiB. */
  attempt_bytes_max: 256 * MiB,
  /** Waits after attempts that failed on our side: doubles from the first to the last, and never ends a document. */
  fault_wait_first_ms: 10 * SECOND_MS,
  fault_wait_max_ms: 1 * HOUR_MS,
  /** So many faults of ours in a row at one document are an alarm. */
  fault_alarm_after: 3,
  /** One look at what is due: firms, receivers of each, and documents counted of each of these. */
  lane_firms_max: 128,
  /** A look goes over so many firms at least; over more where more places are free, or where the last found nothing. */
  lane_firms_min: 8,
  lanes_per_firm_max: 16,
  lane_ready_max: 32,
  /** Documents counted of each at least: what one look finds is then enough for many claims. */
  lane_ready_min: 8,
  /** After a look the next one waits so many times as long as it took, at most so long. */
  lane_look_rest_factor: 9,
  lane_look_rest_max_ms: 250,
  /** Looks in a row that found nothing for a free place before a node waits for a sign or its time. */
  lane_looks_max: 64,
  /** A process that sends says this often that it is alive, in database time; after so long a silence it is dead. */
  dispatcher_beat_ms: 1 * SECOND_MS,
  dispatcher_dead_ms: 4 * SECOND_MS,
  /**
   * How often a process looks for leases of its own that it does not work on, how often after a claim or an attempt has
   * failed on its side and for deliveries and items of the Box, and how old those leases are at least.
   */
  lease_look_ms: 15 * SECOND_MS,
  lease_look_soon_ms: 2 * SECOND_MS,
  lease_young_ms: 5 * SECOND_MS,
  /** The same look for messages between providers and documents to be judged, of which a process has few. */
  service_lease_look_ms: 5 * SECOND_MS,
  /** `kurier reconcile` counts due documents as far as this: whether there are more makes no difference to a person. */
  due_counted_max: 100_000,
  /** How often a node looks for attempts that have become due. */
  due_poll_ms: 1 * SECOND_MS,
  /** Between two messages that say to other processes that there is work. */
  dispatch_announce_ms: 20,
  /** Attempts during which a receiver's NOT_SERVICED is doubted: its recipient may have moved since our look-up. */
  doubted_attempts: 1,
  /**
   * The same for a NOT_SERVICED that nobody signed: these attempts take an hour, in which a peer publishes a changed
   * key.
   */
  doubted_unsigned_attempts: 5,
  /**
   * A receiver that answers later than this is not prepared for: who is ready would wait, and hold what others need.
   */
  attempt_ahead_max_ms: 1 * SECOND_MS,

  // Addressing and trust
  /** A call to another host of the network: SMP, OCSP, CRL, SML. @source design/reliability.md, S-04 */
  outbound_connect_ms: 5 * SECOND_MS,
  outbound_total_ms: 15 * SECOND_MS,
  /** Octets of all headers of an answer to a call of ours; a longer answer is a failed call. Ours. */
  outbound_header_bytes_max: 16 * KiB,
  /** Addresses of one host name that are checked and tried; a name with more is refused. Ours. */
  outbound_addresses_max: 16,
  /** A signed SMP answer has 5 to 15 KB; a service group with 500 references 150 KB. */
  smp_answer_bytes_max: 1 * MiB,
  smp_processes_max: 200,
  smp_endpoints_max: 1_000,
  smp_references_max: 2_000,
  /** How long an answer of another SMP is believed; ours follows recipient_cache_ms. */
  smp_cache_ms: 5 * MINUTE_MS,
  /** How long "not there" is believed, and how long a failed look-up is not repeated. */
  smp_cache_negative_ms: 1 * MINUTE_MS,
  smp_cache_failed_ms: 5 * SECOND_MS,
  smp_cache_entries: 20_000,
  /** Look-ups under way at once on a node; more are answered "lookup_failed". */
  smp_lookups_max: 256,
  /** How long a send waits for the look-up of its recipient before the 202; the attempt looks again. */
  smp_before_accept_ms: 5 * SECOND_MS,
  // Look-ups that clients ask for
  /** spec/shapes.md, section 6: POST /peppol/participants/batch; types that one question names: ours. */
  lookup_batch_max: 100,
  lookup_types_max: 50,
  /**
   * Questions to others that one key may cause in rate_window_ms on a node, and keys whose budget a node keeps. A
   * look-up costs one to three of them, a remembered one none. Ours.
   */
  lookup_budget: 600,
  lookup_budget_keys_max: 100_000,
  /** How long one look-up, and a whole batch of them, is waited for; and how many of a batch go at once. Ours. */
  lookup_wait_ms: 8 * SECOND_MS,
  lookup_batch_wait_ms: 20 * SECOND_MS,
  lookups_at_once: 16,
  /** Characters of an identifier of a document type or process that is looked up. @source Peppol: 500 and 200 */
  lookup_identifier_chars_max: 600,
  /** Pages of a directory: the Peppol Directory shows the first thousand; beyond, a total says this number. Ours. */
  directory_page_default: 20,
  directory_page_max: 100,
  directory_pages_max: 50,
  directory_counted_max: 1_000,
  directory_query_chars_min: 2,
  directory_query_chars_max: 200,
  /** Companies that a search suggests. Ours. */
  company_suggestions_max: 20,
  /** The Peppol Directory allows two questions a second: how long an answer is believed, and questions at once. */
  directory_cache_ms: 10 * MINUTE_MS,
  directory_cache_entries: 5_000,
  directory_at_once_max: 4,
  directory_answer_ms: 8 * SECOND_MS,
  directory_answer_bytes_max: 4 * MiB,
  /** Signed documents of our own participants that are kept. 8 KB each. */
  smp_server_documents_max: 10_000,
  smp_routes_bytes_max: 16 * MiB,
  /** One question to one DNS server, and how often a server is asked. */
  dns_timeout_ms: 2 * SECOND_MS,
  dns_attempts: 2,
  dns_servers_max: 3,
  dns_answer_bytes_max: 16 * KiB,
  dns_records_max: 128,
  /** Aliases (CNAME) that are followed inside one DNS answer, so that a circle of them ends. */
  dns_aliases_max: 8,
  /** A record's time to live is believed within these bounds; "there is none" at most the second. */
  dns_ttl_min_ms: 30 * SECOND_MS,
  dns_ttl_max_ms: 1 * HOUR_MS,
  dns_ttl_negative_max_ms: 5 * MINUTE_MS,
  dns_cache_entries: 20_000,
  /** RFC 2181: a name has at most 253 characters as text, a label 63. */
  dns_name_chars_max: 253,
  /** OCSP answers have 2 KB, CRLs of the network a few hundred. */
  ocsp_answer_bytes_max: 64 * KiB,
  crl_bytes_max: 8 * MiB,
  /** Entries of one CRL or answers of one OCSP response that are read. */
  der_items_max: 200_000,
  crl_cache_entries: 32,
  revocation_cache_entries: 5_000,
  /**
   * How long a revocation answer is believed at most, whatever its nextUpdate says, and how long "unknown" is not asked
   * again.
   */
  revocation_cache_ms: 1 * HOUR_MS,
  revocation_unknown_cache_ms: 1 * MINUTE_MS,
  /** Clocks of responders may differ from ours by this much. */
  revocation_clock_skew_ms: 5 * MINUTE_MS,
  /** An answer without nextUpdate is believed this long after thisUpdate. */
  revocation_age_max_ms: 3 * DAY_MS,
  certificate_bytes_max: 16 * KiB,
  certificate_chain_max: 5,
  certificate_cache_entries: 2_000,
  /** Certificates that lead to no authority, and trust stores that a worker has read. Ours: 3 KB each; one is usual. */
  certificate_faults_max: 500,
  trust_stores_max: 4,
  /**
   * Common names of certificates that are remembered: reading one takes 0.2 ms, more than verifying a message. Ours.
   */
  certificate_names_max: 512,
  rsa_bits_min: 2_048,
  rsa_bits_max: 8_192,
  keystore_bytes_max: 1 * MiB,
  /** Own keys that are kept beside the current one, for messages under way during a roll-over. */
  own_keys_max: 4,
  /** How often a changed key store is looked for. */
  keystore_poll_ms: 1 * MINUTE_MS,
  /** From when on a certificate that ends is reported, and the development PKI renews its own. */
  certificate_expiry_notice_ms: 30 * DAY_MS,
  trust_files_max: 64,
  /** The header of a standard business document has 2 KB; with a manifest and many scopes 20. */
  sbdh_header_bytes_max: 256 * KiB,
  sbdh_start_tag_bytes_max: 64 * KiB,
  sbdh_scopes_max: 100,
  /** Namespace declarations of such a header, or of a payload's start tag; real ones have 2 and 8. Ours. */
  sbdh_declarations_max: 1_024,
  sbdh_value_chars_max: 1_024,
  /** InstanceIdentifier, in UTF-8: it is indexed, and an entry of a Postgres index has 2,704 octets at most. */
  sbdh_id_bytes_max: 1 * KiB,
  /** An SML answer is an empty SOAP body or a fault. */
  sml_answer_bytes_max: 64 * KiB,
  /** How long the SML is waited for; DNS, which is asked after an answer that was lost, needs the rest of a turn. */
  registration_sml_ms: 12 * SECOND_MS,
  /** How long an operation on a registration counts as under way: the SML's answer, and DNS asked after it. */
  registration_lease_ms: 2 * MINUTE_MS,
  /** Characters of the Content-Type of a message or of one of its parts; a longer one is not read. Ours. */
  mime_content_type_chars_max: 1_024,
  /** So many eb:Error elements of one answer are read, and the others ignored. */
  ebms_errors_max: 32,
  /** A peer's text in an error; what is longer is cut: it is compared and logged, never stored whole. */
  ebms_text_chars_max: 1_024,
  /** The end of a payload's XML declaration is looked for in so many octets; the usual one has 38. */
  xml_declaration_bytes_max: 512,
  /** Comments before the first or after the last tag of an envelope. */
  envelope_comments_max: 16,
  /** Characters of a URL that somebody else names and we call; a longer one is not called. */
  outbound_url_chars_max: 2_048,
  /** URLs of one kind (OCSP, CRL) that are read from a certificate. */
  certificate_urls_max: 4,
  /**
   * How long certificates of the development PKI are valid: authorities ten years, the others two. @source
   * design/as4.md, section 13
   */
  development_authority_days: 3_650,
  development_leaf_days: 730,
  /** They begin this long ago: another machine's clock may be behind. */
  development_begin_before_ms: 1 * HOUR_MS,
  /** Certificates in an OCSP answer that are tried as its signer. */
  ocsp_delegates_max: 4,

  /** How long others may keep an answer of our SMP: as long as our own nodes believe one. */
  smp_answer_cache_s: 60,

  // Box
  /** Metadata of an item, as JSON. Ours: an item is a document, not a store. */
  box_metadata_bytes_max: 16 * KiB,
  /** How far ahead an item can be scheduled. Ours: a year, and a day for leap years. */
  box_schedule_ahead_max_ms: 366 * DAY_MS,
  box_page_default: 20,
  box_page_max: 100,
  box_offset_max: 1_000_000,
  /** Items that a total counts; beyond, it says this number. Ours: as for the documents of a firm. */
  box_counted_max: 10_000,
  /** Lines of an item's timeline and of its attempts that its detail shows, the newest. Ours. */
  box_timeline_max: 200,
  box_attempts_max: 100,
  /** How long a dispatch may take before another node takes its item: reading, judging and accepting one document. */
  box_lease_ms: 60 * SECOND_MS,
  /** How often a node looks for items that have become due and of which nobody has told it. Ours: ±1 s is promised. */
  box_poll_ms: 500,
  /** How long a node rests after a claim that found nothing of what is due: another was quicker. Ours. */
  box_claim_rest_ms: 20,
  /** Dispatches under way at once on a node, and the octets of their payloads. Ours: workers judge a few at once. */
  box_dispatches_max: 32,
  box_dispatch_bytes_max: 64 * MiB,
  /** Firms that one look goes over. Ours: 10 µs each. */
  box_firms_max: 256,
  /** Waits after a dispatch that was put off: doubles from the first to the last. */
  box_postponed_first_ms: 1 * SECOND_MS,
  box_postponed_max_ms: 5 * MINUTE_MS,
  /** How often items that have ended are looked for, how many a statement takes, and how many of them a pass makes. */
  box_prune_interval_ms: 1 * MINUTE_MS,
  box_prune_batch: 500,
  box_prune_rounds_max: 20,
  /**
   * How long an item is kept after its last move: sent ones as long as their envelopes, the others 90 days, as long as
   * the Box's own copy of what was sent; and how long an expired one can still be read.
   * @source spec/enterprise.md, What the service does
   */
  box_sent_kept_ms: 3_653 * DAY_MS,
  box_ended_kept_ms: 90 * DAY_MS,
  box_expired_kept_ms: 30 * DAY_MS,

  // Statuses and reports
  /** Where our end users are when a document does not say it, as ISO 3166-1 has it. */
  home_country: "SK",
  /**
   * A Message Level Status or an invoice response. One with a thousand issues has 410 KB: a worker needs 12 ms for it;
   * a usual one has 2 KB.
   */
  status_bytes_max: 512 * KiB,
  /** cbc:ID of a status or an answer, in UTF-8: it is indexed like the ids of an envelope. */
  status_id_bytes_max: 1 * KiB,
  status_elements_max: 20_000,
  /** Nesting of a response and attributes of one of its elements; real ones have 7 and 5. Ours. */
  status_depth_max: 32,
  status_attributes_max: 32,
  /** Namespace declarations of a response; a writer may repeat them on every element of 500 issues. Ours. */
  status_declarations_max: 8_192,
  status_text_chars_max: 500,
  status_location_chars_max: 500,
  /** Issues or reasons of a received status that a timeline shows: the first ones tell what is wrong. Ours. */
  status_issues_shown: 20,
  /** The most issues that a status of ours lists: the first ones tell what is wrong. Ours. */
  mls_issues_max: 100,
  /** design/as4.md, section 11: 99.5 % within 20 minutes from receipt to status. What is left is for its delivery. */
  mls_confirmation_wait_ms: 12 * MINUTE_MS,
  /** Service level of the network: from the receipt of a document to the delivery of its status (M2 - M1). */
  mls_sent_within_ms: 20 * MINUTE_MS,
  /** How often a received document is looked at while its status waits for a confirmation, or could not be decided. */
  mls_decide_again_ms: 1 * MINUTE_MS,
  /** How long a received document waits for its verdict before operators are told; usually milliseconds. Ours. */
  held_max_ms: 2 * MINUTE_MS,
  /** How soon a verdict on a received document is tried again when no worker could give one. */
  held_again_ms: 5 * SECOND_MS,
  /**
   * A received document of at most so many octets is judged before it is stored, if that takes no longer: one statement
   * instead of three. A larger one would keep its receipt waiting.
   */
  verdict_at_once_bytes_max: 256 * KiB,
  verdict_at_once_ms: 200,
  /**
   * A document that is sent is judged by the rules of later days too, which costs its time once more for each; a larger
   * one is not, because it may need most of the time that a job has.
   */
  upcoming_verdict_bytes_max: 256 * KiB,
  /**
   * A list of received documents waits for those that are being judged: this long first, doubled each time, up to the
   * last.
   */
  held_list_first_wait_ms: 20,
  held_list_last_wait_ms: 320,
  /**
   * A status for a document whose own receipt is still under way is tried again: doubles from the first to the last.
   */
  status_early_first_ms: 2 * SECOND_MS,
  status_early_max_ms: 10 * MINUTE_MS,
  /** How long such a status waits at all: the retry plan and a day. */
  status_early_ms: 4 * DAY_MS,
  /** Rows of one kind of work taken at once, and deliveries of service messages at once on a node. */
  status_batch: 50,
  service_messages_concurrent: 4,
  /** Received documents that are taken to be judged at once, with their payloads. */
  duties_taken_max: 16,
  status_lease_ms: 90 * SECOND_MS,
  status_poll_ms: 1 * SECOND_MS,
  /** Validation of a received document for its status, the wait for a thread included. */
  status_validation_ms: 60 * SECOND_MS,
  /** Characters of the note that a firm adds to a response; a longer one is cut. */
  response_note_chars_max: 500,
  /**
   * Characters of the number of a sent document by which it is found again: of up to four octets each, beside its
   * sender, they fit into the 2,704 octets that Postgres takes into an entry of an index.
   */
  document_number_chars_max: 512,
  /** Documents that an invoice response names beside its invoice, of those that are looked at. */
  response_references_max: 20,
  /** Reports of a month are made this long after its end, so that receipts under way are counted. Due: by the 15th. */
  report_delay_ms: 6 * HOUR_MS,
  report_look_ms: 1 * MINUTE_MS,
  /** After a standstill the reports of so many past months are made, not of all there ever were. */
  report_months_max: 24,
  submissions_listed_max: 100,
  /** Far more months than there will ever be; keeps the offset of a page within what Postgres counts. */
  submissions_offset_max: 1_000_000,
  /** Partners that a firm's statistics name in each direction. */
  statistics_peers_max: 10,

  // Actors
  /** design/reliability.md, C-16. A command that finds the box full is answered 503. */
  mailbox_max: 1_000,
  actors_max: 200_000,
  /** design/reliability.md, 2.4: a parent copies its children for every message. */
  actor_shards: 256,
  actor_idle_ms: 60 * SECOND_MS,
  actor_ask_timeout_ms: 25 * SECOND_MS,
  stale_version_retries: 3,

  // Streams
  relay_batch: 500,
  relay_poll_ms: 1 * SECOND_MS,
  stream_batch: 64,
  /** Wake-ups of the dispatcher that a broker hands over at once; each is handled in no time. */
  stream_wake_ups_concurrent: 64,
  /** A consumer that has due work and moved nothing for this long is made anew. */
  stream_stalled_ms: 30 * SECOND_MS,
  stream_ack_wait_ms: 120 * SECOND_MS,
  stream_deliveries_max: 10,
  /** A claimed outbox row that was not published by then is claimed again. */
  relay_claim_ms: 30 * SECOND_MS,
  /** How long an outbox row is its writer's, which publishes it at once; afterwards any relay takes it. */
  relay_handed_ms: 10 * SECOND_MS,
  /** Rows that wait in memory to be published by their writer; more are left in the outbox until their time is over. */
  relay_handed_max: 5_000,
  /** Wait after a broker or Postgres failed: doubles from the first to the last. */
  stream_backoff_first_ms: 100,
  stream_backoff_max_ms: 5 * SECOND_MS,
  /** Wait before a message whose handler threw is delivered again: doubles from the first to the last. */
  stream_redelivery_first_ms: 1 * SECOND_MS,
  stream_redelivery_max_ms: 60 * SECOND_MS,
  /** A consumer that was told nothing looks by itself after this long. */
  stream_poll_ms: 1 * SECOND_MS,
  /** How long one request to the broker is waited for. */
  stream_request_timeout_ms: 5 * SECOND_MS,
  /** What an exposition of metrics waits for Postgres or a broker; a scrape gives up after 10 s. */
  metrics_timeout_ms: 2 * SECOND_MS,
  /** Body of one message; ours have about 100 bytes. */
  stream_message_bytes_max: 16 * KiB,
  /** Messages a stream holds; a broker refuses more, and the outbox keeps them. */
  stream_messages_max: 5_000_000,
  /** Messages of one consumer that are under way or wait for their next delivery. */
  stream_unacknowledged_max: 20_000,
  /** A copy of an event that its consumer has not taken for so long is removed; the event's row stays. */
  stream_copy_age_ms: 7 * DAY_MS,
  stream_housekeeping_ms: 1 * HOUR_MS,
  stream_memory_bytes_max: 64 * MiB,
  stream_file_bytes_max: 4 * 1024 * MiB,
  /** Rows that a change of the master key looks for at once; each is sealed again and written by itself. */
  reseal_batch: 100,
  /** Documents whose facts are looked at, and sealed where they are not, by one statement. Ours: 600 octets each. */
  reseal_facts_batch: 500,
  /** Firms whose keys a process holds: 300 octets each, 15 MB. Others are read from their file. Ours. */
  firm_keys_held: 50_000,
  /** How long a process holds a key that another may have erased meanwhile; to read it again takes 0.1 ms. Ours. */
  firm_key_held_ms: HOUR_MS,
  /** Firms whose keys one statement remembers at the first start that remembers any. Ours. */
  firm_keys_remembered_at_once: 1_000,
  /** How long one migration may run before it is given up and the start fails. */
  migration_timeout_ms: 10 * MINUTE_MS,
  /** How long a migration waits for a table that others use: so long do those who come later wait behind it. */
  migration_lock_timeout_ms: SECOND_MS,
  /** Pause before a migration that did not get its table is tried again, and how often it is tried. */
  migration_lock_pause_ms: SECOND_MS,
  migration_lock_tries: 120,
  /** How often a process looks whether another has ended a migration that is not one transaction: for ten minutes. */
  migration_turn_pause_ms: SECOND_MS,
  migration_turn_tries: 600,
  /** A pull from NATS lasts this long when nothing comes; the broker allows no less. */
  stream_pull_ms: 1 * SECOND_MS,
  /** Wait before a lost channel to Postgres is opened again: doubles from the first to the last. */
  channel_retry_first_ms: 50,
  channel_retry_max_ms: 2 * SECOND_MS,

  // Postgres
  db_connections: 16,
  /** Connections for logins, renewals and guesses, beside those of all other work. Ours. */
  db_login_connections: 4,
  db_statement_timeout_ms: 10 * SECOND_MS,
  db_lock_timeout_ms: 2 * SECOND_MS,
  db_connect_timeout_s: 5,
  /** Wait of a caller for the database; then it is told 503, whatever the statement under way still comes to. */
  db_answer_timeout_ms: 4_500,
  /** Documents committed by one call of accept_documents. */
  accept_batch: 50,
  /** Questions for inboxes that one statement answers. */
  read_batch: 128,
  /** Calls that may wait for a statement that they share, and octets that one such statement carries. */
  statement_waiting_max: 4_096,
  statement_bytes_max: 2 * MiB,

  // AS4. @source design/as4.md
  /** Body of POST /as4: a payload at its cap that gzip cannot shrink, and the envelope around it. */
  as4_body_bytes_max: 28 * MiB,
  /** Decompressed standard business document: beyond, EBMS:0303. */
  as4_payload_bytes_max: 21 * MiB,
  /** Receipts and errors of peers have about 6 KB. */
  as4_answer_bytes_max: 1 * MiB,
  /**
   * Octets of messages that were opened and are not stored yet, on a node: 30 KB become 21 MB. Beyond, a sender is told
   * to come again. Ours.
   */
  arrivals_bytes_max: 256 * MiB,
  /** One POST to another access point with its answer: the rest of an attempt's time is for look-up and evidence. */
  as4_exchange_timeout_ms: 45 * SECOND_MS,
  /**
   * Connections to one access point, and how long one is kept idle: less than the 10 s after which servers close
   * theirs.
   */
  peer_connections_max: 64,
  peer_idle_ms: 5 * SECOND_MS,
  /**
   * Failures in a row after which a receiving access point counts as down, and for how long: doubles from the first to
   * the last.
   */
  breaker_failures: 5,
  breaker_pause_first_ms: 10 * SECOND_MS,
  breaker_pause_max_ms: 5 * MINUTE_MS,
  /** A receiver that answers within this time needs to leave no place for quicker ones. */
  receiver_quick_ms: 1 * SECOND_MS,
  /**
   * The wait in a receiver's queue that we aim at: RFC 6817 allows 100 ms for octets; an exchange of ours, two
   * signatures and a commit, takes more.
   */
  receiver_queue_target_ms: 250,
  receiver_queue_target_share: 0.25,
  /** Slower receivers are approached one by one: doubling would overrun them before the first answer tells. */
  receiver_slow_start_ms: 250,
  /** An attempt that is ready to send waits this long for its place; then it comes again. */
  receiver_place_wait_ms: 10 * SECOND_MS,
  /** How soon a document comes again to a receiver that was full: between the first and the last of these. */
  receiver_retry_min_ms: 1 * SECOND_MS,
  receiver_retry_max_ms: 60 * SECOND_MS,
  /** Receiving access points remembered per node; the network has about 500. */
  receivers_max: 10_000,
  /** Participants whose access point a node remembers. 200 bytes each. */
  receiver_routes_max: 100_000,

  // Evidence
  /** Exchanges that share one file, one fsync and one statement. */
  evidence_batch: 64,
  evidence_batch_bytes_max: 64 * MiB,
  /** Exchanges that may wait for their batch; beyond, exchanges fail and are repeated. */
  evidence_queue_max: 1_024,
  /** Octets of records that are sealed, written and stored at once on a node; others wait. Ours. */
  evidence_bytes_max: 256 * MiB,
  /**
   * An answer about revocation longer than this (a list) is an object of its own, and how many such a node remembers.
   */
  evidence_part_shared_bytes: 16 * KiB,
  evidence_shared_max: 256,
  /** Entries of the chain read at once by `evidence verify`. */
  evidence_page: 500,
  /** Entries under one tombstone: so many are proved, and may then go, at once. Ours: 100 bytes of heap each. */
  evidence_buried_at_once: 10_000,
  /** How long after an object was shared an exchange may still end that refers to it. Ours: exchanges last minutes. */
  evidence_shared_needed_ms: 2 * HOUR_MS,
  /** How long one request to the object store is waited for. */
  evidence_store_timeout_ms: 20 * SECOND_MS,

  /** How often an unanswered revocation question is logged for one certificate. Ours. */
  revocation_warning_ms: 1 * HOUR_MS,
  revocation_warnings_max: 10_000,
  /** Faults that an audit reports: a lost store has one for every entry. */
  audit_faults_max: 1_000,
  /** Root certificates that an audit tells apart: a network has a few in ten years, a forger's store any number. */
  audit_roots_max: 100,
  /** Tries of a write that met another write of the same object. */
  evidence_conflicts_max: 4,
  /** Versions of one object that are looked at: one, normally; more where a service does not know If-None-Match. */
  evidence_versions_max: 16,

  // Running
  drain_timeout_ms: 15 * SECOND_MS,
  /**
   * How long a node in production says that it is not ready before it takes no more connections: balancers look every
   * few seconds, and what they still send meanwhile is served.
   */
  drain_readiness_ms: 5 * SECOND_MS,
  /** How long an answer to a probe holds. */
  readiness_cached_ms: SECOND_MS,
  child_start_timeout_ms: 15 * SECOND_MS,
  child_stop_timeout_ms: 10 * SECOND_MS,
  /** Characters of one field of a log line; what is longer is cut. */
  log_text_chars_max: 200,
  /** Spans of one trace in one process, links of one span, and characters of an attribute. Ours. */
  trace_spans_max: 1_000,
  trace_links_max: 100,
  trace_text_chars_max: 200,
  /**
   * Spans that wait for the collector, spans of one export, how often one is made and how long it may take.
   * OpenTelemetry's defaults are 2,048, 512, 5 s and 10 s.
   */
  trace_queue_max: 8_192,
  trace_batch_max: 512,
  trace_export_ms: 1 * SECOND_MS,
  trace_export_timeout_ms: 5 * SECOND_MS,
  /** How long an engine that stops goes on sending spans: a slow collector would hold it up for each export. Ours. */
  trace_stop_ms: 5 * SECOND_MS,
  /** What strangers cause is logged once in so long for each kind; kinds that are told apart. Ours. */
  log_kind_ms: 1 * SECOND_MS,
  log_kinds_max: 256,
  /** How long a command that only tries something out may take. */
  child_probe_timeout_ms: 5 * SECOND_MS,
  /** How often a child process is asked whether it is ready or gone. */
  child_poll_ms: 10,
  /** How often the watcher of a child looks whether its signal has ended it, in seconds as the shell takes them. */
  child_watch_look_s: 0.1,
  /** Wait before a child process that died is started again: doubles from the first to the last. */
  child_restart_first_ms: 100,
  child_restart_max_ms: 5 * SECOND_MS,
  /** Lines of a child's error output that are kept to explain a failed start, and their length. */
  child_last_words_max: 20,
  child_last_words_chars_max: 500,
  /** The path of a Unix socket: 104 octets on macOS and 108 on Linux, the final zero included. */
  socket_path_bytes_max: 100,
  /** The oldest PostgreSQL that has what our statements use, as server_version_num writes it. */
  postgres_version_min: 150_000,

  // Workers
  /** Documents waiting for a validator thread; beyond, sends are answered 503. */
  validator_queue_max: 2_048,
  validator_queue_bytes_max: 256 * MiB,
  /** Share of a lane's queue and of its bytes that one tenant or one address may hold. */
  validator_key_share: 0.25,
  /**
   * Steps of niceness by which the threads for large documents stand behind the event loop and the threads for small
   * ones: 10 leave them a tenth of a processor that others want as well, and all of one that nobody wants. Ours.
   */
  validator_large_niceness: 10,
  /**
   * Jobs of our own that may wait in front of a lane where they hold the share of one key: more than there are
   * attempts, look-ups, service messages and signatures of our SMP at once, so that none is turned away. Ours.
   */
  validator_own_waiting_max: 1_024,
  /** Documents of our SMP that are signed at once; each is signed once and remembered. Ours. */
  smp_signatures_at_once_max: 256,
  /** When a document is attempted again whose message no worker could take: a lane empties in less. Ours. */
  workers_busy_retry_ms: 1 * SECOND_MS,
  validator_document_timeout_ms: 20 * SECOND_MS,
  /** How often the engine looks whether rule packs were activated or damaged, to say so in its log. */
  rule_packs_look_ms: 10 * SECOND_MS,
  /** design/validation.md, V5. */
  xml_depth_max: 256,
  xml_attributes_per_element_max: 256,
  xml_name_bytes_max: 256,
  xml_elements_max: 4_000_000,
  xml_namespace_declarations_max: 4_096,
  /** Different spellings of names that are not UBL's. Ours. */
  xml_unknown_names_max: 16_384,
  /** Findings kept in one report; beyond, the report says how many were dropped. Ours. */
  findings_max: 1_000,
  /** Languages of one Accept-Language that are looked at. Ours. */
  accept_languages_max: 16,
  // The sandbox's participants with a fate. Ours.
  /** Waits between attempts where they must come to an end while somebody watches. */
  sandbox_retry_plan_ms: [1 * SECOND_MS, 2 * SECOND_MS],
  /** Waits between attempts for the receiver that is down at first: the last comes when it is up. */
  sandbox_down_plan_ms: [
    5 * SECOND_MS,
    30 * SECOND_MS,
    1 * MINUTE_MS,
    2 * MINUTE_MS,
    3 * MINUTE_MS,
    4 * MINUTE_MS,
    5 * MINUTE_MS,
  ],
  /** How long the access point of the receiver that is down at first is down. */
  sandbox_down_ms: 10 * MINUTE_MS,
  /** What the slow receiver takes to answer. */
  sandbox_slow_ms: 5 * SECOND_MS,
  /** How long after a receipt an answer to the document follows. */
  sandbox_sequel_after_ms: 300,
  /** What a process that ends waits for the answers that it has promised. */
  sandbox_settle_ms: 5 * SECOND_MS,
  /** Lines of a document that an operator has sent to a firm from outside. */
  sandbox_lines_max: 999,
  /** Answers that wait to be sent; beyond, a document gets none. */
  sandbox_sequels_max: 1_000,

  /** Characters of a document's number in the name of its PDF. Ours. */
  file_name_chars_max: 80,
  /** Characters of a rule id in the address of its page. Ours. */
  rule_id_chars_max: 80,
  /** How often `kurier validate --watch` looks whether a file has changed. Ours. */
  validate_watch_poll_ms: 300,
  /** Rule ids that one line of a command names; the rest is counted. */
  rule_ids_shown_max: 12,
  /** Lines that /payloads/parse answers with; lineCount tells how many there are. Ours. */
  parsed_lines_max: 1_000,
  // Invoices as JSON
  /** spec/shapes.md, section 6: items, attachments, their sizes; a megabyte there is a million bytes. */
  invoice_lines_max: 999,
  invoice_attachments_max: 20,
  invoice_attachment_bytes_max: 10_000_000,
  invoice_attachments_bytes_max: 15_000_000,
  /** Of the base64 of a file whose type is looked at: a kilobyte, in whole groups of four. */
  invoice_attachment_head_chars: 1_368,
  /** Of one line. Ours: the sum of all lines is then told to the cent by receivers that compute with doubles. */
  invoice_line_cents_max: 100_000_000_000_000,
  /** A double tells so many digits apart; of a number with more nobody knows what the client wrote. */
  json_number_digits_max: 15,
  /** Of one member, and of the name of one that nobody reads. Ours. */
  invoice_text_chars_max: 4_000,
  invoice_name_chars_max: 80,
  invoice_prepayments_max: 100,
  // Connector
  /** spec/enterprise.md, Connector: the key derived from it takes 255 characters. Ours. */
  connector_external_id_chars_max: 255,
  /** spec/rulings.md, section 11, acknowledge: reference. Ours: as long as a client_reference of the pull interface. */
  connector_reference_chars_max: 256,
  /** Documents of one page of the Connector, and how many of them are read at the same time. Ours. */
  connector_page_max: 100,
  connector_page_default: 50,
  connector_documents_read_at_once: 4,
  /**
   * What a document takes while the Connector reads its words, in times its own octets: as it is opened, and as a
   * worker has it; the octets of all that are read so on a node, and how many may wait for room. Ours.
   */
  connector_read_copies: 2,
  connector_reads_bytes_max: 64 * MiB,
  connector_reads_waiting_max: 1_024,
  /**
   * How long a staged document waits to be sent before it is cancelled, and how long a cancelled one is kept. Ours: as
   * an item of the Box that has ended.
   */
  staged_kept_days: 90,
  staged_cancelled_kept_days: 90,
  // Mapper
  /** A cell of a spreadsheet holds no more characters. */
  mapper_cell_chars_max: 32_767,
  /** Rows and columns of a CSV, lines of a text; an invoice has 999 lines, and a head. Ours. */
  mapper_rows_max: 5_000,
  mapper_columns_max: 200,
  /** Octets of a CSV or a text. Ours: an invoice on 50 pages has 150 KB. */
  mapper_text_bytes_max: 2 * MiB,
  /** Characters of a line of text in which labels are looked for. Ours. */
  mapper_text_line_chars_max: 2_000,
  /** Elements of an XML source, its depth, and attributes of one element. Ours. */
  mapper_xml_elements_max: 200_000,
  mapper_xml_depth_max: 64,
  mapper_xml_attributes_max: 64,
  /** Namespace declarations in such a source: a writer may repeat them on every element. Ours. */
  mapper_xml_declarations_max: 200_000,
  /** Members of an answer: issues, and members of the source that became nothing. Ours. */
  mapper_issues_max: 200,
  mapper_unmapped_max: 200,
  /** A number with its currency, or a day, has no more characters. Ours. */
  mapper_number_chars_max: 64,
  /** Characters of a place of the source in an answer. Ours. */
  mapper_place_chars_max: 200,
  /** Field maps that an integrator keeps; one a program that it connects. Ours. */
  mapper_templates_max: 100,
  mapper_template_key_chars_max: 64,
  /** Entries of a field map or of defaults, and characters of one path in it. Ours. */
  mapper_field_map_entries_max: 100,
  mapper_path_chars_max: 200,

  /** Sealed documents that have killed workers, kept in DATA_DIR/quarantine for the operator. Ours. */
  quarantine_files_max: 100,

  // What is kept, and what ends it
  /** spec/sapi.md, Limits: archive retention, 10 years. */
  archive_retention_years: 10,
  /** The same in days, with the most leap days that ten years can have: what an envelope proves goes after it. */
  archive_kept_ms: 3_653 * DAY_MS,
  /** How long is kept what its owner has ended, such as a key or a request: as long as the audit tells of it. Ours. */
  ended_kept_ms: 731 * DAY_MS,
  /** How long a confirmation of the tax authority waits for the request that it belongs to. Ours. */
  confirmation_kept_ms: 90 * DAY_MS,
  /** Rows that one statement removes, statements that one sweep of a table makes, and how often a node sweeps. Ours. */
  sweep_batch: 500,
  sweep_rounds_max: 200,
  sweep_interval_ms: 10 * MINUTE_MS,
  /** How long a payload stays in the database where there is a payload store: it is asked for most then. Ours. */
  payload_here_ms: 90 * DAY_MS,
  /** Payloads looked at for one object, the octets from which on it takes no more, and objects of a pass. Ours. */
  payload_move_batch: 256,
  payload_move_bytes: 16 * MiB,
  payload_move_rounds_max: 1_000,
  /** What waits is counted up to so many: at most 100 ms of a scrape. Ours. */
  census_open_max: 100_000,
} as const;

/**
 * How much of the heap each bound comes to at the most, on a process that has little. Octets lie beside the heap, but
 * texts are made of them that lie in it, and whoever gives a small heap has little memory for both. Ours: what all of
 * them hold together is less than twice the heap.
 */
export const HEAP_SHARES = {
  request_bodies_bytes_max: 1 / 4,
  request_inflated_bytes_max: 1 / 8,
  validator_queue_bytes_max: 1 / 8,
  attempt_bytes_max: 1 / 4,
  box_dispatch_bytes_max: 1 / 8,
  arrivals_bytes_max: 1 / 4,
  evidence_bytes_max: 1 / 4,
  responses_bytes_max: 1 / 4,
  connector_reads_bytes_max: 1 / 8,
} as const satisfies Partial<Record<keyof typeof LIMITS, number>>;

/** Relations that the numbers must keep; each says what breaks otherwise. */
export const LIMIT_RELATIONS: readonly { readonly holds: boolean; readonly because: string }[] = [
  { holds: LIMITS.payload_bytes_max < LIMITS.request_body_bytes_max, because: "a payload travels inside a JSON body" },
  {
    holds: LIMITS.attempt_timeout_ms < LIMITS.attempt_lease_ms,
    because: "an attempt must end before another node may take it",
  },
  {
    holds: LIMITS.dispatcher_beat_ms * 3 < LIMITS.dispatcher_dead_ms,
    because: "one lost beat must not free the leases of a process that lives",
  },
  {
    holds: LIMITS.payload_bytes_max < LIMITS.attempt_bytes_max,
    because: "every payload that is accepted must be sendable",
  },
  {
    holds: LIMITS.as4_exchange_timeout_ms < LIMITS.attempt_timeout_ms,
    because: "an exchange that hangs must leave time to store its evidence",
  },
  {
    holds: LIMITS.payload_bytes_max < LIMITS.as4_payload_bytes_max,
    because: "what a firm may send must be receivable",
  },
  {
    holds: LIMITS.as4_payload_bytes_max < LIMITS.as4_body_bytes_max,
    because: "a payload that gzip cannot shrink must fit",
  },
  {
    holds: LIMITS.actor_ask_timeout_ms < LIMITS.box_lease_ms,
    because: "a dispatch must not be begun by a second node while the first still waits for its acceptance",
  },
  { holds: LIMITS.box_page_default <= LIMITS.box_page_max, because: "the default page is a legal page" },
  {
    holds: LIMITS.webhook_chain_ms + LIMITS.outbound_total_ms < LIMITS.webhook_lease_ms,
    because: "a delivery that is still under way would be sent by another node, too",
  },
  {
    holds: LIMITS.webhook_per_endpoint + LIMITS.webhook_owner_first < LIMITS.webhook_per_owner,
    because: "an owner with two endpoints is not held up by one of them",
  },
  {
    holds: 2 * LIMITS.webhook_per_owner < LIMITS.webhook_attempts_concurrent_max,
    because: "two owners whose receivers hang leave places for everybody else",
  },
  {
    holds: LIMITS.webhook_plan_ms.length === LIMITS.webhook_attempts_max - 1,
    because: "there is a wait after each attempt but the last",
  },
  {
    holds: LIMITS.attempt_lease_ms < LIMITS.stream_ack_wait_ms,
    because: "a message must not be redelivered while its attempt holds the lease",
  },
  {
    holds: LIMITS.lease_young_ms + 2 * LIMITS.lease_look_soon_ms < 15 * SECOND_MS,
    because: "a document whose statement was lost with its connection waits less than 15 s longer",
  },
  {
    holds: LIMITS.db_answer_timeout_ms <= LIMITS.lease_young_ms,
    because: "a lease is not taken for forgotten while the answer of its claim is waited for",
  },
  {
    holds: LIMITS.stream_request_timeout_ms < LIMITS.relay_handed_ms,
    because: "a row that its writer is publishing must not be published by another meanwhile",
  },
  {
    holds: LIMITS.actor_ask_timeout_ms < LIMITS.request_timeout_ms,
    because: "the actor's own answer must reach the client",
  },
  {
    holds: LIMITS.db_lock_timeout_ms < LIMITS.db_statement_timeout_ms,
    because: "a lock wait is told apart from a slow statement",
  },
  {
    holds: LIMITS.db_answer_timeout_ms < 5 * SECOND_MS,
    because: "a caller of a database that hangs is told so within 5 s",
  },
  {
    holds: 2 * LIMITS.db_lock_timeout_ms < LIMITS.db_answer_timeout_ms,
    because: "a key in flight, met in a batch and then alone, is told as such and not as a database that hangs",
  },
  {
    holds: LIMITS.validator_document_timeout_ms < LIMITS.actor_ask_timeout_ms,
    because: "a killed validation must still be answered",
  },
  {
    holds: LIMITS.token_refresh_before_s < LIMITS.token_access_s,
    because: "a fresh token must not ask to be refreshed",
  },
  {
    holds: LIMITS.change_probe_ms * 3 < LIMITS.change_proof_ms,
    because: "one lost probe must not turn the caches off",
  },
  {
    holds: LIMITS.change_proof_ms < LIMITS.change_ack_timeout_ms,
    because: "a node that hears nothing must ask Postgres before a change is answered",
  },
  { holds: LIMITS.node_beat_ms * 3 < LIMITS.node_dead_ms, because: "one lost beat must not make a node dead" },
  {
    holds: LIMITS.signing_key_published_before_ms < LIMITS.signing_key_active_ms,
    because: "a key is published while its predecessor signs",
  },
  {
    holds:
      LIMITS.mls_confirmation_wait_ms + LIMITS.mls_decide_again_ms + LIMITS.attempt_timeout_ms <
      LIMITS.mls_sent_within_ms,
    because: "a status that waited for a confirmation must still arrive in time",
  },
  {
    holds: LIMITS.attempt_timeout_ms < LIMITS.status_lease_ms,
    because: "a service message must not be sent by two nodes at once",
  },
  {
    holds: LIMITS.status_validation_ms < LIMITS.status_lease_ms,
    because: "a received document must not be judged by two nodes at once",
  },
  {
    holds: LIMITS.status_lease_ms + LIMITS.held_again_ms < LIMITS.held_max_ms,
    because: "a document whose node died while it was judged must be judged by another before operators are told",
  },
  {
    holds: LIMITS.outbound_connect_ms < LIMITS.outbound_total_ms,
    because: "a host that does not answer is told apart from one that is slow",
  },
  {
    holds: LIMITS.outbound_total_ms < LIMITS.attempt_timeout_ms,
    because: "a look-up that fails must leave an attempt time to say so",
  },
  {
    holds:
      LIMITS.registration_sml_ms + LIMITS.dns_timeout_ms * LIMITS.dns_attempts * LIMITS.dns_servers_max <
      LIMITS.actor_ask_timeout_ms,
    because: "who asked for a registration must be told what DNS says of it",
  },
  {
    holds:
      LIMITS.registration_sml_ms + 2 * LIMITS.dns_timeout_ms * LIMITS.dns_attempts * LIMITS.dns_servers_max <
      LIMITS.registration_lease_ms,
    because: "a registration must not be taken for interrupted while its outcome is asked for",
  },
  {
    holds:
      LIMITS.lookup_wait_ms < LIMITS.lookup_batch_wait_ms && LIMITS.lookup_batch_wait_ms < LIMITS.request_timeout_ms,
    because: "a batch with a slow SMP among its participants is answered",
  },
  {
    holds: LIMITS.smp_before_accept_ms < LIMITS.actor_ask_timeout_ms,
    because: "a send is accepted also when the look-up is slow",
  },
  {
    holds:
      LIMITS.dns_ttl_min_ms <= LIMITS.dns_ttl_negative_max_ms &&
      LIMITS.dns_ttl_negative_max_ms <= LIMITS.dns_ttl_max_ms,
    because: "the bounds of a time to live must leave room",
  },
  {
    holds: LIMITS.revocation_unknown_cache_ms < LIMITS.revocation_cache_ms,
    because: "what nobody knew must be asked again sooner than what was said",
  },
  {
    holds: 8 * LIMITS.white_label_registry_ms < LIMITS.actor_ask_timeout_ms,
    because: "an operation that asks the registry for each document type is answered by its actor",
  },
  {
    holds: LIMITS.white_label_wait_ms < LIMITS.white_label_again_ms,
    because: "nobody waits for the end of an operation whose registry is asked again later",
  },
  {
    holds: LIMITS.actor_ask_timeout_ms < LIMITS.white_label_lease_ms,
    because: "an operation must not be taken for interrupted while its registry is asked",
  },
  {
    holds: LIMITS.share_network + LIMITS.share_token + LIMITS.share_api + LIMITS.share_public === 1,
    because: "nobody's share of a listener is anybody else's",
  },
  {
    holds: LIMITS.as4_body_bytes_max < LIMITS.validator_queue_bytes_max * LIMITS.validator_key_share,
    because: "the largest message fits into what one address may have waiting for a worker",
  },
  {
    holds:
      LIMITS.attempts_concurrent_max +
        LIMITS.service_messages_concurrent +
        2 * LIMITS.smp_lookups_max +
        LIMITS.smp_signatures_at_once_max <
      LIMITS.validator_own_waiting_max,
    because: "our own work waits for a worker and is never turned away, whatever of it is under way at once",
  },
  {
    holds: LIMITS.trace_spans_max <= LIMITS.trace_queue_max && LIMITS.trace_batch_max <= LIMITS.trace_queue_max,
    because: "the spans of one trace find room to wait for the collector",
  },
  { holds: LIMITS.receive_page_default <= LIMITS.receive_page_max, because: "the default page is a legal page" },
];
