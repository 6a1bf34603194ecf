/** Values of a configuration that stand elsewhere: `sdb://PROFILE/KEY`, where the option PROFILE names a driver. Source: Salt 3007, observed. */
import type { Settings } from "./files/settings.ts";
import { type ConfigValue, isConfigMap } from "./yaml/values.ts";

/** One such value. `option`: the option that it is a part of. `why`: it was looked up in vain. */
export type SdbValue = {
  readonly uri: string;
  readonly driver: string;
  readonly option: string;
  readonly file: string;
  readonly line: number;
  readonly why?: string;
};
/** What the values are, by URI. */
export type SdbFound = ReadonlyMap<string, ConfigValue>;

const scheme = "sdb://";

/** The driver with which Salt would look the value up; undefined for a text like any. */
function driverOf(value: ConfigValue, settings: Settings): string | undefined {
  if (typeof value !== "string" || !value.startsWith(scheme)) return undefined;
  const slash = value.indexOf("/", scheme.length);
  if (slash < 0 || slash === value.length - 1) return undefined;
  const profile = settings.get(value.slice(scheme.length, slash))?.value ?? null;
  return isConfigMap(profile) && Object.hasOwn(profile, "driver") ? String(profile.driver) : undefined;
}

function isSdb(value: ConfigValue, settings: Settings): value is string {
  return driverOf(value, settings) !== undefined;
}

function sdbIn(value: ConfigValue, settings: Settings): readonly Pick<SdbValue, "uri" | "driver">[] {
  const driver = driverOf(value, settings);
  if (driver !== undefined) return [{ uri: String(value), driver }];
  if (Array.isArray(value)) return value.flatMap((member: ConfigValue) => sdbIn(member, settings));
  return isConfigMap(value) ? Object.values(value).flatMap((member) => sdbIn(member, settings)) : [];
}

/** The values that are still to be looked up. */
export function sdbValuesIn(settings: Settings): readonly SdbValue[] {
  return [...settings].flatMap(([option, { value, file, line }]) =>
    sdbIn(value, settings).map((found) => ({ ...found, option, file, line })),
  );
}

function replaced(value: ConfigValue, settings: Settings, found: SdbFound): ConfigValue {
  if (isSdb(value, settings)) return found.get(value) ?? null;
  if (Array.isArray(value)) return value.map((member: ConfigValue) => replaced(member, settings, found));
  if (!isConfigMap(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, replaced(member, settings, found)]));
}

/** Puts what was found into the settings. With `found` undefined an option that is such a value as a whole is left out: its kind is not known yet. */
export function settleSdb(settings: Settings, found: SdbFound | undefined): void {
  for (const { option } of sdbValuesIn(settings)) {
    const setting = settings.get(option);
    if (setting === undefined) continue;
    if (found !== undefined) settings.set(option, { ...setting, value: replaced(setting.value, settings, found) });
    else if (isSdb(setting.value, settings)) settings.delete(option);
  }
}
