/** The values that YAML can hold, as options have them. */

export type ConfigValue = null | boolean | number | bigint | string | Uint8Array | readonly ConfigValue[] | ConfigMap;
export type ConfigMap = { readonly [key: string]: ConfigValue };

/** Whether a value is a map of keys: not a list, not bytes, not null. */
export function isConfigMap(value: unknown): value is ConfigMap {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);
}
