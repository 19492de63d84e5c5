/** What is wrong with a receiver, told from how an attempt ended, with a sentence on what to do. */

/** @source spec/rulings.md, section 11, Diagnosis; spec/shapes.md, section 7: one more */
export const DIAGNOSES = [
  "RECEIVER_AUTH_REJECTED",
  "RECEIVER_URL_NOT_FOUND",
  "RECEIVER_PAYLOAD_REJECTED",
  "RECEIVER_RATE_LIMITED",
  "RECEIVER_UNAVAILABLE",
  "RECEIVER_TIMEOUT",
  "RECEIVER_NETWORK_ERROR",
  "ENDPOINT_BLOCKED",
  "AUTHORIZATION_CHANGED",
  "RETRIES_EXHAUSTED",
  "UNKNOWN_DELIVERY_ERROR",
  "QUEUE_PUBLICATION_FAILED",
] as const;
/** What is wrong with a receiver. */
type Diagnosis = (typeof DIAGNOSES)[number];

/** What is known of why an event was not taken. */
interface Finding {
  readonly code: Diagnosis;
  /** What happened and what to do. */
  readonly message: string;
}

const finding = (code: Diagnosis, message: string): Finding => ({ code, message });

/** By the cause that is kept of an attempt or a delivery. */
const OF_CAUSE: Readonly<Record<string, Finding>> = {
  timeout: finding("RECEIVER_TIMEOUT", "No answer came in time; answer at once and work afterwards."),
  connect_timeout: finding(
    "RECEIVER_TIMEOUT",
    "No connection came about in time; look at the firewall of the receiver.",
  ),
  name_unknown: finding("RECEIVER_NETWORK_ERROR", "The name of the host is not known; look at the URL and at the DNS."),
  connect_refused: finding("RECEIVER_NETWORK_ERROR", "Nobody listens there; start the receiver, or correct the URL."),
  tls: finding("RECEIVER_NETWORK_ERROR", "The certificate of the receiver is not one that is trusted; renew it."),
  reset: finding("RECEIVER_NETWORK_ERROR", "The connection broke before an answer came; look at the receiver's log."),
  protocol: finding("RECEIVER_NETWORK_ERROR", "What came back is no HTTP; look at what listens at the URL."),
  too_large: finding("RECEIVER_NETWORK_ERROR", "The head of the answer is too large; answer with fewer headers."),
  url_blocked: finding(
    "ENDPOINT_BLOCKED",
    "The URL leads to an address that is not called; name a host with a public address.",
  ),
  consent_withdrawn: finding(
    "AUTHORIZATION_CHANGED",
    "The firm's consent no longer covers this event, so that nothing was sent; ask the firm for its consent.",
  ),
  attempts_cut_off: finding(
    "UNKNOWN_DELIVERY_ERROR",
    "Attempts at this delivery were cut off on our side again and again; quote its id to support.",
  ),
  subscription_inactive: finding(
    "ENDPOINT_BLOCKED",
    "The webhook was switched off before the event was sent; switch it on and replay the delivery.",
  ),
  subscription_disabled: finding(
    "ENDPOINT_BLOCKED",
    "The webhook was switched off because its receiver said that it is gone, or failed for days; switch it on with PUT.",
  ),
  status_408: finding("RECEIVER_TIMEOUT", "The receiver gave up waiting and answered 408; look at its load."),
  status_410: finding(
    "RECEIVER_URL_NOT_FOUND",
    "The receiver answered 410, that it is gone: the webhook was switched off.",
  ),
  status_401: finding("RECEIVER_AUTH_REJECTED", "The receiver answered 401; look how it verifies the signature."),
  status_403: finding("RECEIVER_AUTH_REJECTED", "The receiver answered 403; look how it verifies the signature."),
  status_404: finding("RECEIVER_URL_NOT_FOUND", "The receiver answered 404; correct the path of the URL."),
  status_429: finding("RECEIVER_RATE_LIMITED", "The receiver answered 429; let it take more events at once."),
};

/** By the hundreds of a status that has no row of its own. */
const OF_CLASS: Readonly<Record<string, (status: string) => Finding>> = {
  "3": (status) =>
    finding(
      "RECEIVER_URL_NOT_FOUND",
      `The receiver answered ${status}; redirects are not followed, so name the final URL.`,
    ),
  "4": (status) =>
    finding("RECEIVER_PAYLOAD_REJECTED", `The receiver answered ${status}, which is not tried again; look at its log.`),
  "5": (status) =>
    finding(
      "RECEIVER_UNAVAILABLE",
      `The receiver answered ${status}; let it answer 503 while it cannot take events, which is tried again.`,
    ),
};

const UNKNOWN = finding(
  "UNKNOWN_DELIVERY_ERROR",
  "The attempt failed for a reason that has no name; look at the receiver's log.",
);

/** What a cause means; null where nothing is wrong. */
export function findingOf(cause: string | null): Finding | null {
  if (cause === null) return null;
  const status = /^status_(\d{3})$/u.exec(cause)?.[1];
  return OF_CAUSE[cause] ?? (status === undefined ? undefined : OF_CLASS[status.charAt(0)]?.(status)) ?? UNKNOWN;
}

/** What is wrong with a delivery as a whole: that there were enough attempts, or what was wrong with the last one. */
export const diagnosisOf = (delivery: {
  readonly cause: string | null;
  readonly isExhausted: boolean;
}): Diagnosis | null => (delivery.isExhausted ? "RETRIES_EXHAUSTED" : (findingOf(delivery.cause)?.code ?? null));
