/** Options of a cluster: several masters as one, on NATS JetStream. The names are Salt's where they mean the same. */
import { ours, port } from "./details.ts";
import { boolean, integer, list, number, optional, text } from "./option.ts";

/** Servers of NATS that an operator runs, instead of one that each member starts. */
const natsOptions = {
  cluster_nats_servers: list(
    [],
    "An operator's own NATS servers, each as `HOST`, `HOST:PORT`, `nats://HOST:PORT` or `tls://HOST:PORT`; the port is 4222 without one. With them this master starts no server: `cluster_peers`, `cluster_pool_port` and `cluster_nats_server` must not be set.",
    ours,
  ),
  cluster_nats_credentials: optional(
    text("", "File of a NATS user's credentials (`.creds`, a JWT and a seed), for `cluster_nats_servers`.", ours),
  ),
  cluster_nats_nkey_file: optional(
    text("", "File with the seed of a NATS user's nkey as its only line, for `cluster_nats_servers`.", ours),
  ),
  cluster_nats_user: optional(text("", "Name of a NATS user with a password, for `cluster_nats_servers`.", ours)),
  cluster_nats_password_file: optional(
    text(
      "",
      "File with the password of `cluster_nats_user` as its only line. Only the master's user should be able to read it.",
      ours,
    ),
  ),
  cluster_nats_tls_ca: optional(
    text(
      "",
      "File of the authority that the certificates of `cluster_nats_servers` are of, in PEM. Without it: the authorities that Node.js knows. With it, TLS is demanded.",
      ours,
    ),
  ),
  cluster_nats_tls_cert: optional(
    text("", "File of the certificate that this master shows to `cluster_nats_servers`, in PEM.", ours),
  ),
  cluster_nats_tls_key: optional(text("", "File of the key of `cluster_nats_tls_cert`, in PEM.", ours)),
  cluster_nats_tls_first: boolean(
    false,
    "TLS with `cluster_nats_servers` begins before their first line, as with `handshake_first` in their configuration.",
    ours,
  ),
};

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
  ...natsOptions,
  cluster_join_timeout: number(
    60,
    "How long a start waits until the cluster answers. A member that knows the cluster's keys starts without it then.",
    { min: 1, max: 3_600, unit: "seconds" },
  ),
};
