/** Members that copy batch logs, for tests: their jobs run when the test says so, and the watch may miss entries. */
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before } from "node:test";
import pino from "pino";
import type { LeaseBucket } from "../../../../src/cluster/leases/bucket.ts";
import { openLease } from "../../../../src/cluster/leases/record.ts";
import { BatchCopies } from "../../../../src/master/cluster/leases/batch-copies.ts";
import type { OpenBatchLog } from "../../../../src/store/jobs/batch-log.ts";
import { type SecretBox, secretBoxWith } from "../../../../src/store/secrets/sealed.ts";
import type { BatchEntry } from "../../../../src/wire/batch-options.ts";
import { NatsServer } from "../../../cluster/nats.ts";
import { temporaryDirectories } from "../../../store/temporary.ts";
import { Holder, openBucket } from "./lease-holder.ts";

const logger = pino({ level: "silent" });
export const batchJid = "20260101000000000000";

export const begin: BatchEntry = {
  ...{
    kind: "new",
    at: 1,
    jid: batchJid,
    user: "root",
    ping: "p",
    expected: 2,
    timeoutMs: 1,
    gatherTimeoutMs: 1,
    size: "1",
  },
  ...{ waitSeconds: 0, isFailHard: false, canary: 0, failuresMax: "", isStatic: false, load: "" },
};
export const queue = (...ids: string[]): BatchEntry => ({ kind: "queue", ids, absent: [], window: 1 });
export const start = (step: string, id: string): BatchEntry => ({ kind: "start", jid: step, ids: [id], at: 2 });
export const done: BatchEntry = {
  ...{ kind: "done", at: 3, outcome: "finished", culprit: "", minions: 2, absent: 0, queued: 0, running: 0 },
  ...{ returned: 2, failed: 0, silent: 0, retcode: 0 },
};

export type BatchMember = Awaited<ReturnType<typeof openBatchMember>>;

/** The members of a suite, on a server of its own that ends with it. Their buckets are closed after each test. */
export function batchMembers() {
  const server = new NatsServer();
  const temporary = temporaryDirectories();
  const box = secretBoxWith(randomBytes(32));
  const buckets: LeaseBucket[] = [];
  let bucketCount = 0;
  before(() => server.start());
  after(() => server.close());
  afterEach(async () => {
    await Promise.all(buckets.splice(0).map((bucket) => bucket.close()));
  });

  /** One more, in the bucket of the others. */
  async function openMember(name: string, { directory = temporary(), session = 1 } = {}): Promise<BatchMember> {
    const member = await openBatchMember(name, { server, bucketName: `b${bucketCount}`, box, directory, session });
    buckets.push(member.bucket);
    return member;
  }
  /** In a new bucket. There are as many as names. */
  async function openMembers(...names: string[]) {
    bucketCount += 1;
    const members = await Promise.all(names.map((name) => openMember(name)));
    return members as [BatchMember, BatchMember, BatchMember];
  }
  return { openMember, openMembers };
}

type BatchMemberOptions = {
  readonly server: NatsServer;
  readonly bucketName: string;
  readonly box: SecretBox;
  /** Of its logs. */
  readonly directory: string;
  /** Which process of the member it is. */
  readonly session: number;
};

/** A member with its own log directory, in which a test's batch jobs run. */
async function openBatchMember(name: string, { server, bucketName, box, directory, session }: BatchMemberOptions) {
  const holder = new Holder(name, session);
  let bucket: LeaseBucket | undefined;
  const copies = new BatchCopies({
    ...{ clusterId: "test", directory, leases: holder.asLeases, bucket: () => bucket, logger },
    ask: async (owner, question) => `${owner.member} ${question.kind} ${question.jid}`,
  });
  const running = new Map<string, OpenBatchLog>();
  const events: string[] = [];
  const now = { isCutOff: false, owesAbort: false, sweeps: 0, seen: 0 };
  copies.use({
    owesAbort: () => now.owesAbort,
    sweep: () => {
      now.sweeps += 1;
    },
    takeOver: (id) => {
      events.push("takeOver");
      running.set(id, copies.logs.reopen(directory, id).log);
    },
    isRunning: (id) => running.has(id),
    release: (id) => {
      if (running.has(id)) events.push("release");
      running.get(id)?.close();
      running.delete(id);
    },
    control: async () => "changed",
  });
  bucket = await openBucket(server, bucketName, {
    ...{ box, logger },
    take: (key, revision, value) => {
      now.seen = revision;
      if (now.isCutOff) return;
      if (key.kind === "part" && value !== undefined) copies.note(key.jid, key.number, openLease(box, key, value));
    },
  });
  copies.noteCopied();
  const begun = () => {
    const log = copies.logs.create(directory, batchJid);
    running.set(batchJid, log);
    return log;
  };
  const file = join(directory, `${batchJid}.log`);
  return {
    ...{ holder, copies, running, events, now, bucket, begun, file },
    text: () => readFileSync(file, "utf8"),
    seen: () => now.seen,
  };
}
