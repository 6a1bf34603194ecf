/** Options of a cluster: several masters as one, on NATS JetStream. The names are Salt's where they mean the same. */
import { ours, port } from "./details.ts";
import { integer, list, number, optional, text } from "./option.ts";

export const clusterOptions = {
  cluster_id: optional(
    text("", "Name of the cluster that this master is a member of: letters, digits, `-` and `_`. docs/cluster.md."),
  ),
  cluster_peers: list(
    [],
    "The other members and witnesses, each as `HOST` or `HOST:PORT` of its `cluster_pool_port`. A cluster needs three or five servers.",
  ),
  cluster_secret: optional(
    text(
      "",
      "Secret of the cluster, the same on each member: keys and certificates are derived from it. `saltworks cluster secret` makes one.",
      { isSecret: true },
    ),
  ),
  cluster_secret_file: optional(
    text(
      "",
      "File with the cluster's secret as its only line, instead of `cluster_secret`: the other options may then be read by all users. Only the master's user should be able to read it.",
      ours,
    ),
  ),
  cluster_pool_port: integer(
    4_520,
    "Port on which the servers of the members talk to each other, by mutual TLS.",
    port,
  ),
  cluster_nats_server: optional(
    text(
      "",
      "The program `nats-server`. Without it: the one on the path, then the one that the build script made.",
      ours,
    ),
  ),
  cluster_join_timeout: number(
    60,
    "How long a start waits until the cluster answers. A member that knows the cluster's keys starts without it then.",
    { min: 1, max: 3_600, unit: "seconds" },
  ),
};
