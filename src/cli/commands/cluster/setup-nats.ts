/** What `saltworks cluster init` and `join` do with `--nats-servers`: the options that they write, and a look at the servers. */
import type { Member } from "../../../cluster/member.ts";
import type { OwnFile } from "../../../cluster/membership/own-file.ts";
import { checkOperatorNats } from "../../../cluster/operator/check.ts";
import { operatorServers } from "../../../cluster/operator/servers.ts";
import type { OperatorNats } from "../../../cluster/operator-nats.ts";
import type { ClusterKeys } from "../../../cluster/secret.ts";
import { hasCode, SaltworksError } from "../../../errors.ts";
import type { Host } from "../../host/host.ts";

export type NatsFlags = Readonly<Record<keyof typeof texts | "natsServers", string | undefined>>;

/** Flag and option of each value beside the servers. */
const texts = {
  natsCredentials: ["--nats-credentials", "cluster_nats_credentials"],
  natsNkeyFile: ["--nats-nkey-file", "cluster_nats_nkey_file"],
  natsUser: ["--nats-user", "cluster_nats_user"],
  natsPasswordFile: ["--nats-password-file", "cluster_nats_password_file"],
  natsTlsCa: ["--nats-tls-ca", "cluster_nats_tls_ca"],
  natsTlsCert: ["--nats-tls-cert", "cluster_nats_tls_cert"],
  natsTlsKey: ["--nats-tls-key", "cluster_nats_tls_key"],
} as const;
const names = Object.keys(texts) as (keyof typeof texts)[];

/** @returns undefined without `--nats-servers`. @throws SaltworksError USAGE for another flag without it */
export function natsSettings(flags: NatsFlags): OwnFile["servers"] | undefined {
  const given = names.flatMap((name) => {
    const value = flags[name];
    return value === undefined || value === "" ? [] : [[...texts[name], value] as const];
  });
  const servers = (flags.natsServers ?? "").split(",").flatMap((one) => (one.trim() === "" ? [] : [one.trim()]));
  const [first] = given;
  if (servers.length === 0 && first !== undefined)
    throw new SaltworksError("USAGE", `${first[0]} is given without --nats-servers`);
  if (servers.length === 0) return undefined;
  return {
    cluster_nats_servers: servers,
    ...Object.fromEntries(given.map(([, option, value]) => [option, value])),
  };
}

/** The flags that make another master use the same servers. */
export function natsArguments(flags: NatsFlags): string {
  const given = names.flatMap((name) => (flags[name] === undefined ? [] : [`${texts[name][0]} ${flags[name]}`]));
  return [`--nats-servers ${flags.natsServers}`, ...given].join(" ");
}

/**
 * Asks the servers whether they fit, and whether the cluster's records open with this secret.
 *
 * @param isNew the cluster must not be there yet
 * @returns what is to be said
 * @throws SaltworksError as `checkOperatorNats`, but for CLUSTER_UNAVAILABLE, which the operator is told of
 */
export async function checkNats(
  { clusterId, name }: Member,
  operatorNats: OperatorNats,
  { sealKey }: ClusterKeys,
  isNew: boolean,
  host: Host,
): Promise<string> {
  const { access } = operatorServers(operatorNats, clusterId, sealKey);
  try {
    const checked = await checkOperatorNats({ access, clusterId, name });
    for (const one of checked.silent) host.complain(`${one}\n`);
    if (!checked.isReached) return "No NATS server can be reached, so that nothing is checked.\n";
    if (checked.giver !== undefined)
      return `The NATS servers fit, and have the records of ${clusterId} with the same secret.\n`;
    return `The NATS servers fit, and have no records of ${clusterId} yet.\n`;
  } catch (error) {
    if (isNew && hasCode(error, "CLUSTER_REFUSED") && (error as SaltworksError).detail.name !== undefined)
      throw new SaltworksError(
        "CLUSTER_REFUSED",
        `NATS has records of a cluster ${clusterId} already: join it, or take another --id`,
        {},
        { cause: error },
      );
    if (!hasCode(error, "CLUSTER_UNAVAILABLE")) throw error;
    host.complain(`${(error as Error).message}\n`);
    return "NATS takes no changes now, so that nothing is checked.\n";
  }
}
