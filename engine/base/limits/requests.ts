/** Requests to the listeners, their rates, and the pages of the SAPI interface. */
import { DAY_MS } from "../clock.js";
import { KiB, MiB, SECOND_MS } from "./units.js";

export const REQUEST_LIMITS = {
  // Requests
  /** spec/rulings.md, section 11 allows 15 MB of attachments, 20 MB as base64: a JSON wrapper around them fits. */
  request_body_bytes_max: 25 * MiB,
  /** design/validation.md, V5: UBL text, exact bytes. */
  payload_bytes_max: 20 * MiB,
  /** gzip's fastest level: 12 KB become 3 KB in 0.08 ms, which Postgres and its log no longer have to carry. Ours. */
  payload_gzip_level: 1,
  /**
   * Pieces in which zlib gives out what is large: of its own 16 KiB a payload would be a thousand, and they would stay
   * with the allocator of C, which gives back single blocks of 128 KiB and more and the end of the rest. Ours.
   */
  zlib_piece_bytes: 256 * KiB,
  /**
   * Payloads up to this are compressed where they are: 64 KiB take 0.5 ms, which giving them to a thread costs too.
   * Ours.
   */
  payload_inline_bytes: 64 * KiB,
  /** Octets that are hashed or sealed before the event loop turns: about 1 ms. Ours. */
  payload_slice_bytes: 512 * KiB,
  /** Rows of a list that are opened before the event loop turns: 2 to 3 ms. Most pages are shorter. Ours. */
  listed_slice_items: 128,
  /** While small requests come, the event loop is free of slices for so many times what the slice before took. Ours. */
  slice_gives_way: 3,
  /** What a timer waits at least, in milliseconds: less is waited together with what comes after. */
  slices_give_way_ms_min: 1,
  /** So long after a small request slices give way, in milliseconds. Ours. */
  slices_give_way_ms: 200,
  /** Octets of a large body that are read before its connection waits for the next turn of its own. Ours. */
  request_body_turn_bytes: 64 * KiB,
  /**
   * Memory for a body whose length was told is asked for when one part in so many has come: what is asked for and never
   * written is no memory, but counts where collections of garbage are planned. Ours.
   */
  request_body_ahead: 8,
  /** Octets whose memory is given back before garbage is collected: for fewer it costs more than it saves. Ours. */
  released_bytes_min: 64 * KiB,
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
  /**
   * How long after an answer a client is told to use its connection again. It is closed after 8 to 12 seconds by
   * uWebSockets.js, after `request_idle_ms` by the other form. Ours.
   */
  connection_reusable_ms: 5 * SECOND_MS,
  /** A body that is whole later than this after its head has its caller's rights asked again. Ours. */
  authority_believed_ms: 1 * SECOND_MS,
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
  /**
   * Answers of rows that list much (`showsMany`) that one key, or one address where no key is shown, makes at once: one
   * waits for the database while another is made. Ours.
   */
  long_answers_per_key: 2,
  /** Answers to HEAD that leave their connection open, a second, on a listener of uWebSockets.js. Ours. */
  head_answers_open_per_s: 16,
  /**
   * Answers of a turn of the event loop of uWebSockets.js, however many requests were read in it. Ours: more than
   * the thousand that one client may send in a line.
   */
  answers_per_turn_max: 1_280,
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
  /** How soon the demo asks again whether its document has arrived, at first. Ours. */
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
  /** Behind such a question the event loop is free of them for so many times what it took. Ours. */
  connections_recount_gives_way: 9,
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
  /** Answers to one document that are listed: those that count before all others, and the newest. Ours. */
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
} as const;
