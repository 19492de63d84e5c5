/** Our AS4 library as an access point without an engine: opens, answers, remembers. */
import { randomUUID } from "node:crypto";

import {
  buildError,
  buildReceipt,
  buildUserMessage,
  openUserMessage,
  readAnswer,
} from "../../../engine/peppol/as4/messages.js";
import type { Answer, BuiltMessage, OpenedMessage, RefusedMessage } from "../../../engine/peppol/as4/messages.js";
import type { UserMessage } from "../../../engine/peppol/as4/user-message.js";
import type { AccessPoint } from "../../support/as4/as4-keys.js";
import { inThread, userMessage } from "../../support/as4/as4.js";
import { post, serve } from "./http.js";
import type { Arrived, Endpoint, Exchanged, Framing } from "./http.js";

const stamp = (): string => new Date().toISOString();

export interface OurEndpoint extends Endpoint {
  /** What became of each message, in the order of arrival. */
  readonly outcomes: readonly (OpenedMessage | RefusedMessage)[];
}

export interface OurEndpointOptions {
  readonly payloadBytesMax: number;
  /** What becomes of a message on its way to us. */
  readonly mangle?: (body: Buffer) => Buffer;
  /** What becomes of our answer on its way out. */
  readonly tamper?: (answer: Exchanged) => Exchanged;
}

/** C3 of ours. */
export async function ourEndpoint(
  us: AccessPoint,
  { payloadBytesMax, mangle = (body) => body, tamper = (answer) => answer }: OurEndpointOptions,
): Promise<OurEndpoint> {
  const outcomes: (OpenedMessage | RefusedMessage)[] = [];
  const endpoint = await serve(async ({ body, contentType }: Arrived) => {
    const opened = await openUserMessage(mangle(body), contentType, { keys: [us], payloadBytesMax }, inThread);
    outcomes.push(opened);
    const signal = { id: randomUUID(), signer: us, messageId: `${randomUUID()}@kurier.test`, timestamp: stamp() };
    const built =
      opened.kind === "message"
        ? await buildReceipt({ ...signal, refToMessageId: opened.message.messageId }, opened.references, inThread)
        : await buildError(
            { ...signal, ...(opened.messageId === undefined ? {} : { refToMessageId: opened.messageId }) },
            { code: opened.error },
            inThread,
          );
    return tamper({ status: 200, contentType: built.contentType, body: Buffer.from(built.body) });
  });
  return { ...endpoint, outcomes };
}

export interface OurSend {
  readonly from: AccessPoint;
  readonly to: AccessPoint;
  readonly url: string;
  readonly document: Buffer;
  readonly framing?: Framing;
  readonly overrides?: Partial<UserMessage>;
}

export interface OurSent {
  readonly message: UserMessage;
  readonly built: BuiltMessage;
  readonly response: Exchanged;
  readonly answer: Answer;
}

/** C2 of ours: builds, posts, judges. */
export async function ourSend({
  from,
  to,
  url,
  document,
  framing = "content-length",
  overrides = {},
}: OurSend): Promise<OurSent> {
  const message = userMessage(from, to, { timestamp: stamp(), ...overrides });
  const built = await buildUserMessage(
    { message, payload: document, id: randomUUID(), signer: from, recipient: to.certificate },
    inThread,
  );
  const response = await post(url, built.contentType, built.body, framing);
  return { message, built, response, answer: await judge(message.messageId, built, to, response) };
}

export const judge = (
  messageId: string,
  built: Pick<BuiltMessage, "references">,
  to: AccessPoint,
  { body, contentType }: Exchanged,
): Promise<Answer> =>
  readAnswer(body, contentType, { messageId, references: built.references, recipient: to.certificate }, inThread);
