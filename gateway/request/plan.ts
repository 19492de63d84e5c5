/** What a step of the pipeline is, what it sees of a request, and the steps that a row has. */
import type { Address } from "../../engine/base/addresses.js";
import type { ErrorName } from "../../engine/base/errors.js";
import type { AnyRequest, Family, Route } from "../contract/route.js";
import type { Head } from "../http/conversation.js";
import type { ShareName } from "../http/shares.js";
import type { Admission, PipelinePorts } from "./ports.js";

/** What the steps find out: what the handler is promised, and what the answer says of the request. */
export interface Found extends Pick<
  AnyRequest,
  "caller" | "firm" | "participant" | "idempotencyKey" | "params" | "query" | "body"
> {
  readonly admission: Admission | undefined;
  /** Whether an Authorization header came that could be a token. */
  readonly presentedToken: boolean;
}

/** A request while it goes through the steps. */
export interface SteppedRequest extends AnyRequest, Found {
  readonly head: Head;
  readonly ports: PipelinePorts;
  /** Names and values of the path's parameters, the values as sent. */
  readonly pathNames: readonly string[];
  readonly pathValues: readonly string[];
  readonly clientAddress: Address;
  readonly bodyIsEmpty: boolean;
  /** Keeps what a step has found out. */
  learn(found: Partial<Found>): void;
  /** Puts what a gzip body says in its place. @throws Refusal BODY_TOO_LARGE, BODY_MALFORMED, TEMPORARY */
  inflate(bytesMax: number): Promise<void>;
  /**
   * Waits until there is room to make an answer as large as a document; once a request.
   * @param bytes of memory that making it takes
   * @throws Refusal TEMPORARY
   */
  roomForAnswer(bytes: number): Promise<void>;
  /**
   * Waits for a place among the long answers of its key; once a request.
   * @throws Refusal TEMPORARY
   */
  lineForAnswer(): Promise<void>;
  /** The body as its content type says. @throws Refusal when it cannot be read */
  decoded(): unknown;
  /** Decodes a large body in slices, for `decoded`; undefined for any other. @throws Refusal when it cannot be read */
  decodeLarge(): Promise<void> | undefined;
  /** The body as an object, or an empty one when it is none or cannot be read. */
  decodedOrNothing(): Readonly<Record<string, unknown>>;
}

/** One check of a request, in the table of steps.ts. */
export interface Step {
  readonly name: string;
  readonly needs: "head" | "body";
  /** Whether the steps behind it depend on what it finds, and wait for the body with it. @default false */
  readonly gates?: true;
  /** Whether what it says can end while a body arrives, so that it is asked again once a late body is whole. */
  readonly ends?: true;
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
  /** Which part of the listener its requests use. */
  readonly share: ShareName;
  readonly head: readonly Step[];
  readonly body: readonly Step[];
  /** Those of the head that are asked again of who had to wait. */
  readonly ends: readonly Step[];
  /** The same behind those steps of the head that are asked again: for a body that was long in coming. */
  readonly lateBody: readonly Step[];
}
