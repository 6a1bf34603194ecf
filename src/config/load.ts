/**
 * Reads a configuration directory to one frozen, typed object: files and includes, checks, Salt's derived values. Reports all faults together.
 * Source: behaviour of Salt 3007; docs/config.md says what differs.
 */

import { availableParallelism } from "node:os";
import { posix } from "node:path";
import { SaltworksError } from "../errors.ts";
import { checkValue } from "./check-value.ts";
import { isUri, underRoot } from "./files/root-dir.ts";
import { readSettings, type Setting, type Settings } from "./files/settings.ts";
import { hostId, withDomain } from "./host/id.ts";
import { ownUserName } from "./host/user.ts";
import { unbuiltJinjaEnv } from "./options/jinja.ts";
import type { OptionTable } from "./options/option.ts";
import {
  isEmpty,
  isUnbuilt,
  type UnbuiltSetting,
  unbuiltFault,
  unbuiltOptions,
  unbuiltSettings,
} from "./options/unbuilt.ts";
import { type Fault, type MasterConfig, type MinionConfig, masterOptions, minionOptions } from "./schema.ts";
import { type SdbFound, sdbValuesIn, settleSdb } from "./sdb.ts";
import { nearMissOf, type Role, standingOf } from "./standing.ts";
import { type ConfigMap, type ConfigValue, isConfigMap } from "./yaml/values.ts";

export type { MasterConfig, MinionConfig };
/** Values from the command line, by option name. They win over every file. */
export type Overrides = { readonly [name: string]: ConfigValue | undefined };
/** Values before they are frozen. */
type Draft = Record<string, unknown>;

const overrideFile = "command line";
/** Salt replaces a socket directory whose path is more than this longer than the cache directory's. */
const sockDirExtraCharsMax = 10;

function nearMisses(settings: Settings, table: OptionTable): Fault[] {
  return Array.from(settings).flatMap(([name, { file, line }]) => {
    const near = nearMissOf(name, table);
    return near === undefined ? [] : [{ file, line, message: `"${name}" is not an option; did you mean "${near}"?` }];
  });
}

/** Finds options that are set and have no effect, so that operators do not rely on them. */
function inertSettings(settings: Settings, role: Role): string[] {
  const inert: string[] = [];
  const ignored: string[] = [];
  for (const [name, setting] of settings) {
    const { file, line, value } = setting;
    const jinja = name === "jinja_env" ? unbuiltJinjaEnv(value) : undefined;
    if (jinja !== undefined) inert.push(`${file}:${line}: ${name}: ${jinja}`);
    const standing = standingOf(name, setting, settings, role);
    if (standing === "kept") inert.push(`${file}:${line}: ${name} is kept, but nothing acts on it yet`);
    else if (standing === "ignored" || (standing === "unbuilt" && isSilentOn(name, role))) ignored.push(name);
  }
  if (ignored.length > 0) inert.push(`these options of Salt have no effect here: ${ignored.join(", ")}`);
  return inert;
}

/** A master reports unbuilt options separately. A minion without a master has an error in its pillar for each that affects the pillar. */
function isSilentOn(name: string, { name: role }: Role): boolean {
  return role === "minion" && unbuiltOptions[name]?.warns !== "pillar";
}

/** Merges a list of maps into one map. `nodegroups` may have this form. */
function foldedMap(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  return Object.assign({}, ...value.filter(isConfigMap)) as ConfigMap;
}

/** @throws SaltworksError CONFIG_INVALID if a value is wrong; its message also lists `others`: misspelt names and unbuilt options */
function checkAll(settings: Settings, table: OptionTable, others: readonly Fault[]): Draft {
  const draft: Draft = {};
  const faults: Fault[] = [];
  for (const [name, option] of Object.entries(table)) {
    const setting = settings.get(name);
    if (setting === undefined) {
      draft[name] = option.default;
      continue;
    }
    const checked = checkValue(option, setting.value);
    // Unbuilt options are reported separately and can be accepted.
    if ("fault" in checked && table === masterOptions && isUnbuilt(name, setting, settings))
      draft[name] = option.default;
    else if ("fault" in checked) faults.push({ ...setting, message: `${name}: ${checked.fault}` });
    else draft[name] = checked.value;
  }
  if (faults.length > 0) throw invalid([...faults, ...others]);
  return draft;
}

/** The error for these faults, sorted: the main file, then others by name, each by line. */
function invalid(faults: readonly Fault[]): SaltworksError {
  const depth = ({ file }: Fault) => file.split("/").length;
  const byPlace = (a: Fault, b: Fault) => depth(a) - depth(b) || a.file.localeCompare(b.file) || a.line - b.line;
  const lines = [...faults].sort(byPlace).map(({ file, line, message }) => `${file}:${line}: ${message}`);
  return new SaltworksError("CONFIG_INVALID", lines.join("\n"), { faultCount: faults.length });
}

/** Values with which neither Salt's master nor this one starts. Operators' commands still run. */
function startFaultsOf(settings: Settings): Fault[] {
  const faults: Fault[] = [];
  const backends = settings.get("fileserver_backend");
  if (backends !== undefined && Array.isArray(backends.value) && backends.value.length === 0)
    faults.push({
      ...backends,
      message: "fileserver_backend: names no source of files. Write [roots], or leave it out",
    });
  const python = settings.get("salt_python");
  if (python !== undefined && python.value !== false && python.value !== null && typeof python.value !== "string")
    faults.push({ ...python, message: "salt_python: must be the path of an interpreter, auto, or False" });
  for (const name of ["master_job_cache", "ext_job_cache"]) {
    const cache = settings.get(name);
    if (cache?.value === "sqlite3" && isEmpty(settings.get("sqlite3.database")?.value ?? null))
      faults.push({ ...cache, message: `${name}: sqlite3 needs sqlite3.database, the path of its file` });
  }
  return faults;
}

/** Unbuilt options that `accept_missing` does not name. */
function refused(unbuilt: readonly UnbuiltSetting[]): Fault[] {
  return unbuilt
    .filter(({ isAccepted }) => !isAccepted)
    .map((setting) => ({ file: setting.file, line: setting.line, message: unbuiltFault(setting) }));
}

/**
 * Refuses the start of a master. Operators' commands do not call it, because they neither feed minions nor guard anything.
 *
 * @throws SaltworksError CONFIG_INVALID with each option of options/unbuilt.ts that is set and that `accept_missing` does not name, and each value
 * with which Salt's master does not start
 */
export function refuseStart({
  unbuilt,
  startFaults,
  sdbValues,
}: Pick<MasterConfig, "unbuilt" | "startFaults" | "sdbValues">): void {
  const needed = "values of sdb:// need a Python with Salt (salt_python)";
  const sdbFaults = sdbValues.map(({ file, line, option, uri, why = needed }) => ({
    ...{ file, line },
    message: `${option}: ${uri} cannot be looked up: ${why}`,
  }));
  const faults = [...refused(unbuilt), ...startFaults, ...sdbFaults];
  if (faults.length > 0) throw invalid(faults);
}

function textOf(draft: Draft, name: string): string {
  const value = draft[name];
  return typeof value === "string" ? value : "";
}

/** Applies `log_dir` and Salt's rule for overlong socket paths, then moves all paths under `root_dir`. */
function settlePaths(draft: Draft, settings: Settings, table: OptionTable): void {
  const logDir = settings.get("log_dir")?.value;
  if (typeof logDir === "string" && logDir !== "") {
    const name = settings.has("log_file") ? textOf(draft, "log_file") : posix.basename(textOf(draft, "log_file"));
    draft.log_file = posix.isAbsolute(name) ? name : posix.join(logDir, name);
  }
  const cachedir = textOf(draft, "cachedir");
  if (textOf(draft, "sock_dir").length > cachedir.length + sockDirExtraCharsMax) {
    draft.sock_dir = posix.join(cachedir, ".salt-unix");
  }
  if (textOf(draft, "extension_modules") === "") draft.extension_modules = posix.join(cachedir, "extmods");
  for (const [name, option] of Object.entries(table)) {
    const path = draft[name];
    if (!option.isPath || typeof path !== "string" || path === "" || isUri(path)) continue;
    draft[name] = underRoot(path, textOf(draft, "root_dir"));
  }
}

/** Takes the id from the file or from this host. `suffix` is appended to a computed id, as in Salt's masters. */
function settleId(draft: Draft, suffix: string): void {
  const written = textOf(draft, "id");
  const appendDomain = textOf(draft, "append_domain");
  const removeDomain = draft.minion_id_remove_domain;
  draft.id =
    written !== ""
      ? withDomain(written, appendDomain)
      : hostId({
          rootDir: textOf(draft, "root_dir"),
          isCached: draft.minion_id_caching !== false,
          isLowercase: draft.minion_id_lowercase === true,
          removeDomain: typeof removeDomain === "string" ? removeDomain : removeDomain === true,
          appendDomain,
        }) + suffix;
}

/** Freezes nested values too, because all parts of the program share the object. */
function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null || Object.isFrozen(value) || ArrayBuffer.isView(value)) return value;
  for (const member of Object.values(value)) deepFreeze(member);
  return Object.freeze(value);
}

/** What wins over the files. `sdb`: what the values that stand elsewhere are, once they were looked up. */
type Given = {
  readonly overrides: Overrides;
  readonly ownFile?: string | undefined;
  readonly sdb?: SdbFound | undefined;
};

type LoadedRole = Role & {
  readonly settle: (draft: Draft, settings: Settings, warnings: string[]) => void;
};

function load(role: LoadedRole, configDir: string, { overrides, ownFile, sdb }: Given): Draft {
  const directory = posix.resolve(configDir);
  const configFile = posix.join(directory, role.name);
  const warnings: string[] = [];
  const settings = readSettings(configFile, String(role.table.default_include?.default ?? ""), warnings);
  for (const [name, setting] of ownFile === undefined ? [] : readSettings(ownFile, "", warnings))
    settings.set(name, setting);
  for (const [name, value] of Object.entries(overrides)) {
    if (value === undefined) continue;
    const setting: Setting = { value, file: overrideFile, line: 1 };
    settings.set(name, setting);
  }
  const sdbValues = sdb === undefined ? sdbValuesIn(settings) : [];
  settleSdb(settings, sdb);
  const misspelt = nearMisses(settings, role.table);
  warnings.push(...misspelt.map(({ file, line, message }) => `${file}:${line}: ${message}`));
  if (role.name === "minion")
    for (const { uri, option, file, line } of sdbValues)
      warnings.push(`${file}:${line}: ${option}: ${uri} is not looked up: this minion has no sdb`);
  // A minion starts with any unbuilt option. A minion without a master reports them, because it compiles its own pillar.
  const unbuilt = unbuiltSettings(settings, settings.get("accept_missing")?.value ?? []);
  const startFaults = role.name === "master" ? startFaultsOf(settings) : [];
  const others = role.name === "master" ? refused(unbuilt) : [];
  const draft = checkAll(settings, role.table, [...misspelt, ...others, ...startFaults]);
  const isIdComputed = textOf(draft, "id") === "";
  // Salt's default is the user that runs the program.
  if (!settings.has("user")) draft.user = ownUserName();
  role.settle(draft, settings, warnings);
  settlePaths(draft, settings, role.table);
  const opts = new Map<string, unknown>(Array.from(settings, ([name, { value }]) => [name, value]));
  for (const [name, value] of Object.entries(draft)) opts.set(name, value);
  const inert = inertSettings(settings, role);
  const told = { warnings, inert, unbuilt, startFaults, sdbValues, sitePlugins: [], sitePython: undefined };
  return deepFreeze({ ...draft, opts, ...told, isIdComputed, configDir: directory, configFile });
}

function settleMaster(draft: Draft, settings: Settings, warnings: string[]): void {
  settleId(draft, "_master");
  draft.nodegroups = foldedMap(draft.nodegroups);
  const keepJobsHours = settings.get("keep_jobs");
  if (keepJobsHours !== undefined && !settings.has("keep_jobs_seconds")) {
    draft.keep_jobs_seconds = Number(draft.keep_jobs) * 3_600;
    warnings.push(`${keepJobsHours.file}:${keepJobsHours.line}: keep_jobs (hours) is old; write keep_jobs_seconds`);
  }
  if (!settings.has("worker_threads")) draft.worker_threads = Math.min(Number(draft.worker_threads), coresForWorkers());
  if (typeof draft.peer === "object" && Object.keys(draft.peer ?? {}).length > 0) {
    draft.worker_threads = Math.max(3, Number(draft.worker_threads));
  }
}

/** The main thread needs a core of its own. */
function coresForWorkers(): number {
  return Math.max(1, availableParallelism() - 1);
}

const masterRole: LoadedRole = { name: "master", table: masterOptions, settle: settleMaster };
const minionRole: LoadedRole = { name: "minion", table: minionOptions, settle: (draft) => settleId(draft, "") };

/**
 * Reads `<configDir>/master` and its includes. A missing file means defaults.
 *
 * @param more `ownFile`: a user's own file, which may be missing. Its values win. `sdb`: the values of `sdbValues` of a former reading
 * @throws SaltworksError CONFIG_UNREADABLE (not YAML, not readable), CONFIG_INVALID (all wrong values, one a line, `file:line: name: ...`)
 */
export function loadMasterConfig(
  configDir: string,
  overrides: Overrides = {},
  more: Omit<Given, "overrides"> = {},
): MasterConfig {
  return load(masterRole, configDir, { overrides, ...more }) as unknown as MasterConfig;
}

/** Reads `<configDir>/minion` as `loadMasterConfig` reads the master's file. */
export function loadMinionConfig(configDir: string, overrides: Overrides = {}): MinionConfig {
  return load(minionRole, configDir, { overrides }) as unknown as MinionConfig;
}
