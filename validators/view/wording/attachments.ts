/** Words which files come with an invoice. They are named, not opened: what strangers send is for others to judge. */
import { sizeText } from "./format.js";
import type { AttachmentView } from "../invoice-view.js";
import type { Table } from "../sheet.js";
import { cell } from "./worded.js";
import type { Wording } from "./worded.js";

export const attachmentsTable = (attachments: readonly AttachmentView[], { language, words }: Wording): Table => ({
  heading: words("attachments"),
  columns: [
    { label: words("file"), isNumber: false, width: 34 },
    { label: words("description"), isNumber: false, width: 34 },
    { label: words("kind"), isNumber: false, width: 20 },
    { label: words("size"), isNumber: true, width: 12 },
  ],
  rows: attachments.map(({ id, fileName, description, mediaType, bytes, location }) => [
    cell(fileName ?? id, [
      ...(fileName === null || id === null || id === fileName ? [] : [id]),
      ...(location === null ? [] : [words("elsewhere", { location })]),
    ]),
    cell(description),
    cell(mediaType),
    cell(bytes === null ? null : sizeText(bytes, language)),
  ]),
});
