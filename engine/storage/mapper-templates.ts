/** Statements on the field maps that integrators keep. */
import { isoInstant } from "../base/clock.js";
import type { Instant } from "../base/clock.js";
import type { IntegratorId } from "../base/ids.js";
import { LIMITS } from "../base/limits.js";
import type { Sql } from "./sql.js";

export interface TemplateRow {
  readonly templateKey: string;
  /** Member of a create body → name in the source. */
  readonly fieldMap: Readonly<Record<string, string>>;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

interface NewTemplate {
  readonly integratorId: IntegratorId;
  readonly templateKey: string;
  readonly fieldMap: Readonly<Record<string, string>>;
}

/** All maps of an integrator, by their keys. */
export async function listTemplates(sql: Sql, integratorId: IntegratorId): Promise<TemplateRow[]> {
  return sql<TemplateRow[]>`
    select template_key as "templateKey", field_map as "fieldMap", created_at as "createdAt", updated_at as "updatedAt"
    from mapper_template where integrator_id = ${integratorId}
    order by template_key collate "C" limit ${LIMITS.mapper_templates_max}`;
}

export async function findTemplate(
  sql: Sql,
  integratorId: IntegratorId,
  templateKey: string,
): Promise<TemplateRow | undefined> {
  const rows = await sql<TemplateRow[]>`
    select template_key as "templateKey", field_map as "fieldMap", created_at as "createdAt", updated_at as "updatedAt"
    from mapper_template where integrator_id = ${integratorId} and template_key = ${templateKey}`;
  return rows[0];
}

type TemplateOutcome = "created" | "replaced" | "limit_reached";

/** Keeps a map under its key, in the place of the one that was there, within the bound of its integrator. */
export async function putTemplate(sql: Sql, template: NewTemplate, now: Instant): Promise<TemplateOutcome> {
  const { integratorId, templateKey, fieldMap } = template;
  const rows = await sql<{ readonly outcome: TemplateOutcome }[]>`
    select put_mapper_template(${integratorId}, ${templateKey}, ${sql.json(fieldMap)}, ${isoInstant(now)},
      ${LIMITS.mapper_templates_max}) as outcome`;
  return rows[0]?.outcome ?? "limit_reached";
}

/** @returns whether there was one */
export async function deleteTemplate(sql: Sql, integratorId: IntegratorId, templateKey: string): Promise<boolean> {
  const rows = await sql`
    delete from mapper_template where integrator_id = ${integratorId} and template_key = ${templateKey}
    returning template_key`;
  return rows.length > 0;
}
