/** The escaping templates, for pages: invoices are drawn by the same ones. */
export { html, Html } from "../../../validators/view/markup.js";
export type { Fragment } from "../../../validators/view/markup.js";
