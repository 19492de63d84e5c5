/** What was exchanged, and what we report of it to the network. @source spec/rulings.md, section 13, Reporting */
import { z } from "zod";

import type { Statistics, Submission } from "../../engine/documents/reports.js";
import type { FirmId } from "../../engine/base/ids.js";
import { OUTBOUND_STATES } from "../../engine/lifecycle/document.js";
import { parseMonth, REPORT_TYPES } from "../../engine/peppol/reporting.js";
import type { ReportType } from "../../engine/peppol/reporting.js";
import { route } from "../contract/route.js";
import type { Route } from "../contract/route.js";

/** Reads of the engine; each throws Refusal TEMPORARY. */
interface ReportingPorts {
  /** @param month  `2026-11`; undefined: the current one */
  statistics(firmId: FirmId, month: string | undefined): Promise<Statistics>;
  submissions(type: ReportType | undefined): Promise<{ readonly submissions: Submission[] }>;
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

const statistics = z.object({
  period: month,
  from: z.iso.datetime(),
  to: z.iso.datetime(),
  incoming: z.number(),
  outgoing: z.number(),
  documentTypes: z.array(
    z.object({ documentTypeId: z.string(), processId: z.string(), incoming: z.number(), outgoing: z.number() }),
  ),
});

const submissions = z.object({
  submissions: z.array(
    z.object({
      id: z.uuid(),
      reportType: z.enum(REPORT_TYPES),
      period: month,
      status: z.enum(OUTBOUND_STATES),
      sha256: z.string(),
      createdAt: z.iso.datetime(),
      submittedAt: z.iso.datetime().nullable(),
    }),
  ),
});

export const reportingRoutes = (ports: ReportingPorts): readonly Route[] => [
  route({
    ...COMMON,
    operation: "getReportingStatistics",
    path: "/reporting/statistics",
    summary: "Exchanges of the firm in a month",
    description:
      "Counts documents and responses with a positive receipt, by document type and process. Months are UTC.",
    request: {
      query: z.object({
        period: z
          .string()
          .refine((text) => parseMonth(text) !== undefined, "must be a month such as 2026-11")
          .meta({ openapi: { type: "string", pattern: "^\\d{4}-(0[1-9]|1[0-2])$" } })
          .optional(),
      }),
    },
    responses: {
      200: { description: "The month's counts; the current month when none is named.", schema: statistics },
    },
    errors: ["REQUEST_INVALID", "TEMPORARY"],
    handler: async ({ query, firm }) => ({ status: 200, body: await ports.statistics(firm.firmId, query.period) }),
  }),
  route({
    ...COMMON,
    operation: "listReportSubmissions",
    path: "/reporting/submissions",
    summary: "Monthly reports to OpenPEPPOL",
    description:
      "Which Transaction Statistics (TSR) and End User Statistics (EUSR) reports were made, newest month first, and whether they were delivered.",
    request: { query: z.object({ report_type: z.enum(REPORT_TYPES).optional() }) },
    responses: { 200: { description: "The reports, without their figures.", schema: submissions } },
    errors: ["REQUEST_INVALID", "TEMPORARY"],
    handler: async ({ query }) => ({
      status: 200,
      body: (await ports.submissions(query.report_type)) as z.input<typeof submissions>,
    }),
  }),
];
