/** Lets other members compare this master's options and files with theirs, and ask for the owners of jobs. A thread reads the files. */
import type { NatsConnection } from "@nats-io/nats-core";
import type { Logger } from "pino";
import { answerLikeness } from "../../cluster/likeness/answers.ts";
import type { JobOwner } from "../../cluster/likeness/message.ts";
import type { Member } from "../../cluster/member.ts";
import type { MasterConfig } from "../../config/load.ts";
import {
  laneTaskTimeoutMs,
  likenessQuestionsMax,
  likenessReadMs,
  likenessThreadMs,
  workerYoungHeapMb,
} from "../../limits.ts";
import { LanePool } from "../../workers/threads/lane-pool.ts";

type Parts = {
  readonly config: MasterConfig;
  readonly logger: Logger;
  readonly member: Member;
  readonly owners: () => readonly JobOwner[];
};

export function openLikeness(
  nats: NatsConnection,
  { config, logger, member, owners }: Parts,
): { readonly close: () => Promise<void> } {
  const lane = new LanePool({
    filename: new URL("../../workers/lanes/likeness-lane.js", import.meta.url).href,
    heap: { youngMb: workerYoungHeapMb, oldMb: config.worker_heap_mb },
    threadCount: 1,
    concurrentTasksPerThread: 1,
    threadsKept: 0,
    idleMs: likenessThreadMs,
    queueMax: likenessQuestionsMax,
    taskTimeoutMs: likenessReadMs + laneTaskTimeoutMs,
    workerData: { config },
    onThreadLost: (error) => logger.error({ err: error }, "a lane's thread ended and is replaced"),
  });
  const { clusterId, name } = member;
  const answers = answerLikeness({
    ...{ nats, clusterId, member: name, role: "master", owners },
    answer: (question) => lane.run<string>(question),
  });
  return {
    close: async () => {
      answers.close();
      await lane.close();
    },
  };
}
