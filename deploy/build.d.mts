/** Builds dist/ when a source is newer than it; returns whether it did. */
export declare function buildIfNeeded(): Promise<boolean>;
