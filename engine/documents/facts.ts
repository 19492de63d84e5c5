/** What the engine needs to know of a document's content, taken out by the workers while they validate. */

/** An electronic address: scheme and value as the UBL EndpointID has them. */
export interface Endpoint {
  readonly schemeId: string;
  readonly value: string;
}

/** Values of the document, as text; undefined where it has none. Stored with the document, never logged. */
export interface DocumentFacts {
  readonly rootNamespace: string;
  readonly rootLocal: string;
  readonly customizationId: string | undefined;
  readonly profileId: string | undefined;
  /** BT-1. */
  readonly documentNumber: string | undefined;
  /** BT-2, `YYYY-MM-DD`. */
  readonly issueDate: string | undefined;
  /** BT-9. */
  readonly dueDate: string | undefined;
  /** BT-7. */
  readonly taxPointDate: string | undefined;
  /** BT-72. */
  readonly deliveryDate: string | undefined;
  /** BT-74. */
  readonly invoicePeriodEnd: string | undefined;
  /** BT-3. */
  readonly typeCode: string | undefined;
  /** BT-34. */
  readonly supplierEndpoint: Endpoint | undefined;
  /** BT-49. */
  readonly customerEndpoint: Endpoint | undefined;
  /** BT-25, one for each BillingReference that has it. */
  readonly precedingInvoiceIds: readonly string[];
  /** BT-5. */
  readonly currency: string | undefined;
  /** BT-115, the exact decimal text. */
  readonly payableAmount: string | undefined;
  /** BT-40 and BT-55. */
  readonly supplierCountry: string | undefined;
  readonly customerCountry: string | undefined;
}

export interface DocumentFinding {
  readonly ruleId: string;
  readonly layer: string;
  readonly severity: "fatal" | "error" | "warning";
  readonly location: string;
  readonly line?: number;
  readonly message: string;
}

/** A validated document: its findings, its facts when it could be read, and the digest of its exact bytes. */
export interface Inspection {
  readonly valid: boolean;
  readonly wellFormed: boolean;
  readonly findings: readonly DocumentFinding[];
  readonly facts: DocumentFacts | undefined;
  /** Hex. */
  readonly payloadSha256: string;
  /** What the verdict was made with: it is evidence. */
  readonly ruleSet: string;
}

/** The port to the worker threads. */
export interface Validators {
  /**
   * Validates one document.
   * @param fairnessKey documents of one key never push those of others to the end of the queue
   * @throws Refusal TEMPORARY when the queue is full
   */
  inspect(payload: Uint8Array, options: { readonly fairnessKey: string; readonly receivedAt: number }): Promise<Inspection>;
}
