/** What clients do with documents besides sending them: the Box, JSON, the Connector, the mapper, the sandbox. */
import { DAY_MS } from "../clock.js";
import { KiB, MiB, SECOND_MS, MINUTE_MS } from "./units.js";

export const DOCUMENT_LIMITS = {
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
  /** Documents of one page of the Connector. Ours. */
  connector_page_max: 100,
  connector_page_default: 50,
  /**
   * Documents of a page that one statement brings, and their octets, of which a larger document is a group alone; and
   * how many groups are read at the same time. Ours.
   */
  connector_group_documents_max: 8,
  connector_group_bytes_max: 256 * KiB,
  connector_groups_read_at_once: 4,
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
  /** Columns of a table in text whose columns are told by their order, and thousands apart in one number. Ours. */
  mapper_ordered_columns_max: 32,
  mapper_number_groups_max: 4,
  /** Members of one line by which a list in JSON or XML is told to be that of the lines; a table has 300. Ours. */
  mapper_line_members_max: 2_000,
  /** Elements of an XML source, its depth, and attributes of one element. Ours. */
  mapper_xml_elements_max: 200_000,
  mapper_xml_depth_max: 64,
  mapper_xml_attributes_max: 64,
  /** Namespace declarations in such a source: a writer may repeat them on every element. Ours. */
  mapper_xml_declarations_max: 200_000,
  /** Places of a source, those of one path counted once: as many as a body of JSON has members. Ours. */
  mapper_places_max: 20_000,
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
  /** How long they are kept: long enough for an operator to hear of them and to look. Ours. */
  quarantine_kept_ms: 30 * DAY_MS,
} as const;
