/** Names that a cluster uses in NATS. Each carries the cluster's id, because an operator's own servers may carry several clusters. Pure. */
import { returnStreamsCount } from "../limits.ts";

const idForm = /^[A-Za-z0-9_-]{1,32}$/;

/** @returns what is wrong with a `cluster_id` */
export function clusterIdFault(id: string): string | undefined {
  return idForm.test(id)
    ? undefined
    : `cluster_id must be 1 to 32 letters, digits, '-' or '_', not ${JSON.stringify(id)}`;
}

export type ClusterNames = {
  readonly keyBucket: string;
  readonly secretBucket: string;
  readonly tokenBucket: string;
  readonly leaseBucket: string;
  /** On which members ask the owners of jobs. */
  readonly ownerSubject: string;
  /** Stream and subject of the sequence of jobs. */
  readonly jobs: string;
  /** Each has one subject, which is its name. */
  readonly returnStreams: readonly string[];
  /** On which members tell each other their connected minions. */
  readonly presenceSubject: string;
  /** The stream of minions' grains, pillars and mines, and the beginning of its subjects. */
  readonly minionStream: string;
  readonly minionSubjects: string;
  /** Of the subjects on which answers come with an operator's own servers: others may not listen there. */
  readonly inboxPrefix: string;
};

export function clusterNames(clusterId: string): ClusterNames {
  return {
    keyBucket: `sw_${clusterId}_keys`,
    secretBucket: `sw_${clusterId}_secrets`,
    tokenBucket: `sw_${clusterId}_tokens`,
    leaseBucket: `sw_${clusterId}_leases`,
    ownerSubject: `sw_${clusterId}.owners`,
    jobs: `sw_${clusterId}_jobs`,
    returnStreams: Array.from({ length: returnStreamsCount }, (_, at) => `sw_${clusterId}_returns_${at}`),
    presenceSubject: `sw_${clusterId}.presence`,
    minionStream: `sw_${clusterId}_minions`,
    minionSubjects: `sw_${clusterId}.minions`,
    inboxPrefix: `_INBOX_sw_${clusterId}`,
  };
}

export function bucketNames(clusterId: string): readonly string[] {
  const { keyBucket, secretBucket, tokenBucket, leaseBucket } = clusterNames(clusterId);
  return [keyBucket, secretBucket, tokenBucket, leaseBucket];
}

/** Names of all streams, as NATS has them. */
export function streamNames(clusterId: string): readonly string[] {
  const { jobs, returnStreams, minionStream } = clusterNames(clusterId);
  return [jobs, ...returnStreams, minionStream, ...bucketNames(clusterId).map((name) => `KV_${name}`)];
}
