/** Bounds of a cluster of masters. */

// # Cluster

/** Log of a member's `nats-server`, bytes, before it is replaced; its former ones are `clusterServerLogsMax`. */
export const clusterServerLogBytesMax = 10 * 1024 * 1024;
/** Logs of a member's `nats-server` that are kept. */
export const clusterServerLogsMax = 3;
/** One message in NATS, bytes: its own default of 1 MiB is less than a batch of returns. */
export const natsMessageBytesMax = 8 * 1024 * 1024;
/** One request to NATS, milliseconds. One that comes while no server leads gets no answer, and is tried again. */
export const clusterRequestMs = 5_000;
/** Wait between two tries to reach the cluster's servers, milliseconds. */
export const clusterRetryMs = 500;
/** How long a former `nats-server` of this member may take to end, milliseconds, before it is killed. */
export const clusterServerEndMs = 10_000;
/** Validity of a member's certificate, days. Each start of the master makes a new one. */
export const clusterCertificateDays = 3_650;
/** Servers that keep a copy of each record. Two of three acknowledge a write. */
export const clusterReplicasMax = 3;
/** How long a nats-server may take to tell its version, milliseconds: it takes 20, and a loaded machine's disk takes seconds to read it. */
export const natsServerLookMs = 10_000;
