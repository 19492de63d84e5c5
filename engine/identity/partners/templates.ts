/** Field maps that an integrator keeps for the mapper, under names of its own. */
import { isoInstant } from "../../base/clock.js";
import type { Clock } from "../../base/clock.js";
import { Refusal } from "../../base/errors.js";
import { deleteTemplate, findTemplate, listTemplates, putTemplate } from "../../storage/mapper-templates.js";
import type { TemplateRow } from "../../storage/mapper-templates.js";
import { orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import type { Caller } from "../caller.js";
import { integratorOf } from "../caller.js";

interface TemplatePorts {
  readonly sql: Sql;
  readonly clock: Clock;
}

/** What is kept under a key: names of the source by members of the create body. */
export interface TemplateWish {
  readonly templateKey: string;
  readonly fieldMap: Readonly<Record<string, string>>;
}

/** A field map as its integrator sees it. */
export interface MapperTemplate extends TemplateWish {
  readonly createdAt: string;
  readonly updatedAt: string;
}

const shown = ({ templateKey, fieldMap, createdAt, updatedAt }: TemplateRow): MapperTemplate => ({
  templateKey,
  fieldMap,
  createdAt: isoInstant(createdAt),
  updatedAt: isoInstant(updatedAt),
});

/**
 * Keeps a field map, in the place of the one that has its key.
 * @throws Refusal MAPPER_TEMPLATES_FULL, TEMPORARY
 */
export async function keepTemplate(
  ports: TemplatePorts,
  caller: Caller,
  wish: TemplateWish,
): Promise<{ readonly isNew: boolean; readonly template: MapperTemplate }> {
  const integratorId = integratorOf(caller);
  const outcome = await orTemporary(putTemplate(ports.sql, { integratorId, ...wish }, ports.clock.now()));
  if (outcome === "limit_reached") throw new Refusal("MAPPER_TEMPLATES_FULL");
  return { isNew: outcome === "created", template: await readTemplate(ports.sql, caller, wish.templateKey) };
}

/** @throws Refusal NOT_FOUND, TEMPORARY */
export async function dropTemplate(ports: TemplatePorts, caller: Caller, templateKey: string): Promise<void> {
  const isDeleted = await orTemporary(deleteTemplate(ports.sql, integratorOf(caller), templateKey));
  if (!isDeleted) throw new Refusal("NOT_FOUND");
}

/** All of them: there are not many. @throws Refusal TEMPORARY */
export async function readTemplates(sql: Sql, caller: Caller): Promise<MapperTemplate[]> {
  return (await orTemporary(listTemplates(sql, integratorOf(caller)))).map(shown);
}

/** @throws Refusal NOT_FOUND, also for a key of another integrator; TEMPORARY */
export async function readTemplate(sql: Sql, caller: Caller, templateKey: string): Promise<MapperTemplate> {
  const row = await orTemporary(findTemplate(sql, integratorOf(caller), templateKey));
  if (row === undefined)
    throw new Refusal("NOT_FOUND", [
      { field: "templateKey", message: "There is no such template; save it under this key first." },
    ]);
  return shown(row);
}
