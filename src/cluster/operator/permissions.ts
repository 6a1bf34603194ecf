/** Which subjects a member uses on an operator's own NATS, in the form of a user's `permissions` in the configuration of nats-server. Pure. */
import { bucketNames, clusterNames, streamNames } from "../names.ts";

/** Questions about a stream that a member asks, without the stream's name. A subject that goes on behind the name ends in `.>`. */
const streamQuestions = [
  "STREAM.INFO",
  "STREAM.CREATE",
  "STREAM.UPDATE",
  "STREAM.MSG.GET",
  "DIRECT.GET",
  "CONSUMER.CREATE",
];
const streamQuestionsWithMore = [
  "DIRECT.GET",
  "CONSUMER.CREATE",
  "CONSUMER.INFO",
  "CONSUMER.DELETE",
  "CONSUMER.MSG.NEXT",
];

export type NatsPermissions = { readonly publish: readonly string[]; readonly subscribe: readonly string[] };

/** Everything that members do, and nothing of another cluster or program. */
export function natsPermissions(clusterId: string): NatsPermissions {
  const { jobs, returnStreams, leaseBucket, inboxPrefix } = clusterNames(clusterId);
  const told = [`sw_${clusterId}.>`, `sw.${clusterId}.>`, `${inboxPrefix}.>`];
  const streams = streamNames(clusterId);
  return {
    publish: [
      ...told,
      ...[jobs, ...returnStreams],
      ...bucketNames(clusterId).map((bucket) => `$KV.${bucket}.>`),
      "$JS.API.INFO",
      // The log of a batch job that is removed.
      `$JS.API.STREAM.PURGE.KV_${leaseBucket}`,
      ...streams.flatMap((stream) => [
        ...streamQuestions.map((question) => `$JS.API.${question}.${stream}`),
        ...streamQuestionsWithMore.map((question) => `$JS.API.${question}.${stream}.>`),
        // Answers to the flow control of a watch.
        `$JS.FC.${stream}.>`,
      ]),
    ],
    subscribe: told,
  };
}
