/** The record of keys in step at the next start: what was saved, and what came after that and before a kill. */
import assert from "node:assert/strict";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { KeyRecord } from "../../../src/cluster/keys/record.ts";
import { temporaryDirectories } from "../../store/temporary.ts";

describe("the record of keys in step", () => {
  const temporary = temporaryDirectories();
  const faults: unknown[] = [];
  const open = (file: string, beforeSave: () => Promise<void> = async () => {}) =>
    new KeyRecord({ file, beforeSave, onFault: (error) => faults.push(error) });
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
  const stepsOf = (record: KeyRecord) => record.ids().map((id) => [id, record.step(id).revision]);

  it("has after a kill what was changed in the turn before, in order", async () => {
    const file = join(temporary(), "keys");
    const killed = open(file);
    killed.set("web0", { revision: 1, digest: "x" });
    killed.begin();
    killed.describe("bucket 1");
    for (const [at, id] of ["web1", "web2", "web3"].entries()) killed.set(id, { revision: at + 2, digest: "x" });
    killed.delete("web2");
    await turn();
    const next = open(file);
    assert.deepEqual(
      [next.bucket, stepsOf(next)],
      [
        "bucket 1",
        [
          ["web1", 2],
          ["web3", 4],
        ],
      ],
    );
    const again = open(file);
    assert.deepEqual(stepsOf(again), stepsOf(next));
  });

  it("has what came while it was saved, whether the save was done or not", async () => {
    const file = join(temporary(), "keys");
    let during = () => {};
    const record = open(file, async () => during());
    record.describe("bucket 1");
    record.set("web1", { revision: 1, digest: "x" });
    let journal = "";
    during = () => {
      record.set("web2", { revision: 2, digest: "x" });
      queueMicrotask(() => {
        journal = readFileSync(`${file}.journal`, "utf8");
      });
    };
    await record.close();
    const steps = [
      ["web1", 1],
      ["web2", 2],
    ];
    assert.deepEqual(stepsOf(open(file)), steps);
    // As a kill between the new record and the new journal leaves it.
    writeFileSync(`${file}.journal`, journal);
    assert.deepEqual(stepsOf(open(file)), steps);
  });

  it("does not count lines of another boot, of another record, or that are cut", async () => {
    const file = join(temporary(), "keys");
    const killed = open(file);
    killed.set("web1", { revision: 1, digest: "x" });
    await turn();
    const journal = readFileSync(`${file}.journal`, "utf8");
    const after = (text: string) => {
      writeFileSync(`${file}.journal`, text);
      return stepsOf(open(file));
    };
    assert.deepEqual(after(`${journal}["set","web2",`), [["web1", 1]]);
    const [head = "", ...lines] = journal.split("\n");
    const [kind, version, , base] = JSON.parse(head) as string[];
    assert.deepEqual(after([JSON.stringify([kind, version, "another", base]), ...lines].join("\n")), []);
    assert.deepEqual(after([head.replace('""]', '"other"]'), ...lines].join("\n")), []);
    appendFileSync(`${file}.journal`, "nonsense\n");
    assert.deepEqual(stepsOf(open(file)), []);
    assert.deepEqual(faults, []);
  });
});
