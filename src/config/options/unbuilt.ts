/**
 * Salt's options that feed minions or guard something and are not built here. Each refuses the start unless `accept_missing` names it,
 * because a fleet would otherwise silently get less than its operators believe. docs/config.md lists them. Options that only tune are not
 * listed here; the log warns of those.
 */

import type { Setting, Settings } from "../files/settings.ts";
import { type ConfigValue, isConfigMap } from "../yaml/values.ts";
import { eventReturnNames } from "./event-returns.ts";
import { fileBackendNames } from "./file-backends.ts";
import { unbuiltJinja } from "./jinja.ts";
import { databaseOf, jobCacheDriverNames } from "./job-cache-drivers.ts";
import { engineEntries, type PluginKind, type SitePlugin } from "./site-python.ts";

/** Where minions see that the option is missing: an error in their pillar, an error in their highstate, or nowhere. */
type Warns = "pillar" | "highstate" | undefined;

export type UnbuiltOption = {
  /** The option's effect in Salt, for messages and docs/config.md. */
  readonly about: string;
  readonly warns?: Warns;
  /** The kind of plug-in that the option's missing parts are in Salt, if the sidecar can run such. */
  readonly plugin?: PluginKind;
  /** The parts of the value that are not built. Empty if nothing is missing for this value and the other `settings`. */
  readonly missing: (value: ConfigValue, settings: Settings) => readonly string[];
};

/** An option that is set and is not built. */
export type UnbuiltSetting = {
  readonly name: string;
  readonly file: string;
  readonly line: number;
  readonly isAccepted: boolean;
  /** Missing parts, such as names of sources; empty if the option has no parts. */
  readonly parts: readonly string[];
  readonly warns: Warns;
  /** Why the sidecar does not serve it, if it was asked. */
  readonly why?: string;
};

/** Whether a value is empty, so that the option has no effect. */
export function isEmpty(value: ConfigValue): boolean {
  if (value === null || value === false || value === "" || value === 0) return true;
  if (Array.isArray(value)) return value.length === 0;
  return isConfigMap(value) && Object.keys(value).length === 0;
}

/** For options without parts: every value that is not empty counts as missing. */
const whole = (value: ConfigValue) => (isEmpty(value) ? [] : [""]);
const unless =
  (...harmless: readonly ConfigValue[]) =>
  (value: ConfigValue) =>
    isEmpty(value) || harmless.includes(value) ? [] : [shortText(value)];

function shortText(value: ConfigValue): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

function textsOf(value: ConfigValue): string[] {
  if (Array.isArray(value)) return value.filter((item): item is string => typeof item === "string");
  return typeof value === "string" && value !== "" ? [value] : [];
}

/** The keys of a map, or of the maps in a list (`ext_pillar`, `engines`). */
function keysOf(value: ConfigValue): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => (isConfigMap(item) ? Object.keys(item) : textsOf(item)));
  return isConfigMap(value) ? Object.keys(value) : textsOf(value);
}

/** Salt skips an entry if `exclude_ext_pillar` has its first name. */
function withoutExcluded(sources: ConfigValue, settings: Settings): ConfigValue {
  const excluded = textsOf(settings.get("exclude_ext_pillar")?.value ?? null);
  if (!Array.isArray(sources)) return sources;
  return sources.filter((entry: ConfigValue) => !excluded.includes(keysOf([entry])[0] ?? ""));
}

/** Renderers that `decrypt_pillar` names or leaves to `decrypt_pillar_default`, other than `gpg`. */
function otherDecryption(value: ConfigValue, settings: Settings): string[] {
  const byDefault = textsOf(settings.get("decrypt_pillar_default")?.value ?? null)[0] ?? "gpg";
  const named = (Array.isArray(value) ? value : [value]).flatMap((entry: ConfigValue) =>
    isConfigMap(entry) ? Object.values(entry).map((name) => textsOf(name)[0] ?? byDefault) : [byDefault],
  );
  return isEmpty(value) ? [] : named.filter((name) => name !== "gpg");
}

/** The database that gets jobs. */
function databaseIn(settings: Settings): string | undefined {
  const nameIn = (option: string) => textsOf(settings.get(option)?.value ?? null)[0] ?? "";
  return databaseOf({ master_job_cache: nameIn("master_job_cache"), ext_job_cache: nameIn("ext_job_cache") });
}

const usualRenderers = ["jinja", "yaml", "json"];
const builtRenderers = [...usualRenderers, "yamlex", "gpg"];
const otherDrivers = jobCacheDriverNames
  .slice(1)
  .map((name) => `\`${name}\``)
  .join(", ");
/** The names in src/pillar/external/sources.ts. A test compares them. */
export const builtPillarSources = [
  "cmd_yaml",
  "cmd_json",
  "cmd_yamlex",
  "csv",
  "file_tree",
  "git",
  "http_json",
  "http_yaml",
  "mysql",
  "nodegroups",
  "postgres",
  "redis",
  "sqlite3",
  "stack",
  "extra_minion_data_in_pillar",
];

export const unbuiltOptions: Readonly<Record<string, UnbuiltOption>> = {
  // Feeds minions' pillars, files and states:
  ext_pillar: {
    about: `Further sources of pillar; here ${builtPillarSources.map((name) => `\`${name}\``).join(", ")}.`,
    warns: "pillar",
    plugin: "pillar",
    missing: (value, settings) =>
      keysOf(withoutExcluded(value, settings)).filter((name) => !builtPillarSources.includes(name)),
  },
  decrypt_pillar: {
    about: "Values of pillars that are decrypted; here by `gpg`.",
    warns: "pillar",
    plugin: "renderers",
    missing: (value, settings) => otherDecryption(value, settings),
  },
  renderer: {
    about:
      "How pillar files are rendered, and states by minions; here `jinja`, `yaml`, `yamlex` and `json`, and in pillars `gpg`.",
    warns: "pillar",
    plugin: "renderers",
    missing: (value) =>
      textsOf(value)
        .flatMap((pipe) => pipe.split("|"))
        .map((stage) => stage.trim().split(" ")[0] ?? "")
        .filter((stage) => stage !== "" && !builtRenderers.includes(stage)),
  },
  jinja_sls_env: {
    about: "Options of Jinja in pillar files and states; here, for pillar files, `trim_blocks` and `lstrip_blocks`.",
    warns: "pillar",
    missing: unbuiltJinja,
  },
  allow_undefined: {
    about: "Names that a template does not know are empty text; here, in pillar files, they are errors.",
    missing: whole,
  },
  renderer_blacklist: { about: "Renderers that are never used.", warns: "pillar", missing: keysOf },
  renderer_whitelist: {
    about: "The only renderers that are used.",
    warns: "pillar",
    missing: (value) => (isEmpty(value) || usualRenderers.every((name) => keysOf(value).includes(name)) ? [] : [""]),
  },
  fileserver_backend: {
    about: `Sources of files; here ${fileBackendNames.map((name) => `\`${name}\``).join(", ")}.`,
    warns: "highstate",
    plugin: "fileserver",
    missing: (value) => keysOf(value).filter((name) => !fileBackendNames.some((known) => known === name)),
  },
  master_tops: {
    about: "Further sources of the states in minions' highstates; here `ext_nodes`.",
    warns: "highstate",
    plugin: "tops",
    missing: (value) => keysOf(value).filter((name) => name !== "ext_nodes"),
  },
  // Acts without a request, or on further minions:
  engines: {
    about: "Long-running plug-ins; here the reactor.",
    plugin: "engines",
    missing: (value) => engineEntries(value).flatMap(({ module }) => (module === "reactor" ? [] : [module])),
  },
  event_return: {
    about: `Writes all events, as for an audit; here to ${eventReturnNames.map((name) => `\`${name}\``).join(", ")}.`,
    plugin: "event_return",
    missing: (value) => textsOf(value).filter((name) => !eventReturnNames.some((known) => known === name)),
  },
  enable_ssh_minions: { about: "Jobs reach the minions of `salt-ssh`, too.", missing: whole },
  discovery: { about: "Tells the master's address to minions that search for a master.", missing: whole },
  // Moves data that this master keeps in its own place:
  master_job_cache: {
    about: `Where jobs are kept; here \`lmdb\`, which is used instead, and ${otherDrivers}. Others run through \`salt_python\`.`,
    plugin: "job_cache",
    missing: unless(...jobCacheDriverNames),
  },
  "redis.cluster_mode": {
    about: "The servers of a Redis cluster as job cache; here one server.",
    missing: (value, settings) => (databaseIn(settings) === "redis" ? whole(value) : []),
  },
  cache: {
    about: "Where minions' data and mines are kept; here in the master's own store.",
    missing: unless("localfs"),
  },
  "keys.cache_driver": {
    about: "Where minions' keys are kept; here in files under `pki_dir`.",
    missing: unless("localfs_key"),
  },
  eauth_tokens: {
    about: "Where tokens of `external_auth` are kept; here in files under `cachedir/tokens`, hashed.",
    missing: unless("localfs"),
  },
  "eauth_tokens.cache_driver": {
    about: "Where tokens of `external_auth` are kept; here in files under `cachedir/tokens`, hashed.",
    missing: unless("localfs"),
  },
  "pillar.cache_driver": {
    about: "Where minions' pillars are kept; here in the master's own store.",
    missing: unless("localfs"),
  },
  // Changes how minions reach the master:
  transport: {
    about: "Transport protocol; here `zeromq`, which is used instead: minions with another transport do not connect.",
    missing: unless("zeromq"),
  },
  transport_opts: {
    about: "Further transports, each with options and ports of its own.",
    missing: (value) =>
      keysOf(value).filter((name) => name !== "zeromq" || (isConfigMap(value) && !isEmpty(value.zeromq ?? null))),
  },
  ipc_mode: {
    about: "How Salt's own programs on this machine hear events; here through sockets in `sock_dir`, not by `tcp`.",
    missing: unless("ipc"),
  },
  // Other masters:
  syndic_master: {
    about: "The master above this one, which then publishes to this one's minions.",
    missing: unless("masterofmasters"),
  },
  // Guards something:
  require_minion_sign_messages: { about: "Refuses minions' returns without a signature.", missing: whole },
  drop_messages_signature_fail: { about: "Drops returns whose signature does not verify.", missing: whole },
  request_server_aes_session: { about: "Age at which a minion's session key is replaced.", missing: whole },
  fips_mode: { about: "Only algorithms that FIPS 140 allows.", missing: whole },
  ssl: { about: "TLS on the ports.", missing: whole },
  "auth.enable_expanded_auth_matching": {
    about: "Checks a user's permissions for each minion of a job.",
    missing: whole,
  },
  eauth_acl_module: { about: "A module that decides what users of `external_auth` may run.", missing: unless() },
};

/** Whether this value, with the other `settings`, needs a part that is not built. */
export function isUnbuilt(name: string, { value }: Pick<Setting, "value">, settings: Settings): boolean {
  const option = Object.hasOwn(unbuiltOptions, name) ? unbuiltOptions[name] : undefined;
  return value !== null && option !== undefined && option.missing(value, settings).length > 0;
}

/** Options of `settings` that are not built, in the table's order. `acceptMissing`: the value of `accept_missing`. */
export function unbuiltSettings(settings: Settings, acceptMissing: ConfigValue): readonly UnbuiltSetting[] {
  const accepted = textsOf(acceptMissing);
  return Object.entries(unbuiltOptions).flatMap(([name, option]) => {
    const setting = settings.get(name);
    if (setting === undefined || setting.value === null) return [];
    const parts = option.missing(setting.value, settings);
    if (parts.length === 0) return [];
    return [found(name, option, setting, parts, accepted.includes(name))];
  });
}

function found(
  name: string,
  option: UnbuiltOption,
  { file, line }: Setting,
  parts: readonly string[],
  isAccepted: boolean,
): UnbuiltSetting {
  const named = [...new Set(parts.filter((part) => part !== ""))];
  return { name, file, line, isAccepted, parts: named, warns: option.warns };
}

/** The missing parts that are plug-ins of Salt's in Python. */
export function missingPlugins(settings: readonly UnbuiltSetting[]): readonly SitePlugin[] {
  return settings.flatMap(({ name: option, parts }) => {
    const kind = unbuiltOptions[option]?.plugin;
    return kind === undefined ? [] : parts.map((name) => ({ option, kind, name }));
  });
}

/** What is still missing if the sidecar serves `served`. `why`: for the other plug-ins, why it does not serve them. */
export function withoutServed(
  settings: readonly UnbuiltSetting[],
  served: readonly SitePlugin[],
  why: string,
): readonly UnbuiltSetting[] {
  return settings.flatMap((setting) => {
    if (unbuiltOptions[setting.name]?.plugin === undefined || setting.parts.length === 0) return [setting];
    const isServed = (part: string) => served.some(({ option, name }) => option === setting.name && name === part);
    const parts = setting.parts.filter((part) => !isServed(part));
    return parts.length === 0 ? [] : [{ ...setting, parts, why }];
  });
}

const consequences: Readonly<Record<NonNullable<Warns>, string>> = {
  pillar: "; every pillar then has an error, with which minions refuse state runs",
  highstate: "; every highstate then fails, and files of other sources are not found",
};

function namedParts({ parts }: UnbuiltSetting): string {
  return parts.length > 0 ? ` (${parts.join(", ")})` : "";
}

/** The reason why a master refuses to start, without file and line. */
export function unbuiltFault(setting: UnbuiltSetting): string {
  const { name, warns, why } = setting;
  const consequence = warns === undefined ? "" : consequences[warns];
  const about = unbuiltOptions[name]?.about ?? "";
  const python = why === undefined ? "" : ` Python cannot serve it: ${why}.`;
  return `${name}: not built here${namedParts(setting)}. ${about}${python} To start without: accept_missing: [${name}]${consequence}`;
}

/** The warning at each start of a master whose `accept_missing` names the option. */
export function unbuiltWarning(setting: UnbuiltSetting): string {
  const { file, line, name, warns } = setting;
  const consequence = warns === undefined ? "" : consequences[warns];
  const about = (unbuiltOptions[name]?.about ?? "").replace(/\.$/, "");
  return `${file}:${line}: ${name}${namedParts(setting)} is missing, as accept_missing allows (${about})${consequence}`;
}

/** Errors that every pillar gets, one for each missing source, so that operators see on the minion which source is missing. */
export function pillarErrors(
  settings: readonly UnbuiltSetting[],
  place: "master" | "minion" = "master",
): readonly string[] {
  return settings
    .filter(({ warns }) => warns === "pillar")
    .flatMap(({ name, parts }) =>
      (parts.length > 0 ? parts : [undefined]).map((part) =>
        part === undefined
          ? `${name} is set on the ${place}, which does not have it`
          : `${name}: ${part} is not available on the ${place}`,
      ),
    );
}

/** Names of states without a file, which every highstate gets: the minion's run fails, and its error names the missing source. */
export function absentStates(settings: readonly UnbuiltSetting[]): readonly string[] {
  return settings
    .filter(({ warns }) => warns === "highstate")
    .flatMap(({ name, parts }) => (parts.length > 0 ? parts : [""]).map((part) => `the_master_lacks_${name}_${part}`))
    .map((name) => name.replaceAll(/[^\w-]/g, "_").replace(/_+$/, ""));
}
