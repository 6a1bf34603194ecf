/** Reads `external_auth`: enabled backends, their settings (`^name`), and the permissions of their users. */
import { type ConfigMap, type ConfigValue, isConfigMap } from "./yaml/values.ts";

/** Supported backends, in the order in which messages list them. */
export const eauthBackends = ["auto", "file", "ldap", "mysql", "oidc", "pam", "rest", "sharedsecret"] as const;
export type EauthBackend = (typeof eauthBackends)[number];

export function isEauthBackend(name: string): name is EauthBackend {
  return eauthBackends.some((backend) => backend === name);
}

/** Users and groups of a backend with their permissions; undefined if the backend is not enabled. */
export function backendConfig(externalAuth: ConfigMap, backend: string): ConfigMap | undefined {
  if (!Object.hasOwn(externalAuth, backend)) return undefined;
  const config = externalAuth[backend];
  return isConfigMap(config) ? config : {};
}

/** A setting of the backend itself, whose name starts with `^`. */
export function backendSetting(externalAuth: ConfigMap, backend: string, name: string): ConfigValue | undefined {
  const config = backendConfig(externalAuth, backend);
  return config !== undefined && Object.hasOwn(config, `^${name}`) ? config[`^${name}`] : undefined;
}

/**
 * Grants of an eauth backend's user: its own, those of its groups (`group%`), and without its own those of `*`.
 * `isPermissive`: without those of `*`, as Salt's option leaves them out for every name.
 */
export function grantsOfUser(
  backend: ConfigMap,
  name: string,
  groups: readonly string[],
  isPermissive: boolean,
): ConfigValue[] {
  const grants: ConfigValue[] = [];
  let isNamed = false;
  for (const [key, granted] of Object.entries(backend)) {
    if (key.startsWith("^") || key === "*") continue;
    if (key.endsWith("%")) {
      if (groups.includes(key.replace(/%+$/, ""))) grants.push(...entriesOf(granted));
    } else if (key === name) {
      isNamed = true;
      grants.push(...entriesOf(granted));
    }
  }
  if (!isPermissive && !isNamed) grants.push(...entriesOf(backend["*"]));
  return grants;
}

/** The members of a list; a single value counts as a list of one. */
export function entriesOf(granted: ConfigValue | undefined): readonly ConfigValue[] {
  if (granted === undefined || granted === null) return [];
  return Array.isArray(granted) ? granted : [granted];
}

/** How the key of a grant begins that stands for the computers below a place in an LDAP directory. */
export const ldapTargetStart = "ldap(";

/** Whether permissions come from a backend's answer, so that tokens have to keep them: asking again needs the password. */
export function needsKeptGrants(externalAuth: ConfigMap): boolean {
  if (Object.hasOwn(externalAuth, "rest")) return true;
  const users = Object.values(backendConfig(externalAuth, "ldap") ?? {});
  return users.some((granted) => entriesOf(granted).some(hasLdapTarget));
}

export function hasLdapTarget(grant: ConfigValue): boolean {
  return isConfigMap(grant) && Object.keys(grant).some((key) => key.startsWith(ldapTargetStart));
}
