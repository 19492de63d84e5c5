/** Who is who in the network: addressing, trust, and look-ups. */
import { DAY_MS } from "../clock.js";
import { KiB, MiB, SECOND_MS, MINUTE_MS, HOUR_MS } from "./units.js";

export const NETWORK_LIMITS = {
  // Addressing and trust
  /** A call to another host of the network: SMP, OCSP, CRL, SML. @source design/reliability.md, S-04 */
  outbound_connect_ms: 5 * SECOND_MS,
  outbound_total_ms: 15 * SECOND_MS,
  /**
   * How long one address of a host is tried before its next; the last one has the rest of outbound_connect_ms. Node's
   * 250 ms are over before the other side of the earth has answered, or a lost SYN is sent again after a second.
   */
  outbound_address_ms: 1.5 * SECOND_MS,
  /** Octets of all headers of an answer to a call of ours; a longer answer is a failed call. Ours. */
  outbound_header_bytes_max: 16 * KiB,
  /**
   * Pieces in which the body of an answer may come: each costs the event loop 3 us whatever it holds, and a megabyte in
   * chunks of an octet each held it for seconds. Receipts may come so, and a CRL in pieces of 512 octets. Ours.
   */
  outbound_pieces_max: 65_536,
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
  /**
   * Look-ups under way at once on a node; whoever asks for more is told "lookup_failed", and a document is deferred:
   * when it is attempted again. Ours.
   */
  smp_lookups_max: 256,
  smp_busy_retry_ms: 1 * SECOND_MS,
  /** How long a send waits for the look-up of its recipient before the 202; the attempt looks again. Ours. */
  smp_before_accept_ms: 3 * SECOND_MS,

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
  /** The same for the addresses of a name; doubled for the second try. Ours. */
  dns_address_timeout_ms: 1 * SECOND_MS,
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
  /**
   * How far a wall clock may be set while a recipient is looked up and its message prepared; and when a document is
   * attempted again whose clock was set further. Time servers slew what is less than 0.128 s. Ours.
   */
  clock_step_ms: 10 * SECOND_MS,
  clock_set_retry_ms: 1 * SECOND_MS,
  /** An answer without nextUpdate is believed this long after thisUpdate. */
  revocation_age_max_ms: 3 * DAY_MS,
  certificate_bytes_max: 16 * KiB,
  certificate_chain_max: 5,
  /** Ways from a certificate to roots: two where an authority or a root was renewed with its key. */
  certificate_paths_max: 16,
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
  /** So many eb:Error elements of one answer are kept, the one that decides first; all are weighed. */
  ebms_errors_max: 32,
  /** A peer's text in an error; what is longer is cut: it is compared and logged, never stored whole. */
  ebms_text_chars_max: 1_024,
  /** The end of a payload's XML declaration is looked for in so many octets; the usual one has 38. */
  xml_declaration_bytes_max: 512,
  /** Comments before the first or after the last tag of an envelope. */
  envelope_comments_max: 16,
  /** Characters of a URL that somebody else names and we call; a longer one is not called. */
  outbound_url_chars_max: 2_048,
  /** URLs that a client has read and knows to be callable, at most 4 KB each. Ours. */
  outbound_urls_known_max: 500,
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
  /** A half made PKI so much older than another one is of a process that was killed: it takes seconds. Ours. */
  development_draft_dead_ms: 1 * HOUR_MS,
  /** Certificates in an OCSP answer that are tried as its signer. */
  ocsp_delegates_max: 4,

  /** How long others may keep an answer of our SMP: as long as our own nodes believe one. */
  smp_answer_cache_s: 60,
} as const;
