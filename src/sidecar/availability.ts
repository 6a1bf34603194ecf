/**
 * Finds out which plug-ins of a configuration the operator's own Salt can run: looks for the Python that has Salt, and asks it. A configuration without
 * such plug-ins costs nothing.
 */
import { eauthBackends, isEauthBackend } from "../config/external-auth.ts";
import type { MasterConfig } from "../config/load.ts";
import { jobCacheDriverNames } from "../config/options/job-cache-drivers.ts";
import type { PluginKind, SitePlugin } from "../config/options/site-python.ts";
import { missingPlugins, withoutServed } from "../config/options/unbuilt.ts";
import { sidecarStartTimeoutMs } from "../limits.ts";
import type { Value } from "../wire/values.ts";
import { findPython } from "./find-python.ts";
import { PythonProcess } from "./python-process.ts";
import { sidecarSettings } from "./settings.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Plug-ins that the configuration names and that are not built here. */
export function wantedPlugins(config: MasterConfig): readonly SitePlugin[] {
  const logins = Object.keys(config.external_auth).filter((name) => !isEauthBackend(name));
  return [
    ...missingPlugins(config.unbuilt),
    ...externalJobCache(config),
    ...logins.map((name) => ({ option: "external_auth", kind: "auth", name }) as const),
  ];
}

/** Minions use a returner of `ext_job_cache` themselves. The master needs it only to read what they wrote. */
function externalJobCache({ ext_job_cache: name }: MasterConfig): readonly SitePlugin[] {
  const isBuilt = name === "" || jobCacheDriverNames.some((each) => each === name);
  return isBuilt ? [] : [{ option: "ext_job_cache", kind: "job_cache", name }];
}

/** Whether Python is asked before a master decides what it cannot serve. */
export function mayBeServed(config: MasterConfig): boolean {
  return config.salt_python !== false && wantedPlugins(config).length + config.sdbValues.length > 0;
}

/** What the search came to, in a sentence for the log; undefined if there was nothing to look for. */
export type Served = { readonly config: MasterConfig; readonly told: string | undefined };

/** The configuration with the plug-ins that Python serves taken out of `unbuilt`. The others get the reason. */
export async function withSitePython(config: MasterConfig, environment: Environment): Promise<Served> {
  const wanted = wantedPlugins(config);
  if (wanted.length === 0) return { config, told: undefined };
  const found = await findPython(config.salt_python, environment);
  if (found.python === undefined) return { config: reduced(config, [], undefined, found.why), told: undefined };
  const { python, salt } = found;
  const asked = await loadable(config, python, environment, wanted);
  const served = "why" in asked ? [] : asked.plugins;
  const why =
    "why" in asked ? asked.why : `the Salt ${salt} of ${python} has no plug-in of this name, or cannot load it`;
  const names = served.map(({ option, name }) => `${option}: ${name}`).join(", ");
  return {
    config: reduced(config, served, python, why),
    told: served.length === 0 ? undefined : `Python with Salt ${salt} (${python}) runs ${names}`,
  };
}

function reduced(
  config: MasterConfig,
  sitePlugins: readonly SitePlugin[],
  sitePython: string | undefined,
  why: string,
): MasterConfig {
  return Object.freeze({
    ...config,
    unbuilt: withoutServed(config.unbuilt, sitePlugins, why),
    sitePlugins,
    sitePython,
  });
}

async function loadable(
  config: MasterConfig,
  python: string,
  environment: Environment,
  wanted: readonly SitePlugin[],
): Promise<{ readonly plugins: readonly SitePlugin[] } | { readonly why: string }> {
  let process: PythonProcess | undefined;
  try {
    process = await PythonProcess.start(sidecarSettings(config, python, environment));
    const kinds = [...new Set(wanted.map(({ kind }) => kind))];
    const namesOf = (kind: PluginKind) => wanted.filter((plugin) => plugin.kind === kind).map(({ name }) => name);
    const names = Object.fromEntries(kinds.map((kind) => [kind, namesOf(kind)]));
    const { value } = await process.ask({ kind: "find", names }, sidecarStartTimeoutMs);
    const has = (kind: PluginKind): Value => (value instanceof Map ? (value.get(kind) ?? null) : null);
    const isThere = ({ kind, name }: SitePlugin) => {
      const there = has(kind);
      return Array.isArray(there) && there.includes(name);
    };
    return { plugins: wanted.filter(isThere) };
  } catch (error) {
    return { why: (error as Error).message };
  } finally {
    process?.end();
  }
}

/** Names of plug-ins of a kind that the sidecar serves. */
export function servedNames({ sitePlugins }: Pick<MasterConfig, "sitePlugins">, kind: PluginKind): readonly string[] {
  return sitePlugins.filter((plugin) => plugin.kind === kind).map(({ name }) => name);
}

/** Names in `external_auth` for which there is neither a backend here nor one that Python serves. */
export function missingLogins(config: MasterConfig): readonly string[] {
  const served = servedNames(config, "auth");
  return Object.keys(config.external_auth).filter((name) => !isEauthBackend(name) && !served.includes(name));
}

/** A warning about a job cache of minions (`ext_job_cache`) that is not read here. */
export function unreadCacheFaults(config: MasterConfig): readonly string[] {
  const unread = externalJobCache(config).filter(({ name }) => !servedNames(config, "job_cache").includes(name));
  return unread.map(
    ({ name }) =>
      `ext_job_cache: minions return to '${name}', which neither this master nor a Python with Salt can read: runners do not find these returns`,
  );
}

/** A warning about each of `missingLogins`. */
export function loginFaults(config: MasterConfig): readonly string[] {
  const available = eauthBackends.join(", ");
  return missingLogins(config).map(
    (name) =>
      `external_auth: '${name}' is not available here, so that its users cannot log in; available are ${available}`,
  );
}
