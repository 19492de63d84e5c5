/** What another stack wrote once, as test/fixtures has it with the keys of both sides. */
import { createPrivateKey } from "node:crypto";
import { readFileSync } from "node:fs";

import { openUserMessage, readAnswer } from "../../../engine/peppol/as4/messages.js";
import type { Answer, OpenedMessage, RefusedMessage, UnansweredMessage } from "../../../engine/peppol/as4/messages.js";
import { wrapPrivateKey } from "../../../validators/wss/keys.js";
import type { OwnKey } from "../../../validators/wss/protocol.js";
import { inThread, PAYLOAD_BYTES_MAX } from "./as4.js";

interface Recorded {
  readonly contentType: string;
  readonly body: Buffer;
}

interface Answers {
  readonly answers: Readonly<Record<string, Pick<UnansweredMessage, "messageId" | "references">>>;
}

export function recordedPeer(name: "oxalis" | "phase4") {
  const file = (path: string): Buffer => readFileSync(new URL(`../../fixtures/as4-${name}/${path}`, import.meta.url));
  const manifest = JSON.parse(file("manifest.json").toString()) as Answers;
  const ours: OwnKey = { certificate: file("ours.der"), key: wrapPrivateKey(createPrivateKey(file("ours.key.pem"))) };
  const theirs = file(`${name}.der`);
  const recorded = (path: string): Recorded => {
    const bytes = file(path);
    const end = bytes.indexOf("\r\n\r\n");
    return { contentType: bytes.toString("latin1", "Content-Type: ".length, end), body: bytes.subarray(end + 4) };
  };
  return {
    ...{ manifest, ours, theirs, recorded },
    open: ({ body, contentType }: Recorded): Promise<OpenedMessage | RefusedMessage> =>
      openUserMessage(body, contentType, { keys: [ours], payloadBytesMax: PAYLOAD_BYTES_MAX }, inThread),
    /** Reads an answer, or what a test makes of it, as that to the message that it was given to. */
    answerTo: (path: string, { body, contentType } = recorded(path)): Promise<Answer> => {
      const about = manifest.answers[path];
      if (about === undefined) throw new Error(`${path} is not in the manifest`);
      return readAnswer(body, contentType, { ...about, recipient: theirs }, inThread);
    },
  };
}
