/**
 * What the answer of another access point means for the document. Pure tables; every way an exchange can end is in one
 * of them.
 */
import { LIMITS } from "../../base/limits.js";
import type { Answer } from "./messages.js";
import { NOT_SERVICED, UNPROVEN } from "./ebms-errors.js";
import type { HttpFault } from "../network/http.js";
import type { Outcome } from "../transport.js";

/**
 * The outcome where no answer came back.
 * @param uploaded whether the whole message was handed to the network, so that the peer may have it
 */
export function outcomeOfFault(fault: HttpFault, uploaded: boolean): Outcome {
  const code = fault.toUpperCase();
  return uploaded
    ? { kind: "unconfirmed", code, detail: "The message was transmitted, but no receipt came back." }
    : { kind: "transport_failed", code, detail: "The receiving access point could not be reached." };
}

/**
 * The outcome of an HTTP answer that holds no ebMS signal we can read.
 * @param isRepeated  the message had gone out whole before, on a connection that broke: whoever turns the repeat away,
 *   as a proxy does while its access point is started again, says nothing of the first
 * @param isEarly  it had not gone out whole when the answer came: whoever says so has not got it
 * @source design/reliability.md, S-09
 */
export function outcomeOfStatus(
  status: number,
  reason: string,
  { isRepeated = false, isEarly = false }: { readonly isRepeated?: boolean; readonly isEarly?: boolean } = {},
): Outcome {
  if (isEarly && !isRepeated && !isBusy(status))
    return {
      kind: "transport_failed",
      code: `HTTP ${status}`,
      detail: "The receiving access point answered before it had the whole message.",
    };
  if (status >= 200 && status < 300)
    return { kind: "unconfirmed", code: "EBMS:0301", detail: `The answer holds no receipt (${reason}).` };
  const code = `HTTP ${status}`;
  if (isRepeated)
    return { kind: "unconfirmed", code, detail: "The message was transmitted, but its repeat was not taken." };
  // "See other" answers what was done with the message; the other redirects say that nothing was.
  if (status === 303)
    return {
      kind: "unconfirmed",
      code,
      detail: "The message was transmitted, and its answer is said to be elsewhere.",
    };
  if (status >= 300 && status < 400)
    return {
      kind: "transport_failed",
      code,
      detail: "The receiving access point points elsewhere; redirects are not followed.",
    };
  // A 5xx may come from a gateway behind which the message was taken; 503 and 4xx say that it was not, and what is no
  // status of HTTP says nothing.
  return isBusy(status)
    ? { kind: "peer_busy", code, detail: "The receiving access point did not take the message." }
    : { kind: "unconfirmed", code, detail: "The receiving access point failed while it had the message." };
}

const isBusy = (status: number): boolean => (status >= 400 && status < 500) || status === 503;

/** The outcome of an answer that a fault of ours kept us from judging: the peer may have the message all the same. */
export const UNJUDGED: Outcome = {
  kind: "unconfirmed",
  code: "UNJUDGED",
  detail: "The message was transmitted, but a fault of ours kept its answer from being judged.",
};

/** What else is known of an exchange when its answer is judged. */
export interface AnswerContext {
  /** How many attempts before this one the network has answered: a fault of ours takes nobody's time to move. */
  readonly answers: number;
  /** Whether the connection proved the peer's name: an unsigned signal is then believed to be the peer's. */
  readonly secure: boolean;
  /** Whether the answer's signer is trusted; asked only when it is not the certificate that we encrypted to. */
  readonly signerTrusted: boolean;
}

const firstCode = (errors: readonly { readonly code: string }[]): string => {
  const code = errors[0]?.code ?? "";
  return /^EBMS:[0-9]{4}$/.test(code) ? code : "EBMS:other";
};

/** Whether the peer has signed it. A certificate says no more than a name until the PKI has said whose it is. */
const isProven = ({ sameCertificate }: { readonly sameCertificate: boolean }, context: AnswerContext): boolean =>
  sameCertificate || context.signerTrusted;

/** The outcome of an answer in ebMS. */
export function outcomeOfAnswer(answer: Answer, context: AnswerContext): Outcome {
  switch (answer.kind) {
    case "receipt":
      return isProven(answer, context)
        ? { kind: "receipt" }
        : { kind: "unconfirmed", code: "EBMS:0302", detail: "The receipt's signer is not trusted." };
    case "already_handed_over":
      return isProven(answer, context) || context.secure
        ? { kind: "already_handed_over", code: firstCode(answer.errors) }
        : {
            kind: "unconfirmed",
            code: firstCode(answer.errors),
            detail: "An unproven answer says that the message was delivered before.",
          };
    case "unconfirmed":
      return {
        kind: "unconfirmed",
        code: answer.error,
        detail: `The answer does not prove the delivery (${answer.reason}).`,
      };
    case "error":
      return outcomeOfError(answer, context);
  }
}

function outcomeOfError(answer: Extract<Answer, { readonly kind: "error" }>, context: AnswerContext): Outcome {
  const code = firstCode(answer.errors);
  const busy: Outcome = { kind: "peer_busy", code, detail: "The receiving access point cannot take the message now." };
  const proven = isProven(answer, context);
  const believed = proven || context.secure;
  switch (answer.meaning) {
    case "not_serviced": {
      const unserved = proven ? `${code} ${NOT_SERVICED}` : `${code} ${NOT_SERVICED} ${UNPROVEN}`;
      return believed && context.answers >= (proven ? LIMITS.doubted_answers : LIMITS.doubted_unsigned_answers)
        ? {
            kind: "peer_refused",
            code: unserved,
            detail: "The receiving access point does not serve this recipient.",
          }
        : { ...busy, code: unserved };
    }
    case "permanent":
      return believed
        ? { kind: "peer_refused", code, detail: "The receiving access point refuses the message." }
        : { ...busy, detail: "An unproven answer refuses the message; it is tried again." };
    case "retry":
      return busy;
    case "warning":
      return { kind: "unconfirmed", code, detail: "The receiving access point warns, and sends no receipt." };
  }
}
