/** Answers to `_master_tops`: how many commands run at once, how many minions wait, and what the log says of a command that fails. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { topsWaitingMax } from "../../../src/limits.ts";
import { TopAnswers } from "../../../src/master/answers/tops.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import type { TopsResult, TopsTask } from "../../../src/workers/messages/pillar.ts";
import type { LanePool } from "../../../src/workers/threads/lane-pool.ts";
import { createPartitionKey, Partitioner } from "../../../src/workers/threads/partition.ts";
import { sealingPool } from "./sealing-pool.ts";

const seal = { key: "session", nonce: "" } as const;

function answersOf(fault?: string) {
  const asked: string[] = [];
  const logged: unknown[] = [];
  let release = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    release = resolve;
  });
  const run = async ({ id }: TopsTask): Promise<TopsResult> => {
    asked.push(id);
    await opened;
    return { states: encode(new Map([["base", [id]]]), "raw"), fault };
  };
  const answers = new TopAnswers({
    config: { ext_pillar_commands: 2, ext_pillar_timeout: 30, master_tops: {}, sitePlugins: [] },
    sidecar: undefined,
    sources: { run } as unknown as LanePool,
    pool: sealingPool,
    partitioner: new Partitioner(createPartitionKey(), 16),
    logger: { error: (line: unknown) => logged.push(line) } as never,
  });
  const answer = (id: string) => answers.answer({ item: 0, kind: "tops", id, command: "nodes", seal });
  return { answer, asked, logged, release: () => release() };
}

describe("answers to _master_tops", () => {
  it("come from ext_pillar_commands commands at once, and all come", async () => {
    const { answer, asked, logged, release } = answersOf();
    const all = ["a", "b", "c"].map(answer);
    await new Promise(setImmediate);
    assert.deepEqual(asked, ["a", "b"]);
    release();
    const states = (await Promise.all(all)).map((reply) => decode(reply, "text"));
    assert.deepEqual(
      states,
      ["a", "b", "c"].map((id) => new Map([["base", [id]]])),
    );
    assert.deepEqual(logged, []);
  });

  it("are refused while too many minions wait", async () => {
    const { answer, release } = answersOf();
    const all = Array.from({ length: topsWaitingMax }, (_, at) => answer(String(at)));
    await assert.rejects(answer("over"), { code: "QUEUE_FULL" });
    release();
    await Promise.all(all);
    await answer("again");
  });

  it("have a line in the log if the command failed", async () => {
    const { answer, logged, release } = answersOf("the command ended with 1");
    release();
    await answer("web1");
    assert.deepEqual(logged, [{ minion: "web1", fault: "the command ended with 1" }]);
  });
});
