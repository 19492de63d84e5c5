/**
 * The AS4 signature work of the worker threads: one handler per task kind, bytes in, result out. The engine speaks to
 * them through the pool in the types of wss/protocol.ts; how keys travel is told in wss/keys.ts.
 */
import { auditMessage } from "./wss/audit.js";
import { checkSignal } from "./wss/check.js";
import { signEnveloped, verifyEnveloped } from "./wss/enveloped.js";
import { openMessage } from "./wss/open.js";
import type { SignatureTaskKind, SignatureTasks } from "./wss/protocol.js";
import { sealMessage, signSignal } from "./wss/seal.js";

export type SignatureHandlers = {
  readonly [K in SignatureTaskKind]: (input: SignatureTasks[K]["input"]) => SignatureTasks[K]["output"];
};

/** Plugged into the worker's handler table. Production policy only: no handler takes an algorithm from its input. */
export const signatureTasks: SignatureHandlers = {
  "as4.seal": sealMessage,
  "as4.open": openMessage,
  "as4.sign": signSignal,
  "as4.check": checkSignal,
  "as4.audit": auditMessage,
  "enveloped.sign": ({ document, signer }) => signEnveloped(document, signer),
  "enveloped.verify": ({ document }) => verifyEnveloped(document),
};

/** Octets of payloads that a task has unpacked. */
export const octetsUnpacked = (output: SignatureTasks[SignatureTaskKind]["output"]): number =>
  "parts" in output && "signer" in output ? output.parts.reduce((sum, { payload }) => sum + payload.length, 0) : 0;
