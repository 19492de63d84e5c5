/** Tokens, people, partners and what is paid for. */
import { DAY_MS } from "../clock.js";
import { KiB, MiB, SECOND_MS, MINUTE_MS, HOUR_MS } from "./units.js";

export const IDENTITY_LIMITS = {
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
  /** How long a node may believe a cached key without asking Postgres when nothing announced a change. Ours: D-400. */
  key_cache_ms: MINUTE_MS,
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
  /** An unknown `kid` reads the signing keys again, at most this often while announcements arrive. */
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
  /** Up to which firms and keys of an integrator are counted for operators, and rows of a page of a list. Ours. */
  console_counted_max: 1_000,
  console_page_max: 50,
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
   * far the database's clock may be, how long a wake-up may wait, room in DATA_DIR. Ours.
   */
  doctor_certificate_days: 30,
  doctor_token_bits_min: 128,
  doctor_clock_skew_ms: 2 * SECOND_MS,
  doctor_wake_up_s: 60,
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
  /** A form that signs in or out and comes again so soon is the same press; presses that are known. Ours. */
  press_again_ms: 10 * SECOND_MS,
  presses_known_max: 4_096,
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
  /** One statement of an erasure, which looks through all that no index finds by its firm. Ours. */
  erasure_statement_ms: 30 * MINUTE_MS,
  /** How long a plan works on after its end. Ours. */
  plan_grace_ms: 14 * DAY_MS,
  /** spec/enterprise.md, Limits: integrator licence per-firm list. How far an offset goes: ours. */
  licence_firms_page_default: 50,
  licence_firms_page_max: 100,
  licence_firms_offset_max: 1_000_000,
} as const;
