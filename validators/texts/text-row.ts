/** English and the same in another language; `{}` stands for a part that is put in as it is, or by a row of its own. */
export type TextRow = readonly [english: string, other: string];
