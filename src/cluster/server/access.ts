/** Makes what a client needs to connect to its member's own server, which listens on loopback only. */
import { clusterCertificateDays } from "../../limits.ts";
import type { OwnServerAccess } from "../connection.ts";
import type { ClusterKeys } from "../secret.ts";
import { mintCertificates } from "./certificates.ts";
import { nkeyUser } from "./nkey-user.ts";

/** Where the server takes clients. Its certificate names it. */
export const loopbackHost = "127.0.0.1";

/**
 * @param user `client` shares in the members' records, `system` asks the servers for their state
 * @param name shown as the certificate's subject; it decides nothing
 */
export function accessTo(
  ports: readonly number[],
  keys: ClusterKeys,
  user: "client" | "system",
  name: string,
): OwnServerAccess {
  const { authoritySeed, clientSeed, systemSeed } = keys;
  const days = clusterCertificateDays;
  const minted = mintCertificates({ authoritySeed, memberName: name, hosts: [loopbackHost], nowMs: Date.now(), days });
  return { ports, seed: nkeyUser(user === "client" ? clientSeed : systemSeed).seed, ...minted };
}
