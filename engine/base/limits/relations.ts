/** What limits have to do with each other. */
import { LIMITS } from "../limits.js";
import { SECOND_MS } from "./units.js";

/** Relations that the numbers must keep; each says what breaks otherwise. */
export const LIMIT_RELATIONS: readonly { readonly holds: boolean; readonly because: string }[] = [
  { holds: LIMITS.payload_bytes_max < LIMITS.request_body_bytes_max, because: "a payload travels inside a JSON body" },
  {
    // 2 seconds: how much earlier than its idle time says uWebSockets.js closes.
    holds: LIMITS.connection_reusable_ms + 2 * SECOND_MS < LIMITS.request_idle_ms,
    because: "a client must not be told to use a connection that is being closed",
  },
  {
    holds: LIMITS.attempt_timeout_ms < LIMITS.attempt_lease_ms,
    because: "an attempt must end before another node may take it",
  },
  {
    holds: LIMITS.start_left_ms + LIMITS.drain_readiness_ms + LIMITS.stop_timeout_ms < 60 * SECOND_MS,
    because: "a node ends by itself before systemd, Docker or Kubernetes kill it",
  },
  {
    holds: LIMITS.dispatcher_beat_ms * 3 < LIMITS.dispatcher_dead_ms,
    because: "one lost beat must not free the leases of a process that lives",
  },
  {
    holds:
      LIMITS.dispatcher_beat_ms + LIMITS.beat_silence_ms < LIMITS.dispatcher_dead_ms &&
      LIMITS.beat_statement_ms < LIMITS.beat_silence_ms,
    because: "a process whose sign of life met a connection that hangs is heard before it counts as dead",
  },
  {
    holds:
      LIMITS.lane_firms_min * LIMITS.lanes_passed_firm_max <= LIMITS.lanes_passed_max &&
      LIMITS.lane_firms_max * LIMITS.lanes_per_firm_max <= LIMITS.lanes_passed_max,
    because: "a look comes to as many firms as it should, whatever those before them have waiting",
  },
  {
    holds: LIMITS.payload_bytes_max < LIMITS.attempt_bytes_max,
    because: "every payload that is accepted must be sendable",
  },
  {
    holds: LIMITS.payload_bytes_max < LIMITS.claim_bytes_max && LIMITS.claim_bytes_max <= LIMITS.attempt_bytes_max,
    because: "every payload that is accepted must be claimable",
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
    holds: LIMITS.webhook_settle_gather_ms < LIMITS.webhook_feed_rest_ms,
    because: "the next event of a document finds the end of the one before written, and needs no claim",
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
    holds:
      2 * LIMITS.lease_look_ms + LIMITS.db_statement_timeout_ms < LIMITS.lease_left_ms &&
      LIMITS.lease_left_ms < Math.min(LIMITS.attempt_lease_ms, LIMITS.status_lease_ms) - LIMITS.lease_young_ms,
    because: "a lease that somebody works on is renewed before it has run out, also where one look for it fails",
  },
  {
    holds: LIMITS.db_answer_timeout_ms <= LIMITS.lease_young_ms,
    because: "a claim whose answer is still begun is no older than its leases may be before they are freed",
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
    holds:
      LIMITS.db_process_connections ===
      LIMITS.db_connections + LIMITS.db_login_connections + LIMITS.db_single_connections,
    because: "whoever has no connection left is told how many are needed",
  },
  {
    holds: LIMITS.long_answers_per_key < LIMITS.db_connections / 4,
    because: "a key whose long pages wait for the database leaves connections to all others",
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
    holds:
      LIMITS.db_back_wait_ms <= LIMITS.retry_plan_ms[0] * (1 - LIMITS.retry_jitter_share) &&
      LIMITS.db_back_wait_ms + 2 * SECOND_MS * LIMITS.db_connect_timeout_s < LIMITS.actor_ask_timeout_ms,
    because: "a message is not kept waiting for longer than its sender would rest, nor than whoever gave it away waits",
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
    holds: 2 * LIMITS.duties_firm_max <= LIMITS.duties_taken_max,
    because: "a firm's received documents leave room for another's among those that are taken to be judged",
  },
  {
    holds: 8 * LIMITS.service_messages_receiver_max <= LIMITS.service_messages_concurrent,
    because: "receivers that hang leave places for what others are owed",
  },
  {
    holds: LIMITS.outbound_connect_ms < LIMITS.outbound_total_ms,
    because: "a host that does not answer is told apart from one that is slow",
  },
  {
    holds: 3 * LIMITS.dns_address_timeout_ms + LIMITS.outbound_address_ms < LIMITS.outbound_connect_ms,
    because: "a host whose name was found at the second try is still connected to",
  },
  {
    holds: 2 * LIMITS.outbound_address_ms < LIMITS.outbound_connect_ms,
    because: "a host whose first two addresses are dead is reached by its third",
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
    holds:
      LIMITS.smp_before_accept_ms < LIMITS.db_answer_timeout_ms &&
      LIMITS.db_answer_timeout_ms < LIMITS.actor_ask_timeout_ms,
    because: "a send is accepted also when the look-up is slow, which is not the database's silence",
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
