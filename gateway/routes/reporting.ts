/** What was exchanged, and what we report of it to the network. @source spec/rulings.md, section 13, Reporting */
import { z } from "zod";

import type { SubmissionPage } from "../../engine/documents/reports.js";
import { periodFault } from "../../engine/documents/statistics-period.js";
import type { PeriodAsked } from "../../engine/documents/statistics-period.js";
import type { Statistics } from "../../engine/documents/statistics.js";
import { PARTICIPANT_FORMS } from "../../engine/base/ids.js";
import type { FirmId } from "../../engine/base/ids.js";
import { LIMITS } from "../../engine/base/limits.js";
import { OUTBOUND_STATES } from "../../engine/lifecycle/document.js";
import { REPORT_TYPES } from "../../engine/peppol/reporting.js";
import type { ReportType } from "../../engine/peppol/reporting.js";
import { wholeNumber } from "../contract/query.js";
import { route } from "../contract/route.js";
import type { Route } from "../contract/route.js";

/** Reads of the engine; each throws Refusal TEMPORARY. */
interface ReportingPorts {
  /** @param asked  nothing: the current month */
  statistics(firmId: FirmId, asked: PeriodAsked): Promise<Statistics>;
  submissions(
    type: ReportType | undefined,
    page: { readonly limit: number; readonly offset: number },
  ): Promise<SubmissionPage>;
}

const COMMON = {
  mounts: ["/api/v1"],
  family: "enterprise",
  credential: "bearer",
  context: "firm",
  scopes: ["documents:read"],
  rate: "enterprise",
  tag: "Reporting",
  method: "GET",
} as const;

const month = z.string().regex(/^\d{4}-(?:0[1-9]|1[0-2])$/);

const day = z.iso.date();
const total = z.object({ total: z.number(), by_type: z.record(z.string(), z.number()) });
const peers = z.array(z.object({ peppol_id: z.string().regex(PARTICIPANT_FORMS.short), count: z.number() }));

const statistics = z.object({
  period: z.object({ from: day, to: day }),
  month: month.nullable(),
  from: z.iso.datetime(),
  to: z.iso.datetime(),
  incoming: z.number(),
  outgoing: z.number(),
  documentTypes: z.array(
    z.object({ documentTypeId: z.string(), processId: z.string(), incoming: z.number(), outgoing: z.number() }),
  ),
  sent: total,
  received: total,
  delivery_rate: z.number(),
  top_recipients: peers,
  top_senders: peers,
  upcoming: z
    .array(z.object({ mandatory_from: day, judged: z.int(), failing: z.int() }))
    .describe(
      "Later days on which other rules come into force: how many of the documents sent in the period were judged by them when they were accepted, and how many of those would fail. Empty where no such rules are known.",
    ),
});

const submissionRows = z.array(
  z.object({
    id: z.uuid(),
    reportType: z.enum(REPORT_TYPES),
    period: month,
    status: z.enum(OUTBOUND_STATES),
    sha256: z.string().regex(/^[0-9a-f]{64}$/),
    createdAt: z.iso.datetime(),
    submittedAt: z.iso.datetime().nullable(),
  }),
);

const submissions = z.object({
  submissions: submissionRows,
  items: submissionRows,
  total: z.number(),
  limit: z.number(),
  offset: z.number(),
});

/** A day as text; which days there are is said by periodFault, so that the answer names the field and the reason. */
const asked = z
  .object({
    period: z
      .string()
      .meta({ openapi: { type: "string", pattern: "^(\\d{4}-(0[1-9]|1[0-2])|month|quarter|year)$" } })
      .optional(),
    from: z
      .string()
      .meta({ openapi: { type: "string", format: "date" } })
      .optional(),
    to: z
      .string()
      .meta({ openapi: { type: "string", format: "date" } })
      .optional(),
  })
  .superRefine((query, context) => {
    const fault = periodFault(query);
    if (fault !== undefined) context.addIssue({ code: "custom", path: [fault.field], message: fault.message });
  });

export const reportingRoutes = (ports: ReportingPorts): readonly Route[] => [
  route({
    ...COMMON,
    operation: "getReportingStatistics",
    path: "/reporting/statistics",
    summary: "Invoices and credit notes of the firm in a period",
    description:
      "Counts invoices and credit notes with a positive receipt, by document type and process. `period` is a month, or the current month, quarter or year; `from` and `to` are the first and the last day. Days and months are Europe/Bratislava.",
    request: { query: asked },
    responses: {
      200: { description: "The period's counts; the current month when none is named.", schema: statistics },
    },
    errors: ["REQUEST_INVALID", "TEMPORARY"],
    handler: async ({ query, firm }) => ({ status: 200, body: await ports.statistics(firm.firmId, query) }),
  }),
  route({
    ...COMMON,
    operation: "listReportSubmissions",
    path: "/reporting/submissions",
    summary: "Monthly reports to OpenPEPPOL",
    description:
      "Which Transaction Statistics (TSR) and End User Statistics (EUSR) reports were made, newest month first, and whether they were delivered.",
    request: {
      query: z.object({
        report_type: z.enum(REPORT_TYPES).optional(),
        limit: wholeNumber({ min: 1, max: LIMITS.submissions_listed_max, byDefault: LIMITS.submissions_listed_max }),
        offset: wholeNumber({ min: 0, max: LIMITS.submissions_offset_max, byDefault: 0 }),
      }),
    },
    responses: { 200: { description: "The reports, without their figures.", schema: submissions } },
    errors: ["REQUEST_INVALID", "TEMPORARY"],
    handler: async ({ query }) => ({
      status: 200,
      body: (await ports.submissions(query.report_type, {
        limit: query.limit ?? LIMITS.submissions_listed_max,
        offset: query.offset ?? 0,
      })) as z.input<typeof submissions>,
    }),
  }),
];
