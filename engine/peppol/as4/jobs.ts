/**
 * What an exchange of messages asks of the workers, each in one job: a message is opened, built, its answer judged.
 * What is proportional to a message stays there; facts and octets come back.
 */
import { openArrival } from "./arrival.js";
import type { ArrivalInput, ArrivedMessage, RefusedArrival } from "./arrival.js";
import { buildDeparture } from "./departure.js";
import type { DepartureInput } from "./departure.js";
import { readAnswer } from "./messages.js";
import type { Answer, As4Crypto, UnansweredMessage } from "./messages.js";

/** What the body of an HTTP response is judged by. */
export interface AnswerInput {
  readonly bytes: Uint8Array;
  readonly contentType: string;
  readonly sent: UnansweredMessage;
}

/**
 * The jobs of one exchange.
 * @throws JobQuarantined where a message has killed workers before; PoolBusy where no worker takes it now
 */
export interface As4Jobs {
  /** @param from whose message it is before anybody has judged it: the address that it came from */
  open(input: ArrivalInput, from: string): Promise<ArrivedMessage | RefusedArrival>;
  build(input: DepartureInput): ReturnType<typeof buildDeparture>;
  judge(input: AnswerInput): Promise<Answer>;
}

/** Makes the jobs run where they are called, with such cryptography. */
export const as4Jobs = (crypto: As4Crypto): As4Jobs => ({
  open: (input) => openArrival(input, crypto),
  build: (input) => buildDeparture(input, crypto),
  judge: ({ bytes, contentType, sent }) =>
    readAnswer(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), contentType, sent, crypto),
});
