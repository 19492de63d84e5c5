/** What a step of the pipeline is, what it sees of a request, and the steps that a row has. */
import type { Address } from "../../engine/base/addresses.js";
import type { ErrorName } from "../../engine/base/errors.js";
import type { Caller, FirmContext, ParticipantContext } from "../../engine/identity/caller.js";
import type { AnyRequest, Family, Route } from "../contract/route.js";
import type { Head } from "../http/conversation.js";
import type { Admission, PipelinePorts } from "./ports.js";

/** A request while it goes through the steps: each finds out a part of what the handler is promised. */
export interface SteppedRequest extends AnyRequest {
  readonly head: Head;
  readonly ports: PipelinePorts;
  /** Names and values of the path's parameters, the values as sent. */
  readonly pathNames: readonly string[];
  readonly pathValues: readonly string[];
  readonly clientAddress: Address;
  /** Addresses that are counted together where no key tells callers apart. */
  readonly addressGroup: string;
  caller: Caller | undefined;
  firm: FirmContext | undefined;
  participant: ParticipantContext | undefined;
  idempotencyKey: string | undefined;
  params: unknown;
  query: unknown;
  body: unknown;
  admission: Admission | undefined;
  /** Whether an Authorization header came that could be a token. */
  presentedToken: boolean;
  readonly bodyIsEmpty: boolean;
  /** Puts what a gzip body says in its place. @throws Refusal BODY_TOO_LARGE, BODY_MALFORMED, TEMPORARY */
  inflate(bytesMax: number): Promise<void>;
  /** The body as its content type says. @throws Refusal when it cannot be read */
  decoded(): unknown;
  /** The body as an object, or an empty one when it is none or cannot be read. */
  decodedOrNothing(): Readonly<Record<string, unknown>>;
}

/** One check of a request, in the table of steps.ts. */
export interface Step {
  readonly name: string;
  readonly needs: "head" | "body";
  /** Whether a row has this step at all; asked once, at start. */
  applies(row: Route): boolean;
  /**
   * Everything that `run` can answer, beside TEMPORARY, which any question to the engine can; the OpenAPI documents say
   * it of each row that has the step.
   */
  readonly refuses: readonly ErrorName[];
  /** @throws Refusal one of `refuses`, when the request ends here */
  run(request: SteppedRequest, row: Route): void | Promise<void>;
}

/** What a row means for each of its requests, computed once. */
export interface Plan {
  /** Undefined for a path or method that no row has. */
  readonly row: Route | undefined;
  readonly family: Family;
  /** The path's template: a label of metrics, never what a client sent. */
  readonly label: string;
  readonly method: string;
  readonly head: readonly Step[];
  readonly body: readonly Step[];
}
