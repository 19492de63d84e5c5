/** Documents and statuses on their way to and from other access points. */
import { DAY_MS } from "../clock.js";
import { KiB, MiB, SECOND_MS, MINUTE_MS, HOUR_MS } from "./units.js";

export const DELIVERY_LIMITS = {
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
  /** Octets of one claim: its answer must come while its leases are young. Ours. */
  claim_bytes_max: 32 * MiB,
  /** Claims that a process asks and that are not answered in time; beyond, it waits for one of them. Ours. */
  claims_unanswered_max: 2,
  /** Waits after attempts that failed on our side: doubles from the first to the last, and never ends a document. */
  fault_wait_first_ms: 2 * SECOND_MS,
  fault_wait_max_ms: 1 * HOUR_MS,
  /** So many faults of ours in a row at one document are an alarm. */
  fault_alarm_after: 5,
  /** One look at what is due: firms, receivers of each, and documents counted of each of these. */
  lane_firms_max: 128,
  /** A look goes over so many firms at least; over more where more places are free, or where the last found nothing. */
  lane_firms_min: 8,
  lanes_per_firm_max: 16,
  lane_ready_max: 32,
  /**
   * Receivers that a look passes over to find those with something due, in all and of one firm: a firm has thousands
   * that wait for their next attempts. Ours.
   */
  lanes_passed_max: 2_048,
  lanes_passed_firm_max: 256,
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
  /** How long such a sign may take, and its connection owe an answer, before the next one goes over another. Ours. */
  beat_statement_ms: 2 * SECOND_MS,
  beat_silence_ms: 2_500,
  /**
   * How often a process looks for leases of its own that it does not work on, how often after a claim or an attempt has
   * failed on its side and for deliveries and items of the Box, and how old those leases are at least.
   */
  lease_look_ms: 15 * SECOND_MS,
  lease_look_soon_ms: 2 * SECOND_MS,
  lease_young_ms: 5 * SECOND_MS,
  /** One that somebody works on has at least so long left after such a look. Ours. */
  lease_left_ms: 45 * SECOND_MS,
  /** The same look for messages between providers and documents to be judged, of which a process has few. */
  service_lease_look_ms: 5 * SECOND_MS,
  /** `kurier reconcile` counts due documents as far as this: whether there are more makes no difference to a person. */
  due_counted_max: 100_000,
  /** How often a node looks for attempts that have become due. */
  due_poll_ms: 1 * SECOND_MS,
  /** Between two messages that say to other processes that there is work. */
  dispatch_announce_ms: 20,
  /** Answers during which a receiver's NOT_SERVICED is doubted: its recipient may have moved since our look-up. */
  doubted_answers: 1,
  /**
   * The same for a NOT_SERVICED that nobody signed: these answers take an hour, in which a peer publishes a changed
   * key.
   */
  doubted_unsigned_answers: 5,
  /**
   * A receiver that answers later than this is not prepared for: who is ready would wait, and hold what others need.
   */
  attempt_ahead_max_ms: 1 * SECOND_MS,

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
  /**
   * Statuses, or responses, that changed nothing for one reason and have an entry each in their document's timeline:
   * the first ones tell what happened, the others are counted. Apart by reason, so that a stranger's hide no others.
   * Ours.
   */
  statuses_ignored_shown: 10,
  /** Of all reasons together, as operators see them, and as far as those without an entry are counted. */
  statuses_ignored_listed_max: 200,
  statuses_ignored_counted_max: 10_000,
  /** Responses that may be said again and again and are followed for one document: each is told to its firm. Ours. */
  responses_followed_max: 100,
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
  /** Nor does one that has no more octets than that beside its attached files, in so many elements at most. Ours. */
  verdict_at_once_elements_max: 8_000,
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
  /** Among so many documents that are being judged, the youngest ones, a list looks for its own. */
  held_listed_max: 1_000,
  /**
   * A status for a document whose own receipt is still under way is tried again: doubles from the first to the last.
   */
  status_early_first_ms: 2 * SECOND_MS,
  status_early_max_ms: 10 * MINUTE_MS,
  /** How long such a status waits at all: the retry plan and a day. */
  status_early_ms: 4 * DAY_MS,
  /**
   * Statuses that were received and are taken at once, and of these, documents that are moved at once. Of so many
   * access points, which have their turns, they are looked for; the network has about 500. Ours.
   */
  status_batch: 50,
  statuses_concurrent: 4,
  statuses_peers_max: 10_000,
  /**
   * Of those whose document has an attempt under way, so many wait for its end in the document's mailbox, in their
   * order; more are put off. Read they have 200 KB at the most. Ours.
   */
  statuses_waiting_max: 64,
  /** How long the next statuses wait for one whose document was idle when it was read. Ours. */
  statuses_patience_ms: 2 * SECOND_MS,
  /**
   * Deliveries of service messages at once on a node, and of these to one receiver: eight that hang are needed until
   * others wait. Among so many that are due, the longest due ones, receivers have their turns. Ours.
   */
  service_messages_concurrent: 32,
  service_messages_receiver_max: 4,
  service_messages_looked_max: 256,
  /** Received documents that are taken to be judged at once: large ones apart from those that are not. */
  duties_taken_max: 16,
  /**
   * Of these, and of all that a node is judging of one size, at most so many are of one firm: it never has both of
   * those who take them. Ours.
   */
  duties_firm_max: 8,
  /** Among so many that are due, the longest due ones, firms have their turns. Ours. */
  duties_looked_max: 10_000,
  /**
   * Part of the octets of the workers' queue, where they wait as well, that received documents may have that are read
   * and unpacked to be judged: as they are stored, twice, and unpacked, then unpacked alone. Small ones
   * (verdict_at_once_bytes_max) are not counted and do not wait behind these. Where memory is ample 96 MiB, four of the
   * largest that shrink well: more than threads judge at once. Ours.
   */
  judged_queue_share: 3 / 8,
  /** Part of these octets, and of those who wait for them, that is the most of one firm. Ours. */
  judged_firm_share: 1 / 2,
  /** Who may wait for these octets at once; one more is judged later. Ours. */
  judged_waiting_max: 64,
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
  /** A month is counted by one statement, which takes longer than those of requests may. Ours. */
  report_statement_ms: 10 * MINUTE_MS,
  /** So long the connection stays that has counted, in seconds. Ours. */
  report_idle_s: 60,
  /** After a standstill the reports of so many past months are made, not of all there ever were. */
  report_months_max: 24,
  submissions_listed_max: 100,
  /** Far more months than there will ever be; keeps the offset of a page within what Postgres counts. */
  submissions_offset_max: 1_000_000,
  /** Partners that a firm's statistics name in each direction. */
  statistics_peers_max: 10,

  // AS4. @source design/as4.md
  /** Body of POST /as4: a payload at its cap that gzip cannot shrink, and the envelope around it. */
  as4_body_bytes_max: 28 * MiB,
  /** Decompressed standard business document: beyond, EBMS:0303. */
  as4_payload_bytes_max: 21 * MiB,
  /**
   * What the messages of one batch may have unpacked before the next of them is opened; one of 20 KB may hold a payload
   * at its cap. Usual ones come to a thirtieth of this. Ours.
   */
  as4_unpacked_bytes_max: 16 * MiB,
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
  /**
   * A receiver that this node has known to be down for so long ends what has waited for as long as the whole plan: it
   * was tried a dozen times meanwhile. Ours: D-075.
   */
  receiver_gone_ms: 1 * HOUR_MS,
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
  /**
   * The longest rest of a document that found no place and keeps its own: it is claimed for a free place alone, and
   * nobody can hasten a rest. Ours.
   */
  place_rest_max_ms: 2 * SECOND_MS,
  receiver_retry_max_ms: 60 * SECOND_MS,
  /** Receiving access points remembered per node; the network has about 500. */
  receivers_max: 10_000,
  /** Participants whose access point a node remembers. 200 bytes each. */
  receiver_routes_max: 100_000,
} as const;
