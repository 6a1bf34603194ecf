/** Where an operator's own NATS servers are reached, and how their state is seen. */
import type { ClusterConnection, OperatorAccess } from "../connection.ts";
import { clusterNames } from "../names.ts";
import type { OperatorNats } from "../operator-nats.ts";
import type { WatchedServers } from "../server-watch.ts";
import { readStreamStatus } from "./status.ts";

export function operatorServers(
  operatorNats: OperatorNats,
  clusterId: string,
  sealKey: Uint8Array,
): WatchedServers & { readonly access: OperatorAccess } {
  return {
    access: { operatorNats, inboxPrefix: clusterNames(clusterId).inboxPrefix, sealKey },
    read: (connection: ClusterConnection) => readStreamStatus(connection, clusterId),
  };
}
