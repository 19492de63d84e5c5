/** Events on their way: webhooks and streams. */
import { DAY_MS } from "../clock.js";
import { KiB, MiB, SECOND_MS, MINUTE_MS, HOUR_MS } from "./units.js";

export const EVENT_LIMITS = {
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
  /** What of a row was read longer ago is read again before it is sent: its owner may have changed it since. Ours. */
  webhook_chain_fresh_ms: 50,
  /** A lease outlives the attempt, which the outbound client bounds. */
  webhook_lease_ms: 60 * SECOND_MS,
  /** Attempts at one delivery in a row that were begun and never ended, after which it is a dead letter. Ours. */
  webhook_begun_max: 10,
  /** How long a delivery waits that could not be opened, as the key of its firm was away. Ours. */
  webhook_unopened_ms: 5 * SECOND_MS,
  /** Failures in a row after which an endpoint rests; the rest doubles from the first to the last. Ours. */
  webhook_breaker_failures: 5,
  webhook_rest_ms: 5 * SECOND_MS,
  webhook_rest_max_ms: 60 * SECOND_MS,
  /** design/reliability.md, 4: disabled after 5 days of failure. */
  webhook_failing_ms: 5 * DAY_MS,
  /** Secrets of subscriptions that a process keeps open, as text in memory: about 300 octets each. Ours. */
  webhook_secrets_open_max: 2_000,
  /** How often an end is written anew while Postgres is away: for about half a minute, within the lease. Ours. */
  webhook_settle_tries: 10,
  /** Rows of the feed that become deliveries by one statement, and attempts whose ends are written by one. Ours. */
  webhook_feed_batch: 500,
  webhook_settle_batch: 64,
  /**
   * Deliveries of a subscription that is switched off with more waiting than one statement ends, which end by each of
   * the next ones. Ours.
   */
  webhook_end_batch: 2_000,
  /** How long an end that nobody waits for is kept back, so that one statement writes those of a look at the feed. */
  webhook_settle_gather_ms: 40,
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
  /** Open deliveries among which a statement looks for what waits behind nothing, and such looks at once. Ours. */
  webhook_waiting_part: 10_000,
  webhook_waiting_parts_max: 50,
  /** spec/enterprise.md, Limits: pull page size; spec/shapes.md, section 5: over all firms 500. */
  webhook_pull_max: 100,
  webhook_pull_all_max: 500,
  /** How often one pull reads on where events do not open; each look finds other firms. Ours. */
  webhook_pull_looks_max: 5,
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
  /** What metrics wait for Postgres or a broker, and a heartbeat for a broker; a scrape gives up after 10 s. */
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
  /** Keys that are missing here, of which a process remembers whether they are registered. Ours. */
  missing_keys_max: 64,
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
} as const;
