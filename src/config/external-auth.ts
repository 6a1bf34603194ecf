/** Reads `external_auth`: enabled backends, their settings (`^name`), and the permissions of their users. */
import { type ConfigMap, type ConfigValue, isConfigMap } from "./yaml/values.ts";

/** Supported backends, in the order in which messages list them. */
export const eauthBackends = ["auto", "file", "pam", "rest", "sharedsecret"] as const;
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

/** Warnings about configured backends that are not available. */
export function backendFaults(externalAuth: ConfigMap): string[] {
  const missing = Object.keys(externalAuth).filter((name) => !isEauthBackend(name));
  return missing.map(
    (name) =>
      `external_auth: '${name}' is not available here, so that its users cannot log in; available are ${eauthBackends.join(", ")}`,
  );
}
