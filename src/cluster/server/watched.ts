/** How a member sees the state of the servers that the members start: its own one asks all of them. */
import type { ClusterConnection } from "../connection.ts";
import type { ClusterKeys } from "../secret.ts";
import type { WatchedServers } from "../server-watch.ts";
import { readClusterStatus } from "../status.ts";
import { accessTo } from "./access.ts";
import type { StoreAgain } from "./store-again.ts";

/** `store`: of this member's server, where its watcher can start it again. */
export function watchedOwnServers(
  ports: readonly number[],
  keys: ClusterKeys,
  name: string,
  store?: StoreAgain,
): WatchedServers {
  const read = ({ nats }: ClusterConnection) => readClusterStatus(nats);
  const mendStore = store && (() => store.mend());
  return { access: accessTo(ports, keys, "system", name), read, ...(mendStore && { mendStore }) };
}
