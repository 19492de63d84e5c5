/** A worded invoice: what is drawn as HTML and as PDF alike. Every text stands in the language of the reader. */
import type { Language } from "../report.js";

/** A value with the word that says what it is. */
export interface Row {
  readonly label: string;
  readonly value: string;
  /** The row that a reader looks for. @default false */
  readonly isMain?: boolean;
}

/** Somebody or something with its numbers: a party, the dates, a payment. */
export interface Card {
  readonly heading: string;
  readonly name?: string;
  readonly text: readonly string[];
  readonly rows: readonly Row[];
}

export interface Column {
  readonly label: string;
  /** Numbers stand at the right. */
  readonly isNumber: boolean;
  /** Part of the width, in hundredths of the table. */
  readonly width: number;
}

/** Further texts stand small below the first. */
export interface Cell {
  readonly text: string;
  readonly more: readonly string[];
}

export interface Table {
  readonly heading: string;
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Cell[])[];
  /** What of it is not shown. */
  readonly omitted?: string;
}

export interface Sheet {
  readonly language: Language;
  readonly kind: string;
  readonly number: string;
  /** What must be said of the whole, as that the buyer wrote it. */
  readonly remark?: string;
  /** What is asked first: how much, until when. */
  readonly headline: readonly Row[];
  readonly parties: readonly Card[];
  readonly details: Card;
  readonly lines: Table;
  readonly allowances?: Table;
  readonly taxes?: Table;
  readonly totals: { readonly heading: string; readonly rows: readonly Row[] };
  readonly payments: readonly Card[];
  readonly notes?: Card;
  readonly attachments?: Table;
  readonly footer: string;
  /** Says which page of how many. */
  pageText(page: number, pages: number): string;
}
