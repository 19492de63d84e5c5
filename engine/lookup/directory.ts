/** A directory says who a company is and under which participants it receives. It is a port with two forms. */
import type { ParticipantId } from "../base/ids.js";
import type { CompanyKey } from "../storage/identity/directory.js";

/** The forms: the firms of this engine, and the Peppol Directory. */
export const DIRECTORY_SOURCES = ["engine", "peppol_directory"] as const;
/** Where an entry comes from. */
type DirectorySource = (typeof DIRECTORY_SOURCES)[number];

/** A company under one of its participants. */
export interface DirectoryEntry {
  readonly participantId: ParticipantId;
  readonly name: string;
  /** Two capitals; null when it is not told. */
  readonly country: string | null;
  readonly ico: string | null;
  readonly dic: string | null;
  readonly icDph: string | null;
  readonly address: { readonly street: string | null; readonly city: string | null; readonly zip: string | null };
  /** A day. */
  readonly registeredOn: string | null;
  /** With their schemes. */
  readonly documentTypes: string[];
}

/** What is searched for. */
interface DirectoryAsked {
  readonly q: string;
  /** Two capitals. */
  readonly country: string | undefined;
  /** From 1. */
  readonly page: number;
  readonly pageSize: number;
}

/** A page of a search. */
export interface DirectoryPage {
  readonly entries: DirectoryEntry[];
  /** Counted up to a bound of the form. */
  readonly total: number;
}

/** A directory of companies. @throws Refusal TEMPORARY when it does not answer */
export interface Directory {
  readonly source: DirectorySource;
  search(asked: DirectoryAsked): Promise<DirectoryPage>;
  /** The company of an identifier; undefined when the directory has none. */
  find(key: CompanyKey): Promise<DirectoryEntry | undefined>;
}
