/** The release of this engine, as operators see it of each node; a test holds it to package.json. */
export const VERSION = "0.1.0";
