/**
 * Members of a publish that lower masters read. They check the publisher's permissions again, because only they know which of their minions
 * the target reaches. docs/syndic.md.
 */
import type { MasterConfig } from "../../config/load.ts";
import type { ConfigValue } from "../../config/yaml/values.ts";
import { asValue, type Encodable, type ValueMap } from "../../wire/values.ts";

/**
 * `to`: the seconds that a lower master may take. `auth_list`: the publisher's grants. They follow the job in its load, too, so that a batch job that
 * is resumed has them.
 */
export const syndicFieldNames = ["to", "auth_list"] as const;

/** Grants without any function of use: to a lower master an empty list means a user without restriction. */
const nothingGranted = ["saltutil.find_job"];

/**
 * Sets the members in a publish request, whatever the client gave, except for `to`, which Salt's clients give.
 *
 * @param grants of the publisher; undefined permits everything
 */
export function setFieldsForSyndics(
  fields: ValueMap,
  grants: readonly ConfigValue[] | undefined,
  config: Pick<MasterConfig, "order_masters" | "timeout">,
): void {
  fields.delete("auth_list");
  if (!config.order_masters) return;
  if (typeof fields.get("to") !== "number") fields.set("to", config.timeout);
  const list = grants === undefined || grants.length > 0 ? (grants ?? []) : nothingGranted;
  fields.set("auth_list", asValue(list as Encodable));
}
